//! Taking news in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::Machine;
use crate::mark::Mark;
use crate::plan::capacity::Purpose;
use crate::plan::sweep::Condemned;
use crate::plan::workers::{Listing, WorkerState};
use jiff::{SignedDuration, Timestamp};
use rookery_cds::{JobId, Worker, WorkerStatus};
use rookery_fleet::{MachineId, OwnerId, Power};
use rookery_fleet_vsphere::hands::CloneTasks;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{Message, Reading, Reconciler, Room, State};
use crate::act::{Ending, Failure, Unfinished};
use crate::intake::feed::pool_room;
use crate::intake::queue::{Moment, Protocol, QueuedJob};
use crate::plan::running::{RunningAction, TaskId};
use crate::plan::{
    Action, Deletion, Free, Keep, ServedJob, Setback, Spawn, Unclaim, Unserving, Unusable, WaitReason, Warm,
    rest_after,
};
use crate::surface::metrics::Leak;

/// How long nothing is started after vCenter had no room for the first time.
const FULL: Duration = Duration::from_secs(30);
/// How long a model that was read from a repository is good.
const MODEL_AGE: Duration = Duration::from_mins(1);
/// How long attempts are counted, from the first one on.
const ATTEMPTS_AGE: Duration = Duration::from_hours(1);
/// How long anything rests at most. A model rests for the interval of provisioning after its first failure; each further
/// one doubles that.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// How long a model counts as unusable, until it is tried again.
const UNUSABLE: Duration = Duration::from_mins(1);
/// How often it is logged that a model still cannot be used for the same reason.
const COMPLAINT: Duration = Duration::from_hours(1);
/// How long a model is left alone that somebody else registers.
const BOOKED: Duration = Duration::from_mins(1);
/// How long a machine is left alone that could not be deleted or taken back. Each further failure doubles that.
const UNCHANGED: Duration = Duration::from_secs(5);
/// How long a machine is left alone that could not be claimed.
const AVOIDED: Duration = Duration::from_mins(1);

impl Reconciler {
    pub(super) fn apply(&mut self, message: Message) {
        let now = self.context.clock.steady();
        let (state, metrics) = (&mut self.state, &self.context.metrics);
        match message {
            Message::Moment(reply) => drop(reply.send(state.cds.queue.moment())),
            Message::Listed(protocol, begun, jobs) => self.apply_list(protocol, begun, jobs),
            Message::Pushed(job) => {
                metrics.job_pushed(Protocol::of(&job));
                if !state.cds.queue.has(&job) {
                    metrics.job_found(Protocol::of(&job));
                }
                state.cds.queue.pushed(job);
            }
            Message::Read(job, known) => {
                if state.cds.queue.get(&job).is_none() {
                    metrics.job_known();
                }
                state.cds.queue.read(&job, *known);
            }
            Message::Gone(job) => state.cds.queue.gone(&job),
            Message::Model(model, read) => {
                state.cds.fetching.remove(&model);
                state.cds.fetched.insert(model, *read, later(now, MODEL_AGE));
            }
            Message::Workers { begun, v1, v2 } => self.apply_lists(begun, v1, v2),
            Message::Models(models) => state.cds.models = Some(models),
            Message::Room { begun, pool } => {
                state.vsphere.room = Room { told: pool.as_ref().map(pool_room), pool, at: Some(begun) };
            }
            Message::Disks(disks) => Arc::make_mut(&mut state.vsphere.disks).extend(disks),
            Message::Clock(reading) => self.read_clock(&reading),
            Message::JobRead { machine, runs_here, begun } => self.apply_job_read(machine, runs_here, begun),
            Message::Histories(told) => state.apply_histories(told),
            Message::Clones { begun, listed } => state.apply_clones(begun, &listed),
            Message::IsAbout(action, machine) => {
                if let Some(action) = state.running.get_mut(action) {
                    action.machine = Some(machine);
                }
            }
            Message::AnotherPlace { action, useless, reply } => {
                // The machine that was of no use is left alone.
                state.avoid(useless, now, AVOIDED);
                state.misplaced.push((action, reply));
            }
            Message::ReadyToLaunch(worker, reply) => state.cds.gate.add(worker, reply),
            Message::Ended(action, ending) => {
                state.note_launch(action, &ending);
                state.note_job(action, &ending);
                self.note_left(action, &ending, now);
                if self.state.apply_ending(action, ending, now, &self.settings.borrow().warm) {
                    self.wakes.workers();
                }
                for leak in self.state.leaks.drain(..) {
                    self.context.metrics.leak_found(leak);
                }
            }
            Message::Settings(settings) => {
                self.settings.send_replace(settings);
                state.forget_complaints();
            }
            Message::Confirm(list, reply) => self.apply_confirmation(&list, reply),
            Message::Drain(draining) => state.requests.draining = draining,
            Message::Jobs(reply) => drop(reply.send(self.job_lines())),
            Message::Hold(order, reply) => self.hold(&order, reply),
            Message::Adopt(model, reply) => self.adopt(&model, reply),
            Message::AdoptVm(vm, reply) => self.adopt_copy(&vm, reply),
            Message::Unmark(vm, reply) => self.unmark(&vm, reply),
            Message::Release(of, reply) => self.release(&of, reply),
            Message::Outcome(machine, outcome) => self.apply_outcome(machine, outcome),
        }
    }

