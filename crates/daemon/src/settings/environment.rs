//! The environment layers: our own variables, and below them those of other programs that a key accepts.

use std::collections::BTreeMap;
use std::env;

use super::Origin;
use super::layers::{Layers, Rank};
use super::schema::{PREFIX, variable};
use super::suggest::closest;

/// The variables of this process. Unlike [`env::vars`] it passes over those that are not Unicode instead of
/// panicking: a stray byte in a variable that is none of ours must not stop the program.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

impl Layers<'_> {
    /// Adds environment variables, ours and the foreign ones that the schema names.
    #[must_use]
    pub fn env(mut self, vars: impl IntoIterator<Item = (String, String)>) -> Self {
        let vars: BTreeMap<_, _> = vars.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        self.add_foreign(&vars);
        self.add_own(vars);
        self
    }

    fn add_foreign(&mut self, vars: &BTreeMap<String, String>) {
        for key in self.schema.keys() {
            let first = key.env.iter().find_map(|name| Some((name, vars.get(*name)?)));
            if let Some((name, value)) = first {
                let origin = Origin::Environment((*name).to_owned());
                self.set(Rank::Foreign, key.path, value.clone(), &origin);
            }
        }
    }

    fn add_own(&mut self, vars: BTreeMap<String, String>) {
        let known: BTreeMap<_, _> = self.schema.paths().map(|path| (variable(&path), path)).collect();
        for (name, value) in vars {
            let origin = Origin::Environment(name.clone());
            if let Some(path) = known.get(&name) {
                self.set(Rank::Environment, path, value, &origin);
            } else if let Some((table, path)) = split(&name) {
                self.note_unknown_variable(&table, &path, &origin);
            }
        }
    }

    /// A variable of a table that no key lives in is meant for another part of the program.
    fn note_unknown_variable(&mut self, table: &str, path: &str, origin: &Origin) {
        let meant = closest(path, self.schema.paths());
        if let Some(meant) = meant {
            let message = format!("unknown variable; did you mean {}?", variable(&meant));
            self.problems.report(path, origin, message);
        } else if let Some(meant) = closest(table, self.schema.tables().into_iter().map(str::to_owned)) {
            let message = format!("unknown variable; the keys of {meant} begin with {}__", variable(&meant));
            self.problems.report(path, origin, message);
        }
    }
}

/// The table and the key path that a variable of ours stands for, as far as can be told from its name.
/// Without a double underscore it is not a setting.
fn split(name: &str) -> Option<(String, String)> {
    let name = name.strip_prefix(PREFIX)?;
    let (table, _) = name.split_once("__")?;
    let key_case = |name: &str| name.to_lowercase().replace("__", ".").replace('_', "-");
    Some((key_case(table), key_case(name)))
}
