//! Debian packages that tests need. As root the missing ones are installed; anybody else is told the command.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::failure::Outcome;
use crate::process::{probe, run};
use crate::workspace::Workspace;

#[derive(Debug)]
struct Package {
    name: &'static str,
    proof: Proof,
    needed_by: &'static str,
}

/// What shows that a package is there. Not the package database: other systems have the same programs.
#[derive(Debug)]
enum Proof {
    File(&'static str),
    PythonModule(&'static str),
}

const PACKAGES: &[Package] = &[
    Package { name: "tmux", proof: Proof::File("/usr/bin/tmux"), needed_by: "stories on a terminal" },
    // Debian's python3 has venv but not the part that puts pip into an environment.
    Package { name: "python3-venv", proof: Proof::PythonModule("ensurepip"), needed_by: "the pyvmomi tool" },
];

pub(super) fn install(workspace: &Workspace) -> Outcome<()> {
    let missing = missing(workspace);
    if missing.is_empty() {
        println!("all here: {}", names(&PACKAGES.iter().collect::<Vec<_>>()));
        return Ok(());
    }
    if !is_root() {
        return Err(request(&missing).into());
    }
    println!("installing {}", names(&missing));
    let apt = || {
        let mut apt = workspace.command("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    run(apt().arg("update"))?;
    let packages = missing.iter().map(|package| package.name);
    run(apt().args(["install", "-y", "--no-install-recommends"]).args(packages))?;
    let missing = self::missing(workspace);
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("still missing after the installation: {}", names(&missing)).into())
    }
}

fn missing(workspace: &Workspace) -> Vec<&'static Package> {
    let absent = |package: &&Package| match package.proof {
        Proof::File(path) => !Path::new(path).exists(),
        Proof::PythonModule(module) => {
            probe(workspace.command("python3").args(["-c", &format!("import {module}")])).is_none()
        }
    };
    PACKAGES.iter().filter(absent).collect()
}

/// The owner of our own entry in /proc is the effective user.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn request(missing: &[&Package]) -> String {
    let reasons = missing
        .iter()
        .map(|package| format!("{} is missing, needed by {}\n", package.name, package.needed_by));
    let reasons: String = reasons.collect();
    format!(
        "{reasons}run: sudo apt-get update && sudo apt-get install -y --no-install-recommends {}",
        names(missing)
    )
}

fn names(packages: &[&Package]) -> String {
    packages.iter().map(|package| package.name).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_says_why_and_how() {
        let [tmux, ..] = PACKAGES else { panic!("no packages") };
        assert_eq!(
            request(&[tmux]),
            "tmux is missing, needed by stories on a terminal\n\
             run: sudo apt-get update && sudo apt-get install -y --no-install-recommends tmux"
        );
    }
}
