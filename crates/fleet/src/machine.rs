//! A machine as a planner sees it, and all machines at one moment.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::machines::Machines;
use crate::overlay::Overlaid;
use crate::ownership::{OwnerId, Ownership, Recognised};

/// The supplier's reference to a machine; it survives renames. Cheap to clone: each view has one of each machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct MachineId(Arc<str>);

impl MachineId {
    /// A reference as the supplier writes it.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The reference as the supplier writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for MachineId {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

impl From<MachineId> for String {
    fn from(id: MachineId) -> Self {
        id.as_str().to_owned()
    }
}

impl Borrow<str> for MachineId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Power {
    On,
    Off,
    /// It was stopped in the middle of running.
    Suspended,
}

/// What a machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Not told yet: it may still be in the making.
    Unknown,
    /// It is cloned, never started.
    Template,
    Vm,
}

/// The size of a machine: what it has, will have or is to have. What is `None` is not known, or not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Hardware {
    pub cpus: Option<u32>,
    pub memory_mb: Option<u64>,
}

impl Hardware {
    pub const fn new(cpus: u32, memory_mb: u64) -> Self {
        Self { cpus: Some(cpus), memory_mb: Some(memory_mb) }
    }

    /// The same, with what is not known from another.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { cpus: self.cpus.or(other.cpus), memory_mb: self.memory_mb.or(other.memory_mb) }
    }

    /// Whether all of it is known.
    pub fn is_known(&self) -> bool {
        self.cpus.is_some() && self.memory_mb.is_some()
    }

    /// Whether any of it is known to be another.
    pub fn differs(&self, other: &Self) -> bool {
        let cpus = self.cpus.zip(other.cpus).is_some_and(|(one, other)| one != other);
        cpus || self.memory_mb.zip(other.memory_mb).is_some_and(|(one, other)| one != other)
    }
}

/// A machine, with what its front's marks say of it (`M`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine<M> {
    pub id: MachineId,
    pub name: String,
    pub role: Role,
    /// Whether it runs; `None` is not told.
    pub power: Option<Power>,
    /// Whose it is, and what that says.
    pub recognised: Recognised<M>,
    pub hardware: Hardware,
    /// The addresses that its guest reports on its network cards.
    pub addresses: Vec<Ipv4Addr>,
    /// When it was made, by the supplier's clock.
    pub created: Option<Timestamp>,
    /// Whether its guest is set up at the next start: a warm machine of which this is true has never run.
    pub awaits_setup: bool,
    /// What tells it from a later machine of the same name; compared with what clones were made from.
    pub incarnation: Option<String>,
    /// Whether the supplier reaches the host that it is on, and its files. If not, what is told of it is old.
    pub reachable: bool,
    /// Whether it is not where the owner's machines are: somebody has moved it, and it is not touched.
    pub is_outside: bool,
}

impl<M> Machine<M> {
    /// A machine of which nothing is known but that it is there.
    pub fn blank(id: &MachineId) -> Self {
        Self {
            id: id.clone(),
            name: String::new(),
            role: Role::Unknown,
            power: None,
            recognised: Recognised::unknown(),
            hardware: Hardware::default(),
            addresses: Vec::new(),
            created: None,
            awaits_setup: true,
            incarnation: None,
            reachable: true,
            is_outside: false,
        }
    }

    /// Its mark, unless it was, or may have been, written for another machine.
    pub fn mark(&self) -> Option<&M> {
        match self.recognised.ownership {
            Ownership::By(_) | Ownership::Nobody => self.any_mark(),
            Ownership::Unknown | Ownership::Copied(_) | Ownership::Disputed(_) => None,
        }
    }

    /// The mark in its labels, whichever machine it was written for: it holds what that one names.
    pub fn any_mark(&self) -> Option<&M> {
        self.recognised.mark.as_deref()
    }

    /// Its mark, unless it is certain that it was written for another machine: what it takes is taken.
    pub fn possible_mark(&self) -> Option<&M> {
        match self.recognised.ownership {
            Ownership::By(_) | Ownership::Nobody | Ownership::Disputed(_) => self.any_mark(),
            Ownership::Unknown | Ownership::Copied(_) => None,
        }
    }

    /// The same, if this owner wrote it.
    pub fn possible_mark_of(&self, owner: &OwnerId) -> Option<&M> {
        match &self.recognised.ownership {
            Ownership::By(found) | Ownership::Disputed(found) if found == owner => self.any_mark(),
            Ownership::By(_)
            | Ownership::Disputed(_)
            | Ownership::Copied(_)
            | Ownership::Nobody
            | Ownership::Unknown => None,
        }
    }

