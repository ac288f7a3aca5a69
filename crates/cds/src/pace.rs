//! How long calls took: how CDS is doing shows there first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many are kept until somebody takes them; older ones are dropped.
const KEPT: usize = 64;

/// How long one exchange with CDS took, whatever came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTime {
    /// When the request was sent.
    pub begun: Instant,
    /// How long it took until the whole answer was there, or until it was given up.
    pub took: Duration,
}

/// The times of the latest calls, in the order in which they ended. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct CallTimes(Arc<Mutex<VecDeque<CallTime>>>);

impl CallTimes {
    pub(crate) fn ended(&self, begun: Instant) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.push_back(CallTime { begun, took: begun.elapsed() });
        if times.len() > KEPT {
            times.pop_front();
        }
    }

    /// Those that have ended since somebody last asked.
    pub fn take(&self) -> Vec<CallTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_latest_calls_are_told_once() {
        let times = CallTimes::default();
        let begun = Instant::now();
        for _ in 0..KEPT + 3 {
            tokio::time::advance(Duration::from_secs(1)).await;
            times.clone().ended(begun);
        }
        let told = times.take();
        assert_eq!(told.len(), KEPT, "there is a bound");
        assert_eq!(told.first(), Some(&CallTime { begun, took: Duration::from_secs(4) }));
        assert_eq!(times.take(), []);
    }
}
