//! What the hatchery shows of itself: the lines of its heartbeat, its pages, and what people ask for. All of it comes
//! from the values that the last pass was planned with.

mod counts;
mod held;
mod pages;
mod planned;
mod ready;
mod shown;
mod status;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::View;
use crate::mark::Mark;
use crate::plan::braked;
use crate::plan::capacity::Ledger;
use crate::plan::hold::serves_nobody;
use crate::plan::sweep;
use crate::standing::{Standing, standing};
use jiff::{SignedDuration, Timestamp};
use rookery_cds::JobId;
use rookery_fleet::MachineId;
use rookery_fleet::address;
use rookery_fleet::address::Network;
use rookery_fleet::disks::Disks;
use rookery_vim_client::PoolCapacity;
use serde::Serialize;

use crate::plan::running::{RunningAction, Work};
use crate::plan::{Apart, Plan, apart};
use crate::reconcile::State;
use crate::settings::Settings;

pub use counts::Counts;
pub use held::{Held, Wished};
pub(crate) use pages::error_page;
pub use pages::{Beside, Board};
pub use planned::{Act, Planned};
pub use shown::{Status, Usage, Waiting, WarmWaiting};
pub use status::{Host, monitoring, of_limit};
use workers::worker_lines;
pub use workers::{Known, WorkerLine};

/// What the last pass saw and planned.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Report {
    /// When, by our clock.
    pub at: Timestamp,
    /// The same by our steady time.
    pub steady: Timestamp,
    /// Whether all machines are known.
    pub complete: bool,
    /// How many machines there are, of anybody.
    pub machines: usize,
    /// The names of own machines that are no templates and not pooled.
    pub started: Vec<String>,
    /// What is in use.
    pub ledger: Ledger,
    /// The limits.
    pub max_workers: Option<u32>,
    /// The limit of CPUs.
    pub max_cpus: Option<u64>,
    /// The limit of memory.
    pub max_memory_mb: Option<u64>,
    /// The workers that CDS knows, by name.
    pub workers: Vec<WorkerLine>,
    /// How many machines are what.
    pub counts: Counts,
    /// How the configured addresses are used. Those that only rest, since nobody knows whether they are free, count as
    /// free.
    pub addresses: address::Usage,
    /// Why jobs wait.
    pub waiting: BTreeMap<JobId, WaitingLine>,
    /// Why warm machines are not made, or models not registered.
    pub warm_waiting: Vec<(String, String)>,
    /// Work under way.
    pub running: Vec<String>,
    /// How many workers are being started.
    pub spawning: usize,
    /// Jobs that are worked on, and how.
    pub jobs_under_way: BTreeMap<JobId, String>,
    /// The machines that are there for jobs, by the job as their marks have it.
    pub jobs_served: BTreeMap<String, String>,
    /// Machines that somebody keeps.
    pub held: Vec<Held>,
    /// Whose machines are to be kept when they fail.
    pub wishes: Vec<Wished>,
    /// What waits for a person, since it is unusually much.
    pub braked: Vec<braked::Waiting>,
    /// Machines with our mark that are left alone until somebody has looked at them.
    pub apart: Vec<Apart>,
    /// Own machines that vCenter does not reach for long, by name.
    pub out_of_reach: Vec<String>,
    /// Why nothing may be deleted.
    pub stopped: Option<String>,
    /// Whether new jobs are taken.
    pub draining: bool,
    /// How far vCenter's clock is ahead of ours, in milliseconds.
    pub skew_ms: Option<i128>,
    /// Flavors that were asked for where none are configured, by model.
    pub ignored_flavors: BTreeMap<String, String>,
    /// Whether vCenter did not say how much room there is: then only the settings limit anything.
    pub room_unknown: bool,
    /// The same, in full.
    pub skew: Option<SignedDuration>,
    /// How many clones may still appear that nobody answered for, or that are from before our start.
    pub clones_in_doubt: usize,
    /// Whether clones from before our start have ended: until then no address is given.
    pub addresses_settled: bool,
    /// The machines.
    pub view: Arc<View>,
    /// How large disks of own machines are, as far as they were read.
    pub disks: Arc<Disks>,
    /// Own machines that have to go.
    pub dying: BTreeSet<MachineId>,
    /// Where addresses come from; none: from DHCP.
    pub networks: Vec<Network>,
    /// Addresses that were given away and that no machine may show yet.
    pub promised: Vec<Ipv4Addr>,
    /// The room in the pool, if vCenter told it.
    pub pool: Option<PoolCapacity>,
    /// Why nothing may be deleted, as a word.
    pub stop_word: Option<&'static str>,
    /// Work under way, as words.
    pub works: Vec<&'static str>,
    /// Warm machines that are being cloned and that vCenter does not list yet.
    pub unseen_makes: usize,
    /// Models that failed and are left alone for a while.
    pub resting: usize,
    /// How CDS is doing.
    pub launches: Launches,
}

