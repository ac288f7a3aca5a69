//! What brings news to the reconciler: each source asks at its own pace, and when it is woken.
//!
//! A failed answer brings no news. It is never an empty one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds::{Cds, CdsError, JobId, RegionFilter, V1, V2, Worker};
use rookery_daemon::Supervisor;
use rookery_daemon::routines::{Routines, Wake};
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use rookery_fleet::capacity::PoolRoom;
use rookery_vim_client::{PoolCapacity, Share};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::sleep;
use tracing::debug;

use crate::act::ActionContext;
use crate::intake::queue::{Moment, Protocol, QueuedJob};
use crate::reconcile::{Message, Reading};
use crate::settings::Settings;
use crate::surface::report::Report;

/// How often a queue is asked for. Pushes come in between.
const POLL: Duration = Duration::from_secs(20);
/// How often the workers are asked for.
const WORKERS: Duration = Duration::from_secs(10);
/// How often the V1 models are asked for.
const MODELS: Duration = Duration::from_secs(10);
/// How often the pool's room is asked for when nobody needs it: it is shown.
const ROOM: Duration = Duration::from_secs(30);
/// How often vCenter's clock is looked at.
const CLOCK: Duration = Duration::from_mins(1);
/// How often clones from before our start are looked for.
const SETTLING: Duration = Duration::from_secs(2);
/// How often clones are looked at that nobody answered for.
const DOUBTS: Duration = Duration::from_secs(20);
/// Sizes of disks are read no more often than this.
const DISKS: Duration = Duration::from_secs(2);
/// How often they are asked for while vCenter does not tell them.
const DISKS_TIMES: u32 = 5;
/// The workers of a CDS that is busy are a long list.
const WORKERS_SPACING: Duration = Duration::from_secs(2);

/// Wakes sources that are needed sooner.
#[derive(Debug, Clone, Default)]
pub struct Wakes {
    workers: Arc<Notify>,
    room: Arc<Notify>,
    queues: Arc<Notify>,
    clock: Arc<Notify>,
}

impl Wakes {
    /// Asks CDS for its workers.
    pub fn workers(&self) {
        self.workers.notify_one();
    }

    /// Asks vCenter for the pool's room.
    pub fn room(&self) {
        self.room.notify_one();
    }

    /// Asks vCenter for its time.
    pub fn clock(&self) {
        self.clock.notify_one();
    }

    /// Asks CDS for its queues.
    pub fn queues(&self) {
        self.queues.notify_waiters();
    }
}

#[derive(Debug)]
pub struct Feeds {
    pub context: ActionContext,
    /// What the last pass saw.
    pub report: watch::Receiver<Arc<Report>>,
    pub wakes: Wakes,
    pub routines: Routines,
    /// How far vCenter's clock is ahead of our steady time, for those who act.
    pub ahead: watch::Sender<SignedDuration>,
}

impl Feeds {
    pub fn start(self, settings: &Settings, supervisor: &Supervisor) {
        let (context, routines, wakes) = (&self.context, &self.routines, &self.wakes);
        let reconciler = &context.reconciler;
        if let Some(v1) = context.cds.v1() {
            let regions = RegionFilter::new(
                settings.queue.region.as_deref(),
                settings.queue.ignore_jobs_without_region,
            );
            let (polled, asking) = (v1.clone(), context.clone());
            let poll = move || poll_v1(polled.clone(), regions.clone(), asking.clone());
            routines.every("queuePolling", POLL, Some(Wake::by(&wakes.queues)), supervisor, poll);
            forward(v1.watch(supervisor), reconciler.clone(), supervisor);
            let (asked, asking) = (v1.clone(), context.clone());
            routines.every("models", MODELS, None, supervisor, move || models(asked.clone(), asking.clone()));
        }
        if let Some(v2) = context.cds.v2().filter(|_| settings.queue.poll_v2) {
            let (polled, os_arch, asking) = (v2.clone(), settings.identity.os_arch.clone(), context.clone());
            let poll = move || poll_v2(polled.clone(), os_arch.clone(), asking.clone());
            routines.every("V2QueuePolling", POLL, Some(Wake::by(&wakes.queues)), supervisor, poll);
            forward(v2.watch(supervisor), reconciler.clone(), supervisor);
        }
        let asking = context.clone();
        let wake = Some(Wake { spacing: WORKERS_SPACING, ..Wake::by(&wakes.workers) });
        routines.every("hatchery-vsphere-kill-disable-workers", WORKERS, wake, supervisor, move || {
            workers(asking.clone())
        });
        let asking = context.clone();
        let wake = Some(Wake::by(&wakes.room));
        routines.every("hatchery-vsphere-metrics", ROOM, wake, supervisor, move || room(asking.clone()));
        let (asking, ahead) = (context.clone(), Arc::new(self.ahead));
        let wake = Some(Wake::by(&wakes.clock));
        routines.every("hatchery-vsphere-kill-awol-servers", CLOCK, wake, supervisor, move || {
            clock(asking.clone(), Arc::clone(&ahead))
        });
        read_disks(self.context.clone(), self.report.clone(), supervisor);
        watch_clones(self.context, self.report, supervisor);
    }
}

