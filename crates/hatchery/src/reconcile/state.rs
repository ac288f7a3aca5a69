//! What the reconciler knows. All of it can be found out again after a crash.

use super::clocks::Clocks;
use super::doubts::Doubts;
use super::histories::Histories;
use super::jobs::JobReads;
use super::launches::Gate;
use super::news::News;
use super::out_of_reach::OutOfReach;
use crate::intake::demand::Rules;
use crate::intake::pressure::Pressure;
use crate::intake::queue::{Queue, QueuedJob};
use crate::intake::resolve::{Demand, Fetched, resolve};
use crate::machine::{Brake, Machine, View};
use crate::mark::Mark;
use crate::names::ModelKind;
use crate::plan::hold::{Told, Wish, serves_nobody};
use crate::plan::running::{RunningActions, Trace};
use crate::plan::sweep::{Condemned, EventTimes};
use crate::plan::workers::Listing;
use crate::plan::{Observed, Plan, References, Suspects, Unusable};
use crate::plan::{braked, sweep};
use crate::settings::Settings;
use crate::surface::metrics::Leak;
use jiff::{SignedDuration, Timestamp};
use rookery_cds::{JobId, ModelPath, V1Model, Worker};
use rookery_fleet::capacity::PoolRoom;
use rookery_fleet::deletion::Stop;
use rookery_fleet::disks::Disks;
use rookery_fleet::reckoning::Reckoning;
use rookery_fleet::reservations::InFlight;
use rookery_fleet::{MachineId, OwnerId};
use rookery_vim_client::{Load, PoolCapacity};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// How long a sample of the pool's room is good.
const ROOM_AGE: Duration = Duration::from_secs(10);
/// How long a model that was read from a repository is good.
const MODEL_AGE: Duration = Duration::from_mins(1);
/// How long a machine that has to go is waited for while the inventory does not show it.
const UNSEEN_AGE: Duration = Duration::from_mins(15);
/// How long attempts are counted, from the first one on.
const ATTEMPTS_AGE: Duration = Duration::from_hours(1);