    /// Its mark, if it is this owner's.
    pub fn mark_of(&self, owner: &OwnerId) -> Option<&M> {
        self.any_mark().filter(|_| self.is_of(owner))
    }

    /// Whether it is this owner's.
    pub fn is_of(&self, owner: &OwnerId) -> bool {
        matches!(&self.recognised.ownership, Ownership::By(found) if found == owner)
    }

    /// Whether it stays as it is until somebody has looked at it: it was moved, or is one of several with the same mark.
    pub fn is_set_apart(&self) -> bool {
        let is_proven = self.recognised.identity.as_ref().is_some_and(|identity| identity.is_proven);
        let is_disputed = matches!(self.recognised.ownership, Ownership::Disputed(_)) && !is_proven;
        // Of one that cannot be reached it is old news where it is.
        !self.is_unknown() && self.reachable && (self.is_outside || is_disputed)
    }

    /// Whether nothing may be concluded about it yet. It holds its name, its slot and its address, and it is neither
    /// claimed nor deleted.
    pub fn is_unknown(&self) -> bool {
        self.role == Role::Unknown || self.recognised.ownership == Ownership::Unknown
    }

    /// Whether it may be more to somebody than a VM of others. Of a VM without a mark nothing follows but that it holds its
    /// name and its addresses.
    pub(crate) fn is_notable(&self) -> bool {
        self.role != Role::Vm
            || self.recognised.ownership != Ownership::Nobody
            || self.recognised.mark.is_some()
    }
}

/// When something last happened to a VM since it left its pool, by its supplier's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    pub started: Option<Timestamp>,
    pub powered_off: Option<Timestamp>,
    /// It got a name that is not of the pool.
    pub renamed: Option<Timestamp>,
}

/// All machines at one moment.
#[derive(Debug, Clone)]
pub struct View<M> {
    pub machines: Machines<M>,
    /// Whether the absence of a machine means that there is none.
    pub complete: bool,
    /// How long ago the supplier confirmed it.
    pub age: Duration,
    /// Those among the machines of which our acts know more than the supplier has shown.
    pub overlaid: BTreeMap<MachineId, Overlaid<M>>,
}

impl<M> Default for View<M> {
    fn default() -> Self {
        let (machines, complete, age, overlaid) = Default::default();
        Self { machines, complete, age, overlaid }
    }
}

impl<M> View<M> {
    /// The machines, in the order of their references.
    pub fn iter(&self) -> impl Iterator<Item = &Machine<M>> {
        self.machines.iter().map(AsRef::as_ref)
    }

    /// Those among them that a rule about marks can concern.
    pub fn notable(&self) -> impl Iterator<Item = &Machine<M>> {
        self.machines.notable().map(AsRef::as_ref)
    }

    /// The machines of that name. Names are unique in a folder only.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Machine<M>> {
        self.machines.named(name).map(AsRef::as_ref)
    }

    /// Whether a machine has that name, or may still have it: a row shows it.
    pub fn is_taken(&self, name: &str) -> bool {
        let shown = |overlaid: &Overlaid<M>| overlaid.row.as_ref().is_some_and(|row| row.name == name);
        self.named(name).next().is_some() || self.overlaid.values().any(shown)
    }

    /// Whether neither a row nor a read has confirmed what our acts did to that machine: nothing is deleted, disabled or
    /// released on account of it.
    pub fn is_unsettled(&self, id: &MachineId) -> bool {
        self.overlaid.get(id).is_some_and(|overlaid| !overlaid.is_settled)
    }

    /// Whether that machine was deleted, and only holds what its row shows.
    pub fn is_gone(&self, id: &MachineId) -> bool {
        self.overlaid.get(id).is_some_and(|overlaid| overlaid.is_gone)
    }

    /// What occupies a place: the machine, or its row while that one runs and the machine does not any more.
    pub(crate) fn occupant<'v>(&'v self, machine: &'v Machine<M>) -> &'v Machine<M> {
        let runs = |machine: &Machine<M>| machine.role != Role::Template && machine.power != Some(Power::Off);
        let row = self.overlaid.get(&machine.id).and_then(|overlaid| overlaid.row.as_deref());
        row.filter(|row| runs(row) && !runs(machine)).unwrap_or(machine)
    }

    /// The machines that carry this owner's mark and are no templates.
    pub fn owned<'v>(&'v self, owner: &'v OwnerId) -> impl Iterator<Item = (&'v Machine<M>, &'v M)> {
        let vms = self.notable().filter(|machine| machine.role == Role::Vm);
        vms.filter_map(move |machine| Some((machine, machine.mark_of(owner)?)))
    }
}

#[cfg(test)]
mod tests;
