//! Taking news in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rookery_cds::{JobId, Worker, WorkerStatus};
use rookery_fleet::MachineId;
use rookery_fleet::names::Line;
use rookery_fleet::workers::{Listing, WorkerState};
use tracing::{info, warn};

use super::{Keeper, Message};
use crate::act::{Ending, Failure};
use crate::flight::{Flight, FlightId, Work};
use crate::plan::{Spawn, place_again};
use crate::resolve::short_models;

/// How long a model rests at most. After its first failure it rests for the interval of provisioning; each further one
/// doubles that.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// How long a model counts as unusable, until it is tried again.
const UNUSABLE: Duration = Duration::from_mins(1);
/// How long a machine is left alone that could not be claimed.
const AVOIDED: Duration = Duration::from_mins(1);
/// How long an address is held that a machine may have which nobody can see.
const LINGERING: Duration = Duration::from_mins(15);

impl Keeper {
    pub(super) fn absorb(&mut self, message: Message) {
        let now = self.crew.clock.now();
        let state = &mut self.state;
        match message {
            Message::Moment(reply) => drop(reply.send(state.queue.moment())),
            Message::Listed(protocol, begun, jobs) => state.queue.listed(protocol, begun, jobs),
            Message::Pushed(job) => state.queue.pushed(job),
            Message::Read(job, known) => state.queue.read(&job, *known),
            Message::Gone(job) => state.queue.gone(&job),
            Message::Model(model, read) => {
                state.fetching.remove(&model);
                state.fetched_at.insert(model.clone(), now);
                state.fetched.insert(model, *read);
            }
            Message::Workers { begun, v1, v2 } => {
                state.v1_workers = v1.iter().map(|worker| worker.name.clone()).collect();
                self.absorb_workers(begun, v1.into_iter().chain(v2).collect());
            }
            Message::Models(models) => {
                state.short_models = short_models(&models);
                state.models = Some(models);
            }
            Message::Room(told) => (state.room.told, state.room.at) = (told, Some(now)),
            Message::Skew(skew) => state.skew = Some(skew),
            Message::Events(machine, events) => drop(state.events.insert(machine, events)),
            Message::Settled => state.addresses_settled = true,
            Message::IsAbout(flight, machine) => {
                if let Some(flight) = state.flights.get_mut(flight) {
                    flight.machine = Some(machine);
                }
            }
            Message::AnotherPlace { flight, useless, spawn, reply } => {
                drop(reply.send(self.another_place(flight, useless, &spawn)));
            }
            Message::Ended(flight, ending) => self.absorb_ending(flight, ending, now),
            Message::Wanted(wanted) => drop(self.wanted.send_replace(wanted)),
            Message::Drain(draining) => state.draining = draining,
        }
    }

    fn absorb_workers(&mut self, begun: Timestamp, workers: Vec<Worker>) {
        let state = |worker: &Worker| match worker.status {
            WorkerStatus::Disabled => WorkerState::Disabled,
            WorkerStatus::Waiting | WorkerStatus::Building | WorkerStatus::Other(_) => WorkerState::Alive,
        };
        let by_name: BTreeMap<String, WorkerState> =
            workers.iter().map(|worker| (worker.name.clone(), state(worker))).collect();
        let names: std::collections::BTreeSet<&str> =
            self.state.view.iter().map(|machine| machine.name.as_str()).collect();
        // Names of machines that are gone are of no use any more.
        self.state.registered_once.retain(|name| names.contains(name.as_str()));
        self.state.registered_once.extend(by_name.keys().cloned());
        self.state.listing = Some(Listing { begun, workers: by_name });
        self.state.workers = workers;
    }

    /// Finds another place for a worker. The machine that was of no use is left alone for this job.
    fn another_place(&mut self, id: FlightId, useless: MachineId, spawn: &Spawn) -> Option<Spawn> {
        let wanted = Arc::clone(&self.wanted.borrow());
        let flight = self.state.flights.end(id)?;
        self.state.avoided_until.insert(useless.clone(), later(self.crew.clock.now(), AVOIDED));
        self.state.avoided.insert(useless);
        let observer = &self.observer;
        let changed_at = |id: &_| observer.changed_at(id);
        let placed =
            place_again(&self.state.observed(&changed_at), &wanted.desired(), &mut self.random, spawn);
        let next = match &placed {
            Ok(placed) => Flight::of_spawn(placed),
            Err(_) => flight,
        };
        self.state.flights.begin(id, next);
        placed.map_err(|why| info!(job = %spawn.job, %why, "no other place for the worker")).ok()
    }

