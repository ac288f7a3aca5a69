//! Taking news in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::Machine;
use crate::mark::Mark;
use crate::names::ModelKind;
use crate::plan::sweep::Condemned;
use crate::plan::workers::{Listing, WorkerState};
use jiff::{SignedDuration, Timestamp};
use rookery_cds::{JobId, Worker, WorkerStatus};
use rookery_fleet::{MachineId, OwnerId, Power};
use rookery_fleet_vsphere::hands::CloneTasks;
use rookery_vim_client::Load;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{Message, Reading, Reconciler, Room, State};
use crate::act::{Ending, Failure, Unfinished};
use crate::intake::feed::pool_room;
use crate::intake::queue::{Moment, Protocol, QueuedJob};
use crate::plan::running::{RunningAction, TaskId, Trace, Work};
use crate::plan::{Observed, Spawn, Unusable, place_again};
use crate::surface::metrics::Leak;

/// How long a model rests after its first failure, until the settings have been looked at.
const FIRST_REST: Duration = Duration::from_secs(30);
/// How long anything rests at most. A model rests for the interval of provisioning after its first failure; each further
/// one doubles that.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// How long a model counts as unusable, until it is tried again.
const UNUSABLE: Duration = Duration::from_mins(1);
/// How often it is logged that a model still cannot be used for the same reason.
const COMPLAINT: SignedDuration = SignedDuration::from_hours(1);
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
            Message::Moment(reply) => drop(reply.send(state.queue.moment())),
            Message::Listed(protocol, begun, jobs) => self.apply_list(protocol, begun, jobs),
            Message::Pushed(job) => {
                metrics.job_pushed(Protocol::of(&job));
                if !state.queue.has(&job) {
                    metrics.job_found(Protocol::of(&job));
                }
                state.queue.pushed(job);
            }
            Message::Read(job, known) => {
                if state.queue.get(&job).is_none() {
                    metrics.job_known();
                }
                state.queue.read(&job, *known);
            }
            Message::Gone(job) => state.queue.gone(&job),
            Message::Model(model, read) => {
                state.fetching.remove(&model);
                state.fetched_at.insert(model.clone(), now);
                state.fetched.insert(model, *read);
            }
            Message::Workers { begun, v1, v2 } => self.apply_lists(begun, v1, v2),
            Message::Models(models) => state.models = Some(models),
            Message::Room { begun, pool } => {
                state.room = Room { told: pool.as_ref().map(pool_room), pool, at: Some(begun) };
            }
            Message::Disks(disks) => Arc::make_mut(&mut state.disks).extend(disks),
            Message::Clock(reading) => self.read_clock(&reading),
            Message::JobRead { machine, runs_here, begun } => {
                self.apply_job_read(machine, runs_here, begun);
            }
            Message::Histories(told) => state.apply_histories(told),
            Message::Clones { begun, listed } => state.apply_clones(begun, &listed),
            Message::IsAbout(action, machine) => {
                if let Some(action) = state.running.get_mut(action) {
                    action.machine = Some(machine);
                }
            }
            Message::AnotherPlace { action, useless, spawn, reply } => {
                drop(reply.send(self.another_place(action, useless, &spawn)));
            }
            Message::ReadyToLaunch(worker, reply) => state.gate.add(worker, reply),
            Message::Ended(action, ending) => {
                state.note_launch(action, &ending);
                self.note_left(action, &ending, now);
                let state = &mut self.state;
                state.act_ended = Some(now);
                if state.apply_ending(action, ending, now) {
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
            Message::Disabled(worker) => state.brake.did(&worker, now),
            Message::Drain(draining) => state.draining = draining,
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
            if !state.queue.has(job) {
                metrics.job_found(protocol);
            }
            if known.is_some() && state.queue.get(job).is_none() {
                metrics.job_known();
            }
        }
        state.queue.listed(protocol, begun, jobs);
    }

    /// Finds another place for a worker. The machine that was of no use is left alone for this job.
    fn another_place(&mut self, id: TaskId, useless: MachineId, spawn: &Spawn) -> Option<Spawn> {
        let settings = Arc::clone(&self.settings.borrow());
        let now = self.context.clock.steady();
        // What has ended since the last pass is known by its machine alone.
        self.state.look(self.observer.view(now), &settings.identity.owner, now);
        let action = self.state.running.end(id)?;
        self.state.avoid(Some(useless), now, AVOIDED);
        let observer = &self.observer;
        let changed_at = |id: &_| observer.changed_at(id);
        // The job is held: what the pool said last has to do, CDS is asked to bear it at the launch, and it queues anywhere.
        let load = Load::default();
        let seen =
            Observed { room_is_asked: false, allowed_by_cds: None, ..self.state.observed(&changed_at) };
        let seen = Observed { load: &load, ..seen };
        let placed = place_again(&seen, &settings.desired(), &mut self.random, spawn);
        let placed =
            placed.map_err(|why| info!(job = %spawn.job, %why, "no other place for the worker")).ok();
        let placed = placed
            .map(|placed| (RunningAction::of_spawn(&placed), placed))
            .filter(|(next, _)| self.reserve_anew(&action.name, next));
        let (next, placed) = placed.map_or((action.clone(), None), |(next, placed)| (next, Some(placed)));
        if next.name != action.name {
            self.state.pressure.gave_up(&action.name);
            self.state.pressure.begins(&next.name, Instant::now());
        }
        self.state.running.put_back(id, next);
        placed
    }
}

