//! Calls per second, as a bucket of tokens that fills again with time.

use std::time::Duration;

use tokio::time::Instant;

/// Hands out moments: each call is due one period after the one before it, and a quiet second may be spent at once.
#[derive(Debug)]
pub(super) struct Bucket {
    period: Duration,
    burst: Duration,
    /// When the next call would be due if calls had come without a pause.
    due: Instant,
}

impl Bucket {
    /// A bucket that nobody has taken from yet. A rate of nothing is taken for one call a second.
    pub(super) fn starting(per_second: u32, now: Instant) -> Self {
        let burst = Duration::from_secs(1);
        Self { period: burst / per_second.max(1), burst, due: now }
    }

    /// How long the caller has to wait before its call.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        // What was not used in the last second is lost: a bucket holds one second's worth.
        let earliest = now.checked_sub(self.burst).unwrap_or(now);
        self.due = self.due.max(earliest) + self.period;
        self.due.saturating_duration_since(now)
    }
}