/// What the reconciler knows.
#[derive(Debug, Default)]
pub struct State {
    /// The machines. What is shown shares them.
    pub view: Arc<View>,
    /// Our steady time at the last look.
    pub now: Timestamp,
    /// Our wall time at the last look, to be shown.
    pub wall: Timestamp,
    pub(super) clocks: Clocks,
    /// From when the ages of machines count, if vCenter's clock was set.
    pub reckoning: Reckoning,
    /// Why nothing may be deleted, as of the last pass.
    pub(super) stopped: Option<Stop>,
    pub(super) job_reads: JobReads,
    /// What holds back those that are unusually many.
    pub(super) brake: Brake,
    /// What it held back in the last pass.
    pub braked: Vec<braked::Waiting>,
    /// The machines that workers are or were in, by name.
    pub(super) references: References,
    pub(super) out_of_reach: OutOfReach,
    /// The jobs that wait.
    pub queue: Queue<QueuedJob>,
    /// The jobs that wait, with their models.
    pub demands: Vec<Demand>,
    /// Models in repositories, and when they were read.
    pub fetched: Fetched,
    pub(super) fetched_at: BTreeMap<ModelPath, Timestamp>,
    pub(super) fetching: BTreeSet<ModelPath>,
    /// The workers that CDS knows.
    pub listing: Option<Listing>,
    /// The same, as CDS tells them.
    pub workers: Vec<Worker>,
    pub(super) v1_workers: BTreeSet<String>,
    pub(super) registered_once: BTreeSet<String>,
    pub(super) suspects: Suspects,
    /// Workers without a machine that somebody was told of.
    pub(super) missed: BTreeSet<String>,
    /// Machines that were told of, since they are left alone.
    pub(super) told_apart: BTreeSet<MachineId>,
    /// The V1 models that CDS knows.
    pub models: Option<Vec<V1Model>>,
    /// Work under way.
    pub running: RunningActions,
    pub(super) tried: BTreeMap<JobId, (u32, Timestamp)>,
    pub(super) attempts: BTreeMap<JobId, u32>,
    /// Models that failed, and until when they are left alone.
    pub setbacks: BTreeMap<(ModelKind, String), Timestamp>,
    pub(super) failures: BTreeMap<(ModelKind, String), u32>,
    pub(super) unusable: BTreeMap<Unusable, String>,
    pub(super) unusable_until: BTreeMap<Unusable, Timestamp>,
    /// What was logged of such models, and when: each try finds the same.
    pub(super) complaints: BTreeMap<Unusable, (String, Timestamp)>,
    /// Machines that have to go.
    pub condemned: BTreeMap<MachineId, Condemned>,
    /// V1 models whose registration is left to others for now.
    pub(super) booked_until: BTreeMap<String, Timestamp>,
    pub(super) condemned_at: BTreeMap<MachineId, Timestamp>,
    pub(super) avoided: BTreeSet<MachineId>,
    pub(super) avoided_until: BTreeMap<MachineId, Timestamp>,
    /// How often in a row machines could not be changed.
    pub(super) stubborn: BTreeMap<MachineId, u32>,
    /// Addresses that may be in use by machines that nobody can see.
    pub lingering: BTreeSet<Ipv4Addr>,
    pub(super) doubts: Doubts,
    /// What fronts of the process have reserved on vCenter.
    pub reserved: InFlight,
    /// The room in the pool.
    pub room: Room,
    /// Until when nothing new is started because vCenter had no room, and how often that was so in a row.
    pub(super) full_until: Option<Timestamp>,
    pub(super) full_times: u32,
    /// What vCenter is asked to do already.
    pub(super) load: Load,
    /// How large the disks of own machines are, as far as they were read.
    pub disks: Arc<Disks>,
    pub(super) addresses_settled: bool,
    pub(super) events: BTreeMap<MachineId, Option<EventTimes>>,
    pub(super) histories: Histories,
    /// When an act last ended.
    pub(super) act_ended: Option<Timestamp>,
    /// Whether new jobs are taken.
    pub draining: bool,
    /// How far vCenter's clock is ahead of ours.
    pub skew: Option<SignedDuration>,
    /// What was found that somebody had lost.
    pub(super) leaks: Vec<Leak>,
    /// Machines that were given up, and starts that were cut off, whose jobs may go back.
    pub(super) freed: Vec<(Trace, Option<MachineId>)>,
    /// How long a model rests after its first failure.
    pub(super) first_rest: Option<Duration>,
    /// When to look next for what can go.
    pub(super) sweep_at: Timestamp,
    /// When to look next for models to register.
    pub(super) register_at: Timestamp,
    /// How many jobs have got a slot since a model did.
    pub(super) turns: u32,
    /// Flavors that were asked for where none are configured, by model. Each was said once.
    pub ignored_flavors: BTreeMap<String, String>,
    /// Models that are not registered until somebody changes something. Each was said once.
    pub(super) stuck: BTreeMap<String, String>,
    /// Whose machines are to be kept when they fail. It stands in the book.
    pub wishes: Vec<Wish>,
    /// How the jobs of machines have ended, where that was asked.
    pub(super) outcomes: BTreeMap<MachineId, Told>,
    pub(super) asking: BTreeSet<MachineId>,
    pub(super) ask_after: BTreeMap<MachineId, Timestamp>,
    /// What the users of jobs know.
    pub(super) news: News,
    /// How CDS is doing.
    pub pressure: Pressure,
    /// How many workers may turn to CDS, if it bears fewer than the settings allow.
    pub allowed_by_cds: Option<u32>,
    pub(super) gate: Gate,
    /// Machines that are off and whose jobs were given back, if they still waited for them.
    pub(super) off_duty: BTreeSet<MachineId>,
    /// Workers that CDS has shown at work.
    pub(super) took_job: BTreeSet<String>,
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
    pub fn new(wishes: Vec<Wish>) -> Self {
        Self { wishes, ..Self::default() }
    }

