//! Calls per second: who calls too often waits for a turn.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// Hands out turns in the order in which they were asked for.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Locked by the next in line, who sleeps here; the others queue for the lock, which is fair.
    bucket: Mutex<Bucket>,
}

impl Rate {
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        Self { bucket: Mutex::new(Bucket::starting(per_second, Instant::now())) }
    }

    /// Waits for a turn. Dropping the future leaves the turn to the next in line.
    pub(crate) async fn turn(&self) {
        let mut bucket = self.bucket.lock().await;
        let wait = bucket.wait(Instant::now());
        if !wait.is_zero() {
            sleep(wait).await;
        }
        bucket.take(Instant::now());
    }
}

/// Tokens that come back with time: each call is due one period after the one before it, and a quiet second may be
/// spent at once. Pure: the moment is an argument.
#[derive(Debug)]
struct Bucket {
    period: Duration,
    burst: Duration,
    /// When the last call would have been due if calls had come without a pause.
    due: Instant,
}

impl Bucket {
    /// A bucket that nobody has taken from yet.
    fn starting(per_second: NonZeroU32, now: Instant) -> Self {
        let burst = Duration::from_secs(1);
        Self { period: burst / per_second.get(), burst, due: now }
    }

    /// How long the next caller has to wait.
    fn wait(&self, now: Instant) -> Duration {
        self.next_due(now).saturating_duration_since(now)
    }

    fn take(&mut self, now: Instant) {
        self.due = self.next_due(now);
    }

    /// What was not used in the last second is lost: a bucket holds one second's worth.
    fn next_due(&self, now: Instant) -> Instant {
        self.due.max(now.checked_sub(self.burst).unwrap_or(now)) + self.period
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::JoinSet;

    use super::*;

    fn rate(per_second: u32) -> Rate {
        Rate::new(NonZeroU32::new(per_second).expect("a rate"))
    }

    #[tokio::test(start_paused = true)]
    async fn calls_keep_their_rate_and_a_quiet_second_may_be_spent_at_once() {
        let rate = rate(10);
        let began = Instant::now();
        for _ in 0..50 {
            rate.turn().await;
        }
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        sleep(Duration::from_secs(100)).await;
        let began = Instant::now();
        for _ in 0..10 {
            rate.turn().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO, "one second's worth was saved up, and no more");
        rate.turn().await;
        assert_eq!(began.elapsed(), Duration::from_millis(100));
    }

    #[tokio::test(start_paused = true)]
    async fn turns_come_in_the_order_of_asking() {
        let rate = Arc::new(rate(4));
        let began = Instant::now();
        let mut served = JoinSet::new();
        for number in 1..=8_u32 {
            let rate = Arc::clone(&rate);
            served.spawn(async move {
                rate.turn().await;
                (number, began.elapsed())
            });
        }
        for number in 1..=8 {
            let turn = served.join_next().await.expect("one more").expect("no panic");
            assert_eq!(turn, (number, Duration::from_millis(250) * number));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_leaves_the_turn_to_the_next() {
        let rate = rate(1);
        let began = Instant::now();
        let (mut first, mut second, third) =
            (Box::pin(rate.turn()), Box::pin(rate.turn()), Box::pin(rate.turn()));
        assert!(futures_util::poll!(first.as_mut()).is_pending());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        // One that slept already, and one that stood in line behind it.
        drop(first);
        drop(second);
        third.await;
        assert_eq!(began.elapsed(), Duration::from_secs(1));
    }
}
