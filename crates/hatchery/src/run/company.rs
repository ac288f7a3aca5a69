//! One hatchery of a name: two would start two workers for a job and give one address twice.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rookery_fleet_vsphere::{Candidate, CompanyError as ListError};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::control::file_name;

/// How often one that stands by looks at the lock of this machine.
const STANDBY_HERE: Duration = Duration::from_secs(1);

/// What to do if there is another one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Do not start.
    Refuse,
    /// Wait until it is gone.
    Standby,
}

/// Why this one does not start.
#[derive(Debug, thiserror::Error)]
pub enum CompanyError {
    /// Another one has a session.
    #[error(
        "hatchery {name:?} runs already: {} since {}; stop it",
        other.address.as_deref().unwrap_or("at an unknown address"),
        other.login.map_or("an unknown time".to_owned(), |since| format!("{since:.0}"))
    )]
    Other {
        /// The name.
        name: String,
        /// The other one.
        other: Box<Candidate>,
    },
    /// It cannot stand by, since vCenter does not show who else is there.
    #[error("hatchery {name:?} cannot stand by")]
    Unseen {
        /// The name.
        name: String,
        /// Why.
        source: Box<ListError>,
    },
    /// Whether another one leads could not be found out.
    #[error("whether another hatchery {name:?} leads could not be found out")]
    Unlisted {
        /// The name.
        name: String,
        /// Why.
        source: Box<ListError>,
    },
    /// Another one runs on this machine.
    #[error("hatchery {name:?} runs already on this machine (it holds {}); stop it", path.display())]
    Locked {
        /// The name.
        name: String,
        /// The lock.
        path: PathBuf,
    },
    /// Whether another one runs on this machine cannot be said.
    #[error("whether hatchery {name:?} runs already cannot be said: {} cannot be locked", path.display())]
    Lock {
        /// The name.
        name: String,
        /// The lock.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Held while a hatchery of that name runs on this machine.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a name in a folder; waits for it when standing by.
    pub async fn take(
        folder: &Path,
        name: &str,
        policy: Policy,
        stop: &CancellationToken,
    ) -> Result<Self, CompanyError> {
        let path = folder.join(file_name(name, "lock"));
        let failed = |source| CompanyError::Lock { name: name.to_owned(), path: path.clone(), source };
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if policy == Policy::Standby && !stop.is_cancelled() => {
                    if !std::mem::replace(&mut told, true) {
                        info!(lock = %path.display(), "standing by: a hatchery of this name runs on this machine");
                    }
                    wait(stop, STANDBY_HERE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(CompanyError::Locked { name: name.to_owned(), path });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
    }
}

async fn wait(stop: &CancellationToken, time: Duration) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = sleep(time) => {}
    }
}
