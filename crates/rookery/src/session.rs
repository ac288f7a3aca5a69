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
mod orders;
mod reachability;
pub(crate) mod signals;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::thread;

use futures_util::FutureExt as _;
use rookery_daemon::Supervisor;
use rookery_fleet_vsphere::{Vcenter as LoggedIn, Vcenters};
use rookery_vim::MoRef;
use rookery_vim_client::{Client, Inventory, Kind, Machines, Places, Snapshot};
use tokio_util::sync::CancellationToken;

use crate::vcenter::Vcenter;
#[cfg(feature = "hatchery")]
pub(crate) use connect::random;
pub use orders::Orders;
pub use reachability::Reachability;

/// A connected session: the login, and the live inventory.
#[derive(Debug)]
pub struct Session {
    vcenter: LoggedIn,
    /// What is looked at: one datacenter, or the root of all.
    pub scope: MoRef,
    /// Its VMs, live.
    pub inventory: Inventory,
    /// The first complete snapshot.
    pub first: Arc<Snapshot>,
    /// What was asked for in it.
    pub orders: Orders,
}

impl Session {
    /// Who calls.
    pub fn client(&self) -> &Client {
        self.vcenter.client()
    }

    /// What can be done to VMs.
    pub fn machines(&self) -> &Machines {
        self.vcenter.machines()
    }
}

/// Logs in, loads the inventory, does the work, and logs out whatever happened; `None` if a signal came before the
/// work was done. `purpose` is what vCenter's session list shows.
pub async fn with_session<T>(
    vcenter: &Vcenter,
    purpose: &str,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    with_vcenter(vcenter, purpose, async |connected| open_and_work(connected?, vcenter, work).await).await
}

/// Logs in, does the work with the session or with the reason why there is none, and logs out whatever happened;
/// `None` if a signal came before the work was done.
pub async fn with_vcenter<T>(
    vcenter: &Vcenter,
    purpose: &str,
    work: impl AsyncFnOnce(anyhow::Result<LoggedIn>) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    // Not the supervisor of the listeners: a first signal during the logout must not count as a second one.
    let tasks = Supervisor::new();
    let vcenters = Vcenters::new(&tasks);
    signals::heeding(async |stop| until(stop, &vcenters, vcenter, purpose, work).await).await
}

/// As [`with_session`], for who listens for signals already, has vCenters and goes on afterwards: `None` if the token was
/// cancelled before the work was done.
#[cfg(feature = "hatchery")]
pub(crate) async fn with_session_until<T>(
    stop: &CancellationToken,
    vcenters: &Vcenters,
    vcenter: &Vcenter,
    purpose: &str,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let work = async |connected: anyhow::Result<_>| open_and_work(connected?, vcenter, work).await;
    until(stop, vcenters, vcenter, purpose, work).await
}

async fn until<T>(
    stop: &CancellationToken,
    vcenters: &Vcenters,
    vcenter: &Vcenter,
    purpose: &str,
    work: impl AsyncFnOnce(anyhow::Result<LoggedIn>) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let Some(connected) = connect::connect(vcenters, vcenter, purpose, stop).await.transpose() else {
        return Ok(None);
    };
    let logged_in = connected.as_ref().ok().cloned();
    let worked = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        worked = caught(work(connected)) => Some(worked),
    };
    if let Some(logged_in) = logged_in {
        logged_in.close().await;
    }
    worked.map(|worked| worked.unwrap_or_else(|panic| resume_unwind(panic))).transpose()
}

/// Even a mistake in the program must not leave a session behind.
async fn caught<T>(work: impl Future<Output = T>) -> thread::Result<T> {
    AssertUnwindSafe(work).catch_unwind().await
}

async fn open_and_work<T>(
    logged_in: LoggedIn,
    vcenter: &Vcenter,
    work: impl AsyncFnOnce(&Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let client = logged_in.client();
    let scope = match &vcenter.datacenter {
        Some(name) => {
            let places = Places::load(client).await?;
            places.find(Kind::Datacenter, Some(name), &client.content().root_folder)?.id.clone()
        }
        None => client.content().root_folder.clone(),
    };
    let inventory = logged_in.inventory(&scope, &BTreeSet::new());
    let first = load::first(&inventory, &vcenter.endpoint, vcenter.load_timeout).await?;
    work(&Session { vcenter: logged_in, scope, inventory, first, orders: Orders::default() }).await
}
