//! The task behind the inventory: builds the watch on the server, polls it, and publishes snapshots.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use rookery_daemon::Backoff;
use rookery_daemon::telemetry::chain;
use rookery_vim::methods::{
    CancelWaitForUpdates, CreateFilter, CreatePropertyCollector, DestroyPropertyCollector, DestroyView,
    WaitForUpdatesEx,
};
use rookery_vim::objects::{ObjectUpdate, ObjectUpdateKind, UpdateSet, WaitOptions};
use rookery_vim::{FaultKind, MoRef};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::Waiters;
use super::row::{PATHS, Vm};
use super::snapshot::{Completeness, Snapshot};
use crate::client::Client;
use crate::datacenter::{container_view, members_of};
use crate::error::CallError;

/// One request a minute keeps the session alive and the snapshot younger than the two minutes that deleting needs.
const MAX_WAIT: Duration = Duration::from_secs(55);
/// How much later than promised an answer to a long poll may come.
const POLL_GRACE: Duration = Duration::from_secs(30);
/// Spacing of polls while nobody waits: a busy vCenter sends one batch a second instead of a stream.
const SPACING: Duration = Duration::from_secs(1);
/// A page that is parsed in milliseconds. The server may choose smaller ones.
const PAGE: i32 = 500;
const REBUILD: Backoff =
    Backoff { first: Duration::from_millis(250), cap: Duration::from_secs(30), attempts: None };
/// How long tidying up may hold up a shutdown.
const FAREWELL: Duration = Duration::from_secs(5);

type Rows = BTreeMap<MoRef, Arc<Vm>>;

/// Keeps one inventory current.
pub(super) struct Watcher {
    client: Client,
    container: MoRef,
    publish: watch::Sender<Arc<Snapshot>>,
    waiters: Arc<Waiters>,
}

/// What was made on the server for one watch. All of it goes with the session.
struct Built {
    view: MoRef,
    collector: MoRef,
}

/// How far a watch has come.
struct Progress {
    /// The version of the last answer; empty before the first one.
    version: String,
    /// Whether versions were seen to advance. A server whose versions stand still cannot replay a lost answer.
    replays: bool,
    /// VMs of a load that is not finished.
    loading: Option<Rows>,
}

/// Why a watch ended.
enum End {
    Stopped,
    Failed(CallError),
}

impl Watcher {
    pub(super) fn new(
        client: Client,
        container: MoRef,
        publish: watch::Sender<Arc<Snapshot>>,
        waiters: Arc<Waiters>,
    ) -> Self {
        Self { client, container, publish, waiters }
    }