    fn apply_list(&mut self, protocol: Protocol, begun: Moment, jobs: Vec<(JobId, Option<QueuedJob>)>) {
        let (state, metrics) = (&mut self.state, &self.context.metrics);
        for (job, known) in &jobs {
            if !state.cds.queue.has(job) {
                metrics.job_found(protocol);
            }
            if known.is_some() && state.cds.queue.get(job).is_none() {
                metrics.job_known();
            }
        }
        state.cds.queue.listed(protocol, begun, jobs);
    }

    /// Tells a worker whose first place was of no use where else it goes.
    pub(super) fn answer_misplaced(&mut self, task: TaskId, placed: Result<Spawn, WaitReason>) {
        let misplaced = self.state.misplaced.extract_if(.., |(misplaced, _)| *misplaced == task).next();
        let Some(((_, reply), running)) = misplaced.zip(self.state.running.get_mut(task)) else { return };
        let spawn = match placed {
            Ok(spawn) => spawn,
            Err(why) => {
                info!(vm = %running.name, %why, "no other warm machine or template for the worker");
                return drop(reply.send(None));
            }
        };
        let next = RunningAction::of(Action::Spawn(Box::new(spawn.clone())));
        if !self.reserving.take_anew(&running.name, &next) {
            return drop(reply.send(None));
        }
        if next.name != running.name {
            self.state.cds.pressure.gave_up(&running.name);
            self.state.cds.pressure.begins(&next.name, Instant::now());
        }
        *running = next;
        reply.send(Some(spawn)).ok();
    }

    /// Takes in all workers that CDS knows. What was asked before somebody set our clock is not believed.
    fn apply_lists(&mut self, begun: Timestamp, v1: Vec<Worker>, v2: Vec<Worker>) {
        let state = &mut self.state;
        if !state.times.clocks.counts(begun) {
            return self.wakes.workers();
        }
        let (cds_now, limit) = (self.context.cds.now(), self.settings.borrow().limits.starting);
        for workers in [&v1, &v2] {
            state.note_registrations(workers, cds_now, limit);
        }
        state.cds.v1_workers = v1.iter().map(|worker| (worker.name.clone(), worker.clone())).collect();
        state.apply_workers(begun, v1.into_iter().chain(v2).collect());
        let known = &state.cds.workers;
        state.said.orphans.retain(|name| known.iter().any(|worker| worker.name == *name));
    }

    /// Takes in what vCenter's clock shows.
    fn read_clock(&mut self, reading: &Reading) {
        let state = &mut self.state;
        if !state.times.clocks.counts(reading.begun) {
            return self.wakes.clock();
        }
        let set = state.times.clocks.read(reading);
        let Some(by) = set else { return };
        let owner = self.settings.borrow().identity.owner.clone();
        state.clock_was_set(&owner, by);
        warn!(
            seconds = by.as_secs(),
            "vCenter's clock was set; ages of machines count from now on, and holds keep what was left"
        );
        let wishes = self.state.requests.wishes.iter().map(|wish| wish.shifted(by)).collect();
        // Those in the book stay as they were if it cannot be written; it is tried again with the next change.
        self.write_down(wishes).ok();
    }
}

impl State {
    /// Times of vCenter's clock move with it, and what was seen counts from now on.
    pub(super) fn clock_was_set(&mut self, owner: &OwnerId, by: SignedDuration) {
        let now = self.server_now();
        self.times.reckoning.restart(&self.vsphere.view, owner, Mark::times, now, by);
        let shift = |at: &mut Timestamp| *at = at.saturating_add(by).unwrap_or(*at);
        let setbacks = self.resting.setbacks.values_mut().chain([&mut self.resting.full]);
        setbacks.filter_map(|setback| setback.until.as_mut()).for_each(shift);
        self.cds.outcomes.told_mut().map(|told| &mut told.at).for_each(shift);
    }

    pub(super) fn apply_clones(&mut self, at: Timestamp, listed: &CloneTasks) {
        let before = self.vsphere.doubts.former();
        self.vsphere.doubts.learn(at, self.skew().map(|_| self.times.clocks.ahead()), listed);
        let former = self.vsphere.doubts.former();
        if former > before {
            info!(
                clones = former,
                "waiting for clones from before the start: no address is given out until they have ended"
            );
        }
    }

