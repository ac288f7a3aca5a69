//! Is everything here that a run needs? All answers at once, each with what to do.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Scope;
use crate::failure::Outcome;
use crate::process::probe;
use crate::workspace::Workspace;

/// The least Rust, from the workspace manifest.
const RUST: &str = env!("CARGO_PKG_RUST_VERSION");
/// A full build with its tests; less is a warning, because a warm cache needs much less.
const DISK_GIB: u64 = 8;

pub(super) fn check(workspace: &Workspace, scope: &Scope) -> Outcome<()> {
    let mut problems = vec![];
    let mut need =
        |mut command: Command, accept: &dyn Fn(&str) -> bool, otherwise: &str| match probe(&mut command) {
            Some(answer) if accept(&answer) => println!("{}", answer.lines().next().unwrap_or_default()),
            Some(answer) => problems.push(format!("{answer}: {otherwise}")),
            None => problems.push(otherwise.to_owned()),
        };
    let program = |program: &str, arguments: &[&str]| {
        let mut command = workspace.command(program);
        command.args(arguments);
        command
    };
    let recent = |answer: &str| version(answer) >= version(RUST);
    let update = format!(
        "Rust {RUST} or later is needed: install it from https://rustup.rs or run `rustup update stable`"
    );
    need(workspace.cargo(["--version"]), &recent, &update);
    need(program("rustc", &["--version"]), &recent, &update);
    need(workspace.cargo(["fmt", "--version"]), &any, "rustfmt is missing: rustup component add rustfmt");
    need(workspace.cargo(["clippy", "--version"]), &any, "clippy is missing: rustup component add clippy");
    need(
        program("git", &["--version"]),
        &any,
        "git is missing (tidy asks it for the files): apt-get install git",
    );
    if *scope != Scope::Fast {
        let go = "Go is missing (the real components are built with it): install it from https://go.dev/dl, or use --fast";
        need(program("go", &["version"]), &any, go);
        let python = "python3 is missing (pyvmomi runs in it): apt-get install python3, or use --fast";
        need(program("python3", &["--version"]), &any, python);
    }
    warn_of_little_space(workspace);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

fn any(_: &str) -> bool {
    true
}

/// Major and minor number of the first word that looks like a version.
fn version(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut numbers = word.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    })
}

fn warn_of_little_space(workspace: &Workspace) {
    // Intermediates live in cargo's home, everything else in the target folder and the cache.
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(env::home_dir);
    for folder in [Some(workspace.target.clone()), cargo_home].into_iter().flatten() {
        let Some(free) = existing(&folder).and_then(|folder| free_gib(workspace, &folder)) else { continue };
        if free < DISK_GIB {
            println!(
                "warning: {free} GiB free for {}; a build from nothing needs {DISK_GIB}",
                folder.display()
            );
        }
    }
}

fn existing(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|ancestor| ancestor.exists()).map(Path::to_owned)
}

fn free_gib(workspace: &Workspace, folder: &Path) -> Option<u64> {
    free_of(&probe(workspace.command("df").arg("-Pk").arg(folder))?)
}

/// The fourth column of `df -Pk`, in GiB.
fn free_of(df: &str) -> Option<u64> {
    let kib: u64 = df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kib / (1024 * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(version("rustc 1.95.0 (59807616e 2026-04-14)"), Some((1, 95)));
        assert_eq!(version("cargo 1.100.0-nightly"), Some((1, 100)));
        assert!(version("rustc 1.100.0") > version("1.95") && version("rustc 1.9.0") < version("1.95"));
        assert!(version("no version") < version("1.95"));
    }

    #[test]
    fn free_space_is_the_fourth_column() {
        let df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264000000 13000000 82837504 14% /";
        assert_eq!(free_of(df), Some(79));
        assert_eq!(free_of(""), None);
    }
}
