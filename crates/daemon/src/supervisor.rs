//! Owns every task of the process: named, cancelled together, joined at shutdown.
//!
//! Supervisors form a tree. A task belongs to its supervisor and to all of that one's ancestors, so a parent
//! waits for the tasks of its children without having to keep (and prune) a list of children.

use std::any::Any;
use std::collections::BTreeMap;
use std::iter;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long aborted tasks get to run their destructors. A task that blocks its thread is left behind.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// Spawns tasks, and ends them together. Clones are handles to the same supervisor.
#[derive(Debug, Clone, Default)]
pub struct Supervisor(Arc<Scope>);

#[derive(Debug, Default)]
struct Scope {
    parent: Option<Supervisor>,
    stop: CancellationToken,
    abort: CancellationToken,
    tracker: TaskTracker,
    running: Mutex<Running>,
    panics: AtomicU64,
    /// The first essential task that has ended.
    ended: watch::Sender<Option<&'static str>>,
}

/// The names of the tasks that have not ended, in the order of their start.
#[derive(Debug, Default)]
struct Running {
    started: u64,
    names: BTreeMap<u64, &'static str>,
}

/// Tasks that did not end before the deadline of a shutdown; they were aborted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("tasks did not end in time: {}", names.join(", "))]
pub struct Unfinished {
    /// Their names, oldest task first.
    pub names: Vec<&'static str>,
}

impl Supervisor {
    /// A supervisor without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// A supervisor that can be shut down alone; shutting down this one cancels and waits for it as well.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(Arc::new(Scope {
            parent: Some(self.clone()),
            stop: self.0.stop.child_token(),
            abort: self.0.abort.child_token(),
            ..Scope::default()
        }))
    }

    /// Cancelled when shutdown begins. A task that outlives this by more than the deadline is aborted.
    pub fn token(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    /// Starts a task. If it panics, that is logged and counted, and the other tasks go on.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.run(name, task, false);
    }

    /// Starts a task that ends at its next await once shutdown begins.
    pub fn spawn_until_stopped(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.token();
        self.spawn(name, async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// Starts a task that the others are of no use without. That it ends before the shutdown, by itself or by a panic, is
    /// told to whoever waits in [`Supervisor::essential_ended`].
    pub fn spawn_essential(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.run(name, task, true);
    }

    /// Waits until an essential task of this supervisor or its children has ended, and names it.
    pub async fn essential_ended(&self) -> &'static str {
        let mut ended = self.0.ended.subscribe();
        loop {
            if let Some(name) = *ended.borrow_and_update() {
                return name;
            }
            // The sender lives as long as this supervisor.
            if ended.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn run(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static, is_essential: bool) {
        let memberships: Vec<_> = self.lineage().map(|scope| scope.enlist(name)).collect();
        let supervisor = self.clone();
        let task = self.0.abort.clone().run_until_cancelled_owned(AssertUnwindSafe(task).catch_unwind());
        self.0.tracker.spawn(async move {
            if let Some(Err(panic)) = task.await {
                supervisor.note_panic(name, &*panic);
            }
            if is_essential && !supervisor.0.stop.is_cancelled() {
                supervisor.note_end(name);
            }
            drop(memberships);
        });
    }

    /// How many tasks of this supervisor and its children have panicked.
    pub fn panics(&self) -> u64 {
        self.0.panics.load(Ordering::Relaxed)
    }

    /// Cancels the token and waits for all tasks; what still runs at the deadline is aborted and named.
    ///
    /// Not to be called from a supervised task: it would wait for itself.
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), Unfinished> {
        self.0.stop.cancel();
        self.0.tracker.close();
        if tokio::time::timeout(deadline, self.0.tracker.wait()).await.is_ok() {
            return Ok(());
        }
        let names: Vec<_> = self.0.running().names.values().copied().collect();
        self.0.abort.cancel();
        // Whether or not they end within the grace, the caller learns the same: these had to be aborted.
        tokio::time::timeout(ABORT_GRACE, self.0.tracker.wait()).await.ok();
        if names.is_empty() { Ok(()) } else { Err(Unfinished { names }) }
    }

    fn lineage(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |scope| scope.0.parent.as_ref())
    }

    fn enlist(&self, name: &'static str) -> Membership {
        let mut running = self.0.running();
        running.started += 1;
        let id = running.started;
        running.names.insert(id, name);
        Membership { scope: Arc::clone(&self.0), id, _tracked: self.0.tracker.token() }
    }

    fn note_end(&self, name: &'static str) {
        tracing::error!(name, "essential task ended");
        for scope in self.lineage() {
            scope.0.ended.send_if_modified(|first| first.is_none().then(|| *first = Some(name)).is_some());
        }
    }

    fn note_panic(&self, name: &'static str, panic: &(dyn Any + Send)) {
        for scope in self.lineage() {
            scope.0.panics.fetch_add(1, Ordering::Relaxed);
        }
        let message = panic.downcast_ref::<&str>().copied();
        let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        tracing::error!(name, panic = message.unwrap_or("(not text)"), "task panicked");
    }
}

impl Scope {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a task's name in the books of one supervisor, however the task ends: returned, panicked or aborted.
#[derive(Debug)]
struct Membership {
    scope: Arc<Scope>,
    id: u64,
    // Dropped after the name is struck off, so a finished wait never finds names.
    _tracked: TaskTrackerToken,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.scope.running().names.remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
