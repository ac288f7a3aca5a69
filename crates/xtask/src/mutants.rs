//! `cargo xtask mutants`: breaks safety rules on purpose, one line at a time, and wants the tests to notice.
//!
//! A test that passes with the rule and without it protects nothing. The rows of `mutants.list` name the rules and the
//! tests that stand for them.

mod copy;
pub(crate) mod list;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::failure::{Outcome, Trying};
use crate::process::{run, shown};
use crate::workspace::Workspace;
use copy::Copy;
use list::{LIST, Mutant, Suite, Test, parse};
use verdict::Verdict;

/// In seconds. A mutant may make its test wait forever; stories that build the program first take long, too.
const LIMIT: &str = "600";

pub(crate) fn main(workspace: &Workspace, filters: &[String]) -> Outcome<ExitCode> {
    let list = fs::read_to_string(workspace.root.join(LIST)).trying(|| format!("read {LIST}"))?;
    let wanted = |mutant: &Mutant| filters.is_empty() || filters.iter().any(|part| mutant.id.contains(part));
    let mut mutants: Vec<Mutant> = parse(&list)?.into_iter().filter(wanted).collect();
    if mutants.is_empty() {
        return Err(format!("no mutant in {LIST} has {} in its name", filters.join(" or ")).into());
    }
    // Neighbours share most of a build.
    mutants.sort_by(|one, other| one.tests.first().cmp(&other.tests.first()));

    let copy = Copy::of(workspace)?;
    all_pass(&copy.workspace, &mutants)?;

    let width = mutants.iter().map(|mutant| mutant.id.len()).max().unwrap_or_default();
    println!("\n{:width$}  {:>7}  killed by", "mutant", "time");
    let mut bad = 0;
    for mutant in &mutants {
        let begin = Instant::now();
        let verdict = try_out(&copy.workspace, mutant)?;
        let took = format!("{:.1} s", begin.elapsed().as_secs_f64());
        println!("{:width$}  {took:>7}  {verdict}", mutant.id);
        if !matches!(verdict, Verdict::Killed(_)) {
            println!("{:width$}  {:>7}  {}: {}", "", "", mutant.file, mutant.breaks);
            bad += 1;
        }
    }
    println!("{} killed, {bad} not", mutants.len() - bad);
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A test that fails anyway says nothing about a mutant.
fn all_pass(copy: &Workspace, mutants: &[Mutant]) -> Outcome<()> {
    for (suite, names) in by_suite(mutants.iter().flat_map(|mutant| &mutant.tests)) {
        run(&mut build(copy, suite))?;
        let output = run_tests(copy, suite, &names)?;
        for name in names {
            let wrong = match verdict::passed(&output, name) {
                Some(true) => continue,
                Some(false) => "fails without any mutant",
                None => "gave no result; is that its full name?",
            };
            return Err(format!("{output}\n{suite} {name} {wrong}").into());
        }
    }
    Ok(())
}

/// Applies a mutant, runs its tests and takes it back. If this fails in between, the next copy takes it back.
fn try_out(copy: &Workspace, mutant: &Mutant) -> Outcome<Verdict> {
    let path = copy.root.join(&mutant.file);
    let trying = || format!("mutate {}", path.display());
    let original = fs::read_to_string(&path).trying(trying)?;
    let mutated = match mutant.apply(&original) {
        Ok(mutated) => mutated,
        Err(failure) => return Ok(Verdict::Broken(failure.to_string())),
    };
    fs::write(&path, mutated).trying(trying)?;
    let mut verdicts = vec![];
    for (suite, names) in by_suite(&mutant.tests) {
        let mut build = build(copy, suite);
        let output = build.output().trying(|| format!("start `{}`", shown(&build)))?;
        verdicts.push(if output.status.success() {
            Verdict::of(&names, &run_tests(copy, suite, &names)?)
        } else {
            let errors = String::from_utf8_lossy(&output.stderr);
            Verdict::Broken(format!("it does not compile\n{errors}"))
        });
    }
    fs::write(&path, original).trying(trying)?;
    Ok(Verdict::all(verdicts))
}

fn by_suite<'t>(tests: impl IntoIterator<Item = &'t Test>) -> BTreeMap<&'t Suite, BTreeSet<&'t str>> {
    let mut suites: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for Test { suite, name } in tests {
        suites.entry(suite).or_default().insert(name.as_str());
    }
    suites
}

/// Apart from running them: what does not compile is not a test that fails.
fn build(copy: &Workspace, suite: &Suite) -> Command {
    let mut cargo = copy.cargo(["test", "--locked", "--no-run"]);
    cargo.args(suite.arguments());
    cargo
}

/// What the tests print, however they end.
fn run_tests(copy: &Workspace, suite: &Suite, names: &BTreeSet<&str>) -> Outcome<String> {
    let mut tests = copy.command("timeout");
    tests.arg(LIMIT).arg(copy.cargo([]).get_program()).args(["test", "--locked"]).args(suite.arguments());
    // Stories would start that program rather than the mutant.
    tests.args(["--", "--exact"]).args(names).env_remove("ROOKERY_BIN");
    let output = tests.output().trying(|| format!("start `{}`", shown(&tests)))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
