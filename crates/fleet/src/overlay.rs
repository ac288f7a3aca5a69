//! What our own acts were told, laid over what the inventory shows. Pure: no clock, no I/O.
//!
//! An act knows what it has changed seconds before the inventory shows it. Planned from the inventory alone, a machine
//! that was just claimed would still count as warm, and a fresh one would be deleted as excess.
//!
//! ```text
//!   told ──► laid over the row ──the row shows this property changed, or equal──► gone (per property)
//!                 │
//!                 └──30 s without that──► the machine is read; what was read stays until the row changes
//! ```
//!
//! An overlay frees nothing: the name, the addresses and the slot that the row shows stay taken. Until the row or a read
//! has confirmed it, the machine is not deleted, and nothing that cannot be undone is done on account of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::address;
use crate::machine::{Hardware, Machine, MachineId, Power, Role};
use crate::machines::Machines;
use crate::ownership::Recognised;

/// How long the inventory may take to show what an act was told; then the machine is read.
pub const READ_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// What an act was told about a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact<M> {
    /// It was made, and is like this.
    Made(Box<Machine<M>>),
    Name(String),
    Marked(Box<Recognised<M>>),
    Power(Power),
    /// It is a template, or a VM.
    Role(Role),
    Hardware(Hardware),
    /// Its guest has been set up.
    SetUp,
    Gone,
}

/// A machine as a read shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<M> {
    pub name: String,
    pub role: Role,
    /// Whether it runs; `None` is not told.
    pub power: Option<Power>,
    pub recognised: Recognised<M>,
    pub hardware: Hardware,
}

/// One piece of news about a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News<M> {
    /// An act was told this.
    Told(Fact<M>),
    /// It was read because the inventory did not confirm what we know; `None`: it is gone.
    Read(Option<Reading<M>>),
}

/// A machine of a view that is not only what its row shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlaid<M> {
    /// Its row; `None`: the inventory does not show it yet.
    pub row: Option<Arc<Machine<M>>>,
    /// Whether it was deleted: it only holds what its row shows.
    pub is_gone: bool,
    /// Whether a read has confirmed what is laid over it.
    pub is_settled: bool,
}

/// All that acts were told and the inventory has not shown yet.
#[derive(Debug)]
pub struct Overlay<M> {
    entries: BTreeMap<MachineId, Entry<M>>,
}

#[derive(Debug)]
struct Entry<M> {
    /// When it was laid, or read last.
    since: Timestamp,
    /// Whether it is being read. What an act is told meanwhile is newer than the reading.
    is_asked: bool,
    /// Whether it was read since.
    is_settled: bool,
    existence: Existence<M>,
    patches: Patches<M>,
}

#[derive(Debug)]
enum Existence<M> {
    Shown,
    /// Made, and not shown yet.
    Made(Box<Machine<M>>),
    /// Deleted; whether the inventory has shown it.
    Gone {
        was_shown: bool,
    },
}

/// A property as the inventory showed it, and as we know it.
#[derive(Debug)]
struct Patch<T> {
    was: T,
    is: T,
}

#[derive(Debug)]
struct Patches<M> {
    name: Option<Patch<String>>,
    role: Option<Patch<Role>>,
    power: Option<Patch<Option<Power>>>,
    recognised: Option<Patch<Recognised<M>>>,
    hardware: Option<Patch<Hardware>>,
    awaits_setup: Option<Patch<bool>>,
}

impl<M> Default for Overlay<M> {
    fn default() -> Self {
        Self { entries: BTreeMap::new() }
    }
}

