//! The files of the repository: those that git tracks, and new ones that it does not ignore.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Outcome, Trying};
use crate::process::capture;
use crate::workspace::Workspace;

#[derive(Debug)]
pub(crate) struct Checkout<'a> {
    pub(crate) workspace: &'a Workspace,
    /// Relative to the root, sorted.
    pub(crate) paths: BTreeSet<PathBuf>,
}

impl<'a> Checkout<'a> {
    pub(crate) fn read(workspace: &'a Workspace) -> Outcome<Self> {
        let mut git = workspace.command("git");
        let listing = capture(git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
        let names = listing.split_terminator('\0').map(PathBuf::from);
        // A file that was deleted but not yet committed is still listed.
        let paths = names.filter(|path| workspace.root.join(path).is_file()).collect();
        Ok(Self { workspace, paths })
    }

    /// Paths that end in `.kind`.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Path> {
        self.paths
            .iter()
            .map(PathBuf::as_path)
            .filter(move |path| path.extension().is_some_and(|end| end == kind))
    }

    pub(crate) fn text(&self, path: &Path) -> Outcome<String> {
        fs::read_to_string(self.workspace.root.join(path)).trying(|| format!("read {}", path.display()))
    }
}
