//! What is in use: machines that run, and what is in flight towards running. Nothing is counted twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::flavor::Footprint;
use crate::machine::{Machine, MachineId, Power, Role, View};
use crate::standing::{Standing, by_mark, standing};
use crate::workers::{Listing, WorkerState};

/// What is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Workers: those the server lists and does not call disabled, and those on their way.
    pub workers: u32,
    /// Those among them that are not registered yet and run for a job.
    pub starting: u32,
    /// Those that register a model.
    pub registering: u32,
    /// Virtual CPUs of what runs or is about to.
    pub cpus: u64,
    /// Memory of what runs or is about to.
    pub memory_mb: u64,
    /// The part of the memory that no running machine shows yet: the resource pool does not know of it.
    pub unseen_memory_mb: u64,
}

/// What something in flight is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// A job.
    Work,
    /// A registration of a model.
    Registration,
    /// The pool.
    Warmth,
}

/// A machine that is being made or started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flight {
    /// The name that it has or will have.
    pub name: String,
    /// Which machine it is, once that is known.
    pub machine: Option<MachineId>,
    /// What it is for.
    pub purpose: Purpose,
    /// What it will take.
    pub footprint: Footprint,
}

impl Ledger {
    /// Takes one more worker for a job into account.
    pub fn take(&mut self, footprint: &Footprint) {
        self.workers = self.workers.saturating_add(1);
        self.starting = self.starting.saturating_add(1);
        self.take_warm(footprint);
    }

    /// Takes one more registration of a model into account.
    pub fn take_registration(&mut self, footprint: &Footprint) {
        self.workers = self.workers.saturating_add(1);
        self.registering = self.registering.saturating_add(1);
        self.take_warm(footprint);
    }

    /// Takes one more warm machine into account.
    pub fn take_warm(&mut self, footprint: &Footprint) {
        self.run(footprint);
        self.unseen_memory_mb = self.unseen_memory_mb.saturating_add(footprint.memory_mb.unwrap_or(0));
    }

    fn run(&mut self, footprint: &Footprint) {
        self.cpus = self.cpus.saturating_add(footprint.cpus.map_or(0, u64::from));
        self.memory_mb = self.memory_mb.saturating_add(footprint.memory_mb.unwrap_or(0));
    }
}

/// What is in use, and by which machines where that is asked for.
#[derive(Debug)]
pub struct Usage<'v> {
    /// How much.
    pub ledger: Ledger,
    /// The machines among those that are starting; some have none yet.
    pub starting: BTreeSet<&'v MachineId>,
}

/// What is in use. Doomed machines wait for their deletion: they are nobody's pending workers, but what runs is paid
/// for until it is gone.
pub fn usage<'v>(
    view: &'v View,
    owner: &str,
    flights: &'v [Flight],
    listing: &'v Listing,
    doomed: &dyn Fn(&MachineId) -> bool,
) -> Usage<'v> {
    let mut ledger = Ledger::default();
    let mut workers = Workers::listed(listing);
    let mut waiting: BTreeMap<&str, &Flight> =
        flights.iter().map(|flight| (flight.name.as_str(), flight)).collect();
    let by_machine: BTreeMap<&MachineId, &Flight> =
        flights.iter().filter_map(|flight| Some((flight.machine.as_ref()?, flight))).collect();

    let occupants = view.notable().map(|machine| view.occupant(machine));
    for machine in occupants.filter(|machine| concerns(machine, owner)) {
        let by_name = waiting.get(machine.name.as_str()).copied().filter(|flight| flight.machine.is_none());
        let flight = by_machine.get(&machine.id).copied().or(by_name);
        if let Some(flight) = flight {
            waiting.remove(flight.name.as_str());
            ledger.count(machine, Some(&flight.footprint));
            workers.fly(flight, Some(&machine.id));
        } else if machine.possible_mark_of(owner).is_some() {
            ledger.count(machine, None);
            workers.count(machine, owner, doomed(&machine.id));
        }
    }
    for flight in waiting.values() {
        ledger.take_warm(&flight.footprint);
    }
    for flight in flights {
        workers.fly(flight, None);
    }
    workers.enter(&mut ledger);
    Usage { ledger, starting: workers.machines }
}