    pub(super) fn apply_workers(&mut self, begun: Timestamp, workers: Vec<Worker>) {
        let state = |worker: &Worker| match worker.status {
            WorkerStatus::Disabled => WorkerState::Disabled,
            WorkerStatus::Waiting | WorkerStatus::Building | WorkerStatus::Other(_) => WorkerState::Alive,
        };
        let by_name: BTreeMap<String, WorkerState> =
            workers.iter().map(|worker| (worker.name.clone(), state(worker))).collect();
        // Names of machines that are gone are of no use any more.
        self.cds.registered_once.retain(|name| self.vsphere.view.named(name).next().is_some());
        self.cds.registered_once.extend(by_name.keys().cloned());
        self.cds.listing = Some(Listing { begun, workers: by_name });
        self.cds.workers = workers;
    }

    /// Takes in how a piece of work has ended, and says whether CDS has to be asked for its workers.
    pub(super) fn apply_ending(&mut self, id: TaskId, ending: Ending, now: Timestamp, warm: &Warm) -> bool {
        let Some(action) = self.running.end(id) else { return false };
        self.misplaced.retain(|(misplaced, _)| *misplaced != id);
        // Nobody registers or goes because a worker was disabled.
        if !matches!(action.action, Action::Disable { .. }) {
            self.act_ended = Some(now);
        }
        match ending {
            Ending::Done => return self.apply_success(&action, now),
            Ending::Lost => {
                self.let_be(&action, now);
            }
            Ending::NotHeld { error } => {
                warn!(vm = %action.name, error, "job could not be taken; it is tried again when CDS offers it");
                self.let_be(&action, now);
            }
            Ending::Unprepared { model, error } => {
                if self.is_new_complaint(&model, &error, now) {
                    let (project, model) = &model;
                    warn!(project, model, error, "model cannot be used; it is tried again every minute");
                }
                self.resting.unusable.insert(model, error, later(now, UNUSABLE));
            }
            Ending::Failed(failure) => {
                // A machine that has to go goes with the next list of workers.
                let condemned = failure.condemned.is_some();
                self.apply_failure(&action, failure, now, warm.interval);
                return condemned;
            }
            Ending::CutOff => {
                // A booking would keep the job from everybody for minutes. CDS queues a V2 job again by itself, and each
                // release counts against the job.
                if let Action::Spawn(spawn) = &action.action
                    && let job @ JobId::V1(_) = &spawn.job
                {
                    let of = ServedJob { job: job.to_string(), worker: action.name.clone() };
                    self.carried.freed.push((of, action.machine.clone()));
                }
                let (error, unfinished) =
                    ("it was interrupted before it was done".to_owned(), interrupted(&action));
                let failure = Failure { error, unfinished, ..Failure::default() };
                self.apply_failure(&action, failure, now, warm.interval);
            }
        }
        false
    }

    /// Takes in that an action was done, and says whether CDS has to be asked for its workers.
    fn apply_success(&mut self, running: &RunningAction, now: Timestamp) -> bool {
        if let Some(model) = running.action.model() {
            self.resting.setbacks.entry(model).and_modify(|setback| setback.failures = 0);
        }
        if let Some(machine) = &running.machine {
            self.resting.stubborn.remove(machine);
        }
        match &running.action {
            Action::Spawn(spawn) => {
                self.cds.queue.gone(&spawn.job);
                self.count(&spawn.job, now);
                self.resting.full = Setback::default();
            }
            Action::Delete(Deletion { machine, of, .. }) => {
                self.condemned.remove(machine);
                self.carried.freed.push((of.clone(), Some(machine.clone())));
            }
            Action::Keep(Keep { machine, of, .. }) => {
                // A job whose machine is off and stays for itself runs elsewhere. Of one that runs CDS takes care.
                let is_off = |machine: &Arc<Machine>| machine.power == Some(Power::Off);
                if self.vsphere.view.machines.get(machine).is_some_and(is_off) {
                    self.carried.freed.push((of.clone(), Some(machine.clone())));
                }
            }
            // Its job was looked at, and given back if it still waited for this machine.
            Action::Free(Free { machine: Unserving::WentOff(machine), .. }) => {
                self.carried.off_duty.insert(machine.clone());
            }
            Action::Unclaim(Unclaim { machine, mark, .. }) => {
                self.leaks.push(Leak::HalfClaimed);
                self.carried.freed.push((mark.as_ref().into(), Some(machine.clone())));
            }
            Action::Disable { worker, .. } => self.vsphere.brake.did(&worker.name, now),
            Action::GiveUp { .. }
            | Action::Register(_)
            | Action::Make(_)
            | Action::Finish(_)
            | Action::Free(_)
            | Action::Adopt(_) => {}
        }
        matches!(running.action, Action::Spawn(_))
    }

