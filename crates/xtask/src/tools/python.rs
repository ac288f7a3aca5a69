//! Python packages in a virtual environment of their own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Outcome, Trying};
use crate::fnv::Fnv;
use crate::process::{capture, run};
use crate::workspace::Workspace;

#[derive(Debug)]
pub(super) struct Environment {
    /// The folder with `requirements.txt`.
    pub(super) source: PathBuf,
}

impl Environment {
    /// Changes with the pins and with the interpreter: an environment links to the one that created it.
    pub(super) fn key(&self, workspace: &Workspace) -> Outcome<u64> {
        let path = self.requirements();
        let pins = fs::read(&path).trying(|| format!("read {}", path.display()))?;
        let interpreter = "import sys; print(sys.version, sys.base_prefix)";
        let mut fnv = Fnv::new();
        fnv.add("requirements.txt", &pins);
        fnv.add("python", capture(workspace.command("python3").args(["-c", interpreter]))?.as_bytes());
        Ok(fnv.finish())
    }

    pub(super) fn build(&self, workspace: &Workspace, into: &Path) -> Outcome<()> {
        run(workspace.command("python3").args(["-m", "venv"]).arg(into))?;
        let pip = || {
            let mut pip = workspace.command(into.join("bin/python"));
            pip.args(["-m", "pip", "--disable-pip-version-check", "--quiet"]);
            pip
        };
        // Only what is pinned is installed; `check` then finds the dependency that nobody pinned.
        run(pip().args(["install", "--no-deps", "-r"]).arg(self.requirements()))?;
        run(pip().arg("check"))
    }

    fn requirements(&self) -> PathBuf {
        self.source.join("requirements.txt")
    }
}
