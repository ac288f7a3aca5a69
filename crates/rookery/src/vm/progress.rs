//! How far a transfer has come, told on standard error: in place on a terminal, now and then in a pipe.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::output::{StatusLine, remark};

/// How often it is looked at.
const TICK: Duration = Duration::from_millis(200);
/// How often a reader of a pipe is told.
const PATIENCE: Duration = Duration::from_secs(3);

/// Counts the bytes that pass, for whoever looks on.
pub(super) fn counting(passed: &AtomicU64) -> impl Fn(&[u8]) {
    |bytes| {
        passed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Does the work, and tells meanwhile how many bytes have passed.
pub(super) async fn shown<T>(
    what: &str,
    total: Option<u64>,
    passed: &AtomicU64,
    mut work: impl Future<Output = T> + Unpin,
) -> T {
    let line = StatusLine::of_terminal();
    let terminal = line.is_some();
    let mut progress = Progress { total, terminal, told: Instant::now(), last: String::new() };
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = sleep(TICK) => {
                if let Some(text) = progress.note(passed.load(Ordering::Relaxed), Instant::now()) {
                    let text = format!("{what}: {text}");
                    line.as_ref().map_or_else(|| remark(&text), |line| line.show(&text));
                }
            }
        }
    }
}

/// What has been told.
#[derive(Debug)]
struct Progress {
    total: Option<u64>,
    terminal: bool,
    told: Instant,
    last: String,
}

impl Progress {
    /// What to tell now, if it is time and anything is new.
    fn note(&mut self, passed: u64, now: Instant) -> Option<String> {
        if !self.terminal && now.duration_since(self.told) < PATIENCE {
            return None;
        }
        let text = match self.total {
            Some(total) => format!("{} %", u128::from(passed) * 100 / u128::from(total.max(1))),
            None => format!("{} MiB", passed >> 20),
        };
        if text == self.last {
            return None;
        }
        self.told = now;
        self.last.clone_from(&text);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(total: Option<u64>, terminal: bool, notes: &[(u64, u64, Option<&str>)]) {
        let start = Instant::now();
        let mut progress = Progress { total, terminal, told: start, last: String::new() };
        for (millis, passed, expected) in notes {
            let told = progress.note(*passed, start + Duration::from_millis(*millis));
            assert_eq!(told.as_deref(), *expected, "{passed} bytes after {millis} ms");
        }
    }

    #[test]
    fn a_terminal_is_told_each_percent_once() {
        check(
            Some(1000),
            true,
            &[(200, 0, Some("0 %")), (400, 9, None), (600, 519, Some("51 %")), (800, 1000, Some("100 %"))],
        );
        check(Some(0), true, &[(200, 0, Some("0 %"))]);
    }

    #[test]
    fn a_pipe_is_told_now_and_then_and_only_of_what_takes_long() {
        check(
            Some(1000),
            false,
            &[
                (200, 900, None),
                (2999, 950, None),
                (3000, 960, Some("96 %")),
                (3200, 970, None),
                (6000, 980, Some("98 %")),
            ],
        );
    }

    #[test]
    fn without_a_total_the_amount_is_told() {
        check(None, true, &[(200, 5 << 20, Some("5 MiB")), (400, (5 << 20) + 1, None)]);
    }
}
