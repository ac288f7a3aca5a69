//! What time it is for the world: as it really is, faster or slower, or only as it is told.
//!
//! The loop that owns the world owns the clock, too. [`Effect::Advance`](crate::Effect::Advance) sets it forward, so
//! nothing else has to wake the loop: while time stands still, [`Clock::until`] never comes.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_daemon::Clock as WallClock;

/// Tells the time of a world.
#[derive(Debug, Clone)]
pub struct Clock {
    wall: WallClock,
    /// The time of the world at that wall time.
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
    /// As it really is.
    pub fn real(wall: WallClock) -> Self {
        Self::scaled(wall, 1.0)
    }

    /// From now on so many times faster. What is no pace at all (negative, not a number) stands still.
    pub fn scaled(wall: WallClock, times: f64) -> Self {
        let start = wall.now();
        let pace = if times.is_finite() && times > 0.0 { Pace::Times(times) } else { Pace::Still };
        Self { wall, start, wall_start: start, pace }
    }

    /// Stands still until it is advanced.
    pub fn manual(start: Timestamp) -> Self {
        Self { wall: WallClock::system(), start, wall_start: start, pace: Pace::Still }
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        let passed = match self.pace {
            Pace::Still => SignedDuration::ZERO,
            Pace::Times(times) => scale(self.wall.now().duration_since(self.wall_start), times),
        };
        self.start.saturating_add(passed).unwrap_or(self.start)
    }

    /// It is that late now, or later: clocks are never set back.
    pub fn advance_to(&mut self, to: Timestamp) {
        let ahead = to.duration_since(self.now());
        if ahead > SignedDuration::ZERO {
            self.start = self.start.saturating_add(ahead).unwrap_or(self.start);
        }
    }

    /// Comes when it is that late; never while the clock stands still before that, nor without a time.
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

/// Whole milliseconds are exact at the pace of the wall clock, where nothing is scaled.
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
            (|| Clock::real(WallClock::simulated(start())), 10),
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

        let still = Clock::manual(start());
        still.until(Some(start())).await;
        let waited = tokio::time::timeout(Duration::from_hours(100), still.until(Some(later(1)))).await;
        assert!(waited.is_err());
    }
}
