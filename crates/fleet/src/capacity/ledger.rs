//! What is in use: machines that run, and what is in flight towards running. Nothing is counted twice.

use std::collections::BTreeMap;

use crate::machine::Hardware;
use crate::machine::{Machine, MachineId, Power, Role, View};
use crate::ownership::OwnerId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Virtual CPUs of what runs or is about to.
    pub cpus: u64,
    /// Memory of what runs or is about to.
    pub memory_mb: u64,
    /// The part of the memory that no running machine shows yet: the resource pool does not know of it.
    pub unseen_memory_mb: u64,
}

/// A machine that is being made or started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    /// The name that it has or will have.
    pub name: String,
    /// Which machine it is, once that is known.
    pub machine: Option<MachineId>,
    pub footprint: Hardware,
}

impl Ledger {
    /// Takes one more machine into account that is about to run.
    pub fn take(&mut self, footprint: &Hardware) {
        self.run(footprint);
        self.unseen_memory_mb = self.unseen_memory_mb.saturating_add(footprint.memory_mb.unwrap_or(0));
    }

    fn run(&mut self, footprint: &Hardware) {
        self.cpus = self.cpus.saturating_add(footprint.cpus.map_or(0, u64::from));
        self.memory_mb = self.memory_mb.saturating_add(footprint.memory_mb.unwrap_or(0));
    }

    /// A machine that is off takes nothing, unless it is about to be started. The size of one that runs is its own.
    fn count<M>(&mut self, machine: &Machine<M>, promised: Option<&Hardware>) {
        let actual = machine.hardware;
        let or = |first: Hardware, second: Hardware| Hardware {
            cpus: first.cpus.or(second.cpus),
            memory_mb: first.memory_mb.or(second.memory_mb),
        };
        match (machine.power, promised) {
            (Some(Power::On | Power::Suspended), _) => {
                self.run(&or(actual, promised.copied().unwrap_or_default()));
            }
            (None, _) => self.take(&or(promised.copied().unwrap_or_default(), actual)),
            (Some(Power::Off), Some(promised)) => self.take(&or(*promised, actual)),
            (Some(Power::Off), None) => {}
        }
    }
}

/// What is in use by an owner. `each` is told of every machine that counts, with its place among those in flight.
pub fn ledger<'v, M>(
    view: &'v View<M>,
    owner: &OwnerId,
    in_flight: &[InFlight],
    each: &mut dyn FnMut(&'v Machine<M>, Option<usize>),
) -> Ledger {
    let mut ledger = Ledger::default();
    let mut waiting: BTreeMap<&str, usize> =
        in_flight.iter().enumerate().map(|(at, flight)| (flight.name.as_str(), at)).collect();
    let by_machine: BTreeMap<&MachineId, usize> = in_flight
        .iter()
        .enumerate()
        .filter_map(|(at, flight)| Some((flight.machine.as_ref()?, at)))
        .collect();
    let occupants = view.notable().map(|machine| view.occupant(machine));
    for machine in occupants.filter(|machine| concerns(machine, owner)) {
        let unplaced = |at: &usize| in_flight.get(*at).is_some_and(|flight| flight.machine.is_none());
        let named = waiting.get(machine.name.as_str()).copied().filter(unplaced);
        let found = by_machine.get(&machine.id).copied().or(named);
        if let Some((at, flight)) = found.and_then(|at| Some((at, in_flight.get(at)?))) {
            waiting.remove(flight.name.as_str());
            ledger.count(machine, Some(&flight.footprint));
            each(machine, Some(at));
        } else if machine.possible_mark_of(owner).is_some() {
            ledger.count(machine, None);
            each(machine, None);
        }
    }
    for flight in waiting.into_values().filter_map(|at| in_flight.get(at)) {
        ledger.take(&flight.footprint);
    }
    ledger
}

/// The owner's, or not told yet: a foreign machine of the same name is no flight of ours.
fn concerns<M>(machine: &Machine<M>, owner: &OwnerId) -> bool {
    machine.role != Role::Template && (machine.is_unknown() || machine.possible_mark_of(owner).is_some())
}
