//! What the reconciler knows. All of it can be found out again after a crash.

use super::answers::Answers;
use super::apply::later;
use super::clocks::Clocks;
use super::doubts::Doubts;
use super::histories::Histories;
use super::job_book::JobBook;
use super::launches::Gate;
use super::news::News;
use super::out_of_reach::OutOfReach;
use crate::intake::demand::Rules;
use crate::intake::pressure::Pressure;
use crate::intake::queue::{Queue, QueuedJob};
use crate::intake::resolve::{Demand, Fetched, resolve};
use crate::machine::{Brake, View};
use crate::plan::hold::{HoldRequest, Told};
use crate::plan::running::{RunningActions, TaskId};
use crate::plan::sweep::{Condemned, JobRead};
use crate::plan::workers::Listing;
use crate::plan::{Carried, Observed, Plan, References, Setback, Setbacks, Spawn, Unusable};
use crate::plan::{braked, sweep};
use crate::settings::Settings;
use crate::surface::metrics::Leak;
use jiff::{SignedDuration, Timestamp};
use rookery_cds::{JobId, ModelPath, V1Model, Worker};
use rookery_fleet::capacity::PoolRoom;
use rookery_fleet::disks::Disks;
use rookery_fleet::expiring::Expiring;
use rookery_fleet::machine::History;
use rookery_fleet::reckoning::Reckoning;
use rookery_fleet::reservations::InFlight;
use rookery_fleet::{MachineId, OwnerId};
use rookery_vim_client::{Load, PoolCapacity};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a sample of the pool's room is good.
const ROOM_AGE: Duration = Duration::from_secs(10);
/// How long a machine that has to go is waited for while the inventory does not show it.
const UNSEEN_AGE: Duration = Duration::from_mins(15);

#[derive(Debug, Default)]
pub struct State {
    pub times: Times,
    pub cds: FromCds,
    pub vsphere: FromVsphere,
    pub resting: Resting,
    pub requests: Requests,
    pub said: Said,
    pub running: RunningActions,
    /// The jobs that are or were served, to be shown.
    pub(super) jobs: JobBook,
    /// Starts of workers among them whose first place was of no use, and how they are told of another one.
    pub(super) misplaced: Vec<(TaskId, oneshot::Sender<Option<Spawn>>)>,
    /// Machines that have to go. Each is waited for while the inventory does not show it.
    pub condemned: Expiring<MachineId, Condemned>,
    pub(super) carried: Carried,
    /// What the brake held back in the last pass.
    pub braked: Vec<braked::Waiting>,
    /// What was found that somebody had lost.
    pub(super) leaks: Vec<Leak>,
    /// When an act last ended.
    pub(super) act_ended: Option<Timestamp>,
    /// When to look next for what can go.
    pub(super) sweep_at: Timestamp,
    /// When to look next for models to register.
    pub(super) register_at: Timestamp,
}

/// What time it is, and was.
#[derive(Debug, Default)]
pub struct Times {
    /// Our steady time at the last look.
    pub now: Timestamp,
    /// Our wall time at the last look, to be shown.
    pub wall: Timestamp,
    pub(super) clocks: Clocks,
    pub reckoning: Reckoning,
}

#[derive(Debug, Default)]
pub struct FromCds {
    pub queue: Queue<QueuedJob>,
    /// The jobs that wait, with their models.
    pub demands: Vec<Demand>,
    /// The V1 models.
    pub models: Option<Vec<V1Model>>,
    pub fetched: Fetched,
    pub(super) fetching: BTreeSet<ModelPath>,
    pub listing: Option<Listing>,
    /// The same, as CDS tells them.
    pub workers: Vec<Worker>,
    pub(super) v1_workers: BTreeMap<String, Worker>,
    pub(super) registered_once: BTreeSet<String>,
    pub(super) took_job: BTreeSet<String>,
    /// Whether the jobs of machines run whose workers are not listed.
    pub(super) job_reads: Answers<JobRead>,
    /// How the jobs of machines have ended.
    pub(super) outcomes: Answers<Told>,
    pub pressure: Pressure,
    /// How many workers may turn to CDS, if it bears fewer than the settings allow.
    pub allowed: Option<u32>,
    pub(super) gate: Gate,
}

#[derive(Debug, Default)]
pub struct FromVsphere {
    /// The machines. What is shown shares them.
    pub view: Arc<View>,
    pub(super) brake: Brake,
    pub(super) references: References,
    pub(super) out_of_reach: OutOfReach,
    pub(super) doubts: Doubts,
    /// What fronts of the process have reserved on vCenter.
    pub reserved: InFlight,
    pub room: Room,
    pub(super) load: Load,
    pub disks: Arc<Disks>,
    pub(super) events: BTreeMap<MachineId, Option<History>>,
    pub(super) histories: Histories,
}

