//! Time as a value that is passed in, so that a simulation can run on its own calendar.
//!
//! There are two: the wall time, which somebody may set, and a steady time that begins with it and then only moves
//! with the monotonic clock. Ages and waits are measured in steady time; where the two part, the wall clock was set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// Tells the wall time and the steady time. Cheap to clone; clones agree.
#[derive(Debug, Clone)]
pub struct Clock {
    start: Timestamp,
    since: Instant,
    wall: Wall,
}

#[derive(Debug, Clone)]
enum Wall {
    System,
    /// By how many milliseconds it was set in all.
    Simulated(Arc<AtomicI64>),
}

impl Clock {
    pub fn system() -> Self {
        Self { start: system_now(), since: Instant::now(), wall: Wall::System }
    }

    /// Shows `start` now and then moves with tokio's time: on paused time it moves only when that does.
    pub fn simulated(start: Timestamp) -> Self {
        Self { start, since: Instant::now(), wall: Wall::Simulated(Arc::default()) }
    }

    pub fn now(&self) -> Timestamp {
        match &self.wall {
            Wall::System => system_now(),
            Wall::Simulated(set) => {
                let set = SignedDuration::from_millis(set.load(Ordering::Relaxed));
                saturating(self.steady(), set)
            }
        }
    }

    /// Time that has passed since the machine started, or since a simulated clock did. It only goes forward, nobody sets
    /// it, and it also counts while the machine is suspended.
    pub fn since_boot(&self) -> Duration {
        match &self.wall {
            Wall::System => {
                let now = clock_gettime(ClockId::Boottime);
                let (seconds, nanos) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
                Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
            }
            Wall::Simulated(_) => self.since.elapsed(),
        }
    }

    /// The wall time as it would be if nobody had set the clock since this one was made.
    pub fn steady(&self) -> Timestamp {
        // Adding a plain duration fails only past the year 9999.
        self.start.saturating_add(self.since.elapsed()).unwrap_or(Timestamp::MAX)
    }

    /// Sets a simulated clock, and its clones, forward or back. The machine's clock is not ours to set.
    pub fn set(&self, by: SignedDuration) {
        if let Wall::Simulated(set) = &self.wall {
            set.fetch_add(i64::try_from(by.as_millis()).unwrap_or_default(), Ordering::Relaxed);
        }
    }

    /// A clock that shows the same time now, and is not set together with this one.
    #[must_use]
    pub fn apart(&self) -> Self {
        match &self.wall {
            Wall::System => self.clone(),
            Wall::Simulated(_) => Self::simulated(self.now()),
        }
    }
}

fn saturating(time: Timestamp, by: SignedDuration) -> Timestamp {
    let limit = if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
    time.checked_add(by).unwrap_or(limit)
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
    async fn steady_time_does_not_notice_that_somebody_sets_the_clock() {
        let start: Timestamp = "2031-02-03T04:00:00Z".parse().unwrap();
        let clock = Clock::simulated(start);
        let (copy, other) = (clock.clone(), clock.apart());
        clock.set(SignedDuration::from_hours(-2));
        tokio::time::sleep(Duration::from_mins(1)).await;
        for clock in [&clock, &copy] {
            assert_eq!(clock.now(), "2031-02-03T02:01:00Z".parse().unwrap());
            assert_eq!(clock.steady(), "2031-02-03T04:01:00Z".parse().unwrap());
        }
        assert_eq!(other.now(), other.steady(), "it is not set together with the first");
        assert_eq!(copy.apart().now(), copy.now());
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