    /// Takes a new look at the machines in, and forgets what is too old.
    pub(super) fn look(&mut self, view: View, owner: &OwnerId, now: Timestamp) {
        self.now = now;
        self.skew = self.clocks.skew(now);
        self.job_reads.forget(&view, now);
        let machines = &view.machines;
        if view.complete {
            // One that has to go may not be in the inventory yet: forgotten too soon, it would stay.
            self.condemned_at.retain(|id, at| machines.contains(id) || is_within(*at, now, UNSEEN_AGE));
            let known = &self.condemned_at;
            self.condemned.retain(|id, _| known.contains_key(id));
            self.events.retain(|id, _| machines.contains(id));
            self.outcomes.retain(|id, _| machines.contains(id));
            self.off_duty.retain(|id| machines.contains(id));
            self.stubborn.retain(|id, _| machines.contains(id));
            self.took_job.retain(|name| view.named(name).next().is_some());
            if self.disks.keys().any(|id| !machines.contains(id)) {
                Arc::make_mut(&mut self.disks).retain(|id, _| machines.contains(id));
            }
        }
        for (machine, condemned_for) in self.doubts.condemned(&view) {
            self.condemned_at.entry(machine.clone()).or_insert(now);
            self.condemned.entry(machine).or_insert(condemned_for);
        }
        self.doubts.pass(now, &view);
        self.lingering = self.doubts.addresses();
        self.addresses_settled = self.doubts.start_is_settled();
        self.view = Arc::new(view);
        self.keep_watch(owner);
        let server_now = self.server_now();
        self.setbacks.retain(|_, until| *until > server_now);
        self.unusable_until.retain(|_, until| *until > now);
        let unusable = &self.unusable_until;
        self.unusable.retain(|model, _| unusable.contains_key(model));
        self.booked_until.retain(|_, until| *until > now);
        self.ask_after.retain(|_, until| *until > now);
        self.avoided_until.retain(|_, until| *until > now);
        self.avoided = self.avoided_until.keys().cloned().collect();
        self.tried.retain(|_, (_, first)| is_within(*first, now, ATTEMPTS_AGE));
        self.attempts = self.tried.iter().map(|(job, (count, _))| (job.clone(), *count)).collect();
        let stale = |at: &Timestamp| !is_within(*at, now, MODEL_AGE);
        for old in
            self.fetched_at.extract_if(.., |_, at| stale(at)).map(|(model, _)| model).collect::<Vec<_>>()
        {
            self.fetched.remove(&old);
        }
    }

    /// vCenter's time.
    pub fn server_now(&self) -> Timestamp {
        self.now.saturating_add(self.clocks.ahead()).unwrap_or(Timestamp::MAX)
    }

    /// Finds what each job runs on, and returns the models that have to be read for it.
    pub(super) fn find_demands(&mut self, rules: &Rules) -> Vec<ModelPath> {
        let models = self.models.as_deref().unwrap_or_default();
        let (mut demands, mut missing) = (Vec::new(), BTreeSet::new());
        for (job, known) in self.queue.known() {
            match resolve(job, known, rules, models, &self.fetched) {
                Ok(demand) => demands.push(demand),
                Err(unread) => drop(missing.insert(unread)),
            }
        }
        self.demands = demands;
        missing.retain(|model| self.fetching.insert(model.clone()));
        missing.into_iter().collect()
    }

    /// Whether a worker is one of a V1 job or a V1 model.
    pub fn is_of_v1(&self, worker: &str) -> bool {
        self.v1_workers.contains(worker)
    }

    /// Whether a worker of that name has been registered at some time.
    pub fn has_registered(&self, worker: &str) -> bool {
        self.registered_once.contains(worker)
    }

    /// How many clones may still appear that nobody answered for, or that are from before our start.
    pub fn clones_in_doubt(&self) -> usize {
        self.doubts.len()
    }

    /// Whether clones from before our start have ended: until then no address is given.
    pub fn addresses_are_settled(&self) -> bool {
        self.addresses_settled
    }

    /// The names of own machines that vCenter does not reach for long.
    pub fn out_of_reach(&self) -> Vec<String> {
        self.out_of_reach.names(&self.view, self.now)
    }

    /// Whether a job or a model is being read, or still has to be.
    pub(super) fn is_reading(&self) -> bool {
        self.queue.known().count() < self.queue.len() || !self.fetching.is_empty()
    }

