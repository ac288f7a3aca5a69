//! Wall time as a value that is passed in, so that a simulation can run on its own calendar.

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the wall time. Cheap to clone; clones agree.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone, Copy)]
enum Source {
    System,
    Simulated { start: Timestamp, since: Instant },
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// Shows `start` now and then moves with tokio's time: on paused time it moves only when that does.
    pub fn simulated(start: Timestamp) -> Self {
        Self(Source::Simulated { start, since: Instant::now() })
    }

    /// The wall time.
    pub fn now(&self) -> Timestamp {
        match self.0 {
            Source::System => system_now(),
            // Adding a plain duration fails only past the year 9999.
            Source::Simulated { start, since } => {
                start.saturating_add(since.elapsed()).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where wall time enters the program")]
fn system_now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn simulated_time_moves_exactly_as_tokio_time_does() {
        let start: Timestamp = "2031-02-03T04:05:06Z".parse().unwrap();
        let clock = Clock::simulated(start);
        let copy = clock.clone();
        assert_eq!(clock.now(), start);

        tokio::time::sleep(Duration::from_hours(36)).await;
        assert_eq!(clock.now(), "2031-02-04T16:05:06Z".parse().unwrap());
        assert_eq!(copy.now(), clock.now());
    }

    #[tokio::test(start_paused = true)]
    async fn simulated_time_stops_at_the_end_of_the_calendar() {
        let clock = Clock::simulated(Timestamp::MAX);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(clock.now(), Timestamp::MAX);
    }

    #[test]
    fn system_time_is_in_this_century() {
        let earliest: Timestamp = "2025-01-01T00:00:00Z".parse().unwrap();
        assert!(Clock::system().now() > earliest);
    }
}