impl<M: Clone + PartialEq> Overlay<M> {
    /// Takes news in, and says whether they change what is known about a machine that is there.
    pub fn hear(&mut self, rows: &Machines<M>, id: &MachineId, news: News<M>, now: Timestamp) -> bool {
        let row = rows.get(id).map(AsRef::as_ref);
        let kept = match news {
            News::Told(fact) => {
                let entry = self.entries.entry(id.clone()).or_insert_with(|| Entry::new(now));
                (entry.since, entry.is_asked, entry.is_settled) = (now, false, false);
                entry.told(fact, row)
            }
            News::Read(reading) => {
                let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.is_asked) else {
                    return false;
                };
                (entry.since, entry.is_asked, entry.is_settled) = (now, false, true);
                entry.read(reading, row, id)
            }
        };
        if !kept {
            self.entries.remove(id);
            return false;
        }
        row.is_some() || self.makes(id)
    }

    /// Whether the machine is known although the inventory does not show it.
    pub fn makes(&self, id: &MachineId) -> bool {
        self.entries.get(id).is_some_and(|entry| matches!(entry.existence, Existence::Made(_)))
    }

    /// The machines that the inventory has not confirmed for too long. Each is named once in that time.
    pub fn overdue(&mut self, now: Timestamp) -> Vec<MachineId> {
        let late = self.entries.iter_mut().filter(|(_, entry)| now.duration_since(entry.since) >= READ_AFTER);
        late.map(|(id, entry)| {
            (entry.since, entry.is_asked) = (now, true);
            id.clone()
        })
        .collect()
    }

    /// The rows with what is known beyond them. What they show by now is forgotten.
    pub fn over(&mut self, rows: &Machines<M>) -> (Machines<M>, BTreeMap<MachineId, Overlaid<M>>) {
        self.entries.retain(|id, entry| entry.settle(rows.get(id).map(AsRef::as_ref)));
        let (mut machines, mut overlaid) = (rows.clone(), BTreeMap::new());
        for (id, entry) in &self.entries {
            let row = rows.get(id);
            let machine = match (row, &entry.existence) {
                (Some(row), _) => Some(entry.patches.over(row)),
                (None, Existence::Made(machine)) => Some(Machine::clone(machine)),
                (None, Existence::Shown | Existence::Gone { .. }) => None,
            };
            let Some(machine) = machine else { continue };
            machines.insert(Arc::new(machine));
            let is_gone = matches!(entry.existence, Existence::Gone { .. });
            let (row, is_settled) = (row.cloned(), entry.is_settled);
            overlaid.insert(id.clone(), Overlaid { row, is_gone, is_settled });
        }
        (machines, overlaid)
    }
}

impl<M: Clone + PartialEq> Entry<M> {
    fn new(since: Timestamp) -> Self {
        let (existence, patches) = (Existence::Shown, Patches::default());
        Self { since, is_asked: false, is_settled: false, existence, patches }
    }

    /// Whether anything is left of it.
    fn told(&mut self, fact: Fact<M>, row: Option<&Machine<M>>) -> bool {
        match (fact, row) {
            (Fact::Made(machine), Some(row)) => self.appear(&machine, row),
            (Fact::Made(machine), None) => self.existence = Existence::Made(machine),
            (Fact::Gone, row) => self.existence = Existence::Gone { was_shown: row.is_some() },
            (fact, Some(row)) => self.patches.lay(fact, row),
            (fact, None) => {
                if let Existence::Made(machine) = &mut self.existence {
                    change(machine, fact);
                }
            }
        }
        self.is_needed()
    }

    fn read(&mut self, reading: Option<Reading<M>>, row: Option<&Machine<M>>, id: &MachineId) -> bool {
        match (reading, row) {
            (None, None) => return false,
            (None, Some(_)) => self.existence = Existence::Gone { was_shown: true },
            (Some(reading), None) => {
                let made = match &self.existence {
                    Existence::Made(machine) => Machine::clone(machine),
                    Existence::Shown | Existence::Gone { .. } => Machine::blank(id),
                };
                let Reading { name, role, power, recognised, hardware } = reading;
                self.existence =
                    Existence::Made(Box::new(Machine { name, role, power, recognised, hardware, ..made }));
            }
            (Some(reading), Some(row)) => {
                self.existence = Existence::Shown;
                let Reading { name, role, power, recognised, hardware } = reading;
                let read = Machine { name, role, power, recognised, hardware, ..row.clone() };
                self.patches = Patches::between(row, &read);
            }
        }
        self.is_needed()
    }

    /// Forgets what the row shows by now; whether anything is left.
    fn settle(&mut self, row: Option<&Machine<M>>) -> bool {
        match (&mut self.existence, row) {
            (Existence::Shown | Existence::Gone { was_shown: true }, None) => return false,
            (Existence::Made(_) | Existence::Gone { was_shown: false }, None) => return true,
            (Existence::Gone { was_shown }, Some(_)) => *was_shown = true,
            (Existence::Made(machine), Some(row)) => {
                let machine = std::mem::replace(&mut **machine, Machine::blank(&row.id));
                self.appear(&machine, row);
            }
            (Existence::Shown, Some(_)) => {}
        }
        if let Some(row) = row {
            self.patches.settle(row);
        }
        self.is_needed()
    }

    /// The first row of a new machine may be older than what we were told.
    fn appear(&mut self, made: &Machine<M>, row: &Machine<M>) {
        self.existence = Existence::Shown;
        let known = Machine {
            power: made.power.or(row.power),
            hardware: made.hardware.or(row.hardware),
            awaits_setup: row.awaits_setup && made.awaits_setup,
            ..made.clone()
        };
        self.patches = Patches::between(row, &known);
    }

    fn is_needed(&self) -> bool {
        !matches!(self.existence, Existence::Shown) || !self.patches.is_empty()
    }
}