/// How many workers turn to CDS, and how many may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Launches {
    /// Workers between launch and registration.
    pub under_way: usize,
    /// How many may be.
    pub allowed: u32,
    /// The same, if that is less than the settings allow.
    pub reduced: Option<u32>,
    /// The median of the last ten calls, if there were so many.
    pub median_call: Option<Duration>,
}

/// Why a job waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingLine {
    /// A word.
    pub reason: &'static str,
    /// A sentence.
    pub why: String,
    /// Whether waiting alone will not help.
    pub permanent: bool,
}

impl Report {
    /// What a pass saw and planned.
    pub fn new(state: &State, settings: &Settings, plan: &Plan) -> Self {
        let held = held::held(&state.view, &settings.identity.owner, state.server_now(), &state.reckoning);
        let dying = dying(state, plan);
        let mut counts = Counts::of(state, plan, &held);
        let mut started = Vec::new();
        let mut jobs_served = BTreeMap::new();
        for machine in state.view.notable() {
            let standing = standing(machine, &settings.identity.owner);
            counts.add(machine, standing, state, plan, &held, &dying);
            match standing {
                Standing::Worker | Standing::Registering | Standing::HalfClaimed => {
                    started.push(machine.name.clone());
                    let serves = |mark: &&Mark| !mark.job_id.is_empty() && !serves_nobody(machine, mark);
                    if let Some(mark) = machine.mark().filter(serves) {
                        jobs_served.insert(mark.job_id.clone(), machine.name.clone());
                    }
                }
                Standing::Template
                | Standing::Pooled
                | Standing::TemplateInMaking
                | Standing::Foreign
                | Standing::Unknown => {}
            }
        }
        let waiting = plan.waiting.iter().map(|one| {
            let (reason, permanent) = (one.why.as_str(), one.why.is_permanent());
            (one.job.clone(), WaitingLine { reason, why: one.why.to_string(), permanent })
        });
        Self {
            at: state.wall,
            steady: state.now,
            complete: state.view.complete,
            machines: state.view.machines.len(),
            workers: worker_lines(&state.workers, |name| state.is_of_v1(name), &started, &held),
            started,
            ledger: plan.ledger,
            max_workers: settings.limits.workers,
            max_cpus: settings.limits.size.cpus,
            max_memory_mb: settings.limits.size.memory_mb,
            counts,
            addresses: address::usage(
                &settings.addresses.networks,
                &state.view,
                state.running.iter().filter_map(|action| action.address),
            ),
            waiting: waiting.collect(),
            warm_waiting: plan.warm_waiting.clone(),
            running: state
                .running
                .iter()
                .map(|action| format!("{} {}", word(&action.work), action.name))
                .collect(),
            spawning: state.running.iter().filter(|action| matches!(action.work, Work::Spawn { .. })).count(),
            jobs_under_way: under_way(state),
            jobs_served,
            held,
            wishes: state.wishes.iter().map(Wished::from).collect(),
            braked: plan.braked.clone(),
            apart: apart(&state.view, &settings.identity.owner),
            out_of_reach: state.out_of_reach(),
            stopped: plan.sweep.stopped.map(|stop| sweep::stop_text(&stop)),
            draining: state.draining,
            skew_ms: state.skew.map(|skew| skew.as_millis()),
            ignored_flavors: state.ignored_flavors.clone(),
            room_unknown: state.room.failed(),
            skew: state.skew,
            clones_in_doubt: state.clones_in_doubt(),
            addresses_settled: state.addresses_are_settled(),
            view: Arc::clone(&state.view),
            disks: Arc::clone(&state.disks),
            dying,
            networks: settings.addresses.networks.clone(),
            promised: promised(state),
            pool: state.room.pool.clone(),
            stop_word: plan.sweep.stopped.map(|stop| stop.as_str()),
            works: state.running.iter().map(|action| metric_word(&action.work)).collect(),
            unseen_makes: unseen_makes(state),
            resting: state.setbacks.len(),
            launches: launches(state, settings),
        }
    }
}

