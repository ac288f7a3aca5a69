//! Finds our keys in the file: below `hatchery.vsphere`, as the Go engine writes it, or at the top.

use toml::{Table, Value};

use super::section::Notes;

/// Sections of the engine's other services, which may be in the same file.
const SERVICES: &[&str] = &[
    "api",
    "cdn",
    "database",
    "debug",
    "elasticsearch",
    "hooks",
    "migrate",
    "repositories",
    "telemetry",
    "tracing",
    "ui",
    "vcs",
];

pub(super) struct Found {
    /// The path of our table, empty if that is the file itself.
    pub(super) at: &'static str,
    pub(super) ours: Table,
    /// The section `log`, which both layouts keep at the top.
    pub(super) log: Option<Value>,
    pub(super) foreign: Vec<String>,
}

pub(super) fn find(mut file: Table, notes: &mut Notes<'_>) -> Found {
    let log = file.remove("log");
    match file.remove("hatchery") {
        None => bare(file, log),
        Some(Value::Table(hatcheries)) => engine(&file, hatcheries, log, notes),
        Some(_) => {
            notes.problems.push("hatchery", "expected a table with the section vsphere in it");
            Found { at: "", ours: Table::new(), log, foreign: vec![] }
        }
    }
}

fn bare(file: Table, log: Option<Value>) -> Found {
    let is_foreign = |name: &str, value: &Value| value.is_table() && SERVICES.contains(&name);
    let (foreign, ours): (Vec<_>, Vec<_>) =
        file.into_iter().partition(|(name, value)| is_foreign(name, value));
    let foreign = foreign.into_iter().map(|(name, _)| name).collect();
    Found { at: "", ours: ours.into_iter().collect(), log, foreign }
}

fn engine(file: &Table, mut hatcheries: Table, log: Option<Value>, notes: &mut Notes<'_>) -> Found {
    let at = "hatchery.vsphere";
    let ours = match hatcheries.remove("vsphere") {
        Some(Value::Table(ours)) => ours,
        Some(_) => {
            notes.problems.push(at, "expected a table");
            Table::new()
        }
        None => {
            notes
                .problems
                .push(at, "the section is missing: without it the file has no settings of this hatchery");
            Table::new()
        }
    };
    let escaped = |name: &String| name.escape_debug().to_string();
    let others = hatcheries.keys().map(|name| format!("hatchery.{}", escaped(name)));
    Found { at, ours, log, foreign: file.keys().map(escaped).chain(others).collect() }
}