/// Asks every source once, and nobody again.
pub(crate) async fn once(context: &ActionContext, settings: &Settings, ahead: watch::Sender<SignedDuration>) {
    clock(context.clone(), Arc::new(ahead)).await;
    workers(context.clone()).await;
    if let Some(v1) = context.cds.v1() {
        models(v1.clone(), context.clone()).await;
        let queue = &settings.queue;
        let regions = RegionFilter::new(queue.region.as_deref(), queue.ignore_jobs_without_region);
        poll_v1(v1.clone(), regions, context.clone()).await;
    }
    if let Some(v2) = context.cds.v2().filter(|_| settings.queue.poll_v2) {
        poll_v2(v2.clone(), settings.identity.os_arch.clone(), context.clone()).await;
    }
}

/// Passes pushed jobs on.
fn forward<J: Into<JobId> + Send + 'static>(
    mut pushed: mpsc::Receiver<J>,
    reconciler: mpsc::Sender<Message>,
    supervisor: &Supervisor,
) {
    supervisor.spawn_until_stopped("pushed jobs", async move {
        while let Some(job) = pushed.recv().await {
            if reconciler.send(Message::Pushed(job.into())).await.is_err() {
                return;
            }
        }
    });
}

/// Asks the reconciler for the moment, and then CDS for a queue.
async fn poll_v1(v1: V1, regions: RegionFilter, context: ActionContext) {
    let Some(begun) = moment(&context.reconciler).await else { return };
    let asked = v1.queue(&regions).await;
    note(&context, "V1 queue", "the last list is used until it can", &asked);
    if let Ok(jobs) = asked {
        let known = |job: rookery_cds::V1Job| (JobId::V1(job.id), Some(QueuedJob::V1(Box::new(job))));
        let jobs = jobs.into_iter().map(known).collect();
        context.reconciler.send(Message::Listed(Protocol::V1, begun, jobs)).await.ok();
    }
}

async fn poll_v2(v2: V2, os_arch: Vec<String>, context: ActionContext) {
    let Some(begun) = moment(&context.reconciler).await else { return };
    let asked = v2.queue(&os_arch).await;
    note(&context, "V2 queue", "the last list is used until it can", &asked);
    if let Ok(jobs) = asked {
        let jobs = jobs.into_iter().map(|job| (JobId::V2(job.id), None)).collect();
        context.reconciler.send(Message::Listed(Protocol::V2, begun, jobs)).await.ok();
    }
}

/// What CDS tells of a job; none: there is no session for such jobs.
pub(crate) async fn read_job(cds: &Cds, job: &JobId) -> Option<Result<QueuedJob, CdsError>> {
    Some(match job {
        JobId::V1(id) => cds.v1()?.job(*id).await.map(|job| QueuedJob::V1(Box::new(job))),
        JobId::V2(id) => cds.v2()?.job(id).await.map(|detail| QueuedJob::V2(Box::new(detail))),
    })
}

fn note<T, E: std::error::Error>(
    context: &ActionContext,
    source: &'static str,
    meanwhile: &str,
    asked: &Result<T, E>,
) {
    context.troubles.note(source, meanwhile, context.clock.steady(), asked);
}

async fn moment(reconciler: &mpsc::Sender<Message>) -> Option<Moment> {
    let (reply, moment) = oneshot::channel();
    reconciler.send(Message::Moment(reply)).await.ok()?;
    moment.await.ok()
}

async fn models(v1: V1, context: ActionContext) {
    let asked = v1.models().await;
    note(&context, "V1 worker models", "the last list is used until they can", &asked);
    if let Ok(models) = asked {
        context.reconciler.send(Message::Models(models)).await.ok();
    }
}