impl<M> Default for Patches<M> {
    fn default() -> Self {
        Self { name: None, role: None, power: None, recognised: None, hardware: None, awaits_setup: None }
    }
}

impl<M: Clone + PartialEq> Patches<M> {
    /// All properties in which a machine is known to differ from its row.
    fn between(row: &Machine<M>, known: &Machine<M>) -> Self {
        let mut patches = Self::default();
        lay(&mut patches.name, &row.name, known.name.clone());
        lay(&mut patches.role, &row.role, known.role);
        lay(&mut patches.power, &row.power, known.power);
        lay_mark(&mut patches.recognised, &row.recognised, known.recognised.clone());
        lay(&mut patches.hardware, &row.hardware, known.hardware);
        lay(&mut patches.awaits_setup, &row.awaits_setup, known.awaits_setup);
        patches
    }

    fn lay(&mut self, fact: Fact<M>, row: &Machine<M>) {
        match fact {
            Fact::Name(name) => lay(&mut self.name, &row.name, name),
            Fact::Marked(recognised) => lay_mark(&mut self.recognised, &row.recognised, *recognised),
            Fact::Power(power) => lay(&mut self.power, &row.power, Some(power)),
            Fact::Role(role) => lay(&mut self.role, &row.role, role),
            Fact::Hardware(size) => lay(&mut self.hardware, &row.hardware, size),
            Fact::SetUp => lay(&mut self.awaits_setup, &row.awaits_setup, false),
            Fact::Made(_) | Fact::Gone => {}
        }
    }

    fn settle(&mut self, row: &Machine<M>) {
        settle(&mut self.name, &row.name);
        settle(&mut self.role, &row.role);
        settle(&mut self.power, &row.power);
        self.recognised.take_if(|patch| {
            !is_same_mark(&row.recognised, &patch.was) || is_same_mark(&row.recognised, &patch.is)
        });
        settle(&mut self.hardware, &row.hardware);
        settle(&mut self.awaits_setup, &row.awaits_setup);
    }

    fn is_empty(&self) -> bool {
        let Self { name, role, power, recognised, hardware, awaits_setup } = self;
        name.is_none()
            && role.is_none()
            && power.is_none()
            && recognised.is_none()
            && hardware.is_none()
            && awaits_setup.is_none()
    }

    /// The machine as we know it. It keeps the addresses that its row holds.
    fn over(&self, row: &Machine<M>) -> Machine<M> {
        fn known<T: Clone>(patch: Option<&Patch<T>>, shown: &T) -> T {
            patch.map_or_else(|| shown.clone(), |patch| patch.is.clone())
        }
        let mut machine = Machine {
            name: known(self.name.as_ref(), &row.name),
            role: known(self.role.as_ref(), &row.role),
            power: known(self.power.as_ref(), &row.power),
            recognised: known(self.recognised.as_ref(), &row.recognised),
            hardware: known(self.hardware.as_ref(), &row.hardware),
            awaits_setup: known(self.awaits_setup.as_ref(), &row.awaits_setup),
            ..row.clone()
        };
        for held in address::of_machine(row) {
            if !address::of_machine(&machine).any(|ip| ip == held) {
                machine.addresses.push(held);
            }
        }
        machine
    }
}

fn lay<T: Clone + PartialEq>(patch: &mut Option<Patch<T>>, shown: &T, is: T) {
    *patch = (*shown != is).then(|| Patch { was: shown.clone(), is });
}

fn lay_mark<M: Clone + PartialEq>(
    patch: &mut Option<Patch<Recognised<M>>>,
    shown: &Recognised<M>,
    is: Recognised<M>,
) {
    *patch = (!is_same_mark(shown, &is)).then(|| Patch { was: shown.clone(), is });
}

/// Which addresses are held follows from the name, too, and the name has a patch of its own.
fn is_same_mark<M: PartialEq>(one: &Recognised<M>, other: &Recognised<M>) -> bool {
    one.ownership == other.ownership && one.mark == other.mark && one.held_until == other.held_until
}

fn settle<T: PartialEq>(patch: &mut Option<Patch<T>>, shown: &T) {
    patch.take_if(|patch| *shown != patch.was || *shown == patch.is);
}

fn change<M>(machine: &mut Machine<M>, fact: Fact<M>) {
    match fact {
        Fact::Name(name) => machine.name = name,
        Fact::Marked(recognised) => machine.recognised = *recognised,
        Fact::Power(power) => machine.power = Some(power),
        Fact::Role(role) => machine.role = role,
        Fact::Hardware(size) => machine.hardware = size,
        Fact::SetUp => machine.awaits_setup = false,
        Fact::Made(_) | Fact::Gone => {}
    }
}

#[cfg(test)]
mod tests;
