//! Workers that CDS knows and that have no machine. One look proves nothing: a listing and a view are never of the same
//! moment.

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::View;
use crate::plan::braked::Subject;
use crate::plan::workers::{Listing, without_machine};
use jiff::Timestamp;
use rookery_fleet::{MachineId, OwnerId};

use super::{Action, Pass};

/// Workers that had no machine, and by which listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspects {
    names: BTreeSet<String>,
    listed: Option<Timestamp>,
    /// Those who had none by the listing before, too, and wait for a person: the same listing is looked at again when that
    /// person has spoken.
    braked: BTreeSet<String>,
}

/// The machines that workers are or were in, by the names of the workers.
#[derive(Debug, Clone, Default)]
pub struct References(BTreeMap<String, LastSeen>);

#[derive(Debug, Clone)]
struct LastSeen {
    machine: MachineId,
    at: Timestamp,
}

impl References {
    /// Takes a new view in. A worker whose machine is gone is forgotten when a list that was asked for afterwards does not
    /// have it: an older list may be from before it registered.
    pub fn look(&mut self, view: &View, owner: &OwnerId, listing: Option<&Listing>, now: Timestamp) {
        for (machine, mark) in view.owned(owner) {
            for name in [&machine.name, &mark.worker_name].into_iter().filter(|name| !name.is_empty()) {
                self.0.insert(name.clone(), LastSeen { machine: machine.id.clone(), at: now });
            }
        }
        let has_ended = |name: &String, last: &LastSeen| {
            let newer = listing.filter(|listing| listing.begun > last.at);
            newer.is_some_and(|listing| !listing.workers.contains_key(name))
        };
        self.0.retain(|name, last| !has_ended(name, last));
    }

    /// The machine that this worker is in, or was in last.
    pub fn get(&self, worker: &str) -> Option<&MachineId> {
        self.0.get(worker).map(|last| &last.machine)
    }

    #[cfg(test)]
    pub(super) fn of(worker: &str, machine: MachineId) -> Self {
        Self(BTreeMap::from([(worker.to_owned(), LastSeen { machine, at: Timestamp::MIN })]))
    }
}

impl Pass<'_> {
    /// Who has no machine in two listings in a row, each seen beside a complete view, is to be disabled; vCenter is asked
    /// for the machine that was theirs before.
    pub(super) fn find_orphans(&mut self) {
        let before = &self.seen.carried.suspects;
        // What is old disables nobody, and who was missed before is looked at anew.
        self.plan.carried.suspects = Suspects::default();
        if self.stop.is_some() {
            return;
        }
        let Some(listing) = self.seen.listing else { return };
        let Some(mut lost) = without_machine(self.seen.view, listing) else { return };
        lost.retain(|name| !self.busy.has_name(name));
        // The same listing proves nothing new, and whom it had disabled is not disabled twice.
        let is_new = before.listed != Some(listing.begun);
        if !is_new {
            lost.retain(|name| before.names.contains(name));
        }
        let twice = lost.intersection(if is_new { &before.names } else { &before.braked });
        for name in twice {
            let machine = self.seen.references.get(name).cloned();
            match self.seen.v1_workers.get(name).zip(machine) {
                Some(disabled) => self.disabled.push(disabled),
                None => self.plan.orphans.push(name.clone()),
            }
        }
        self.plan.carried.suspects =
            Suspects { names: lost, listed: Some(listing.begun), braked: BTreeSet::new() };
    }

    /// Disables workers, but for those who have to wait for a person.
    pub(super) fn disable_orphans(&mut self) {
        for (worker, machine) in std::mem::take(&mut self.disabled) {
            let subject = Subject::Worker(worker.name.clone());
            if self.plan.braked.iter().any(|one| one.subject == subject) {
                self.plan.carried.suspects.braked.insert(worker.name.clone());
            } else if !self.seen.running.disables(&worker.name) {
                self.plan.actions.push(Action::Disable { worker: Box::new(worker.clone()), machine });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::Machines;
    use crate::mark::Mark;
    use crate::plan::workers::WorkerState;
    use jiff::SignedDuration;

    use super::*;
    use crate::samples::{Notes, OWNER};

    #[test]
    fn a_lost_machine_is_remembered_until_a_later_list_is_without_its_worker() {
        let at = |second: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let mark = Mark { hatchery_name: "ours".to_owned(), worker_name: "w".to_owned(), ..Mark::default() };
        let machine = crate::samples::running("vm-1", "w", Notes::Mark(Box::new(mark)));
        let there = View { machines: Machines::from_iter([machine]), complete: true, ..View::default() };
        let gone = View { complete: true, ..View::default() };
        let listing = |begun: i64, names: &[&str]| Listing {
            begun: at(begun),
            workers: names.iter().map(|name| ((*name).to_owned(), WorkerState::Alive)).collect(),
        };
        let mut references = References::default();
        let mut knows = |view: &View, listing: Option<Listing>, now: i64| {
            references.look(view, &OWNER, listing.as_ref(), at(now));
            references.get("w").is_some()
        };
        assert!(knows(&there, None, 10));
        assert!(knows(&there, Some(listing(5, &[])), 11), "it registered after the list");
        assert!(knows(&gone, Some(listing(5, &[])), 12), "the list is older than its end");
        assert!(knows(&gone, Some(listing(13, &["w"])), 14), "it is listed");
        assert!(!knows(&gone, Some(listing(15, &[])), 16));
    }
}
