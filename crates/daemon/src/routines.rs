//! What a process does again and again, and whether each of these routines still runs: one that has ended is an alarm.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::Supervisor;

/// Whoever is woken all the time works no more often than this.
const SPACING: Duration = Duration::from_millis(250);

/// The routines of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Routines(Arc<Mutex<BTreeMap<&'static str, bool>>>);

/// What makes a routine work before its period is over, and how long after its last turn at the soonest.
#[derive(Debug, Default)]
pub struct Wake {
    /// Notified when there is work.
    pub notify: Arc<Notify>,
    /// The shortest time from one turn to the next.
    pub spacing: Duration,
}

impl Wake {
    /// With the usual spacing.
    pub fn by(notify: &Arc<Notify>) -> Self {
        Self { notify: Arc::clone(notify), spacing: SPACING }
    }
}

impl Routines {
    /// Takes a turn now, then one in each period, and sooner when it is woken, until the supervisor stops.
    pub fn every<F: Future<Output = ()> + Send + 'static>(
        &self,
        routine: &'static str,
        period: Duration,
        wake: Option<Wake>,
        supervisor: &Supervisor,
        mut turn: impl FnMut() -> F + Send + 'static,
    ) {
        let (stop, routines) = (supervisor.token(), self.clone());
        supervisor.spawn(routine, async move {
            let _running = routines.running(routine);
            let Wake { notify, spacing } = wake.unwrap_or_default();
            loop {
                let begun = Instant::now();
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = turn() => {}
                }
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = notify.notified() => {}
                    () = sleep_until(begun + period) => {}
                }
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = sleep_until(begun + spacing) => {}
                }
            }
        });
    }

    /// Says that a routine runs until what this returns is dropped, by a panic, too.
    #[must_use]
    pub fn running(&self, routine: &'static str) -> RunningRoutine {
        self.set(routine, true);
        RunningRoutine { routines: self.clone(), routine }
    }

    /// The routines by name, and whether each runs.
    pub fn all(&self) -> Vec<(&'static str, bool)> {
        let routines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        routines.iter().map(|(routine, runs)| (*routine, *runs)).collect()
    }

    fn set(&self, routine: &'static str, runs: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(routine, runs);
    }
}

/// A routine that runs for as long as this lives.
#[derive(Debug)]
pub struct RunningRoutine {
    routines: Routines,
    routine: &'static str,
}

impl Drop for RunningRoutine {
    fn drop(&mut self) {
        self.routines.set(self.routine, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routine_that_ended_is_remembered_as_ended() {
        let routines = Routines::default();
        let polling = routines.running("queuePolling");
        let main = routines.running("mainRoutine");
        drop(polling);
        assert_eq!(routines.all(), [("mainRoutine", true), ("queuePolling", false)]);
        drop(main);
    }

    #[tokio::test(start_paused = true)]
    async fn a_routine_takes_its_turns_in_its_period_and_sooner_when_it_is_woken() {
        let (routines, supervisor) = (Routines::default(), Supervisor::new());
        let (turns, notify) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let (noted, begun) = (Arc::clone(&turns), Instant::now());
        let wake = Some(Wake { spacing: Duration::from_secs(2), ..Wake::by(&notify) });
        routines.every("polling", Duration::from_secs(10), wake, &supervisor, move || {
            noted.lock().unwrap().push(begun.elapsed().as_secs());
            async {}
        });
        for second in [11, 15] {
            sleep_until(begun + Duration::from_secs(second)).await;
            notify.notify_one();
        }
        sleep_until(begun + Duration::from_secs(30)).await;
        assert_eq!(*turns.lock().unwrap(), [0, 10, 12, 15, 25], "no sooner than two seconds after the last");
        assert_eq!(routines.all(), [("polling", true)]);
        supervisor.shutdown(Duration::from_secs(1)).await.unwrap();
        assert_eq!(routines.all(), [("polling", false)]);
    }
}
