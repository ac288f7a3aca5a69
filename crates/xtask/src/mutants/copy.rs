//! A copy of the checkout to break things in. It stays in the user's cache with what was built from it, so that the
//! next run compiles only what changed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::checkout::Checkout;
use crate::failure::{Outcome, Trying};
use crate::workspace::Workspace;

#[derive(Debug)]
pub(super) struct Copy {
    pub(super) workspace: Workspace,
    /// Two runs would take each other's mutants for their own.
    _lock: File,
}

impl Copy {
    /// Makes the copy equal to the checkout, changes that are not committed included.
    pub(super) fn of(original: &Workspace) -> Outcome<Self> {
        let folder = original.cache.join("mutants");
        let workspace = original.copied_to(&folder);
        fs::create_dir_all(&workspace.root).trying(|| format!("create {}", workspace.root.display()))?;
        println!("the copy is in {}", folder.display());
        let lock = File::create(folder.join("lock")).trying(|| format!("lock {}", folder.display()))?;
        lock.lock().trying(|| format!("lock {}", folder.display()))?;
        mirror(&original.root, &Checkout::read(original)?.paths, &workspace.root)?;
        Ok(Self { workspace, _lock: lock })
    }
}

/// Makes the files of `to` those of `from`. What is equal is left alone: cargo goes by age.
fn mirror(from: &Path, paths: &BTreeSet<PathBuf>, to: &Path) -> Outcome<()> {
    remove_others(to, to, paths).trying(|| format!("clean {}", to.display()))?;
    for path in paths {
        let (source, copy) = (from.join(path), to.join(path));
        let trying = || format!("copy {}", source.display());
        let content = fs::read(&source).trying(trying)?;
        if fs::read(&copy).is_ok_and(|there| there == content) {
            continue;
        }
        fs::create_dir_all(copy.parent().unwrap_or(to)).trying(trying)?;
        fs::write(&copy, content).trying(trying)?;
    }
    Ok(())
}

/// Removes files that are not to be there, and folders that are empty then: a crate or a test that is gone would still
/// be found by its place.
fn remove_others(root: &Path, folder: &Path, paths: &BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            remove_others(root, &path, paths)?;
            if fs::read_dir(&path)?.next().is_none() {
                fs::remove_dir(&path)?;
            }
        } else if !path.strip_prefix(root).is_ok_and(|relative| paths.contains(relative)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// A folder of its own, removed at the end.
    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_copy_follows_the_checkout_and_leaves_equal_files_alone() {
        let scratch = Scratch(std::env::temp_dir().join(format!("xtask-mutants-{}", std::process::id())));
        let (from, to) = (scratch.0.join("from"), scratch.0.join("to"));
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["same.rs", "a/changed.rs", "a/ignored.rs"] {
            write(&from.join(name), "fn now() {}");
        }
        write(&to.join("same.rs"), "fn now() {}");
        write(&to.join("a/changed.rs"), "fn mutated() {}");
        write(&to.join("gone/tests/gone.rs"), "fn gone() {}");
        let same = File::options().write(true).open(to.join("same.rs")).unwrap();
        same.set_modified(SystemTime::UNIX_EPOCH).unwrap();

        mirror(&from, &["same.rs", "a/changed.rs"].map(PathBuf::from).into(), &to).unwrap();

        assert_eq!(same.metadata().unwrap().modified().unwrap(), SystemTime::UNIX_EPOCH);
        assert_eq!(fs::read_to_string(to.join("a/changed.rs")).unwrap(), "fn now() {}");
        assert!(!to.join("a/ignored.rs").exists());
        assert!(!to.join("gone").exists());
    }
}
