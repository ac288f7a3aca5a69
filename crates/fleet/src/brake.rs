//! A brake on what cannot be undone: who is about to delete or disable unusually many of those that run has most likely
//! been told something wrong, and waits for a person.
//!
//! Counted over ten minutes, and before any budget, are deletions of machines that run, and whatever else a front does
//! that is as bad for somebody. Machines that are off, warm or given up go on. If machines vanish from the view that nobody here has deleted,
//! unusually many of them stop everything: the view is not believed until they are back or a person says that they are
//! gone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::address;
use crate::machine::{Machine, MachineId, Power, Role, View};
use crate::ownership::OwnerId;

/// How long what was done is counted, and how long what a person has confirmed may be done.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// So few are never too many.
const FEW: usize = 2;
/// One of so many is not too many: a fifth.
const SHARE: usize = 5;

/// What the brake is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A machine that runs and would be deleted.
    Machine(MachineId),
    /// Something else that the front would do, by the name of whom it concerns.
    Other(String),
    /// A machine that is not in sight any more.
    Lost(MachineId),
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub subject: Subject,
    pub name: String,
    /// What would be done, and why.
    pub why: String,
}

/// How many machines the view has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{lost} of {of} VMs have vanished from the inventory")]
pub struct Loss {
    /// How many are not in sight any more.
    pub lost: usize,
    /// How many there are in all.
    pub of: usize,
}

/// Whether so many of so many are unusually many: more than two, and more than a fifth.
pub fn is_too_many(count: usize, of: usize) -> bool {
    count > FEW && count.saturating_mul(SHARE) > of
}

/// How the deletion of a machine is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Not at all: it is off, warm or given up, and nobody's loss.
    None,
    /// With all that would go at the same time, and not remembered: one at a time it happens all day long.
    AtOnce,
    /// It is remembered and counted for ten minutes.
    Lasting,
}

/// What was done of late, what is in sight, and what a person has confirmed.
#[derive(Debug, Clone)]
pub struct Brake<M> {
    /// What was counted, and when.
    done: BTreeMap<Subject, Timestamp>,
    /// Machines that were deleted here, and when that began.
    deleted: BTreeMap<MachineId, Timestamp>,
    /// The owner's machines in the last whole view.
    seen: BTreeMap<MachineId, Arc<Machine<M>>>,
    /// Machines that vanished, and when.
    lost: BTreeMap<MachineId, (Arc<Machine<M>>, Timestamp)>,
    /// What a person has confirmed, and until when.
    confirmed: BTreeMap<Subject, Timestamp>,
}

impl<M> Default for Brake<M> {
    fn default() -> Self {
        let (done, deleted, seen, lost, confirmed) = Default::default();
        Self { done, deleted, seen, lost, confirmed }
    }
}

impl<M> Brake<M> {
    /// Takes a new view in. `busy` says of a machine that it is being made here: a clone that fails vanishes by itself.
    pub fn look(
        &mut self,
        view: &View<M>,
        owner: &OwnerId,
        busy: &dyn Fn(&Machine<M>) -> bool,
        now: Timestamp,
    ) {
        let recent = |at: &Timestamp| now.duration_since(*at) < WINDOW;
        self.done.retain(|_, at| recent(at));
        self.confirmed.retain(|_, until| *until > now);
        if !view.complete {
            return;
        }
        for (id, machine) in std::mem::take(&mut self.seen) {
            if !view.machines.contains(&id) && !self.deleted.contains_key(&id) && !busy(&machine) {
                self.lost.insert(id, (machine, now));
            }
        }
        self.lost.retain(|id, _| !view.machines.contains(id));
        self.deleted.retain(|id, at| view.machines.contains(id) || recent(at));
        let vms = view.machines.notable().filter(|machine| machine.role == Role::Vm);
        let own = vms.filter(|machine| machine.is_of(owner));
        self.seen = own.map(|machine| (machine.id.clone(), Arc::clone(machine))).collect();
        // Those that are too many are not forgotten until they are few again.
        if self.loss().is_none() {
            self.lost.retain(|_, (_, at)| recent(at));
        }
    }

    /// A machine is being deleted here.
    pub fn deletes(&mut self, machine: &MachineId, weight: Weight, now: Timestamp) {
        self.deleted.insert(machine.clone(), now);
        if weight == Weight::Lasting {
            self.done.insert(Subject::Machine(machine.clone()), now);
        }
    }

    /// Something else was done here that counts.
    pub fn did(&mut self, to: &str, now: Timestamp) {
        self.done.insert(Subject::Other(to.to_owned()), now);
    }

    /// Whether the view has lost unusually many machines.
    pub fn loss(&self) -> Option<Loss> {
        let (lost, of) = (self.lost.len(), self.lost.len() + self.seen.len());
        is_too_many(lost, of).then_some(Loss { lost, of })
    }

    /// The machines that the view has lost, if they are unusually many: what they hold is not free.
    pub fn missed(&self) -> impl Iterator<Item = &Machine<M>> {
        let missed = self.loss().map(|_| self.lost.values().map(|(machine, _)| machine.as_ref()));
        missed.into_iter().flatten()
    }

    /// The addresses that they hold.
    pub fn missed_addresses(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.missed().flat_map(address::of_machine)
    }

    /// Which of these have to wait: all of them if they are too many together with what was done of late, but for what a
    /// person has confirmed.
    pub fn hold_back(
        &self,
        wanted: &BTreeSet<Subject>,
        view: &View<M>,
        owner: &OwnerId,
    ) -> BTreeSet<Subject> {
        let runs = |machine: &&Machine<M>| machine.power != Some(Power::Off);
        let running = view.owned(owner).map(|(machine, _)| machine).filter(runs).count();
        let gone = self.done.keys().filter(|subject| match subject {
            Subject::Machine(id) => view.machines.get(id).is_none_or(|machine| !runs(&machine.as_ref())),
            Subject::Other(_) | Subject::Lost(_) => false,
        });
        let of = running + gone.count();
        let new = wanted.iter().filter(|subject| !self.done.contains_key(*subject)).count();
        if !is_too_many(self.done.len() + new, of) {
            return BTreeSet::new();
        }
        wanted.iter().filter(|subject| !self.confirmed.contains_key(*subject)).cloned().collect()
    }

    /// Lets these through for ten minutes; machines that are not in sight count as gone.
    pub fn confirm(&mut self, subjects: impl IntoIterator<Item = Subject>, now: Timestamp) {
        let until = now.saturating_add(WINDOW).unwrap_or(Timestamp::MAX);
        for subject in subjects {
            if let Subject::Lost(id) = &subject {
                self.lost.remove(id);
            }
            self.confirmed.insert(subject, until);
        }
    }
}

#[cfg(test)]
mod tests;