    pub(super) async fn run(self, stop: CancellationToken) {
        let mut delays = REBUILD.delays(self.client.fork_random());
        loop {
            let began = self.snapshot().revision;
            let ended = tokio::select! {
                biased;
                () = stop.cancelled() => End::Stopped,
                ended = self.watch_once(&stop) => ended,
            };
            let End::Failed(error) = ended else { return };
            self.note_stale(&error);
            if self.snapshot().revision > began + 1 {
                delays = REBUILD.delays(self.client.fork_random());
            }
            let delay = delays.next().unwrap_or(REBUILD.cap);
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(delay) => {}
            }
        }
    }

    /// Builds a watch and follows it until it breaks. Whatever was built is removed again.
    async fn watch_once(&self, stop: &CancellationToken) -> End {
        let built = match self.build().await {
            Ok(built) => built,
            Err(error) => return End::Failed(error),
        };
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => End::Stopped,
            error = self.follow(&built.collector) => End::Failed(error),
        };
        self.remove(built).await;
        ended
    }

    async fn build(&self) -> Result<Built, CallError> {
        let view = container_view(&self.client, self.container.clone(), "VirtualMachine").await?;
        let main = self.client.content().property_collector.clone();
        let collector = self.client.call(&CreatePropertyCollector { this: main }).await?;
        let spec = members_of(&view, "ContainerView", "VirtualMachine", &PATHS);
        self.client.call(&CreateFilter { this: collector.clone(), spec, partial_updates: false }).await?;
        Ok(Built { view, collector })
    }

    async fn remove(&self, built: Built) {
        let farewell = async {
            self.client.call_once(&DestroyPropertyCollector { this: built.collector }, FAREWELL).await.ok();
            self.client.call_once(&DestroyView { this: built.view }, FAREWELL).await.ok();
        };
        // A server that does not answer forgets them with the session.
        timeout(FAREWELL, farewell).await.ok();
    }

    /// Polls until something breaks that the watch does not survive.
    async fn follow(&self, collector: &MoRef) -> CallError {
        let mut progress = Progress { version: String::new(), replays: false, loading: Some(Rows::new()) };
        let mut delays = REBUILD.delays(self.client.fork_random());
        loop {
            let asked = Instant::now();
            match self.poll(collector, &progress).await {
                Ok(answer) => {
                    let changed = answer.is_some();
                    self.take(&mut progress, answer);
                    delays = REBUILD.delays(self.client.fork_random());
                    if changed && progress.loading.is_none() {
                        self.space_out(asked).await;
                    }
                }
                // Our own doing, after a lost answer.
                Err(error) if error.is(FaultKind::RequestCanceled) => {}
                Err(error) if error.may_have_happened() && progress.replays => {
                    debug!(error = %chain(&error), "an update was lost; asking for it again");
                    self.mark_stale(&error);
                    sleep(delays.next().unwrap_or(REBUILD.cap)).await;
                    // The lost poll may still wait on the server, and would swallow the next update.
                    let cancel = CancelWaitForUpdates { this: collector.clone() };
                    if let Err(error) = self.client.call(&cancel).await {
                        return error;
                    }
                }
                Err(error) => return error,
            }
        }
    }

    async fn poll(&self, collector: &MoRef, progress: &Progress) -> Result<Option<UpdateSet>, CallError> {
        let seconds = i32::try_from(MAX_WAIT.as_secs()).unwrap_or(i32::MAX);
        let wait = WaitForUpdatesEx {
            this: collector.clone(),
            version: Some(progress.version.clone()),
            options: Some(WaitOptions { max_wait_seconds: Some(seconds), max_object_updates: Some(PAGE) }),
        };
        let deadline = if progress.loading.is_some() {
            self.client.deadlines().page.max(MAX_WAIT + POLL_GRACE)
        } else {
            MAX_WAIT + POLL_GRACE
        };
        self.client.call_once(&wait, deadline).await
    }

    /// Applies an answer and publishes what follows from it.
    fn take(&self, progress: &mut Progress, answer: Option<UpdateSet>) {
        let Some(set) = answer else {
            // Nothing changed while the poll ran: during a load this also means that there is nothing more to load.
            let rows = progress.loading.take().map(Arc::new);
            return self.confirm(rows.unwrap_or_else(|| Arc::clone(&self.snapshot().vms)));
        };
        progress.replays |= !progress.version.is_empty() && set.version != progress.version;
        progress.version = set.version;
        let truncated = set.truncated == Some(true);
        let updates = set.filter_set.into_iter().flat_map(|filter| filter.object_set);
        if let Some(rows) = &mut progress.loading {
            updates.for_each(|update| apply(rows, update));
            if !truncated {
                let rows = mem::take(rows);
                progress.loading = None;
                info!(vms = rows.len(), "inventory loaded");
                self.confirm(Arc::new(rows));
            }
            return;
        }
        let mut rows = Arc::clone(&self.snapshot().vms);
        let current = Arc::make_mut(&mut rows);
        updates.for_each(|update| apply(current, update));
        self.confirm(rows);
    }

    /// Lets changes gather while nobody waits for them.
    async fn space_out(&self, asked: Instant) {
        let arrived = self.waiters.arrived.notified();
        tokio::pin!(arrived);
        arrived.as_mut().enable();
        if self.waiters.any() {
            return;
        }
        tokio::select! {
            biased;
            () = arrived => {}
            () = sleep_until(asked + SPACING) => {}
        }
    }

    fn confirm(&self, vms: Arc<Rows>) {
        self.publish(vms, Completeness::Complete, Instant::now());
    }

    /// Says that the server cannot be heard. What was known stays known: nothing is gone because a call failed.
    fn mark_stale(&self, error: &CallError) {
        let last = self.snapshot();
        if last.completeness == Completeness::Loading {
            return;
        }
        let why = chain(error);
        self.publish(Arc::clone(&last.vms), Completeness::Stale(why), last.confirmed);
    }

    fn note_stale(&self, error: &CallError) {
        warn!(error = %chain(error), "the inventory's watch broke; building it again");
        self.mark_stale(error);
    }

    fn publish(&self, vms: Arc<Rows>, completeness: Completeness, confirmed: Instant) {
        let revision = self.snapshot().revision + 1;
        self.publish.send_replace(Arc::new(Snapshot { vms, completeness, confirmed, revision }));
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.publish.borrow())
    }
}

fn apply(rows: &mut Rows, update: ObjectUpdate) {
    match update.kind {
        // Servers re-send `enter` for objects that are known: it replaces the whole row.
        ObjectUpdateKind::Enter => {
            let mut vm = Vm::new(update.obj.clone());
            let id = update.obj.clone();
            vm.apply(update);
            rows.insert(id, Arc::new(vm));
        }
        ObjectUpdateKind::Modify => {
            let row = rows.entry(update.obj.clone()).or_insert_with(|| Arc::new(Vm::new(update.obj.clone())));
            Arc::make_mut(row).apply(update);
        }
        ObjectUpdateKind::Leave => {
            rows.remove(&update.obj);
        }
        ObjectUpdateKind::Other(kind) => warn!(%kind, "unknown kind of update ignored"),
    }
}