impl Reconciler {
    /// Takes in all workers that CDS knows. What was asked before somebody set our clock is not believed.
    fn apply_lists(&mut self, begun: Timestamp, v1: Vec<Worker>, v2: Vec<Worker>) {
        let state = &mut self.state;
        if !state.clocks.counts(begun) {
            return self.wakes.workers();
        }
        let (cds_now, limit) = (self.context.cds.now(), self.settings.borrow().limits.starting);
        for workers in [&v1, &v2] {
            state.note_registrations(workers, cds_now, limit);
        }
        state.v1_workers = v1.iter().map(|worker| worker.name.clone()).collect();
        state.apply_workers(begun, v1.into_iter().chain(v2).collect());
        let known = &state.workers;
        state.missed.retain(|name| known.iter().any(|worker| worker.name == *name));
    }

    /// Takes in what vCenter's clock shows.
    fn read_clock(&mut self, reading: &Reading) {
        let state = &mut self.state;
        if !state.clocks.counts(reading.begun) {
            return self.wakes.clock();
        }
        let set = state.clocks.read(reading);
        state.skew = state.clocks.skew(reading.begun);
        let Some(by) = set else { return };
        let owner = self.settings.borrow().identity.owner.clone();
        state.clock_was_set(&owner, by);
        warn!(
            seconds = by.as_secs(),
            "vCenter's clock was set; ages of machines count from now on, and holds keep what was left"
        );
        let wishes = self.state.wishes.iter().map(|wish| wish.shifted(by)).collect();
        // Those in the book stay as they were if it cannot be written; it is tried again with the next change.
        self.write_down(wishes).ok();
    }
}

impl State {
    /// Times of vCenter's clock move with it, and what was seen counts from now on.
    pub(super) fn clock_was_set(&mut self, owner: &OwnerId, by: SignedDuration) {
        let now = self.server_now();
        self.reckoning.restart(&self.view, owner, Mark::times, now, by);
        let shift = |at: &mut Timestamp| *at = at.saturating_add(by).unwrap_or(*at);
        self.setbacks.values_mut().chain(&mut self.full_until).for_each(shift);
        self.outcomes.values_mut().map(|told| &mut told.at).for_each(shift);
    }

    pub(super) fn apply_clones(&mut self, at: Timestamp, listed: &CloneTasks) {
        let before = self.doubts.former();
        self.doubts.learn(at, self.skew.map(|_| self.clocks.ahead()), listed);
        let former = self.doubts.former();
        if former > before {
            info!(clones = former, "clones from before the start are waited for before addresses are given");
        }
        self.addresses_settled = self.doubts.start_is_settled();
    }

    pub(super) fn apply_workers(&mut self, begun: Timestamp, workers: Vec<Worker>) {
        let state = |worker: &Worker| match worker.status {
            WorkerStatus::Disabled => WorkerState::Disabled,
            WorkerStatus::Waiting | WorkerStatus::Building | WorkerStatus::Other(_) => WorkerState::Alive,
        };
        let by_name: BTreeMap<String, WorkerState> =
            workers.iter().map(|worker| (worker.name.clone(), state(worker))).collect();
        // Names of machines that are gone are of no use any more.
        self.registered_once.retain(|name| self.view.named(name).next().is_some());
        self.registered_once.extend(by_name.keys().cloned());
        self.listing = Some(Listing { begun, workers: by_name });
        self.workers = workers;
    }

