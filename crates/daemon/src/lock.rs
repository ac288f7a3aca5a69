//! One process of a name on a machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::ProcessName;

/// How often a process that stands by tries again.
const STANDBY: Duration = Duration::from_secs(1);

/// What to do if another process of the same name runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Fail.
    Refuse,
    /// Wait until it is gone.
    Standby,
}

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process of this name holds it.
    #[error("{process} runs already on this machine (it holds {}); stop it", path.display())]
    Held {
        process: ProcessName,
        /// The file that is locked.
        path: PathBuf,
    },
    /// The file cannot be locked.
    #[error("cannot tell whether {process} runs already: {} cannot be locked", path.display())]
    Unusable {
        process: ProcessName,
        /// The file that should be locked.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Held while a process of a name runs on this machine; the system releases it however the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a process in a folder; waits for it when standing by.
    pub async fn take(
        folder: &Path,
        process: &ProcessName,
        policy: Policy,
        stop: &CancellationToken,
    ) -> Result<Self, LockError> {
        let path = process.file(folder, "lock");
        let failed = |source| LockError::Unusable { process: process.clone(), path: path.clone(), source };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if policy == Policy::Standby && !stop.is_cancelled() => {
                    if !std::mem::replace(&mut told, true) {
                        info!(lock = %path.display(), "standing by: another process of this name runs on this machine");
                    }
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => {}
                        () = sleep(STANDBY) => {}
                    }
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { process: process.clone(), path });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_process_of_a_name_is_refused_or_waits_for_the_end_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let stop = CancellationToken::new();
        let take = async |name: &str, policy| {
            Lock::take(folder.path(), &ProcessName::new("front", name), policy, &stop).await
        };
        let first = take("a", Policy::Refuse).await.unwrap();
        let refused = take("a", Policy::Refuse).await.unwrap_err().to_string();
        assert!(refused.starts_with("front \"a\" runs already on this machine (it holds /"), "{refused}");
        take("b", Policy::Refuse).await.unwrap();
        let ends = async {
            sleep(STANDBY * 5).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(take("a", Policy::Standby), ends);
        second.as_ref().unwrap();
        stop.cancel();
        assert!(take("a", Policy::Standby).await.is_err(), "it does not wait any more");
    }
}
