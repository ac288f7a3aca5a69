//! `cargo xtask tidy`: the house rules that no compiler checks. Every rule is a small function that returns all the
//! problems it found; nothing stops at the first.

mod banned;
mod directions;
mod duplicates;
mod fronts;
mod generated;
mod graph;
mod licences;
mod links;
mod manifests;
mod markdown;
mod mutants;
mod named_tests;
mod paths;
mod readme;
mod real_time;
mod sizes;
mod spdx;
mod test_functions;

use std::process::ExitCode;

use crate::checkout::Checkout;
use crate::failure::Outcome;
use crate::workspace::Workspace;
use graph::Graph;

/// Sentences, each with the place and what is wrong there.
type Problems = Vec<String>;

type GraphRule = fn(&Graph) -> Problems;
type FileRule = fn(&Checkout<'_>) -> Outcome<Problems>;

/// Rules about dependencies.
const GRAPH_RULES: &[(&str, GraphRule)] = &[
    ("dependency directions", directions::check),
    ("pure crates", directions::check_pure),
    ("packages of a front", fronts::check_confined),
    ("features", fronts::check_features),
    ("banned crates", banned::check),
    ("licences", licences::check),
    ("duplicate versions", duplicates::check),
];

/// Rules about files.
const FILE_RULES: &[(&str, FileRule)] = &[
    ("versions in one place", manifests::check),
    ("file sizes", sizes::check),
    ("links in documents", links::check),
    ("commands in the README", readme::check),
    ("generated files", generated::check),
    ("machine paths", paths::check),
    ("mutants", mutants::check),
    ("tests in documents", named_tests::check),
    ("stories on real time", real_time::check),
];

pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Outcome<ExitCode> {
    if let Some(unknown) = arguments.first() {
        return Err(format!("tidy: unknown argument {unknown}").into());
    }
    check(workspace)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn check(workspace: &Workspace) -> Outcome<()> {
    let checkout = Checkout::read(workspace)?;
    let mut found = 0;
    for (rule, check) in FILE_RULES {
        found += report(rule, &check(&checkout).unwrap_or_else(|failure| vec![failure.to_string()]));
    }
    // Last, because it fails as a whole where Cargo.lock is out of date.
    let graph = Graph::read(workspace)?;
    for (rule, check) in GRAPH_RULES {
        found += report(rule, &check(&graph));
    }
    if found == 0 { Ok(()) } else { Err(format!("tidy: problems found: {found}").into()) }
}

fn report(rule: &str, problems: &[String]) -> usize {
    println!("{rule}: {}", if problems.is_empty() { "ok" } else { "PROBLEMS" });
    for problem in problems {
        println!("  {problem}");
    }
    problems.len()
}
