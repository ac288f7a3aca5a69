//! `cargo xtask bench NAME`: benchmarks are the binaries of `rookery-bench`, run in release mode beside real components.

use std::process::ExitCode;

use crate::failure::Outcome;
use crate::process::run;
use crate::tools;
use crate::workspace::Workspace;

/// Name on the command line, its binary, and what it needs beside the usual tools.
const BENCHES: &[(&str, &str, &[&str])] = &[
    ("day", "bench-day", &[]),
    ("hatchery", "bench-hatchery", &[]),
    ("metrics", "bench-metrics", &["prometheus"]),
    ("sim", "bench-sim", &[]),
    ("vim", "bench-vim", &[]),
];

pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Outcome<ExitCode> {
    let known = || BENCHES.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    let Some((name, rest)) = arguments.split_first() else {
        return Err(format!("which benchmark? There is: {}", known()).into());
    };
    let Some((_, binary, needs)) = BENCHES.iter().find(|(known, ..)| known == name) else {
        return Err(format!("there is no benchmark {name}; there is: {}", known()).into());
    };
    tools::make(workspace, &[])?;
    if !needs.is_empty() {
        let needs: Vec<_> = needs.iter().map(|&name| name.to_owned()).collect();
        tools::make(workspace, &needs)?;
    }
    // The program itself, too: some of them measure it.
    let packages = ["-p", "rookery-bench", "-p", "rookery", "--bin", binary, "--bin", "rookery"];
    run(workspace.cargo(["build", "--release", "--locked"]).args(packages))?;
    let program = workspace.target.join("release").join(binary);
    run(workspace.command(program).args(rest).env("ROOKERY_TOOLS", workspace.tools()))?;
    Ok(ExitCode::SUCCESS)
}
