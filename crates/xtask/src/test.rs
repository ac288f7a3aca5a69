//! `cargo xtask test`: from a fresh clone on a fresh machine to one line of numbers.
//!
//! The order matters on two cores: cheap answers first, never cargo and Go at once. A failed step stops only
//! what depends on it, so that one run shows everything that is wrong.

mod counts;
mod fresh;
mod packages;
mod preflight;
mod report;

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use crate::failure::{Outcome, Trying};
use crate::process::{capture, run, shown};
use crate::workspace::Workspace;
use crate::{tidy, tools};
use counts::Counts;
use fresh::Scratch;
use report::Report;

/// The crate whose tests need the real components.
const STORIES: &str = "rookery-stories";

/// Which suites run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    /// Without the real components and the stories about them.
    Fast,
}

pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Outcome<ExitCode> {
    let (mut scope, mut fresh) = (Scope::All, false);
    for argument in arguments {
        match argument.as_str() {
            "--fast" => scope = Scope::Fast,
            "--fresh" => fresh = true,
            _ => return Err(format!("test: unknown argument {argument}; there is --fast and --fresh").into()),
        }
    }
    let report = if fresh {
        let scratch = Scratch::new(&workspace.cache)?;
        println!("empty caches in {}", scratch.path().display());
        steps(&workspace.fresh(scratch.path()), scope)
    } else {
        steps(workspace, scope)
    };
    report.print();
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn steps(workspace: &Workspace, scope: Scope) -> Report {
    let mut report = Report::default();
    if !report.step("preflight", || preflight::check(workspace, scope)) {
        return report;
    }
    match scope {
        Scope::Fast => report.not_run("packages", "--fast: only the stories need them"),
        Scope::All if report.step("packages", || packages::install(workspace)) => {}
        Scope::All => return report,
    }
    report.step("fmt", || run(&mut workspace.cargo(["fmt", "--all", "--check"])));
    report.step("clippy", || run(workspace.cargo(CLIPPY).args(["--", "-D", "warnings"])));
    report.step("tidy", || tidy::check(workspace));
    let ready = match scope {
        Scope::Fast => {
            report.not_run("tools", "--fast: only the stories need them");
            true
        }
        Scope::All => report.step("tools", || tools::make(workspace, &[])),
    };
    let built = report.step("build tests", || build(workspace));
    if ready && built {
        let mut counts = Counts::default();
        report.step("run", || run_tests(workspace, scope, &mut counts));
        report.tests = counts;
    } else {
        report.not_run("run", "needs the tools and the build");
    }
    report.step("docs", || run(workspace.cargo(DOCS).env("RUSTDOCFLAGS", "-D warnings")));
    report
}

const CLIPPY: [&str; 4] = ["clippy", "--workspace", "--all-targets", "--locked"];
const DOCS: [&str; 4] = ["doc", "--workspace", "--no-deps", "--locked"];

fn build(workspace: &Workspace) -> Outcome<()> {
    run(&mut workspace.cargo(["test", "--workspace", "--no-run", "--locked"]))?;
    // The stories start the product as a user would.
    run(&mut workspace.cargo(["build", "--locked", "-p", "rookery"]))
}

fn run_tests(workspace: &Workspace, scope: Scope, counts: &mut Counts) -> Outcome<()> {
    let mut tests = workspace.cargo(["test", "--workspace", "--locked", "--no-fail-fast"]);
    tests.env("ROOKERY_TOOLS", workspace.tools());
    tests.env("ROOKERY_BIN", workspace.target.join("debug/rookery"));
    if scope == Scope::Fast {
        counts.skipped += count_stories(workspace)?;
        println!(
            "skipped: {} tests of {STORIES}: --fast leaves out what needs real components",
            counts.skipped
        );
        tests.args(["--exclude", STORIES]);
    }
    run_counting(&mut tests, counts)
}

fn count_stories(workspace: &Workspace) -> Outcome<usize> {
    let listing = capture(&mut workspace.cargo(["test", "--locked", "-p", STORIES, "--", "--list"]))?;
    Ok(counts::listed(&listing))
}

/// Shows the output as it comes and adds up the result lines in it.
fn run_counting(tests: &mut Command, counts: &mut Counts) -> Outcome<()> {
    let mut child = tests.stdout(Stdio::piped()).spawn().trying(|| format!("start `{}`", shown(tests)))?;
    let output = child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).split(b'\n'));
    for line in output {
        let line = line.trying(|| format!("read from `{}`", shown(tests)))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        *counts += Counts::of(&line);
    }
    let status = child.wait().trying(|| format!("wait for `{}`", shown(tests)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", shown(tests)).into()) }
}
