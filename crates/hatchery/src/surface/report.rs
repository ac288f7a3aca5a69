//! What the hatchery shows of itself: the lines of its heartbeat, its pages, and what people ask for. All of it comes
//! from the values that the last pass was planned with.

mod counts;
mod held;
mod jobs;
mod machines;
mod pages;
mod planned;
mod ready;
mod shown;
mod status;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::View;
use crate::mark::Mark;
use crate::plan::braked;
use crate::plan::capacity::{Ledger, Limits};
use crate::plan::hold::serves_nobody;
use crate::standing::{Standing, standing};
use jiff::{SignedDuration, Timestamp};
use rookery_cds::JobId;
use rookery_fleet::address;
use rookery_fleet::address::Network;
use rookery_fleet::deletion::Stop;
use rookery_fleet::disks::Disks;
use rookery_fleet::{MachineId, Power};
use rookery_vim_client::PoolCapacity;

use crate::plan::running::RunningAction;
use crate::plan::{Action, Apart, NotMade, Plan, WaitReason, apart};
use crate::reconcile::State;
use crate::settings::Settings;

pub use counts::{Counts, MachineState};
pub use held::{Held, HoldRequestStatus};
pub use jobs::{JobLine, JobState};
pub use machines::MachineLine;
pub(crate) use pages::error_page;
pub use pages::{Beside, Published};
pub use planned::{Act, Planned};
pub use shown::{Addresses, Status, Usage, Waiting, WarmWaiting};
pub use status::{Host, monitoring, of_limit};
use workers::worker_lines;
pub use workers::{Known, WorkerLine};

/// What the last pass saw and planned.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Report {
    pub at: Timestamp,
    /// The same by our steady time.
    pub steady: Timestamp,
    /// Whether all machines are known.
    pub complete: bool,
    /// How many machines there are, of anybody.
    pub machines: usize,
    /// The names of own machines that are no templates and not pooled.
    pub started: Vec<String>,
    pub ledger: Ledger,
    pub limits: Limits,
    /// The workers that CDS knows, by name.
    pub workers: Vec<WorkerLine>,
    pub counts: Counts,
    /// What each own machine is.
    pub own: Vec<(MachineId, MachineState)>,
    /// How the configured addresses are used. Those that only rest, since nobody knows whether they are free, count as
    /// free.
    pub addresses: address::AddressUsage,
    pub waiting: BTreeMap<JobId, WaitReason>,
    /// Why warm machines are not made, or models not registered, by model.
    pub not_made: Vec<(String, NotMade)>,
    pub running: Vec<UnderWay>,
    /// The machines that are at work on jobs, by the job as their marks have it.
    pub jobs_served: BTreeMap<String, String>,
    pub held: Vec<Held>,
    pub wishes: Vec<HoldRequestStatus>,
    pub braked: Vec<braked::Waiting>,
    /// Machines with our mark that are left alone until somebody has looked at them.
    pub apart: Vec<Apart>,
    /// Own machines that vCenter does not reach for long, by name.
    pub out_of_reach: Vec<String>,
    /// Why nothing may be deleted.
    pub stopped: Option<Stop>,
    pub draining: bool,
    /// Flavors that were asked for where none are configured, by model.
    pub ignored_flavors: BTreeMap<String, String>,
    /// Whether vCenter did not say how much room there is: then only the settings limit anything.
    pub room_unknown: bool,
    /// How far vCenter's clock is ahead of ours.
    pub skew: Option<SignedDuration>,
    /// How many clones may still appear that nobody answered for, or that are from before our start.
    pub clones_in_doubt: usize,
    /// Whether clones from before our start have ended: until then no address is given.
    pub addresses_settled: bool,
    pub view: Arc<View>,
    /// How large disks of own machines are, as far as they were read.
    pub disks: Arc<Disks>,
    /// Own machines that have to go.
    pub dying: BTreeSet<MachineId>,
    pub networks: Vec<Network>,
    /// Addresses that were given away and that no machine may show yet.
    pub promised: Vec<Ipv4Addr>,
    /// The room in the pool, if vCenter told it.
    pub pool: Option<PoolCapacity>,
    /// Warm machines that are being cloned and that vCenter does not list yet.
    pub unseen_makes: usize,
    /// Models that failed and are left alone for a while.
    pub resting: usize,
    pub launches: Launches,
}

/// How many workers turn to CDS, and how many may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Launches {
    /// Workers between launch and registration.
    pub under_way: usize,
    pub allowed: u32,
    /// The same, if that is less than the settings allow.
    pub reduced: Option<u32>,
    /// The median of the last ten calls, if there were so many.
    pub median_call: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderWay {
    /// A word: see [`Action::as_str`].
    pub action: &'static str,
    /// The machine that it is about, by name; empty: none.
    pub name: String,
    pub job: Option<JobId>,
    /// Why its worker is not launched although its machine is ready.
    pub held_back: Option<WaitReason>,
}

