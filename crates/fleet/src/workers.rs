//! The workers as the server lists them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::machine::Machine;
use crate::mark::Mark;

/// A listing that succeeded. A failed one is no listing, and never an empty one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// When it was asked for, by our clock.
    pub begun: Timestamp,
    /// The workers by name.
    pub workers: BTreeMap<String, WorkerState>,
}

/// What the server says of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// Registered, and waiting, at work or about to be.
    Alive,
    /// Taken out of service.
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
