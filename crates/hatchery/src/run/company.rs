//! One hatchery of a name: two would start two workers for a job and give one address twice.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_daemon::telemetry::chain;
use rookery_fleet_vsphere::company::{self, Other};
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::CurrentTime;
use rookery_vim_client::Client;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::control::file_name;

/// How often one that stands by looks whether it is alone.
const STANDBY: Duration = Duration::from_secs(10);
/// The same for the lock of this machine, which costs nobody anything.
const STANDBY_HERE: Duration = Duration::from_secs(1);

/// After so much silence another one has crashed.
const SILENCE: SignedDuration = SignedDuration::from_mins(3);

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
        other.since.map_or("an unknown time".to_owned(), |since| format!("{since:.0}"))
    )]
    Other {
        /// The name.
        name: String,
        /// The other one.
        other: Box<Other>,
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

/// Makes sure, as far as vCenter tells, that no other hatchery of this name has a session.
pub(super) async fn alone(
    client: &Client,
    name: &str,
    instance: &str,
    policy: Policy,
    stop: &CancellationToken,
) -> Result<(), CompanyError> {
    let mut told = false;
    loop {
        let others = match company::others(client, name, instance).await {
            Ok(others) => others,
            Err(error) => {
                warn!(error = %chain(&error), "whether another hatchery of this name runs cannot be seen: make sure that there is none");
                return Ok(());
            }
        };
        let now = client.call(&CurrentTime { this: service_instance() }).await.ok();
        let Some(other) = others.into_iter().find(|other| is_alive(other, now)) else { return Ok(()) };
        if policy == Policy::Refuse || stop.is_cancelled() {
            return Err(CompanyError::Other { name: name.to_owned(), other: Box::new(other) });
        }
        if !std::mem::replace(&mut told, true) {
            info!(other = %other.instance, "standing by: a hatchery of this name has a session");
        }
        wait(stop, STANDBY).await;
    }
}

/// A session lives on for half an hour after its process has crashed; but one that runs asks something every minute.
fn is_alive(other: &Other, now: Option<Timestamp>) -> bool {
    match (other.last_active, now) {
        (Some(last), Some(now)) => now.duration_since(last) <= SILENCE,
        (None, _) | (_, None) => true,
    }
}

async fn wait(stop: &CancellationToken, time: Duration) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = sleep(time) => {}
    }
}
