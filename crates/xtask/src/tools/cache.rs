//! The per-user cache of built tools: one folder per tool and key, built under a lock, the oldest ones removed.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use crate::failure::{Outcome, Trying};

/// Rewritten whenever an entry is used, and only after its build ended: an entry without it is a leftover, and
/// its age says which entries nobody needs.
const MARK: &str = ".used";
/// Entries kept per tool: a few branches side by side, not every revision ever tried.
const KEPT: usize = 3;

/// Where a build may write.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Under a temporary name, renamed when complete.
    ThenMoved,
    /// Under the final name, because the product contains its own path (the scripts of a virtual environment).
    InPlace,
}

#[derive(Debug)]
pub(super) struct Cache {
    pub(super) folder: PathBuf,
}

impl Cache {
    /// The entry of that key, built first if it is not there.
    pub(super) fn obtain(
        &self,
        tool: &str,
        key: u64,
        place: Place,
        build: impl FnOnce(&Path) -> Outcome<()>,
    ) -> Outcome<PathBuf> {
        fs::create_dir_all(&self.folder).trying(|| format!("create {}", self.folder.display()))?;
        let _lock = self.lock(tool)?;
        let entry = self.folder.join(format!("{tool}-{key:016x}"));
        if entry.join(MARK).exists() {
            println!("{tool}: ready in {}", entry.display());
        } else {
            println!("{tool}: building into {}", entry.display());
            let begin = Instant::now();
            let partial = self.folder.join(format!("{tool}.partial"));
            fill(&entry, &partial, place, build)?;
            println!("{tool}: built in {:.1} s", begin.elapsed().as_secs_f64());
        }
        fs::write(entry.join(MARK), "").trying(|| format!("mark {}", entry.display()))?;
        self.prune(tool)?;
        Ok(entry)
    }

    /// Held until dropped; the system releases it when its holder dies.
    fn lock(&self, tool: &str) -> Outcome<File> {
        let path = self.folder.join(format!("{tool}.lock"));
        let trying = || format!("lock {}", path.display());
        let file = File::create(&path).trying(trying)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                println!("{tool}: waiting for another build (lock {})", path.display());
                file.lock().trying(trying)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).trying(trying),
        }
        Ok(file)
    }

    /// Removes what has not been used for longest. The entry in use was marked a moment ago and stays.
    fn prune(&self, tool: &str) -> Outcome<()> {
        let trying = || format!("list {}", self.folder.display());
        let mut entries: Vec<(SystemTime, PathBuf)> = vec![];
        for entry in fs::read_dir(&self.folder).trying(trying)? {
            let path = entry.trying(trying)?.path();
            if is_entry_of(&path, tool) {
                let used = fs::metadata(path.join(MARK)).and_then(|mark| mark.modified());
                entries.push((used.unwrap_or(SystemTime::UNIX_EPOCH), path));
            }
        }
        entries.sort();
        let surplus = entries.len().saturating_sub(KEPT);
        entries.iter().take(surplus).try_for_each(|(_, path)| clear(path))
    }
}

fn fill(entry: &Path, partial: &Path, place: Place, build: impl FnOnce(&Path) -> Outcome<()>) -> Outcome<()> {
    clear(entry)?;
    match place {
        Place::InPlace => build(entry),
        Place::ThenMoved => {
            clear(partial)?;
            build(partial)?;
            fs::rename(partial, entry).trying(|| format!("rename to {}", entry.display()))
        }
    }
}

/// `<tool>-<16 hexadecimal digits>`; the digits keep `kube` from owning `kube-apiserver-…`.
fn is_entry_of(path: &Path, tool: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let key = name.strip_prefix(tool).and_then(|rest| rest.strip_prefix('-'));
    key.is_some_and(|key| key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn clear(folder: &Path) -> Outcome<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).trying(|| format!("remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Points `link` at `target`. A running test never sees it missing: the new link is renamed over the old one.
pub(super) fn link(target: &Path, link: &Path) -> Outcome<()> {
    let trying = || format!("link {}", link.display());
    let folder = link.parent().ok_or_else(trying)?;
    fs::create_dir_all(folder).trying(trying)?;
    let name = link.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    symlink(target, &temporary).trying(trying)?;
    fs::rename(&temporary, link).trying(trying)
}

#[cfg(test)]
mod tests;