fn launches(state: &State, settings: &Settings) -> Launches {
    let (pressure, limit) = (&state.pressure, settings.limits.starting);
    Launches {
        under_way: pressure.launching(),
        allowed: pressure.allowed(limit),
        reduced: pressure.reduced(limit),
        median_call: pressure.median_call(),
    }
}

fn under_way(state: &State) -> BTreeMap<JobId, String> {
    let told = |action: &RunningAction| {
        let held_back = state.held_back(&action.name);
        let held_back = held_back.map(|why| format!(", ready; {why}")).unwrap_or_default();
        Some((action.job()?.clone(), format!("{} {}{held_back}", word(&action.work), action.name)))
    };
    state.running.iter().filter_map(told).collect()
}

fn word(work: &Work) -> &'static str {
    match work {
        Work::Spawn { .. } => "spawn",
        Work::GiveUp { .. } => "give up",
        Work::Make { .. } => "make",
        Work::Finish { .. } => "finish",
        Work::Unclaim(_) => "take back",
        Work::Register { .. } => "register",
        Work::Adopt { .. } => "adopt",
        Work::Keep(_) => "keep",
        Work::Delete(_) => "delete",
        Work::Free { .. } => "free",
    }
}

fn metric_word(work: &Work) -> &'static str {
    match work {
        Work::GiveUp { .. } => "give_up",
        Work::Unclaim(_) => "take_back",
        Work::Spawn { .. }
        | Work::Make { .. }
        | Work::Finish { .. }
        | Work::Register { .. }
        | Work::Free { .. }
        | Work::Adopt { .. }
        | Work::Keep(_)
        | Work::Delete(_) => word(work),
    }
}

/// Own machines that were given up, are being deleted, or will be.
fn dying(state: &State, plan: &Plan) -> BTreeSet<MachineId> {
    let deleted = state.running.iter().filter(|action| matches!(action.work, Work::Delete(_)));
    let deleted = deleted.filter_map(|action| action.machine.as_ref());
    let planned = plan.sweep.delete.iter().map(|(id, _)| id).chain(plan.remove.iter().map(|(id, _)| id));
    state.condemned.keys().chain(deleted).chain(planned).cloned().collect()
}

fn promised(state: &State) -> Vec<Ipv4Addr> {
    let in_flight = state.running.iter().filter_map(|action| action.address);
    in_flight.chain(state.lingering.iter().copied()).chain(state.reserved.addresses.iter().copied()).collect()
}

fn unseen_makes(state: &State) -> usize {
    let is_listed = |action: &&RunningAction| {
        let known = action.machine.as_ref();
        known.is_some_and(|id| state.view.machines.contains(id))
            || state.view.named(&action.name).next().is_some()
    };
    let makes = state.running.iter().filter(|action| matches!(action.work, Work::Make { .. }));
    makes.filter(|action| !is_listed(action)).count()
}