/// The workers of both protocols, or no news at all: half a list would make the others look dead.
async fn workers(context: ActionContext) {
    let begun = context.clock.steady();
    let asked = all_workers(&context.cds).await;
    note(
        &context,
        "workers",
        "no machine that has changed since is deleted, and after a minute none at all",
        &asked,
    );
    if let Ok((v1, v2)) = asked {
        context.reconciler.send(Message::Workers { begun, v1, v2 }).await.ok();
    }
}

async fn all_workers(cds: &Cds) -> Result<(Vec<Worker>, Vec<Worker>), CdsError> {
    let v1 = if let Some(v1) = cds.v1() { v1.workers().await? } else { Vec::new() };
    let v2 = if let Some(v2) = cds.v2() { v2.workers().await? } else { Vec::new() };
    Ok((v1, v2))
}

pub(crate) async fn room(context: ActionContext) {
    let begun = context.clock.steady();
    let asked = context.hands.pool_room(&context.placement.pool).await;
    note(&context, "resource pool", "its limits are not enforced until it can", &asked);
    context.reconciler.send(Message::Room { begun, pool: asked.unwrap_or_default() }).await.ok();
}

/// What a plan needs to know of the pool's room.
pub(crate) fn pool_room(pool: &PoolCapacity) -> PoolRoom {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let Share { max_usage, unreserved_for_vm, .. } = &pool.cpu;
    PoolRoom {
        cpu_max_mhz: max_usage.map(|mhz| mhz.0),
        cpu_unreserved_mhz: unreserved_for_vm.map(|mhz| signed(mhz.0)),
        memory_unreserved_bytes: pool.memory.unreserved_for_vm.map(|bytes| signed(bytes.0)),
    }
}

async fn clock(context: ActionContext, ahead: Arc<watch::Sender<SignedDuration>>) {
    let (begun, wall) = (context.clock.steady(), context.clock.now());
    let asked = context.hands.server_time().await;
    note(&context, "vCenter's clock", "its last reading counts for five minutes", &asked);
    if let Ok(theirs) = asked {
        let reading = Reading { begun, wall, took: context.clock.steady().duration_since(begun), theirs };
        if !reading.is_vague() {
            ahead.send_replace(reading.ahead());
        }
        context.reconciler.send(Message::Clock(reading)).await.ok();
    }
}

/// Reads how large the disks of new machines are: it is shown, and a flavor may ask for a least size.
fn read_disks(context: ActionContext, mut report: watch::Receiver<Arc<Report>>, supervisor: &Supervisor) {
    supervisor.spawn_until_stopped("sizes of disks", async move {
        // What vCenter does not tell of a machine is asked for a few times and not again.
        let mut asked = BTreeMap::<MachineId, u32>::new();
        while report.changed().await.is_ok() {
            let view = Arc::clone(&report.borrow_and_update().view);
            let owner = context.owner();
            asked.retain(|id, _| view.machines.contains(id));
            let own = view.owned(&owner).map(|(machine, _)| machine.id.clone());
            let new: Vec<_> =
                own.filter(|id| asked.get(id).is_none_or(|times| *times < DISKS_TIMES)).collect();
            if new.is_empty() {
                continue;
            }
            match context.hands.disk_sizes(&new).await {
                Ok(sizes) => {
                    for id in new {
                        let told = sizes.get(&id).is_some_and(|disks| disks.first_kb.is_some());
                        let times = asked.entry(id).or_default();
                        *times = if told { DISKS_TIMES } else { *times + 1 };
                    }
                    context.reconciler.send(Message::Disks(sizes)).await.ok();
                }
                Err(error) => debug!(error = %chain(&error), "sizes of disks could not be read"),
            }
            sleep(DISKS).await;
        }
    });
}

/// Asks which clones vCenter lists, while one may still appear that nobody answered for or that is from before our start.
fn watch_clones(context: ActionContext, mut report: watch::Receiver<Arc<Report>>, supervisor: &Supervisor) {
    supervisor.spawn_until_stopped("clones in doubt", async move {
        loop {
            let is_doubtful = |report: &Arc<Report>| report.clones_in_doubt > 0 || !report.addresses_settled;
            let settled = report.wait_for(is_doubtful).await.map(|report| report.addresses_settled);
            let Ok(settled) = settled else { return };
            let begun = context.clock.steady();
            let asked = context.hands.clone_tasks().await;
            note(&context, "clones", "addresses that they may hold are not given out until they can", &asked);
            if let Ok(listed) = asked {
                context.reconciler.send(Message::Clones { begun, listed }).await.ok();
            }
            sleep(if settled { DOUBTS } else { SETTLING }).await;
        }
    });
}
