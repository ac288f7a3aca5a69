//! Wall time as a value that is passed in, so that a simulation can run on its own calendar.

use std::time::Duration;

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
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

    /// Time that has passed since the machine started, or since a simulated clock did. It only goes forward, nobody sets
    /// it, and it also counts while the machine is suspended.
    pub fn since_boot(&self) -> Duration {
        match self.0 {
            Source::System => {
                let now = clock_gettime(ClockId::Boottime);
                let (seconds, nanos) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
                Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
            }
            Source::Simulated { since, .. } => since.elapsed(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where wall time enters the program")]
fn system_now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
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
        assert_eq!(clock.since_boot(), Duration::from_hours(36));
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

    /// The system's own account of it, which is rounded to hundredths.
    #[test]
    fn time_since_boot_is_that_of_the_system() {
        let before = Clock::system().since_boot();
        let told = std::fs::read_to_string("/proc/uptime").unwrap();
        let after = Clock::system().since_boot();
        let told: f64 = told.split(' ').next().unwrap().parse().unwrap();
        let told = Duration::from_secs_f64(told);
        let rounding = Duration::from_millis(20);
        assert!(told + rounding >= before && told <= after + rounding, "{before:?} {told:?} {after:?}");
    }
}