    /// Whether the pool has to be asked before anything new is placed.
    pub(super) fn needs_room(&self) -> bool {
        self.room.at.is_none_or(|at| !is_within(at, self.now, ROOM_AGE))
    }

    /// What a plan is made from.
    pub(super) fn observed<'s>(
        &'s self,
        changed_at: &'s dyn Fn(&MachineId) -> Option<Timestamp>,
    ) -> Observed<'s> {
        Observed {
            view: &self.view,
            now: self.server_now(),
            ours: self.now,
            skew: self.skew,
            reckoning: &self.reckoning,
            job_reads: &self.job_reads.told,
            brake: &self.brake,
            references: &self.references,
            v1_workers: &self.v1_workers,
            demands: &self.demands,
            listing: self.listing.as_ref(),
            registered_once: &self.registered_once,
            suspects: &self.suspects,
            models: self.models.as_deref(),
            running: &self.running,
            attempts: &self.attempts,
            setbacks: &self.setbacks,
            unusable: &self.unusable,
            condemned: &self.condemned,
            booked: &self.booked_until,
            avoided: &self.avoided,
            stubborn: &self.stubborn,
            changed_at,
            lingering: &self.lingering,
            reserved: &self.reserved,
            room: self.room.told.as_ref(),
            room_at: self.room.at,
            full_until: self.full_until,
            allowed_by_cds: self.allowed_by_cds,
            on_their_way: self.on_their_way(),
            off_duty: &self.off_duty,
            took_job: &self.took_job,
            load: &self.load,
            room_is_asked: self.needs_room(),
            addresses_settled: self.addresses_settled,
            disks: &self.disks,
            events: &self.events,
            draining: self.draining,
            wishes: &self.wishes,
            outcomes: &self.outcomes,
            sweep_is_due: self.sweep_at <= self.now,
            registration_is_due: self.register_at <= self.now,
            turns: self.turns,
        }
    }

    /// Says when to look again. A look that could not tell anything does not count, nor does one that waits for the pool or
    /// that found more than can be deleted at once: it goes on with each deletion that ends.
    pub(super) fn set_dates(&mut self, plan: &Plan, settings: &Settings) {
        self.first_rest = Some(settings.warm.interval);
        let later = |period: Duration| self.now.saturating_add(period).unwrap_or(Timestamp::MAX);
        let is_over = plan.sweep.kept.iter().all(|(_, why)| *why != sweep::Why::Budget);
        if self.sweep_at <= self.now && plan.sweep.stopped.is_none() && is_over {
            self.sweep_at = later(settings.cleaning.interval);
        }
        self.turns = plan.turns;
        let waits = plan.wants_room || plan.models_wait;
        if self.register_at <= self.now && !waits && self.view.complete && self.models.is_some() {
            self.register_at = later(settings.queue.register_every);
        }
    }

    /// The machines that were given up and whose jobs may go back now. On account of one that the inventory has not
    /// confirmed nothing is released. Nor does old news give any back: they wait until it is known again who is at work.
    pub(super) fn take_freed(&mut self) -> Vec<(Trace, Option<MachineId>)> {
        if self.stopped.is_some() {
            return Vec::new();
        }
        let view = &self.view;
        let certain = |machine: &Option<MachineId>| !machine.as_ref().is_some_and(|id| view.is_unsettled(id));
        self.freed.extract_if(.., |(_, machine)| certain(machine)).collect()
    }

    /// Whether somebody is at work for a job, beside that machine.
    pub(super) fn is_served(&self, job: &JobId, beside: Option<&MachineId>) -> bool {
        let text = job.to_string();
        let serves = |other: &Machine| {
            let is_for = |mark: &Mark| mark.job_id == text && !serves_nobody(other, mark);
            other.possible_mark().is_some_and(is_for) && !self.off_duty.contains(&other.id)
        };
        self.view.notable().any(|other| Some(&other.id) != beside && serves(other))
            || self.running.jobs().contains(job)
    }
}

fn is_within(at: Timestamp, now: Timestamp, age: Duration) -> bool {
    now.duration_since(at) <= SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests;
