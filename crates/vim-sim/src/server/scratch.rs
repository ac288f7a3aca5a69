//! Temporary folders that do not outlive their process for long: what one that was killed left goes with the next start.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

/// What all of them are called.
const PREFIX: &str = "rookery-sim-";
/// Locked as long as the process lives: a lock that can be had proves that its owner is dead.
const LOCK: &str = "lock";
/// The same file before it is locked. Nobody asks for it under this name.
const UNLOCKED: &str = "unlocked";

/// A temporary folder. It goes when this goes.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TempDir,
    _lock: Option<File>,
}

impl Scratch {
    /// Makes one, and removes what dead processes of this user have left.
    pub(super) fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(place: &Path) -> io::Result<Self> {
        sweep(place);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        // Where nothing can be locked, nobody may sweep.
        let lock = lock(folder.path()).ok();
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn lock(folder: &Path) -> io::Result<File> {
    let (before, after) = (folder.join(UNLOCKED), folder.join(LOCK));
    let file = File::create(&before)?;
    file.try_lock().map_err(io::Error::from)?;
    fs::rename(before, after)?;
    Ok(file)
}

fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    let ours = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
    for folder in entries.flatten().filter(|entry| ours(&entry.file_name())).map(|entry| entry.path()) {
        if is_left_over(&folder).unwrap_or(false) {
            // Somebody else may be at it, too.
            fs::remove_dir_all(&folder).ok();
        }
    }
}

/// Whether it is a folder of this user, whose process has ended.
fn is_left_over(folder: &Path) -> io::Result<bool> {
    let (own, found) = (fs::metadata("/proc/self")?.uid(), fs::symlink_metadata(folder)?);
    if !found.is_dir() || found.uid() != own {
        return Ok(false);
    }
    Ok(File::open(folder.join(LOCK))?.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_process_left_goes_with_the_next_start() {
        let place = tempfile::tempdir().expect("a folder");
        let alive = Scratch::new_in(place.path()).expect("a folder");
        // As after `kill -9`: the folder stays, the lock does not.
        let dead = place.path().join(format!("{PREFIX}dead"));
        fs::create_dir_all(dead.join("guests/vm-1")).expect("a folder");
        drop(lock(&dead).expect("a lock"));
        // Not provably ours, or not yet locked.
        let others = [format!("{PREFIX}bare"), format!("{PREFIX}young"), "somebodys".to_owned()];
        for name in &others {
            fs::create_dir(place.path().join(name)).expect("a folder");
        }
        File::create(place.path().join(&others[1]).join(UNLOCKED)).expect("a file");
        File::create(place.path().join(&others[2]).join(LOCK)).expect("a file");
        let link = place.path().join(format!("{PREFIX}link"));
        std::os::unix::fs::symlink(place.path().join(&others[2]), &link).expect("a link");

        let next = Scratch::new_in(place.path()).expect("a folder");
        assert!(!dead.exists());
        for kept in others.iter().map(|name| place.path().join(name)).chain([link]) {
            assert!(kept.exists(), "{}", kept.display());
        }
        let paths = [alive.path().to_owned(), next.path().to_owned()];
        assert!(paths.iter().all(|path| path.exists()), "{paths:?}");
        drop((alive, next));
        assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
    }
}
