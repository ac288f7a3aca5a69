//! A session on a vCenter, from login to logout, whatever happens in between.
//!
//! ```text
//!   listen for signals ─► connect ─► (datacenter) ─► first load ─► the command's work
//!                            │            │              │                │
//!                            └────────────┴── error, signal or done ──────┘
//!                                             ▼
//!                       stop the tasks (they remove what they made) ─► log out
//! ```

mod connect;
mod load;
mod reachability;
pub(crate) mod signals;

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use rookery_daemon::Supervisor;
use rookery_daemon::telemetry::chain;
use rookery_vim::MoRef;
use rookery_vim_client::{Ceilings, Client, Governor, Inventory, Kind, Machines, Places, Snapshot, Tasks};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::vcenter::Vcenter;
pub use reachability::Reachability;

/// How long tasks get to remove what they made on the server. What they leave goes with the session.
const TASKS_END: Duration = Duration::from_secs(5);
/// A server that does not answer a logout forgets the session by itself, after its idle time.
const LOGOUT: Duration = Duration::from_secs(5);

/// A connected session: the login, the live inventory, and the operations on machines.
#[derive(Debug)]
pub struct Session {
    pub client: Client,
    /// What is looked at: one datacenter, or the root of all.
    pub scope: MoRef,
    /// Its VMs, live.
    pub inventory: Inventory,
    /// What can be done to them.
    pub machines: Machines,
    /// The first complete snapshot.
    pub first: Arc<Snapshot>,
}

/// Logs in, loads the inventory, does the work, and logs out whatever happened; `None` if a signal came before the
/// work was done. `purpose` is what vCenter's session list shows.
pub async fn with_session<T>(
    vcenter: &Vcenter,
    purpose: &str,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let tasks = &Supervisor::new();
    with_client(vcenter, purpose, tasks, async |client| open_and_work(client?, vcenter, tasks, work).await)
        .await
}

/// Logs in, does the work with the session or with the reason why there is none, and logs out whatever happened;
/// `None` if a signal came before the work was done. The tasks are those of the work.
pub async fn with_client<T>(
    vcenter: &Vcenter,
    purpose: &str,
    tasks: &Supervisor,
    work: impl AsyncFnOnce(anyhow::Result<Client>) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    // Not the tasks' supervisor: a first signal during the logout must not count as a second one.
    let listeners = Supervisor::new();
    let stop = signals::listen(&listeners).await;
    let outcome = client_until(&stop, vcenter, purpose, tasks, work).await;
    listeners.shutdown(TASKS_END).await.ok();
    outcome
}

/// As [`with_session`], for who listens for signals already and goes on afterwards: `None` if the token was cancelled
/// before the work was done.
#[cfg(all(feature = "hatchery", feature = "sim"))]
pub(crate) async fn with_session_until<T>(
    stop: &CancellationToken,
    vcenter: &Vcenter,
    purpose: &str,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let tasks = &Supervisor::new();
    let work = async |client: anyhow::Result<Client>| open_and_work(client?, vcenter, tasks, work).await;
    client_until(stop, vcenter, purpose, tasks, work).await
}

async fn client_until<T>(
    stop: &CancellationToken,
    vcenter: &Vcenter,
    purpose: &str,
    tasks: &Supervisor,
    work: impl AsyncFnOnce(anyhow::Result<Client>) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    match connect::connect(vcenter, purpose, stop).await.transpose() {
        Some(connected) => {
            let client = connected.as_ref().ok().cloned();
            let worked = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                worked = caught(work(connected)) => Some(worked),
            };
            if let Some(client) = client {
                close(tasks, &client).await;
            }
            worked.map(|worked| worked.unwrap_or_else(|panic| resume_unwind(panic))).transpose()
        }
        None => Ok(None),
    }
}

/// Even a mistake in the program must not leave a session behind.
async fn caught<T>(work: impl Future<Output = T>) -> thread::Result<T> {
    AssertUnwindSafe(work).catch_unwind().await
}

async fn open_and_work<T>(
    client: Client,
    vcenter: &Vcenter,
    tasks: &Supervisor,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let scope = match &vcenter.datacenter {
        Some(name) => {
            let places = Places::load(&client).await?;
            places.find(Kind::Datacenter, Some(name), &client.content().root_folder)?.id.clone()
        }
        None => client.content().root_folder.clone(),
    };
    let inventory = Inventory::start(client.clone(), scope.clone(), tasks);
    let first = load::first(&inventory, &vcenter.endpoint, vcenter.load_timeout).await?;
    let governor = Governor::new(Ceilings::default());
    let machines = Machines::new(client.clone(), Tasks::start(client.clone(), tasks), governor);
    work(&Session { client, scope, inventory, machines, first }).await
}

/// The one way out. Failing here is no failure of the work: it is only told to the log.
async fn close(tasks: &Supervisor, client: &Client) {
    if let Err(unfinished) = tasks.shutdown(TASKS_END).await {
        warn!(error = %unfinished, "vCenter removes the rest with the session");
    }
    let why = match timeout(LOGOUT, client.close()).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => chain(&error),
        Err(_) => format!("no answer within {} s", LOGOUT.as_secs()),
    };
    warn!(error = %why, "could not log out; vCenter ends the session after its idle time");
}
