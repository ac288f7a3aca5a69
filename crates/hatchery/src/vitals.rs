//! Which of the hatchery's routines run, and whether CDS hears it. Monitoring shows one line for each routine; one that
//! has ended is an alarm.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::intake::queue::Protocol;

/// The routines. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Vitals {
    routines: Routines,
    beats: Arc<Mutex<BTreeMap<Protocol, bool>>>,
}

type Routines = Arc<Mutex<BTreeMap<&'static str, bool>>>;

impl Vitals {
    /// Says that a routine runs until what this returns is dropped, by a panic, too.
    #[must_use]
    pub fn running(&self, routine: &'static str) -> Alive {
        self.set(routine, true);
        Alive { vitals: self.clone(), routine }
    }

    /// The routines by name, and whether each runs.
    pub fn routines(&self) -> Vec<(&'static str, bool)> {
        let routines = self.routines.lock().unwrap_or_else(PoisonError::into_inner);
        routines.iter().map(|(routine, runs)| (*routine, *runs)).collect()
    }

    /// Takes in whether CDS took a heartbeat; before the first one it did not.
    pub fn beat(&self, protocol: Protocol, taken: bool) {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner).insert(protocol, taken);
    }

    /// The protocols that CDS is told by, and whether it took the last heartbeat.
    pub fn beats(&self) -> Vec<(Protocol, bool)> {
        let beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        beats.iter().map(|(protocol, taken)| (*protocol, *taken)).collect()
    }

    fn set(&self, routine: &'static str, runs: bool) {
        self.routines.lock().unwrap_or_else(PoisonError::into_inner).insert(routine, runs);
    }
}

/// A routine that runs.
#[derive(Debug)]
pub struct Alive {
    vitals: Vitals,
    routine: &'static str,
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.vitals.set(self.routine, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routine_that_ended_is_remembered_as_ended() {
        let vitals = Vitals::default();
        let polling = vitals.running("queuePolling");
        let main = vitals.running("mainRoutine");
        drop(polling);
        assert_eq!(vitals.routines(), [("mainRoutine", true), ("queuePolling", false)]);
        drop(main);
    }
}
