//! What time it is for the world: as the wall clock says, or only as it is told.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_daemon::Clock as WallClock;

/// Tells the time of a world. Both kinds can be set forward.
#[derive(Debug, Clone)]
pub struct Clock {
    base: Base,
    ahead: SignedDuration,
}

#[derive(Debug, Clone)]
enum Base {
    Wall(WallClock),
    Still(Timestamp),
}

impl Clock {
    /// As the wall clock says.
    pub fn wall(wall: WallClock) -> Self {
        Self { base: Base::Wall(wall), ahead: SignedDuration::ZERO }
    }

    /// Stands still until it is advanced.
    pub fn manual(start: Timestamp) -> Self {
        Self { base: Base::Still(start), ahead: SignedDuration::ZERO }
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        let base = match &self.base {
            Base::Wall(wall) => wall.now(),
            Base::Still(at) => *at,
        };
        base.saturating_add(self.ahead).unwrap_or(base)
    }

    /// It is that late now, or later: clocks are never set back.
    pub fn advance_to(&mut self, to: Timestamp) {
        self.ahead += to.duration_since(self.now()).max(SignedDuration::ZERO);
    }

    /// Comes when it is that late; never while the clock stands still before that, nor without a time.
    pub async fn until(&self, at: Option<Timestamp>) {
        let left = at.map(|at| at.duration_since(self.now()));
        match (left, &self.base) {
            (Some(left), _) if left <= SignedDuration::ZERO => {}
            (Some(left), Base::Wall(_)) => {
                tokio::time::sleep(Duration::try_from(left).unwrap_or_default()).await;
            }
            (Some(_), Base::Still(_)) | (None, _) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_900_000_000 + seconds).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_can_be_set_forward_but_not_back() {
        for (mut clock, after_ten_seconds) in
            [(Clock::wall(WallClock::simulated(at(0))), at(10)), (Clock::manual(at(10)), at(10))]
        {
            tokio::time::advance(Duration::from_secs(10)).await;
            assert_eq!(clock.now(), after_ten_seconds);
            clock.advance_to(at(3600));
            assert_eq!(clock.now(), at(3600));
            clock.advance_to(at(1800));
            assert_eq!(clock.now(), at(3600));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_stands_still_never_gets_there() {
        let wall = Clock::wall(WallClock::simulated(at(0)));
        wall.until(Some(at(7))).await;
        assert_eq!(wall.now(), at(7));
        let still = Clock::manual(at(0));
        still.until(Some(at(0))).await;
        let waited = tokio::time::timeout(Duration::from_hours(9), still.until(Some(at(1)))).await;
        assert!(waited.is_err());
    }
}