/// Ours, or not told yet: a foreign machine of the same name is no flight of ours.
fn concerns(machine: &Machine, owner: &str) -> bool {
    machine.role != Role::Template && (machine.is_unknown() || machine.possible_mark_of(owner).is_some())
}

impl Ledger {
    /// A machine that is off takes nothing, unless it is about to be started. The size of one that runs is its own.
    fn count(&mut self, machine: &Machine, promised: Option<&Footprint>) {
        let actual = machine.hardware.map(Footprint::from).unwrap_or_default();
        let or = |first: Footprint, second: Footprint| Footprint {
            cpus: first.cpus.or(second.cpus),
            memory_mb: first.memory_mb.or(second.memory_mb),
        };
        match (machine.power, promised) {
            (Some(Power::On | Power::Suspended), _) => {
                self.run(&or(actual, promised.copied().unwrap_or_default()));
            }
            (None, _) => self.take_warm(&or(promised.copied().unwrap_or_default(), actual)),
            (Some(Power::Off), Some(promised)) => self.take_warm(&or(*promised, actual)),
            (Some(Power::Off), None) => {}
        }
    }
}

/// The union of registered workers and of those on their way.
struct Workers<'a> {
    listing: &'a Listing,
    names: BTreeSet<&'a str>,
    starting: BTreeSet<&'a str>,
    registering: BTreeSet<&'a str>,
    /// Of those that are starting.
    machines: BTreeSet<&'a MachineId>,
}

impl<'a> Workers<'a> {
    fn listed(listing: &'a Listing) -> Self {
        let alive = listing.workers.iter().filter(|(_, state)| **state == WorkerState::Alive);
        let names = alive.map(|(name, _)| name.as_str()).collect();
        let (starting, registering, machines) = Default::default();
        Self { listing, names, starting, registering, machines }
    }

    fn count(&mut self, machine: &'a Machine, owner: &str, doomed: bool) {
        let Some(mark) = machine.possible_mark_of(owner) else { return };
        // What runs where it cannot be reached, or is not touched, runs on and keeps its slot.
        let standing =
            if machine.role == Role::Vm { by_mark(machine, mark) } else { standing(machine, owner) };
        let at_work = matches!(standing, Standing::Worker | Standing::Registering | Standing::HalfClaimed);
        if !at_work || machine.power == Some(Power::Off) {
            return;
        }
        let name = self.listing.name_of(machine, mark);
        // One that is kept for somebody to look at, or waits for that, will never register.
        let hopeless = doomed || mark.hold_until.is_some() || machine.is_set_apart();
        let registers = standing == Standing::Registering;
        self.enlist(name, Some(&machine.id), registers, hopeless);
    }

    fn fly(&mut self, flight: &'a Flight, machine: Option<&'a MachineId>) {
        match flight.purpose {
            Purpose::Work => self.enlist(&flight.name, machine, false, false),
            Purpose::Registration => self.enlist(&flight.name, machine, true, false),
            Purpose::Warmth => {}
        }
    }

    fn enlist(&mut self, name: &'a str, machine: Option<&'a MachineId>, registers: bool, hopeless: bool) {
        let state = self.listing.workers.get(name);
        if state == Some(&WorkerState::Disabled) {
            return;
        }
        self.names.insert(name);
        if registers && !hopeless {
            self.registering.insert(name);
        } else if state.is_none() && !hopeless {
            self.starting.insert(name);
            self.machines.extend(machine);
        }
    }

    fn enter(&self, ledger: &mut Ledger) {
        let number = |names: &BTreeSet<&str>| u32::try_from(names.len()).unwrap_or(u32::MAX);
        ledger.workers = number(&self.names);
        ledger.starting = number(&self.starting);
        ledger.registering = number(&self.registering);
    }
}
