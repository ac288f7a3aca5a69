//! What hands were told, on its way to whoever plans: an observer lays it over what the inventory shows.

use std::sync::{Arc, Mutex, PoisonError};

use rookery_fleet::MachineId;
use rookery_fleet::overlay::News;

/// News of our own acts, in their order. Clones share it; it is emptied with each look at the inventory, so that it holds
/// what the acts under way were told since the last one.
#[derive(Debug, Clone)]
pub struct Journal<M>(Arc<Mutex<Entries<M>>>);

type Entries<M> = Vec<(MachineId, News<M>)>;

impl<M> Default for Journal<M> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<M> Journal<M> {
    pub(crate) fn push(&self, machine: &MachineId, news: News<M>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((machine.clone(), news));
    }

    pub(crate) fn take(&self) -> Entries<M> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