    fn absorb_ending(&mut self, id: FlightId, ending: Ending, now: Timestamp) {
        let Some(flight) = self.state.flights.end(id) else { return };
        let job = flight.job().cloned();
        let model = model_of(&flight);
        match ending {
            Ending::Done => {
                if let Work::Spawn { job, .. } = &flight.work {
                    self.state.queue.gone(job);
                }
                if let Some(model) = model {
                    self.state.failures.remove(&model);
                }
                match (&flight.work, &flight.machine) {
                    (Work::Spawn { job, .. }, _) => {
                        self.count(job, now);
                        self.wakes.workers();
                    }
                    (Work::Delete(of), Some(machine)) => {
                        self.state.doomed.remove(machine);
                        self.free(of, Some(machine));
                    }
                    (Work::Unclaim(of), machine) => self.free(of, machine.as_ref()),
                    _ => {}
                }
            }
            Ending::Lost => {
                if let Some(job) = &job {
                    self.state.queue.gone(job);
                }
            }
            Ending::NotHeld { error } => {
                warn!(vm = %flight.name, error, "job could not be taken; it is tried again when CDS offers it");
                if let Some(job) = job {
                    self.state.queue.gone(&job);
                }
            }
            Ending::Unprepared { error } => {
                warn!(vm = %flight.name, error, "model cannot be used");
                if let Some((_, model)) = model {
                    self.state.unusable_until.insert(model.clone(), later(now, UNUSABLE));
                    self.state.unusable.insert(model, error);
                }
            }
            Ending::Failed(failure) => self.absorb_failure(&flight, failure, now),
        }
    }

    fn absorb_failure(&mut self, flight: &Flight, failure: Failure, now: Timestamp) {
        let Failure { error, doomed, lingering, blames_template, tried } = failure;
        match (&flight.work, flight.job()) {
            (Work::Delete(_) | Work::Unclaim(_), _) => {
                warn!(vm = %flight.name, error, "machine could not be changed; the next pass tries again");
            }
            (_, Some(job)) if tried => self.count(&job.clone(), now),
            (_, Some(_)) => {}
            (_, None) => warn!(vm = %flight.name, error, "machine could not be made"),
        }
        if let Some(job) = flight.job() {
            self.state.queue.gone(&job.clone());
        }
        if let Some((machine, doom)) = doomed {
            self.state.doomed.insert(machine, doom);
            // It goes with the next list of workers.
            self.wakes.workers();
        }
        if let Some(address) = lingering {
            self.state.lingering_until.insert(address, later(now, LINGERING));
        }
        let housekeeping =
            matches!(flight.work, Work::Make { .. } | Work::Finish { .. } | Work::Register { .. });
        if let Some(model) = model_of(flight).filter(|_| blames_template || housekeeping) {
            let failures = self.state.failures.entry(model.clone()).or_default();
            let first = self.wanted.borrow().warm.interval;
            let rest = first.saturating_mul(1 << (*failures).min(8)).min(LONGEST_REST.max(first));
            *failures += 1;
            let until = later(self.state.server_now(), rest);
            self.state.setbacks.insert(model, until);
        }
    }

    fn count(&mut self, job: &JobId, now: Timestamp) {
        let (count, _) = self.state.tried.entry(job.clone()).or_insert((0, now));
        *count += 1;
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn model_of(flight: &Flight) -> Option<(Line, String)> {
    match &flight.work {
        Work::Spawn { model, line, .. }
        | Work::Make { line, model, .. }
        | Work::Finish { line, model, .. } => Some((*line, model.clone())),
        Work::Register { model } => Some((Line::V1, model.clone())),
        Work::GiveUp { .. } | Work::Unclaim(_) | Work::Delete(_) | Work::Free { .. } => None,
    }
}