    /// Takes in how a piece of work has ended, and says whether CDS has to be asked for its workers.
    pub(super) fn apply_ending(&mut self, id: TaskId, ending: Ending, now: Timestamp) -> bool {
        let Some(action) = self.running.end(id) else { return false };
        let job = action.job().cloned();
        let model = model_of(&action);
        match ending {
            Ending::Done => {
                if let Work::Spawn { job, .. } = &action.work {
                    self.queue.gone(job);
                }
                if let Some(model) = model {
                    self.failures.remove(&model);
                }
                if let Some(machine) = &action.machine {
                    self.stubborn.remove(machine);
                }
                match (&action.work, &action.machine) {
                    (Work::Spawn { job, .. }, _) => {
                        self.count(job, now);
                        (self.full_until, self.full_times) = (None, 0);
                        return true;
                    }
                    (Work::Delete(of), Some(machine)) => {
                        self.condemned.remove(machine);
                        self.freed.push((of.clone(), Some(machine.clone())));
                    }
                    (Work::Keep(of), Some(machine)) => {
                        // A job whose machine is off and stays for itself runs elsewhere. Of one that runs CDS takes care.
                        let is_off = |machine: &Arc<Machine>| machine.power == Some(Power::Off);
                        if self.view.machines.get(machine).is_some_and(is_off) {
                            self.freed.push((of.clone(), Some(machine.clone())));
                        }
                    }
                    // Its job was looked at, and given back if it still waited for this machine.
                    (Work::Free { .. }, Some(machine)) => drop(self.off_duty.insert(machine.clone())),
                    (Work::Unclaim(of), machine) => {
                        self.leaks.push(Leak::HalfClaimed);
                        self.freed.push((of.clone(), machine.clone()));
                    }
                    _ => {}
                }
            }
            Ending::Lost => {
                self.let_be(&action, now);
                if let Some(job) = &job {
                    self.queue.gone(job);
                }
            }
            Ending::NotHeld { error } => {
                warn!(vm = %action.name, error, "job could not be taken; it is tried again when CDS offers it");
                self.let_be(&action, now);
                if let Some(job) = job {
                    self.queue.gone(&job);
                }
            }
            Ending::Unprepared { model, error } => {
                if self.is_new_complaint(&model, &error, now) {
                    let (project, model) = &model;
                    warn!(project, model, error, "model cannot be used; it is tried again every minute");
                }
                self.unusable_until.insert(model.clone(), later(now, UNUSABLE));
                self.unusable.insert(model, error);
            }
            Ending::Failed(failure) => {
                // A machine that has to go goes with the next list of workers.
                let condemned = failure.condemned.is_some();
                self.apply_failure(&action, failure, now);
                return condemned;
            }
            Ending::CutOff => {
                // A booking would keep the job from everybody for minutes. CDS queues a V2 job again by itself, and each
                // release counts against the job.
                if let Work::Spawn { job: job @ JobId::V1(_), .. } = &action.work {
                    let of = Trace { job: job.to_string(), worker: action.name.clone() };
                    self.freed.push((of, action.machine.clone()));
                }
                let (error, unfinished) = ("it was cut off in the middle".to_owned(), interrupted(&action));
                let failure = Failure { error, unfinished, ..Failure::default() };
                self.apply_failure(&action, failure, now);
            }
        }
        false
    }

    /// What was complained about may be what the new settings mend.
    pub(super) fn forget_complaints(&mut self) {
        self.unusable.clear();
        self.unusable_until.clear();
        self.complaints.clear();
    }

    fn is_new_complaint(&mut self, model: &Unusable, error: &str, now: Timestamp) -> bool {
        let told = self.complaints.get(model);
        if told.is_some_and(|(told, at)| told == error && now.duration_since(*at) < COMPLAINT) {
            return false;
        }
        self.complaints.insert(model.clone(), (error.to_owned(), now));
        true
    }

