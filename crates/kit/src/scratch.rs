//! Where processes of tests keep their temporary files: what is killed cannot tidy up.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Child;

/// How often it is looked whether something has ended, and how many times.
const LOOK: Duration = Duration::from_millis(2);
const LOOKS: usize = 2500;

/// A temporary folder for one process. It goes when this goes, with whatever is in it.
#[derive(Debug)]
pub(crate) struct Scratch(Option<TempDir>);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(Some(TempDir::with_prefix("rookery-story-").expect("a temporary folder")))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().expect("it is there until the end").path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(folder) = self.0.take().map(TempDir::keep) else { return };
        // Guests of a process that was killed end right after it, and may still write something.
        for _ in 0..LOOKS {
            std::fs::remove_dir_all(&folder).ok();
            if !folder.exists() {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Ends a process and waits until it has: its files are removed next.
pub(crate) fn kill(child: &mut Child) {
    child.start_kill().ok();
    for _ in 0..LOOKS {
        if child.try_wait().map_or(true, |ended| ended.is_some()) {
            return;
        }
        std::thread::sleep(LOOK);
    }
}