    /// What was complained about may be what the new settings mend.
    pub(super) fn forget_complaints(&mut self) {
        self.resting.unusable.clear();
        self.said.complaints.clear();
    }

    fn is_new_complaint(&mut self, model: &Unusable, error: &str, now: Timestamp) -> bool {
        self.said.complaints.forget(now);
        if self.said.complaints.get(model).is_some_and(|told| told == error) {
            return false;
        }
        self.said.complaints.insert(model.clone(), error.to_owned(), later(now, COMPLAINT));
        true
    }

    fn apply_failure(
        &mut self,
        action: &RunningAction,
        failure: Failure,
        now: Timestamp,
        first_rest: Duration,
    ) {
        let Failure { error, condemned, unfinished, blames_template, crowded, tried, is_parent, worker: _ } =
            failure;
        let server_now = self.server_now();
        // Those that fail together fail for one reason.
        if crowded {
            self.resting.full.failed(server_now, FULL, LONGEST_REST);
        }
        match &action.action {
            Action::Adopt(adoption) => warn!(model = adoption.model, error, "template could not be adopted"),
            Action::Delete(_) | Action::Unclaim(_) | Action::Keep(_) => {
                warn!(vm = %action.name, error, "machine could not be changed; it is tried again after a while");
                if let Some(machine) = &action.machine {
                    self.rest(machine, now, is_parent);
                }
            }
            Action::Disable { worker, .. } => {
                warn!(worker = %worker.name, error, "worker without a machine could not be disabled");
            }
            Action::Free(_) => {
                if let Some(machine) = action.machine.clone() {
                    self.avoid(machine, now, UNCHANGED);
                }
            }
            Action::Spawn(_) | Action::GiveUp { .. } => {
                if let Some(job) = action.job().filter(|_| tried) {
                    self.count(job, now);
                }
            }
            Action::Register(_) | Action::Make(_) | Action::Finish(_) => {
                warn!(vm = %action.name, error, "machine could not be made");
            }
        }
        if let Some(job) = action.job() {
            self.cds.queue.gone(job);
        }
        if let Some(clone) = unfinished {
            self.leaks.extend(clone.address.map(|_| Leak::Address));
            self.vsphere.doubts.add(clone, now);
        } else if let (Some((machine, _)), Some(address)) = (&condemned, action.address) {
            self.vsphere.doubts.add_made(machine.clone(), address, now);
        }
        if let Some((machine, condemned_for)) = condemned {
            self.condemn(machine, condemned_for, now);
        }
        let housekeeping = matches!(action.action, Action::Make(_) | Action::Finish(_) | Action::Register(_));
        let blamed = action.action.model().filter(|_| blames_template || housekeeping);
        if let Some(model) = blamed {
            let setback = self.resting.setbacks.entry(model).or_default();
            setback.failed(server_now, first_rest, LONGEST_REST);
        }
    }

    /// A job that is not ours is forgotten. A model that somebody else registers, or that CDS would not let us register, is
    /// left alone for a while.
    fn let_be(&mut self, action: &RunningAction, now: Timestamp) {
        if let Action::Register(one) = &action.action {
            self.resting.booked.insert(one.model.path(), (), later(now, BOOKED));
        }
        if let Some(job) = action.job() {
            self.cds.queue.gone(job);
        }
    }

    /// A machine that could not be changed rests, longer each time: vCenter would be asked all the time for what it refuses.
    /// One that others stand on rests for long at once.
    fn rest(&mut self, machine: &MachineId, now: Timestamp, is_parent: bool) {
        let failures = self.resting.stubborn.entry(machine.clone()).or_default();
        let rest = if is_parent { LONGEST_REST } else { rest_after(UNCHANGED, *failures, LONGEST_REST) };
        *failures = failures.saturating_add(1);
        self.avoid(machine.clone(), now, rest);
    }

    fn avoid(&mut self, machine: MachineId, now: Timestamp, time: Duration) {
        self.resting.avoided.insert(machine, (), later(now, time));
    }

    fn count(&mut self, job: &JobId, now: Timestamp) {
        *self.resting.attempts.or_insert(job.clone(), 0, later(now, ATTEMPTS_AGE)) += 1;
    }
}

/// The clone that may come of work that was cut off before it had a machine.
fn interrupted(action: &RunningAction) -> Option<Unfinished> {
    let condemned_for = match action.action.purpose()? {
        Purpose::Work => Some(Condemned::SpawnFailed),
        // The name of what is made first is used again, and a warm machine that was left half-made is finished.
        Purpose::Registration | Purpose::Warmth => None,
    };
    let (name, address) = (action.name.clone(), action.address);
    action.machine.is_none().then_some(Unfinished { name, address, task: None, condemned_for })
}

pub(super) fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