/// What rests, and until when.
#[derive(Debug, Default)]
pub struct Resting {
    /// How often a start was really tried for a job; counted from the first one on.
    pub(super) attempts: Expiring<JobId, u32>,
    /// Models that failed. Their times are vCenter's.
    pub setbacks: Setbacks,
    /// That vCenter had no room, by its time.
    pub(super) full: Setback,
    /// Models that the jobs of a project cannot use, and why.
    pub(super) unusable: Expiring<Unusable, String>,
    /// V1 models whose registration is left to others.
    pub(super) booked: Expiring<String>,
    /// Machines that could not be claimed or changed.
    pub(super) avoided: Expiring<MachineId>,
    pub(super) stubborn: BTreeMap<MachineId, u32>,
}

impl Resting {
    /// How many models rest by then.
    pub fn now(&self, now: Timestamp) -> usize {
        self.setbacks.values().filter(|setback| setback.rests_until(now).is_some()).count()
    }
}

#[derive(Debug, Default)]
pub struct Requests {
    /// Whether no new jobs are taken.
    pub draining: bool,
    /// Whose machines are to be kept when they fail. It stands in the book.
    pub wishes: Vec<HoldRequest>,
}

/// What was said once, in the log or to the users of jobs.
#[derive(Debug, Default)]
pub struct Said {
    pub(super) orphans: BTreeSet<String>,
    /// Machines that are left alone.
    pub(super) apart: BTreeSet<MachineId>,
    /// Why models cannot be used.
    pub(super) complaints: Expiring<Unusable, String>,
    /// Flavors that were asked for where none are configured, by model.
    pub ignored_flavors: BTreeMap<String, String>,
    /// Models that are not registered until somebody changes something.
    pub(super) stuck: BTreeSet<String>,
    pub(super) news: News,
}

/// How much room the pool has.
#[derive(Debug, Clone, Default)]
pub struct Room {
    /// The last answer; none if there was none.
    pub told: Option<PoolRoom>,
    /// The same with all that vCenter tells, to be shown.
    pub pool: Option<PoolCapacity>,
    /// When it was asked for.
    pub(super) at: Option<Timestamp>,
}

impl Room {
    /// Whether it was asked for, and no answer came.
    pub fn failed(&self) -> bool {
        self.at.is_some() && self.told.is_none()
    }
}

impl State {
    /// Nothing is known yet but what is to be kept.
    pub fn new(wishes: Vec<HoldRequest>) -> Self {
        Self { requests: Requests { wishes, draining: false }, ..Self::default() }
    }

    /// Takes a new look at the machines in, and forgets what is too old.
    pub(super) fn look(&mut self, view: View, owner: &OwnerId, now: Timestamp) {
        self.times.now = now;
        self.forget(&view, now);
        for (machine, condemned_for) in self.vsphere.doubts.condemned(&view) {
            self.condemned.or_insert(machine, condemned_for, later(now, UNSEEN_AGE));
        }
        self.vsphere.doubts.pass(now, &view);
        self.vsphere.view = Arc::new(view);
        self.keep_watch(owner);
    }

    fn forget(&mut self, view: &View, now: Timestamp) {
        let machines = &view.machines;
        if view.complete {
            // One that has to go may not be in the inventory yet: forgotten too soon, it would stay.
            self.condemned.forget_unless(now, |id| machines.contains(id));
            self.vsphere.events.retain(|id, _| machines.contains(id));
            self.carried.off_duty.retain(|id| machines.contains(id));
            self.resting.stubborn.retain(|id, _| machines.contains(id));
            self.cds.took_job.retain(|name| view.named(name).next().is_some());
            if self.vsphere.disks.keys().any(|id| !machines.contains(id)) {
                Arc::make_mut(&mut self.vsphere.disks).retain(|id, _| machines.contains(id));
            }
        }
        self.cds.job_reads.forget(view, now);
        self.cds.outcomes.forget(view, now);
        self.cds.fetched.forget(now);
        self.resting.attempts.forget(now);
        self.resting.unusable.forget(now);
        self.resting.booked.forget(now);
        self.resting.avoided.forget(now);
        let server_now = self.server_now();
        let is_over = |setback: &Setback| setback.failures == 0 && setback.rests_until(server_now).is_none();
        self.resting.setbacks.retain(|_, setback| !is_over(setback));
    }

    /// How far vCenter's clock is ahead of ours, if that is known.
    pub fn skew(&self) -> Option<SignedDuration> {
        self.times.clocks.skew(self.times.now)
    }

    pub fn lingering(&self) -> BTreeSet<Ipv4Addr> {
        self.vsphere.doubts.addresses()
    }

    /// A machine has to go.
    pub(super) fn condemn(&mut self, machine: MachineId, condemned_for: Condemned, now: Timestamp) {
        self.condemned.insert(machine, condemned_for, later(now, UNSEEN_AGE));
    }

    /// vCenter's time.
    pub fn server_now(&self) -> Timestamp {
        self.times.now.saturating_add(self.times.clocks.ahead()).unwrap_or(Timestamp::MAX)
    }

