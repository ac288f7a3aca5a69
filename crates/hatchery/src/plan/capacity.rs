//! How many workers there may be, how many there are, and whether one more fits. What they take of CPUs and memory is
//! the core's to count.

use std::collections::BTreeSet;

use rookery_fleet::capacity::{self, InFlight, PoolRoom};
use rookery_fleet::flavor::{Flavor, Flavors};
use rookery_fleet::{Hardware, MachineId, OwnerId, Power, Role};

use crate::machine::{Machine, View};
use crate::plan::workers::{Listing, WorkerState};
use crate::standing::{Standing, by_mark, standing};

/// The configured limits. `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub workers: Option<u32>,
    /// Workers that were started and are not registered yet.
    pub starting: u32,
    /// CPUs and memory of what runs.
    pub size: capacity::Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Workers: those the server lists and does not call disabled, and those on their way.
    pub workers: u32,
    /// Those among them that are not registered yet and run for a job.
    pub starting: u32,
    /// Those that register a model.
    pub registering: u32,
    pub size: capacity::Ledger,
}

/// What something in flight is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    Work,
    Registration,
    Warmth,
}

/// What is short, with the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    #[error("{used} of {max} workers exist")]
    Workers { used: u32, max: u32 },
    /// Too many workers that are not registered yet.
    #[error("{used} of {max} workers are starting at once")]
    Starting { used: u32, max: u32 },
    #[error("{used} of {max} models are being registered")]
    Registering { used: u32, max: u32 },
    #[error(transparent)]
    Size(#[from] capacity::Shortage),
}

impl Shortage {
    /// Whether it would be the same if nothing else were there.
    pub fn is_hopeless(&self) -> bool {
        matches!(self, Self::Size(shortage) if shortage.is_hopeless())
    }

    /// Its label.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Workers { .. } => "workers",
            Self::Starting { .. } => "starting",
            Self::Registering { .. } => "registering",
            Self::Size(shortage) => shortage.as_str(),
        }
    }
}

/// Whether one more worker fits. A pool that could not be asked (`None`) keeps nobody out.
pub fn admit(
    ledger: &Ledger,
    limits: &Limits,
    room: Option<&PoolRoom>,
    footprint: &Hardware,
    flavor: Option<&Flavor>,
    flavors: &Flavors,
) -> Result<(), Shortage> {
    if let Some(max) = limits.workers.filter(|max| ledger.workers >= *max) {
        return Err(Shortage::Workers { used: ledger.workers, max });
    }
    if ledger.starting >= limits.starting {
        return Err(Shortage::Starting { used: ledger.starting, max: limits.starting });
    }
    Ok(capacity::admit(&ledger.size, &limits.size, room, footprint, flavor, flavors)?)
}

/// Whether one more machine that registers a model fits; `max` is how many may at once.
pub fn admit_registration(
    ledger: &Ledger,
    limits: &Limits,
    max: u32,
    room: Option<&PoolRoom>,
    footprint: &Hardware,
) -> Result<(), Shortage> {
    if ledger.registering >= max {
        return Err(Shortage::Registering { used: ledger.registering, max });
    }
    admit(ledger, limits, room, footprint, None, &Flavors::default())
}

impl Ledger {
    /// Takes one more worker for a job into account.
    pub fn take(&mut self, footprint: &Hardware) {
        self.workers = self.workers.saturating_add(1);
        self.starting = self.starting.saturating_add(1);
        self.size.take(footprint);
    }

    /// Takes one more registration of a model into account.
    pub fn take_registration(&mut self, footprint: &Hardware) {
        self.workers = self.workers.saturating_add(1);
        self.registering = self.registering.saturating_add(1);
        self.size.take(footprint);
    }
}

/// What is in use, and by which machines where that is asked for.
#[derive(Debug)]
pub struct WorkerUsage<'v> {
    pub ledger: Ledger,
    /// The machines among those that are starting; some have none yet.
    pub starting: BTreeSet<&'v MachineId>,
}

/// What is in use. Doomed machines wait for their deletion: they are nobody's pending workers, but what runs is paid
/// for until it is gone.
pub fn usage<'v>(
    view: &'v View,
    owner: &OwnerId,
    running: &'v [(Purpose, InFlight)],
    listing: &'v Listing,
    condemned: &dyn Fn(&MachineId) -> bool,
) -> WorkerUsage<'v> {
    let mut workers = Workers::listed(listing);
    let in_flight: Vec<InFlight> = running.iter().map(|(_, action)| action.clone()).collect();
    let size = capacity::ledger(view, owner, &in_flight, &mut |machine, action| match action
        .and_then(|at| running.get(at))
    {
        Some(action) => workers.fly(action, Some(&machine.id)),
        None => workers.count(machine, owner, condemned(&machine.id)),
    });
    for action in running {
        workers.fly(action, None);
    }
    let number = |names: &BTreeSet<&str>| u32::try_from(names.len()).unwrap_or(u32::MAX);
    let ledger = Ledger {
        workers: number(&workers.names),
        starting: number(&workers.starting),
        registering: number(&workers.registering),
        size,
    };
    WorkerUsage { ledger, starting: workers.machines }
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

    fn count(&mut self, machine: &'a Machine, owner: &OwnerId, condemned: bool) {
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
        let hopeless = condemned || mark.hold_until.is_some() || machine.is_set_apart();
        let registers = standing == Standing::Registering;
        self.enlist(name, Some(&machine.id), registers, hopeless);
    }

    fn fly(&mut self, (purpose, action): &'a (Purpose, InFlight), machine: Option<&'a MachineId>) {
        match purpose {
            Purpose::Work => self.enlist(&action.name, machine, false, false),
            Purpose::Registration => self.enlist(&action.name, machine, true, false),
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
}

#[cfg(test)]
mod tests;
