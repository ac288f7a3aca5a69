//! One hatchery of a name: two would start two workers for a job and give one address twice.

use std::path::Path;

use rookery_daemon::lock::{Lock, LockError, Policy};
use rookery_fleet_vsphere::{Candidate, SessionsError as ListError};
use tokio_util::sync::CancellationToken;

use crate::surface::control::process;

/// Why this one does not start.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another one has a session.
    #[error(
        "hatchery {name:?} runs already: {} since {}; stop it",
        other.address.as_deref().unwrap_or("at an unknown address"),
        other.login.map_or("an unknown time".to_owned(), |since| format!("{since:.0}"))
    )]
    Other { name: String, other: Box<Candidate> },
    /// It cannot stand by, since vCenter does not show who else is there.
    #[error("hatchery {name:?} cannot stand by")]
    Unseen { name: String, source: Box<ListError> },
    /// Whether another one leads could not be found out.
    #[error("whether another hatchery {name:?} leads could not be found out")]
    Unlisted { name: String, source: Box<ListError> },
    /// Another one runs on this machine, or may.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Takes the lock of a name in a folder, to be held while a hatchery of that name runs on this machine; waits for it when
/// standing by.
pub async fn lock(
    folder: &Path,
    name: &str,
    policy: Policy,
    stop: &CancellationToken,
) -> Result<Lock, InstanceError> {
    Ok(Lock::take(folder, &process(name), policy, stop).await?)
}