impl UnderWay {
    /// Whether a worker is started for a job.
    pub fn is_start(&self) -> bool {
        self.action == "spawn"
    }
}

impl fmt::Display for UnderWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.action, self.name)?;
        self.held_back.as_ref().map_or(Ok(()), |why| write!(f, ", ready; {why}"))
    }
}

impl Report {
    pub fn new(state: &State, settings: &Settings, plan: &Plan) -> Self {
        let held = held::held(
            &state.vsphere.view,
            &settings.identity.owner,
            state.server_now(),
            &state.times.reckoning,
        );
        let dying = dying(state, plan);
        let mut counts = Counts::of(state, plan, &held);
        let (mut started, mut own, busy) = (Vec::new(), Vec::new(), state.running.index());
        let mut jobs_served = BTreeMap::new();
        for machine in state.vsphere.view.notable() {
            let standing = standing(machine, &settings.identity.owner);
            let is = counts.add(machine, standing, state, plan, &held, &dying);
            own.extend(is.map(|is| (machine.id.clone(), is)));
            match standing {
                Standing::Worker | Standing::Registering | Standing::HalfClaimed => {
                    started.push(machine.name.clone());
                    let is_over = machine.power == Some(Power::Off) && !busy.has(machine);
                    let is_over = is_over || dying.contains(&machine.id);
                    let serves =
                        |mark: &&Mark| !mark.job_id.is_empty() && !is_over && !serves_nobody(machine, mark);
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
        Self {
            at: state.times.wall,
            steady: state.times.now,
            complete: state.vsphere.view.complete,
            machines: state.vsphere.view.machines.len(),
            workers: worker_lines(&state.cds.workers, |name| state.is_of_v1(name), &started, &held),
            started,
            ledger: plan.ledger,
            limits: settings.limits,
            counts,
            own,
            addresses: address::usage(
                &settings.addresses.networks,
                &state.vsphere.view,
                state.running.iter().filter_map(|action| action.address),
            ),
            waiting: plan.waiting.iter().map(|one| (one.job.clone(), one.why.clone())).collect(),
            not_made: plan.not_made.clone(),
            running: state.running.iter().map(|running| under_way(state, running)).collect(),
            jobs_served,
            held,
            wishes: state.requests.wishes.iter().map(HoldRequestStatus::from).collect(),
            braked: plan.braked.clone(),
            apart: apart(&state.vsphere.view, &settings.identity.owner),
            out_of_reach: state.out_of_reach(),
            stopped: plan.stopped,
            draining: state.requests.draining,
            ignored_flavors: state.said.ignored_flavors.clone(),
            room_unknown: state.vsphere.room.failed(),
            skew: state.skew(),
            clones_in_doubt: state.clones_in_doubt(),
            addresses_settled: state.addresses_are_settled(),
            view: Arc::clone(&state.vsphere.view),
            disks: Arc::clone(&state.vsphere.disks),
            dying,
            networks: settings.addresses.networks.clone(),
            promised: promised(state),
            pool: state.vsphere.room.pool.clone(),
            unseen_makes: unseen_makes(state),
            resting: state.resting.now(state.server_now()),
            launches: launches(state, settings),
        }
    }
}

fn launches(state: &State, settings: &Settings) -> Launches {
    let (pressure, limit) = (&state.cds.pressure, settings.limits.starting);
    Launches {
        under_way: pressure.launching(),
        allowed: pressure.allowed(limit),
        reduced: pressure.reduced(limit),
        median_call: pressure.median_call(),
    }
}

fn under_way(state: &State, running: &RunningAction) -> UnderWay {
    UnderWay {
        action: running.action.as_str(),
        name: running.name.clone(),
        job: running.job().cloned(),
        held_back: state.held_back(&running.name),
    }
}

/// Own machines that were given up, are being deleted, or will be.
fn dying(state: &State, plan: &Plan) -> BTreeSet<MachineId> {
    let running = state.running.iter().map(|running| &running.action);
    let deleted = running.chain(&plan.actions).filter_map(Action::deletes);
    state.condemned.keys().chain(deleted).cloned().collect()
}

fn promised(state: &State) -> Vec<Ipv4Addr> {
    let in_flight = state.running.iter().filter_map(|action| action.address);
    let reserved = state.vsphere.reserved.addresses.iter().copied();
    in_flight.chain(state.lingering()).chain(reserved).collect()
}

fn unseen_makes(state: &State) -> usize {
    let is_listed = |action: &&RunningAction| {
        let known = action.machine.as_ref();
        known.is_some_and(|id| state.vsphere.view.machines.contains(id))
            || state.vsphere.view.named(&action.name).next().is_some()
    };
    let makes = state.running.iter().filter(|action| matches!(action.action, Action::Make(_)));
    makes.filter(|action| !is_listed(action)).count()
}
