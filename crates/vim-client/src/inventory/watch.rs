//! The task behind the inventory: builds the watch on the server, polls it, and publishes snapshots.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rookery_daemon::Backoff;
use rookery_daemon::telemetry::chain;
use rookery_vim::methods::CancelWaitForUpdates;
use rookery_vim::objects::{PropertyFilterSpec, UpdateSet};
use rookery_vim::{FaultKind, MoRef};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::Waiters;
use super::changes::{Next, Progress, Rows};
use super::row::watched_paths;
use super::snapshot::{Completeness, Snapshot};
use crate::client::Client;
use crate::error::CallError;
use crate::extra_config::{ExtraConfig, ExtraConfigKey};
use crate::properties::{container_view, itself, properties, retrieve};
use crate::view_watch::{POLL, ViewWatch, poll};

/// Spacing of polls while nobody waits: a busy vCenter sends one batch a second instead of a stream.
const SPACING: Duration = Duration::from_secs(1);
/// A page that is parsed in milliseconds. The server may choose smaller ones.
const PAGE: i32 = 500;
const REBUILD: Backoff =
    Backoff { first: Duration::from_millis(250), cap: Duration::from_secs(30), attempts: None };

/// Which entries of extra configuration are asked for.
pub(super) type Keys = Arc<BTreeSet<ExtraConfigKey>>;

/// Keeps one inventory current.
pub(super) struct Watcher {
    client: Client,
    container: MoRef,
    publish: watch::Sender<Arc<Snapshot>>,
    waiters: Arc<Waiters>,
}

/// One watch, from its first load on.
struct Watch {
    keys: Keys,
    progress: Progress,
    /// VMs of a load that is not finished; until then the last snapshot stands.
    loading: Option<Rows>,
}

/// Why a watch ended.
enum End {
    Stopped,
    /// Nobody has a handle any more.
    Unused,
    /// Further entries of extra configuration are asked for.
    KeysAdded,
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

