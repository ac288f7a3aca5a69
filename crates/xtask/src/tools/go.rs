//! Programs of a Go module of ours, or of those that it requires.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Outcome, Trying};
use crate::fnv::Fnv;
use crate::process::{capture, run};
use crate::workspace::Workspace;

/// Small files that do not depend on where they were built. Version stamps would need git history and change
/// with every commit.
const FLAGS: &[&str] = &["-trimpath", "-buildvcs=false", "-ldflags=-s -w"];

#[derive(Debug)]
pub(super) struct Module {
    pub(super) source: PathBuf,
    /// Folders of the module with a `main` each.
    pub(super) programs: &'static [&'static str],
    /// Programs of modules that it requires, by their paths.
    pub(super) packages: &'static [&'static str],
    /// More flags of the compiler.
    pub(super) flags: &'static [&'static str],
}

/// What the program of a package is called.
pub(super) fn program(package: &'static str) -> Option<&'static str> {
    package.rsplit('/').next()
}

impl Module {
    /// Changes with the sources, the pinned dependencies, the compiler and the flags.
    pub(super) fn key(&self, workspace: &Workspace) -> Outcome<u64> {
        let mut fnv = Fnv::new();
        fnv.add(
            "version",
            capture(workspace.command("go").current_dir(&self.source).arg("version"))?.as_bytes(),
        );
        fnv.add("flags", [FLAGS, self.flags, self.packages].concat().join(" ").as_bytes());
        let mut files = vec![];
        sources(&self.source, &mut files)?;
        files.sort();
        for path in files {
            let content = fs::read(&path).trying(|| format!("read {}", path.display()))?;
            let name = path.strip_prefix(&self.source).unwrap_or(&path);
            fnv.add(&name.to_string_lossy(), &content);
        }
        Ok(fnv.finish())
    }

    /// One call for all programs: they share most packages, and the linker runs beside the compiler.
    pub(super) fn build(&self, workspace: &Workspace, into: &Path) -> Outcome<()> {
        fs::create_dir_all(into).trying(|| format!("create {}", into.display()))?;
        let mut packages: Vec<String> = self.packages.iter().map(|&path| path.to_owned()).collect();
        for program in self.programs {
            let mut files = vec![];
            let folder = self.source.join(program);
            if folder.is_dir() {
                sources(&folder, &mut files)?;
            }
            if !files.is_empty() {
                packages.push(format!("./{program}"));
            }
        }
        let mut go = workspace.command("go");
        // Without cgo the programs need neither a C compiler to build nor the system's libraries to run.
        go.current_dir(&self.source).env("CGO_ENABLED", "0");
        run(go.arg("build").args(FLAGS).args(self.flags).arg("-o").arg(into).args(packages))
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Outcome<()> {
    let trying = || format!("list {}", folder.display());
    for entry in fs::read_dir(folder).trying(trying)? {
        let path = entry.trying(trying)?.path();
        let named = |name: &str| path.file_name().is_some_and(|file| file == name);
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|kind| kind == "go") || named("go.mod") || named("go.sum") {
            found.push(path);
        }
    }
    Ok(())
}
