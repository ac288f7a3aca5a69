//! That nothing of the client is left out in silence: each of its operations is shown by a story, or stands in the list of
//! what vcsim cannot show.

mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use table::TABLE;

/// One operation of the client.
struct Row {
    operation: &'static str,
    calls: &'static [&'static str],
    shown: Shown,
}

/// Where an operation is shown.
enum Shown {
    In(&'static [&'static str]),
    /// Nowhere, for the reason in this row of `docs/vcsim.md`.
    CannotBe(&'static str),
}

struct Reality {
    stories: BTreeSet<String>,
    ignored: BTreeSet<String>,
    limits: BTreeSet<String>,
    calls: BTreeSet<String>,
}

#[test]
fn every_operation_is_shown_or_has_a_reason_why_vcsim_cannot_show_it() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a workspace");
    let guide = fs::read_to_string(checkout.join("docs/vcsim.md")).expect("the guide to vcsim");
    // Of the way to a server this alone asks something by itself; the rest of it carries every story.
    let dial = calls(&checkout.join("crates/dial/src"));
    let asking = dial.into_iter().filter(|call| call == "dial::presented_certificate");
    let reality = Reality {
        stories: listed(&[]),
        ignored: listed(&["--ignored"]),
        limits: limits(&guide),
        calls: ["vim-client", "fleet-vsphere"]
            .iter()
            .flat_map(|name| calls(&checkout.join("crates").join(name).join("src")))
            .chain(asking)
            .collect(),
    };
    assert!(reality.stories.len() > 50 && reality.limits.len() > 10 && reality.calls.len() > 20);
    let problems = problems(TABLE, &reality);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_story_leaves_something_out_while_it_runs() {
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")) {
        let text = fs::read_to_string(&file).expect("a source file");
        for line in text.lines().filter(|line| line.contains("print")) {
            let excuse = ["skip", "not supported", "unsupported"]
                .iter()
                .any(|word| line.to_lowercase().contains(word));
            assert!(!excuse, "{}: give it a row in support/table.rs instead: {line}", file.display());
        }
    }
}

#[test]
fn a_table_that_is_not_true_is_found_out() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let reality = Reality {
        stories: names(&["a::story", "a::lazy_story"]),
        ignored: names(&["a::lazy_story"]),
        limits: names(&["linked disks"]),
        calls: names(&["machine::power", "machine::fly"]),
    };
    let table = [
        Row { operation: "power", calls: &["machine::power"], shown: Shown::In(&["a::story"]) },
        Row { operation: "swim", calls: &["machine::swim"], shown: Shown::In(&["a::tale"]) },
        Row { operation: "nap", calls: &[], shown: Shown::In(&[]) },
        Row { operation: "link", calls: &[], shown: Shown::CannotBe("linked disks") },
        Row { operation: "sing", calls: &[], shown: Shown::CannotBe("voices") },
    ];
    assert_eq!(
        problems(&table, &reality),
        [
            "swim: the client has no machine::swim",
            "swim: there is no story a::tale",
            "nap: no story shows it",
            "sing: docs/vcsim.md has no row \"voices\"",
            "machine::fly: no row of the table is about it",
            "a::lazy_story: it is not run, and nothing says why",
        ]
    );
}

fn problems(table: &[Row], reality: &Reality) -> Vec<String> {
    let mut problems = Vec::new();
    for Row { operation, calls, shown } in table {
        let unknown = calls.iter().filter(|call| !reality.calls.contains(**call));
        problems.extend(unknown.map(|call| format!("{operation}: the client has no {call}")));
        match shown {
            Shown::In([]) => problems.push(format!("{operation}: no story shows it")),
            Shown::In(stories) => {
                let missing = stories.iter().filter(|story| !reality.stories.contains(**story));
                problems.extend(missing.map(|story| format!("{operation}: there is no story {story}")));
            }
            Shown::CannotBe(row) if !reality.limits.contains(*row) => {
                problems.push(format!("{operation}: docs/vcsim.md has no row {row:?}"));
            }
            Shown::CannotBe(_) => {}
        }
    }
    let named: BTreeSet<&str> = table.iter().flat_map(|row| row.calls).copied().collect();
    let unnamed = reality.calls.iter().filter(|call| !named.contains(call.as_str()));
    problems.extend(unnamed.map(|call| format!("{call}: no row of the table is about it")));
    problems
        .extend(reality.ignored.iter().map(|story| format!("{story}: it is not run, and nothing says why")));
    problems
}

/// The stories of this very program, as it lists them.
fn listed(flags: &[&str]) -> BTreeSet<String> {
    let this = std::env::current_exe().expect("a program");
    let output =
        Command::new(this).args(["--list", "--format", "terse"]).args(flags).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let story = |line: &str| Some(line.strip_suffix(": test")?.trim_start_matches("vsphere::").to_owned());
    text.lines().filter_map(story).collect()
}

/// The first cells of the table of what vcsim cannot show.
fn limits(guide: &str) -> BTreeSet<String> {
    let section = guide.split("\n## ").find(|section| section.starts_with("What it cannot show"));
    let rows = section.expect("the section").lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| Some(row.split_once(" |")?.0.to_owned())).skip(1).collect()
}

/// All public asynchronous functions below a folder, by module.
fn calls(folder: &Path) -> BTreeSet<String> {
    let mut calls = BTreeSet::new();
    for file in sources(folder) {
        let module = file.strip_prefix(folder).expect("it is inside").with_extension("");
        let module = module.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("::");
        let text = fs::read_to_string(&file).expect("a source file");
        for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("pub async fn ")) {
            let name = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().expect("a name");
            calls.insert(format!("{module}::{name}"));
        }
    }
    calls
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
