//! What was asked of CDS about machines, one question at a time for each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use rookery_fleet::MachineId;
use rookery_fleet::expiring::Expiring;

use super::apply::later;
use crate::machine::View;

/// How long CDS is left alone about a machine after it gave no answer.
const PAUSE: Duration = Duration::from_secs(10);

/// What was asked about machines, and what was told.
#[derive(Debug)]
pub(super) struct Answers<V> {
    told: BTreeMap<MachineId, V>,
    asking: BTreeSet<MachineId>,
    unanswered: Expiring<MachineId>,
}

impl<V> Default for Answers<V> {
    fn default() -> Self {
        Self { told: BTreeMap::new(), asking: BTreeSet::new(), unanswered: Expiring::default() }
    }
}

impl<V> Answers<V> {
    /// Whether it may be asked about a machine now. If so, it counts as asked.
    pub(super) fn ask(&mut self, id: &MachineId) -> bool {
        !self.unanswered.contains(id) && self.asking.insert(id.clone())
    }

    /// Takes in what was told; nothing if there was no answer.
    pub(super) fn answer(&mut self, id: MachineId, told: Option<V>, now: Timestamp) {
        self.asking.remove(&id);
        match told {
            Some(told) => drop(self.told.insert(id, told)),
            None => self.unanswered.insert(id, (), later(now, PAUSE)),
        }
    }

    pub(super) fn forget(&mut self, view: &View, now: Timestamp) {
        if view.complete {
            self.told.retain(|id, _| view.machines.contains(id));
        }
        self.unanswered.forget(now);
    }

    pub(super) fn open(&self) -> usize {
        self.asking.len()
    }

    pub(super) fn told(&self) -> &BTreeMap<MachineId, V> {
        &self.told
    }

    pub(super) fn told_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.told.values_mut()
    }
}