    pub(super) async fn run(self, mut keys: watch::Receiver<Keys>, stop: CancellationToken) {
        let mut delays = REBUILD.delays(self.client.fork_random());
        let mut told = false;
        loop {
            let began = self.snapshot().revision;
            let error = match self.watch_once(&mut keys, &stop).await {
                End::Stopped => return,
                End::Unused => return stop.cancel(),
                End::KeysAdded => {
                    info!("the inventory is asked for further extra configuration; building its watch again");
                    self.mark_stale(
                        "extra configuration that was not watched is being loaded".to_owned(),
                        None,
                    );
                    continue;
                }
                End::Failed(error) => error,
            };
            // An outage may last for hours: that it goes on is no news.
            if self.snapshot().revision > began || !std::mem::replace(&mut told, true) {
                warn!(error = %chain(&error), "the inventory's watch broke; building it again");
            } else {
                debug!(error = %chain(&error), "the inventory's watch could not be built; trying again");
            }
            self.mark_unheard(&error);
            if self.snapshot().revision > began + 1 {
                delays = REBUILD.delays(self.client.fork_random());
            }
            let delay = delays.next().unwrap_or(REBUILD.cap);
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(delay) => {}
            }
            if keys.has_changed().is_err() {
                return stop.cancel();
            }
        }
    }

    /// Builds a watch and follows it until it breaks. Whatever was built is removed again.
    async fn watch_once(&self, keys: &mut watch::Receiver<Keys>, stop: &CancellationToken) -> End {
        let asked = Arc::clone(&keys.borrow_and_update());
        let built = match stop.run_until_cancelled(self.build(&asked)).await {
            Some(Ok(built)) => built,
            Some(Err(error)) => return End::Failed(error),
            None => return End::Stopped,
        };
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => End::Stopped,
            changed = keys.changed() => changed.map_or(End::Unused, |()| End::KeysAdded),
            error = self.follow(&built.collector, asked) => End::Failed(error),
        };
        built.remove(&self.client).await;
        ended
    }

    async fn build(&self, keys: &Keys) -> Result<ViewWatch, CallError> {
        let view = container_view(&self.client, self.container.clone(), &["VirtualMachine"]).await?;
        ViewWatch::build(&self.client, view, "VirtualMachine", &watched_paths(keys)).await
    }

    /// Polls until something breaks that the watch does not survive.
    async fn follow(&self, collector: &MoRef, keys: Keys) -> CallError {
        let progress = Progress::asking(ExtraConfig::asked(&keys));
        let mut watch = Watch { keys, progress, loading: Some(Rows::new()) };
        let mut delays = REBUILD.delays(self.client.fork_random());
        loop {
            let asked = Instant::now();
            match self.poll(collector, &watch).await {
                Ok(answer) => {
                    let changed = answer.is_some();
                    if let Err(error) = self.take(&mut watch, answer).await {
                        return error;
                    }
                    delays = REBUILD.delays(self.client.fork_random());
                    if changed && watch.loading.is_none() {
                        self.space_out(asked).await;
                    }
                }
                // Our own doing, after a lost answer.
                Err(error) if error.is(FaultKind::RequestCanceled) => {}
                Err(error) if error.may_have_happened() && watch.progress.replays() => {
                    debug!(error = %chain(&error), "an update was lost; asking for it again");
                    self.mark_unheard(&error);
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

    async fn poll(&self, collector: &MoRef, watch: &Watch) -> Result<Option<UpdateSet>, CallError> {
        let deadline = if watch.loading.is_some() { self.client.deadlines().page.max(POLL) } else { POLL };
        poll(&self.client, collector.clone(), watch.progress.version.clone(), Some(PAGE), deadline).await
    }

    /// Applies an answer and publishes what follows from it.
    async fn take(&self, watch: &mut Watch, answer: Option<UpdateSet>) -> Result<(), CallError> {
        let loading = watch.loading.is_some();
        let mut rows = watch.loading.take().unwrap_or_else(|| self.snapshot().vms.clone());
        let Some(set) = answer else {
            // Nothing changed while the poll ran: during a load this also means that there is nothing more to load.
            self.confirm(rows, &watch.keys);
            return Ok(());
        };
        match watch.progress.apply_page(&mut rows, set) {
            Next::More if loading => watch.loading = Some(rows),
            Next::More => self.confirm(rows, &watch.keys),
            Next::Verify(suspects) => {
                self.remove_gone(&mut rows, suspects).await?;
                if loading {
                    info!(vms = rows.len(), "inventory loaded");
                }
                self.confirm(rows, &watch.keys);
            }
        }
        Ok(())
    }

    /// Asks which of these VMs still exist, and removes the others: that nobody mentioned them proves nothing.
    async fn remove_gone(&self, rows: &mut Rows, suspects: Vec<MoRef>) -> Result<(), CallError> {
        if suspects.is_empty() {
            return Ok(());
        }
        let spec = PropertyFilterSpec {
            prop_set: vec![properties("VirtualMachine", &["name"])],
            object_set: suspects.iter().cloned().map(itself).collect(),
            report_missing_objects: Some(true),
        };
        let existing: BTreeSet<_> = retrieve(&self.client, spec).await?.into_iter().map(|o| o.obj).collect();
        for gone in suspects.iter().filter(|id| !existing.contains(id)) {
            rows.remove(gone);
        }
        Ok(())
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

    fn confirm(&self, vms: Rows, keys: &Keys) {
        let (keys, completeness, confirmed) = (Arc::clone(keys), Completeness::Complete, Instant::now());
        self.publish(Snapshot { vms, keys, completeness, trouble: None, confirmed, revision: 0 });
    }

    fn mark_unheard(&self, error: &CallError) {
        self.mark_stale(chain(error), Some(error.clone()));
    }

    /// What was known stays known: nothing is gone because a call failed.
    fn mark_stale(&self, why: String, trouble: Option<CallError>) {
        let last = Snapshot::clone(&self.snapshot());
        let completeness = match last.completeness {
            Completeness::Loading => Completeness::Loading,
            Completeness::Complete | Completeness::Stale(_) => Completeness::Stale(why),
        };
        self.publish(Snapshot { completeness, trouble, ..last });
    }

    fn publish(&self, snapshot: Snapshot) {
        let revision = self.snapshot().revision + 1;
        self.publish.send_replace(Arc::new(Snapshot { revision, ..snapshot }));
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.publish.borrow())
    }
}