    /// Finds what each job runs on, and returns the models that have to be read for it.
    pub(super) fn find_demands(&mut self, rules: &Rules) -> Vec<ModelPath> {
        let models = self.cds.models.as_deref().unwrap_or_default();
        let (mut demands, mut missing) = (Vec::new(), BTreeSet::new());
        for (job, known) in self.cds.queue.known() {
            match resolve(job, known, rules, models, &self.cds.fetched) {
                Ok(demand) => demands.push(demand),
                Err(unread) => drop(missing.insert(unread)),
            }
        }
        self.cds.demands = demands;
        missing.retain(|model| self.cds.fetching.insert(model.clone()));
        missing.into_iter().collect()
    }

    /// Whether a worker is one of a V1 job or a V1 model.
    pub fn is_of_v1(&self, worker: &str) -> bool {
        self.cds.v1_workers.contains_key(worker)
    }

    pub fn clones_in_doubt(&self) -> usize {
        self.vsphere.doubts.len()
    }

    pub fn addresses_are_settled(&self) -> bool {
        self.vsphere.doubts.start_is_settled()
    }

    /// The names of own machines that vCenter does not reach for long.
    pub fn out_of_reach(&self) -> Vec<String> {
        self.vsphere.out_of_reach.names(&self.vsphere.view, self.times.now)
    }

    /// Whether a job or a model is being read, or still has to be.
    pub(super) fn is_reading(&self) -> bool {
        self.cds.queue.known().count() < self.cds.queue.len() || !self.cds.fetching.is_empty()
    }

    /// Whether the pool has to be asked before anything new is placed.
    pub(super) fn needs_room(&self) -> bool {
        self.vsphere.room.at.is_none_or(|at| !is_within(at, self.times.now, ROOM_AGE))
    }

    /// What a plan is made from.
    pub(super) fn observed<'s>(
        &'s self,
        changed_at: &'s dyn Fn(&MachineId) -> Option<Timestamp>,
    ) -> Observed<'s> {
        Observed {
            view: &self.vsphere.view,
            now: self.server_now(),
            ours: self.times.now,
            skew: self.skew(),
            reckoning: &self.times.reckoning,
            job_reads: self.cds.job_reads.told(),
            brake: &self.vsphere.brake,
            references: &self.vsphere.references,
            v1_workers: &self.cds.v1_workers,
            demands: &self.cds.demands,
            listing: self.cds.listing.as_ref(),
            registered_once: &self.cds.registered_once,
            models: self.cds.models.as_deref(),
            running: &self.running,
            misplaced: self.misplaced.iter().map(|(task, _)| *task).collect(),
            attempts: &self.resting.attempts,
            setbacks: &self.resting.setbacks,
            unusable: &self.resting.unusable,
            condemned: &self.condemned,
            booked: &self.resting.booked,
            avoided: &self.resting.avoided,
            stubborn: &self.resting.stubborn,
            changed_at,
            lingering: self.lingering(),
            reserved: &self.vsphere.reserved,
            room: self.vsphere.room.told.as_ref(),
            room_at: self.vsphere.room.at,
            full_until: self.resting.full.until,
            allowed_by_cds: self.cds.allowed,
            on_their_way: self.on_their_way(),
            took_job: &self.cds.took_job,
            load: &self.vsphere.load,
            room_is_asked: self.needs_room(),
            addresses_settled: self.addresses_are_settled(),
            former_clones: self.vsphere.doubts.former(),
            disks: &self.vsphere.disks,
            events: &self.vsphere.events,
            draining: self.requests.draining,
            wishes: &self.requests.wishes,
            outcomes: self.cds.outcomes.told(),
            sweep_is_due: self.sweep_at <= self.times.now,
            registration_is_due: self.register_at <= self.times.now,
            carried: &self.carried,
        }
    }

    /// Notes what the next pass has to know of a plan, and says when to look again. A look that could not tell anything does
    /// not count, nor does one that waits for the pool or that found more than can be deleted at once: it goes on with each
    /// deletion that ends.
    pub(super) fn note_plan(&mut self, plan: &Plan, settings: &Settings) {
        self.carried.clone_from(&plan.carried);
        self.braked.clone_from(&plan.braked);
        let is_over = plan.kept.iter().all(|(_, why)| *why != sweep::KeepReason::Budget);
        if self.sweep_at <= self.times.now && plan.stopped.is_none() && is_over {
            self.sweep_at = later(self.times.now, settings.cleaning.interval);
        }
        let waits = plan.missing.room || plan.models_wait;
        if self.register_at <= self.times.now
            && !waits
            && self.vsphere.view.complete
            && self.cds.models.is_some()
        {
            self.register_at = later(self.times.now, settings.queue.register_every);
        }
    }
}

fn is_within(at: Timestamp, now: Timestamp, age: Duration) -> bool {
    now.duration_since(at) <= SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests;
