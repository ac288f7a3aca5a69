//! The live inventory: every VM below a container, kept current by one long poll.
//!
//! ```text
//!            build: view + private collector + filter
//!   ┌──────────┐                 ┌──────────┐  last page   ┌──────────┐
//!   │ building │───────────────► │ loading  │────────────► │ watching │◄─┐ update, time-out,
//!   └──────────┘                 └──────────┘              └──────────┘──┘ lost answer + replay
//!        ▲  ▲                         │ fault, lost answer      │
//!        │  └─────────────────────────┘                         │ fault, lost answer without replay
//!        └───────── the last snapshot stays, marked stale ──────┘
//! ```

mod addresses;
mod changes;
mod row;
mod snapshot;
mod watch;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_vim::MoRef;
use tokio::sync::{Notify, watch as channel};
use tokio::time::{Instant, timeout_at};

use crate::client::Client;
use crate::extra_config::ExtraConfigKey;

pub use row::{Config, Guest, Nic, PATHS as WATCHED_PATHS, Vm};
pub use snapshot::{Completeness, Snapshot, VmChange};

/// A handle to the live inventory. Clones watch the same one, which stops with the last of them.
#[derive(Debug, Clone)]
pub struct Inventory {
    snapshots: channel::Receiver<Arc<Snapshot>>,
    keys: Arc<channel::Sender<watch::Keys>>,
    waiters: Arc<Waiters>,
}

/// A handle that does not keep the inventory alive.
#[derive(Debug, Clone)]
pub struct WeakInventory {
    snapshots: channel::Receiver<Arc<Snapshot>>,
    keys: Weak<channel::Sender<watch::Keys>>,
    waiters: Arc<Waiters>,
}

/// Who waits for changes: with nobody waiting the long polls are spaced.
#[derive(Debug, Default)]
struct Waiters {
    count: AtomicUsize,
    arrived: Notify,
}

/// Why waiting for a VM ended without what was waited for.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WaitError {
    /// A complete inventory shows that it is not there.
    #[error("the VM {id} is gone")]
    Gone { id: MoRef },
    #[error("the VM {id} did not reach the expected state within {} s", after.as_secs())]
    TimedOut { id: MoRef, after: Duration, last: Option<Arc<Vm>> },
    /// The inventory was stopped.
    #[error("the inventory was stopped")]
    Stopped,
}

impl Inventory {
    /// Starts watching all VMs below a container (a datacenter, or the root folder for all of them).
    pub fn start(client: Client, container: MoRef, supervisor: &Supervisor) -> Self {
        Self::start_with(client, container, BTreeSet::new(), supervisor)
    }

    /// The same, with these entries of their extra configuration.
    pub fn start_with(
        client: Client,
        container: MoRef,
        keys: BTreeSet<ExtraConfigKey>,
        supervisor: &Supervisor,
    ) -> Self {
        let (keys, asked) = channel::channel(Arc::new(keys));
        let (publish, snapshots) = channel::channel(Arc::new(Snapshot::loading()));
        let waiters = Arc::<Waiters>::default();
        let watcher = watch::Watcher::new(client, container, publish, Arc::clone(&waiters));
        // With a token of its own: that it stops because nobody uses it any more is no failure.
        let scope = supervisor.child();
        scope.spawn_essential("inventory", watcher.run(asked, scope.token()));
        Self { snapshots, keys: Arc::new(keys), waiters }
    }

    /// A handle that does not keep it alive.
    pub fn downgrade(&self) -> WeakInventory {
        let Self { snapshots, keys, waiters } = self.clone();
        WeakInventory { snapshots, keys: Arc::downgrade(&keys), waiters }
    }

    /// Shows these entries of extra configuration as well. All VMs are loaded again for those that are new; until that is
    /// done, the last snapshot stays, marked stale.
    pub fn show_extra_config(&self, keys: &BTreeSet<ExtraConfigKey>) {
        self.keys.send_if_modified(|asked| {
            let is_new = !keys.is_subset(asked);
            if is_new {
                Arc::make_mut(asked).extend(keys.iter().cloned());
            }
            is_new
        });
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// Waits for the first complete snapshot that shows all extra configuration that was asked for until now.
    pub async fn complete(&self) -> Result<Arc<Snapshot>, WaitError> {
        let asked = Arc::clone(&self.keys.borrow());
        self.until(|snapshot| snapshot.is_complete() && asked.is_subset(&snapshot.keys)).await
    }

    /// Waits until a snapshot satisfies a condition.
    pub async fn until(&self, condition: impl Fn(&Snapshot) -> bool) -> Result<Arc<Snapshot>, WaitError> {
        let _waiting = self.waiters.enter();
        let mut snapshots = self.snapshots.clone();
        let found = snapshots.wait_for(|s| condition(s)).await.map_err(|_| WaitError::Stopped)?;
        Ok(Arc::clone(&found))
    }

    /// Waits for the next snapshot after the given one.
    pub async fn newer_than(&self, seen: &Snapshot) -> Result<Arc<Snapshot>, WaitError> {
        let mut snapshots = self.snapshots.clone();
        let found =
            snapshots.wait_for(|s| s.revision() > seen.revision()).await.map_err(|_| WaitError::Stopped)?;
        Ok(Arc::clone(&found))
    }

    /// Waits for a VM to appear: a new one is announced some time after its task has ended.
    pub async fn appears(&self, id: &MoRef, after: Duration) -> Result<Arc<Vm>, WaitError> {
        let found = timeout_at(Instant::now() + after, self.until(|s| s.get(id).is_some())).await;
        let snapshot = found.map_err(|_| WaitError::TimedOut { id: id.clone(), after, last: None })??;
        snapshot.get(id).cloned().ok_or_else(|| WaitError::Gone { id: id.clone() })
    }

    /// Waits until a VM that has appeared satisfies a condition, without a call of its own.
    pub async fn wait_for<T>(
        &self,
        id: &MoRef,
        after: Duration,
        mut condition: impl FnMut(&Vm) -> Option<T>,
    ) -> Result<T, WaitError> {
        let _waiting = self.waiters.enter();
        let deadline = Instant::now() + after;
        let mut snapshots = self.snapshots.clone();
        let mut last: Option<Arc<Vm>> = None;
        loop {
            let snapshot = Arc::clone(&snapshots.borrow_and_update());
            match snapshot.get(id) {
                Some(vm) => {
                    if let Some(found) = condition(vm) {
                        return Ok(found);
                    }
                    last = Some(Arc::clone(vm));
                }
                None if snapshot.is_complete() => {
                    return Err(WaitError::Gone { id: id.clone() });
                }
                None => {}
            }
            match timeout_at(deadline, snapshots.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(WaitError::Stopped),
                Err(_) => return Err(WaitError::TimedOut { id: id.clone(), after, last }),
            }
        }
    }
}

impl WeakInventory {
    /// The inventory, if somebody still uses it.
    pub fn upgrade(&self) -> Option<Inventory> {
        let Self { snapshots, keys, waiters } = self.clone();
        Some(Inventory { snapshots, keys: keys.upgrade()?, waiters })
    }
}

impl Waiters {
    fn enter(self: &Arc<Self>) -> Waiting {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.arrived.notify_waiters();
        Waiting(Arc::clone(self))
    }

    fn any(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }
}

/// Counts somebody as waiting for as long as it lives.
struct Waiting(Arc<Waiters>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
    }
}
