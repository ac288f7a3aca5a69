//! The workers as the server lists them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rookery_fleet::deletion::MAX_VIEW_AGE;

use crate::machine::{Machine, View};
use crate::mark::Mark;

/// A listing that succeeded. A failed one is no listing, and never an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// When it was asked for, by our clock.
    pub begun: Timestamp,
    pub workers: BTreeMap<String, WorkerState>,
}

/// What the server says of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// Registered, and waiting, at work or about to be.
    Alive,
    Disabled,
}

impl Listing {
    /// The name under which the server knows the worker in that machine, if it does; else the machine's. Older
    /// hatcheries leave the name of the warm machine in the mark; a claim that is half done has the worker's name in
    /// the mark alone.
    pub fn name_of<'m>(&self, machine: &'m Machine, mark: &'m Mark) -> &'m str {
        let listed = |name: &&String| self.workers.contains_key(*name);
        [&machine.name, &mark.worker_name].into_iter().find(listed).unwrap_or(&machine.name)
    }

    /// What the server says of the worker in that machine.
    pub fn state_of(&self, machine: &Machine, mark: &Mark) -> Option<WorkerState> {
        self.workers.get(self.name_of(machine, mark)).copied()
    }
}

/// The workers in service that no machine runs, of whichever owner. Act only on those found twice in a row: the second
/// listing must have begun after the first view. `None`: a view that is old or not complete tells nothing.
pub fn without_machine(view: &View, listing: &Listing) -> Option<BTreeSet<String>> {
    if !view.complete || view.age >= MAX_VIEW_AGE {
        return None;
    }
    let alive = listing.workers.iter().filter(|(_, state)| **state == WorkerState::Alive);
    let mut missing: BTreeSet<&str> = alive.map(|(name, _)| name.as_str()).collect();
    missing.retain(|name| !view.is_taken(name));
    let rows = view.overlaid.values().filter_map(|overlaid| overlaid.row.as_deref());
    for mark in view.notable().chain(rows).filter_map(Machine::any_mark) {
        missing.remove(mark.worker_name.as_str());
    }
    Some(missing.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rookery_fleet::overlay::Overlaid;

    use super::*;
    use crate::samples::{at, view, vm, warm, worker};

    #[test]
    fn no_worker_is_disabled_whose_machine_has_a_row() {
        // It carried the worker's mark under its name in the pool.
        let row = Machine { name: "provision-v2-x".to_owned(), ..worker("busy-curie", "08:00:00") };
        let taken_back = Machine { id: row.id.clone(), ..warm("provision-v2-x", "debian", "") };
        let id = row.id.clone();
        let mut machines = view([taken_back]);
        let overlaid = Overlaid { row: Some(Arc::new(row)), is_gone: false, is_settled: false };
        machines.overlaid.insert(id, overlaid);
        let workers = ["busy-curie", "nobody"].map(|name| (name.to_owned(), WorkerState::Alive)).into();
        let listing = Listing { begun: at("12:00:00"), workers };
        assert_eq!(without_machine(&machines, &listing), Some(BTreeSet::from(["nobody".to_owned()])));
    }

    #[test]
    fn a_worker_is_without_a_machine_only_if_a_whole_and_fresh_view_shows_none() {
        let half_claimed = Machine { name: "provision-v2-x".to_owned(), ..worker("half", "08:00:00") };
        let machines = view([worker("ours", "08:00:00"), vm("theirs"), half_claimed]);
        let alive = ["ours", "theirs", "half", "lost"].map(|name| (name.to_owned(), WorkerState::Alive));
        let disabled = [("gone".to_owned(), WorkerState::Disabled)];
        let listing = Listing { begun: at("12:00:00"), workers: alive.into_iter().chain(disabled).collect() };
        assert_eq!(without_machine(&machines, &listing), Some(BTreeSet::from(["lost".to_owned()])));
        let incomplete = View { complete: false, ..machines.clone() };
        assert_eq!(without_machine(&incomplete, &listing), None);
        let old = View { age: Duration::from_secs(120), ..machines };
        assert_eq!(without_machine(&old, &listing), None);
    }
}
