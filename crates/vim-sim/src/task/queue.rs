//! Who waits for whom: no more tasks run on one host or datastore than the limits allow, first come, first served.

use std::collections::{BTreeMap, BTreeSet};

use super::begin;
use crate::id::{Id, Kind};
use crate::machine::{self, Work};
use crate::settings::Limits;
use crate::world::World;

/// Tasks by the places that they keep busy.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// In the order in which they came: references of tasks only ever grow.
    waiting: BTreeMap<Id, BTreeSet<Id>>,
    running: BTreeMap<Id, BTreeSet<Id>>,
    /// Tasks that end in no time do so while others are let in.
    admitting: bool,
}

impl Queue {
    pub(super) fn join(&mut self, task: Id, places: BTreeSet<Id>) {
        self.waiting.insert(task, places);
    }

    pub(super) fn leave(&mut self, task: Id) {
        self.waiting.remove(&task);
        self.running.remove(&task);
    }

    /// The first task that nobody is in the way of, neither one that runs nor one that has waited longer.
    fn next(&self, limits: &Limits) -> Option<Id> {
        let mut busy: BTreeMap<Id, usize> = BTreeMap::new();
        for place in self.running.values().flatten() {
            *busy.entry(*place).or_default() += 1;
        }
        let full = |place: &Id, busy: &BTreeMap<Id, usize>| {
            most(limits, *place).is_some_and(|most| busy.get(place).copied().unwrap_or(0) >= most.max(1))
        };
        for (task, places) in &self.waiting {
            if !places.iter().any(|place| full(place, &busy)) {
                return Some(*task);
            }
            for place in places {
                *busy.entry(*place).or_default() += 1;
            }
        }
        None
    }
}

fn most(limits: &Limits, place: Id) -> Option<usize> {
    let places = [(Kind::HostSystem, limits.tasks_per_host), (Kind::Datastore, limits.tasks_per_datastore)];
    places.into_iter().find(|(kind, _)| *kind == place.kind).and_then(|(_, most)| most)
}

/// The places that count for a task.
pub(super) fn places(world: &World, work: &Work) -> BTreeSet<Id> {
    let limits = &world.settings.limits;
    if limits.tasks_per_host.is_none() && limits.tasks_per_datastore.is_none() {
        return BTreeSet::new();
    }
    machine::places(world, work).into_iter().filter(|place| most(limits, *place).is_some()).collect()
}

/// Begins all tasks that may run.
pub(super) fn admit(world: &mut World) {
    if std::mem::replace(&mut world.tasks.queue.admitting, true) {
        return;
    }
    while let Some(task) = world.tasks.queue.next(&world.settings.limits) {
        let queue = &mut world.tasks.queue;
        let places = queue.waiting.remove(&task).unwrap_or_default();
        if !places.is_empty() {
            queue.running.insert(task, places);
        }
        begin(world, task);
    }
    world.tasks.queue.admitting = false;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_wait_for_places_first_come_first_served() {
        let task = |number| Id { kind: Kind::Task, number };
        let host = |number| Id { kind: Kind::HostSystem, number };
        let limits = Limits { tasks_per_host: Some(1), ..Limits::default() };
        let mut queue = Queue::default();
        queue.running.insert(task(1), BTreeSet::from([host(1)]));
        // This one wants both; the next must not overtake it at the host that is free.
        queue.join(task(2), BTreeSet::from([host(1), host(2)]));
        queue.join(task(3), BTreeSet::from([host(2)]));
        queue.join(task(4), BTreeSet::from([host(3)]));
        assert_eq!(queue.next(&limits), Some(task(4)));
        queue.leave(task(4));
        assert_eq!(queue.next(&limits), None);
        queue.leave(task(1));
        assert_eq!(queue.next(&limits), Some(task(2)));
    }
}