    fn apply_failure(&mut self, action: &RunningAction, failure: Failure, now: Timestamp) {
        let Failure { error, condemned, unfinished, blames_template, crowded, tried, is_parent, worker: _ } =
            failure;
        let server_now = self.server_now();
        // Those that fail together fail for one reason.
        if crowded && self.full_until.is_none_or(|until| until <= server_now) {
            self.full_until = Some(later(server_now, rest_after(FIRST_REST, self.full_times)));
            self.full_times += 1;
        }
        match (&action.work, action.job()) {
            (Work::Adopt { model }, _) => warn!(model, error, "template could not be adopted"),
            (Work::Delete(_) | Work::Unclaim(_) | Work::Keep(_), _) => {
                warn!(vm = %action.name, error, "machine could not be changed; it is tried again after a while");
                self.rest(action.machine.clone(), now, is_parent);
            }
            (Work::Free { .. }, _) => self.avoid(action.machine.clone(), now, UNCHANGED),
            (_, Some(job)) if tried => self.count(&job.clone(), now),
            (_, Some(_)) => {}
            (_, None) => warn!(vm = %action.name, error, "machine could not be made"),
        }
        if let Some(job) = action.job() {
            self.queue.gone(&job.clone());
        }
        if let Some(clone) = unfinished {
            self.leaks.extend(clone.address.map(|_| Leak::Address));
            self.doubts.add(clone, now);
        } else if let (Some((machine, _)), Some(address)) = (&condemned, action.address) {
            self.doubts.add_made(machine.clone(), address, now);
        }
        self.lingering = self.doubts.addresses();
        self.condemned_at.extend(condemned.iter().map(|(machine, _)| (machine.clone(), now)));
        self.condemned.extend(condemned);
        let housekeeping =
            matches!(action.work, Work::Make { .. } | Work::Finish { .. } | Work::Register { .. });
        let blamed = model_of(action).filter(|_| blames_template || housekeeping);
        // What began before a rest and fails during it tells nothing new: ten starts that fail together are one failure.
        let rests =
            |model: &(ModelKind, String)| self.setbacks.get(model).is_some_and(|until| *until > server_now);
        let first = self.first_rest.unwrap_or(FIRST_REST);
        if let Some(model) = blamed.filter(|model| !rests(model)) {
            let failures = self.failures.entry(model.clone()).or_default();
            let until = later(server_now, rest_after(first, *failures));
            *failures += 1;
            self.setbacks.insert(model, until);
        }
    }

    /// A model that somebody else registers, or that CDS would not let us register, is left alone for a while.
    fn let_be(&mut self, action: &RunningAction, now: Timestamp) {
        if let Work::Register { model } = &action.work {
            self.booked_until.insert(model.clone(), later(now, BOOKED));
        }
    }

    /// A machine that could not be changed rests, longer each time: vCenter would be asked all the time for what it refuses.
    /// One that others stand on rests for long at once.
    fn rest(&mut self, machine: Option<MachineId>, now: Timestamp, is_parent: bool) {
        let Some(id) = machine.clone() else { return };
        let failures = self.stubborn.entry(id).or_default();
        let rest = if is_parent { LONGEST_REST } else { rest_after(UNCHANGED, *failures) };
        *failures = failures.saturating_add(1);
        self.avoid(machine, now, rest);
    }

    fn avoid(&mut self, machine: Option<MachineId>, now: Timestamp, time: Duration) {
        if let Some(machine) = machine {
            self.avoided_until.insert(machine.clone(), later(now, time));
            self.avoided.insert(machine);
        }
    }

    fn count(&mut self, job: &JobId, now: Timestamp) {
        let (count, _) = self.tried.entry(job.clone()).or_insert((0, now));
        *count += 1;
    }
}

/// The clone that may come of work that was cut off before it had a machine.
fn interrupted(action: &RunningAction) -> Option<Unfinished> {
    let condemned_for = match action.work {
        Work::Spawn { .. } => Some(Condemned::SpawnFailed),
        // The name of what is made first is used again, and a warm machine that was left half-made is finished.
        Work::Register { .. } | Work::Make { .. } => None,
        Work::GiveUp { .. }
        | Work::Finish { .. }
        | Work::Unclaim(_)
        | Work::Keep(_)
        | Work::Delete(_)
        | Work::Adopt { .. }
        | Work::Free { .. } => return None,
    };
    let (name, address) = (action.name.clone(), action.address);
    action.machine.is_none().then_some(Unfinished { name, address, task: None, condemned_for })
}

/// How long something rests that has failed so often before.
fn rest_after(first: Duration, failures: u32) -> Duration {
    first.saturating_mul(1 << failures.min(8)).min(LONGEST_REST.max(first))
}

pub(super) fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn model_of(action: &RunningAction) -> Option<(ModelKind, String)> {
    match &action.work {
        Work::Spawn { model, kind, .. }
        | Work::Make { kind, model, .. }
        | Work::Finish { kind, model, .. } => Some((*kind, model.clone())),
        Work::Register { model } => Some((ModelKind::V1, model.clone())),
        Work::GiveUp { .. }
        | Work::Unclaim(_)
        | Work::Adopt { .. }
        | Work::Delete(_)
        | Work::Keep(_)
        | Work::Free { .. } => None,
    }
}

#[cfg(test)]
mod tests;
