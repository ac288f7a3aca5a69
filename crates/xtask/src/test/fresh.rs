//! The folder of a `--fresh` run: every cache starts empty in it, and it is removed afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Outcome, Trying};

#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// In the user's cache and not in the temporary space, which is often memory and too small for a build.
    pub(super) fn new(cache: &Path) -> Outcome<Self> {
        remove_abandoned(cache);
        let folder = cache.join(format!("fresh-{}", std::process::id()));
        fs::create_dir_all(&folder).trying(|| format!("create {}", folder.display()))?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("warning: {} stays behind: {error}", self.0.display());
        }
    }
}

/// An interrupted run could not remove its folder. Its name tells whether that process still lives.
fn remove_abandoned(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("fresh-"));
        if process.is_some_and(|id| !Path::new("/proc").join(id).exists())
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            eprintln!("warning: {} stays behind: {error}", entry.path().display());
        }
    }
}
