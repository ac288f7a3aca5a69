//! `cargo xtask test`: from a fresh clone on a fresh machine to one line of numbers.
//!
//! The order matters on two cores: cheap answers first, never cargo and Go at once. A failed step stops only
//! what depends on it, so that one run shows everything that is wrong.

mod counts;
mod fresh;
mod packages;
mod preflight;
mod programs;
mod report;
mod run;
mod times;

use std::process::{Command, ExitCode};
use std::thread;

use crate::failure::{Failure, Outcome};
use crate::process::{self, capture};
use crate::workspace::Workspace;
use crate::{tidy, tools};
use fresh::Scratch;
use programs::{Lane, Program};
use report::Report;
use times::Started;

/// Which suites run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Scope {
    All,
    /// Without the real components and the stories about them.
    Fast,
    /// The tests of one front alone, without any other check.
    Front(String),
}

pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Outcome<ExitCode> {
    let (mut scope, mut fresh) = (Scope::All, false);
    for argument in arguments {
        let wanted = match argument.as_str() {
            "--fresh" => {
                fresh = true;
                continue;
            }
            "--fast" => Scope::Fast,
            front if programs::FRONTS.contains(&front) => Scope::Front(front.to_owned()),
            _ => return Err(unknown(argument)),
        };
        if scope != Scope::All {
            return Err(
                format!("test: {argument} comes beside another choice of tests; one is possible").into()
            );
        }
        scope = wanted;
    }
    let report = if fresh {
        let scratch = Scratch::new(&workspace.cache)?;
        println!("empty caches in {}", scratch.path().display());
        steps(&workspace.fresh(scratch.path()), &scope)
    } else {
        steps(workspace, &scope)
    };
    report.print();
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn unknown(argument: &str) -> Failure {
    let fronts = programs::FRONTS.join(", ");
    format!("test: unknown argument {argument}; there is --fast, --fresh, or the name of a front: {fronts}")
        .into()
}

fn steps(workspace: &Workspace, scope: &Scope) -> Report {
    let mut report = Report::default();
    if !report.step("preflight", || preflight::check(workspace, scope)) {
        return report;
    }
    match scope {
        Scope::Fast => report.not_run("packages", "--fast: only the stories need them"),
        Scope::All | Scope::Front(_) if report.step("packages", || packages::install(workspace)) => {}
        Scope::All | Scope::Front(_) => return report,
    }
    match scope {
        Scope::Front(_) => report.not_run("checks of the sources", "only one front is tested"),
        Scope::All | Scope::Fast => check_sources(workspace, &mut report),
    }
    let ready = match scope {
        Scope::Fast => {
            report.not_run("tools", "--fast: only the stories need them");
            true
        }
        Scope::All | Scope::Front(_) => report.step("tools", || tools::make(workspace, &[])),
    };
    let mut programs = Vec::new();
    let built = report.step("build", || programs::build(workspace).map(|built| programs = built));
    if ready && built {
        report.step_with("run", |report| run_tests(workspace, scope, &programs, report));
    } else {
        report.not_run("run", "needs the tools and the build");
    }
    if !matches!(scope, Scope::Front(_)) {
        report.step("docs", || process::run(workspace.cargo(DOCS).env("RUSTDOCFLAGS", "-D warnings")));
    }
    report
}

fn check_sources(workspace: &Workspace, report: &mut Report) {
    report.step("fmt", || process::run(&mut workspace.cargo(["fmt", "--all", "--check"])));
    report.step("clippy", || process::run(workspace.cargo(CLIPPY).args(["--", "-D", "warnings"])));
    report.step("product", || process::run(&mut workspace.cargo(["check", "--locked", "-p", "rookery"])));
    report.step("features", || check_features(workspace));
    report.step("tidy", || tidy::check(workspace));
}

/// Checks the program as somebody builds it who wants only some of it.
fn check_features(workspace: &Workspace) -> Outcome<()> {
    for features in FEATURES {
        let wanted = ["--no-default-features", "--features", features];
        process::run(workspace.cargo(SOME_FEATURES).args(wanted).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

/// None, and each alone; all of them together are what everything else is tested with.
const FEATURES: [&str; 5] = ["", "hatchery", "operator", "fulfillment", "sim"];
const SOME_FEATURES: [&str; 7] = ["rustc", "--locked", "-p", "rookery", "--lib", "--profile", "check"];
const CLIPPY: [&str; 4] = ["clippy", "--workspace", "--all-targets", "--locked"];
const DOCS: [&str; 4] = ["doc", "--workspace", "--no-deps", "--locked"];

/// Runs all of them, whichever fail.
fn run_tests(workspace: &Workspace, scope: &Scope, programs: &[Program], report: &mut Report) -> Outcome<()> {
    let (tools, product) = (workspace.tools(), workspace.target.join("debug/rookery"));
    // The stories start the product as a user would.
    let environment = [("ROOKERY_TOOLS", tools.as_path()), ("ROOKERY_BIN", product.as_path())];
    let mut wanted = Vec::new();
    for program in programs {
        let reason = match scope {
            Scope::All => None,
            Scope::Fast => program.has_stories().then_some("--fast leaves out what needs real components"),
            Scope::Front(front) => (!program.is_of(front)).then_some("they are of something else"),
        };
        match reason {
            Some(reason) => report.tests.skipped += leave_out(program, reason)?,
            None => wanted.push(program),
        }
    }
    let started = Started::now();
    let results: Vec<_> = thread::scope(|scope| {
        let lane = |lane| wanted.iter().filter(move |program| program.lane == lane);
        let lanes = Lane::ALL.map(|is| {
            let programs: Vec<_> = lane(is).collect();
            scope.spawn(move || programs.into_iter().map(|program| run::run(program, &environment)).collect())
        });
        lanes.into_iter().flat_map(|lane| lane.join().unwrap_or_else(|_| vec![run::broken()])).collect()
    });
    report.times.all(started);
    let mut failures = Vec::new();
    for ran in results {
        report.tests += ran.counts;
        report.times.program(ran.times);
        failures.extend(ran.failure);
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn leave_out(program: &Program, reason: &str) -> Outcome<usize> {
    let mut list = Command::new(&program.executable);
    let listing = capture(list.args(&program.arguments).arg("--list").current_dir(&program.folder))?;
    let skipped = counts::listed(&listing);
    println!("skipped: {skipped} tests of {}: {reason}", program.name);
    Ok(skipped)
}
