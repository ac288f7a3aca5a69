//! How long jobs took to start, from what a hatchery tells of them. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rookery_hatchery::surface::report::JobLine;

use crate::live::StartTimes;

/// How many are remembered.
const STARTS: usize = 10_000;

/// How long the jobs took to start that were seen to.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    /// By when they started, and the job; with how long that took.
    times: BTreeSet<(Timestamp, String, Duration)>,
}

impl Starts {
    pub(crate) fn note(&mut self, jobs: &[JobLine]) {
        for line in jobs {
            let Some((launched, queued)) = line.launched.zip(line.queued.or(line.begun)) else { continue };
            // Both clocks may differ.
            let time = launched.duration_since(queued).try_into().unwrap_or_default();
            self.times.insert((launched, line.job.clone(), time));
            if self.times.len() > STARTS {
                self.times.pop_first();
            }
        }
    }

    pub(crate) fn all(&self) -> StartTimes {
        StartTimes::of(self.times.iter().map(|(_, _, time)| *time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_times_are_told_in_the_order_of_the_starts_and_once_each() {
        let at = |text: &str| text.parse().ok();
        let line = |name: &str, queued, launched| JobLine {
            job: name.to_owned(),
            queued: at(queued),
            launched: at(launched),
            ..JobLine::default()
        };
        let jobs = [
            line("b", "2026-11-15T12:00:00Z", "2026-11-15T12:00:09Z"),
            line("a", "2026-11-15T12:00:00Z", "2026-11-15T12:00:04Z"),
            // By clocks that differ.
            line("c", "2026-11-15T12:00:12Z", "2026-11-15T12:00:10Z"),
            JobLine { job: "d".to_owned(), ..JobLine::default() },
        ];
        let mut starts = Starts::default();
        starts.note(&jobs);
        starts.note(&jobs);
        assert_eq!(starts.all().latest(9), [4, 9, 0].map(Duration::from_secs));
    }
}
