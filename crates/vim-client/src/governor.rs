//! How much a vCenter is asked to do at once.
//!
//! vCenter takes any number of orders and then suffers: hosts and datastores serve a few clones at a time, and the rest
//! time out. Whoever wants a heavy operation asks here first and gets a [`Permit`]; a person's request goes before
//! housekeeping, and a full host does not hold up work for another one. The rules are in [`queue`], which is pure.

mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

pub use queue::{Blocked, Ceilings, Gate, Load, Order, Priority, Site, Waiting};
use queue::{Queue, Ticket};

/// Admits operations. Clones share the limits.
#[derive(Debug, Clone)]
pub struct Governor(Arc<Shared>);

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug)]
struct State {
    queue: Queue,
    /// How to tell those who wait.
    doors: BTreeMap<Ticket, oneshot::Sender<()>>,
}

/// The right to run one operation; gives its place to the next one when dropped.
#[derive(Debug)]
#[must_use = "the place is given up when the permit is dropped"]
pub struct Permit {
    shared: Arc<Shared>,
    ticket: Ticket,
}

impl Governor {
    /// A governor with these limits.
    pub fn new(ceilings: Ceilings) -> Self {
        let state = State { queue: Queue::new(ceilings), doors: BTreeMap::new() };
        Self(Arc::new(Shared(Mutex::new(state))))
    }

    /// Waits for a place. Dropping the future gives the place in the queue up.
    pub async fn admit(&self, order: Order) -> Permit {
        let (door, opened) = oneshot::channel();
        let ticket = {
            let mut state = self.0.state();
            let ticket = state.queue.join(order, Instant::now());
            state.doors.insert(ticket, door);
            ticket
        };
        // From here on a drop of this future leaves the queue as well.
        let permit = Permit { shared: Arc::clone(&self.0), ticket };
        self.0.admit_next();
        // The door is only closed without opening when the whole governor goes.
        opened.await.ok();
        permit
    }

    /// Lowers the limits to these where they are lower.
    pub fn tighten(&self, ceilings: Ceilings) {
        self.0.state().queue.tighten(ceilings);
    }

    /// Who waits, and for what, in the order of their turns.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.0.state().queue.waiting(Instant::now())
    }

    /// What is before an order of demand that is for this site and joins now.
    pub fn load(&self, site: &Site) -> Load {
        self.0.state().queue.load(site)
    }

    /// How many operations run.
    pub fn running(&self) -> usize {
        self.0.state().queue.running()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit_next(&self) {
        let mut state = self.state();
        for ticket in state.queue.admit(Instant::now()) {
            if let Some(door) = state.doors.remove(&ticket) {
                // Whoever has gone away in this moment gives the place back by dropping its permit.
                door.send(()).ok();
            }
        }
    }
}

impl Permit {
    /// What it was for has succeeded: how long it took counts. One that failed or was cancelled tells nothing of that.
    pub(crate) fn succeeded(&self) {
        self.shared.state().queue.measure(self.ticket, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            state.queue.leave(self.ticket);
            state.doors.remove(&self.ticket);
        }
        self.shared.admit_next();
    }
}

#[cfg(test)]
mod tests;
