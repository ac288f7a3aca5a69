//! Which of the hatchery's routines run. Monitoring shows one line for each; one that has ended is an alarm.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The routines. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Vitals(Arc<Mutex<BTreeMap<&'static str, bool>>>);

impl Vitals {
    /// Says that a routine runs until what this returns is dropped, by a panic, too.
    #[must_use]
    pub fn running(&self, routine: &'static str) -> Alive {
        self.set(routine, true);
        Alive { vitals: self.clone(), routine }
    }

    /// The routines by name, and whether each runs.
    pub fn routines(&self) -> Vec<(&'static str, bool)> {
        let routines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        routines.iter().map(|(routine, runs)| (*routine, *runs)).collect()
    }

    fn set(&self, routine: &'static str, runs: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(routine, runs);
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
