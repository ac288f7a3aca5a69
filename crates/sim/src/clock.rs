//! The time of a simulated world: that of the wall clock, faster, slower, or standing still until it is advanced.
//!
//! The loop that owns the world owns its clock, too, so only that loop advances it, and nothing else has to wake a
//! sleeping [`Clock::until`].

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_daemon::Clock as WallClock;

/// The clock of one world. It can be set forward, never back.
#[derive(Debug, Clone)]
pub struct Clock {
    wall: WallClock,
    /// The time of the world at `wall_start`.
    start: Timestamp,
    wall_start: Timestamp,
    pace: Pace,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pace {
    Times(f64),
    Still,
}

impl Clock {
    /// Runs as the wall clock does.
    pub fn wall(wall: WallClock) -> Self {
        Self::scaled(wall, 1.0)
    }

    /// Runs `times` as fast as the wall clock. Zero, negative and infinite numbers and NaN mean that it stands still.
    pub fn scaled(wall: WallClock, times: f64) -> Self {
        let start = wall.now();
        let pace = if times.is_finite() && times > 0.0 { Pace::Times(times) } else { Pace::Still };
        Self { wall, start, wall_start: start, pace }
    }

    /// Stands still until it is advanced.
    pub fn manual(start: Timestamp) -> Self {
        Self { wall: WallClock::system(), start, wall_start: start, pace: Pace::Still }
    }

    pub fn now(&self) -> Timestamp {
        let passed = match self.pace {
            Pace::Still => SignedDuration::ZERO,
            Pace::Times(times) => scale(self.wall.now().duration_since(self.wall_start), times),
        };
        self.start.saturating_add(passed).unwrap_or(self.start)
    }

    /// Sets the clock forward; an earlier time changes nothing.
    pub fn advance_to(&mut self, to: Timestamp) {
        let ahead = to.duration_since(self.now());
        if ahead > SignedDuration::ZERO {
            self.start = self.start.saturating_add(ahead).unwrap_or(self.start);
        }
    }

    /// Returns at that time: never without one, nor while the clock stands still before it.
    pub async fn until(&self, at: Option<Timestamp>) {
        let left = at.map(|at| at.duration_since(self.now()));
        match (left, self.pace) {
            (Some(left), _) if left <= SignedDuration::ZERO => {}
            (Some(left), Pace::Times(times)) => {
                let left = Duration::try_from(scale(left, 1.0 / times)).unwrap_or_default();
                tokio::time::sleep(left).await;
            }
            (Some(_), Pace::Still) | (None, _) => std::future::pending().await,
        }
    }
}

/// Exact at the pace of the wall clock, where nothing is scaled.
#[expect(clippy::float_cmp, reason = "only the very number means that nothing is scaled")]
fn scale(time: SignedDuration, times: f64) -> SignedDuration {
    const LONGEST: f64 = 1e10;
    if times == 1.0 {
        return time;
    }
    let seconds = (time.as_secs_f64() * times).clamp(-LONGEST, LONGEST);
    SignedDuration::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Timestamp {
        "2031-02-03T04:05:06Z".parse().unwrap()
    }

    fn later(seconds: i64) -> Timestamp {
        start().saturating_add(SignedDuration::from_secs(seconds)).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_keeps_its_pace_and_can_be_set_forward_but_not_back() {
        type Make = fn() -> Clock;
        let cases: [(Make, i64); 5] = [
            (|| Clock::wall(WallClock::simulated(start())), 10),
            (|| Clock::scaled(WallClock::simulated(start()), 60.0), 600),
            (|| Clock::scaled(WallClock::simulated(start()), 0.5), 5),
            (|| Clock::scaled(WallClock::simulated(start()), f64::NAN), 0),
            (|| Clock::manual(start()), 0),
        ];
        for (make, after_ten_seconds) in cases {
            let mut clock = make();
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(clock.now(), later(after_ten_seconds), "{clock:?}");
            clock.advance_to(later(3600));
            assert_eq!(clock.now(), later(3600), "{clock:?}");
            clock.advance_to(later(1800));
            assert_eq!(clock.now(), later(3600), "{clock:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_takes_as_long_as_the_pace_says() {
        let clock = Clock::scaled(WallClock::simulated(start()), 60.0);
        let began = tokio::time::Instant::now();
        clock.until(Some(later(120))).await;
        assert_eq!(began.elapsed(), Duration::from_secs(2));
        clock.until(Some(start())).await;
        assert_eq!(began.elapsed(), Duration::from_secs(2));

        let wall = Clock::wall(WallClock::simulated(start()));
        wall.until(Some(later(7))).await;
        assert_eq!(wall.now(), later(7));

        let still = Clock::manual(start());
        still.until(Some(start())).await;
        let waited = tokio::time::timeout(Duration::from_hours(100), still.until(Some(later(1)))).await;
        assert!(waited.is_err());
    }
}
