//! What hands were told, on its way to whoever plans: an observer lays it over what the inventory shows.

use std::sync::{Arc, Mutex, PoisonError};

use rookery_fleet::MachineId;
use rookery_fleet::overlay::{Fact, News, Reading};

/// News of our own acts, in their order. Clones share it; it is emptied with each look at the inventory, so that it holds
/// what the acts under way were told since the last one.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<(MachineId, News)>>>);

impl Journal {
    pub(crate) fn told(&self, machine: &MachineId, fact: Fact) {
        self.push(machine, News::Told(fact));
    }

    pub(crate) fn read(&self, machine: &MachineId, reading: Option<Reading>) {
        self.push(machine, News::Read(reading));
    }

    fn push(&self, machine: &MachineId, news: News) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((machine.clone(), news));
    }

    pub(crate) fn take(&self) -> Vec<(MachineId, News)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
