//! How long jobs took to start: figures, a histogram, and the latest ones. Pure.

use std::time::Duration;

/// How many count; older ones are forgotten.
const MOST: usize = 10_000;
/// How many of the latest can be told one by one.
const LATEST: usize = 240;

/// Up to where each bucket goes, in milliseconds: finer where a warm machine or a clone on a fast datastore starts, and
/// coarser where something is slow.
const BOUNDS: [u64; 12] =
    [1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000];

/// The times from the queue to the worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StartTimes {
    /// All that count, sorted.
    sorted: Vec<Duration>,
    /// The latest, in the order in which the jobs started.
    latest: Vec<Duration>,
}

/// A part of the histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Up to where it goes; `None`: any longer.
    pub(crate) up_to: Option<Duration>,
    pub(crate) count: usize,
}

impl StartTimes {
    /// Of all times, in the order in which the jobs started.
    pub(crate) fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut all: Vec<Duration> = times.into_iter().collect();
        all.drain(..all.len().saturating_sub(MOST));
        let latest = all.iter().skip(all.len().saturating_sub(LATEST)).copied().collect();
        let mut sorted = all;
        sorted.sort_unstable();
        Self { sorted, latest }
    }

    pub(crate) fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The latest so many, oldest first.
    pub(crate) fn latest(&self, most: usize) -> &[Duration] {
        self.latest.get(self.latest.len().saturating_sub(most)..).unwrap_or_default()
    }

    /// The smallest time that so many of a hundred do not exceed.
    pub(crate) fn percentile(&self, of_hundred: usize) -> Option<Duration> {
        let rank = (self.sorted.len() * of_hundred).div_ceil(100);
        self.sorted.get(rank.checked_sub(1)?).copied()
    }

    /// The buckets from the first to the last one that is not empty.
    pub(crate) fn histogram(&self) -> Vec<Bucket> {
        let mut buckets = Vec::new();
        let mut below = 0;
        for bound in BOUNDS.map(Duration::from_millis) {
            let until = self.sorted.partition_point(|time| *time <= bound);
            buckets.push(Bucket { up_to: Some(bound), count: until - below });
            below = until;
        }
        buckets.push(Bucket { up_to: None, count: self.sorted.len() - below });
        let last = buckets.iter().rposition(|bucket| bucket.count > 0).map_or(0, |last| last + 1);
        buckets.truncate(last);
        let first = buckets.iter().position(|bucket| bucket.count > 0).unwrap_or_default();
        buckets.split_off(first)
    }

    pub(crate) fn in_words(&self) -> String {
        let told = self.figures();
        if self.sorted.is_empty() { told } else { format!("{told}, from the queue to the worker") }
    }

    /// The same where there is little room.
    pub(crate) fn figures(&self) -> String {
        match (self.percentile(50), self.percentile(99)) {
            (Some(p50), Some(p99)) => format!("p50 {}, p99 {}", seconds(p50), seconds(p99)),
            (None, _) | (_, None) => "no job has started yet".to_owned(),
        }
    }
}

impl Bucket {
    pub(crate) fn name(&self) -> String {
        let longest = BOUNDS.last().copied().map(Duration::from_millis).unwrap_or_default();
        self.up_to.map_or_else(|| format!("> {}", round(longest)), |up_to| format!("≤ {}", round(up_to)))
    }
}

/// With a tenth.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// `20 s`, `5 min`.
fn round(time: Duration) -> String {
    match time.as_secs() {
        minutes if minutes >= 60 && minutes % 60 == 0 => format!("{} min", minutes / 60),
        seconds => format!("{seconds} s"),
    }
}

/// How long something took, for people: `12 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn took(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(millis: &[u64]) -> StartTimes {
        StartTimes::of(millis.iter().copied().map(Duration::from_millis))
    }

    #[test]
    fn a_time_is_in_the_first_bucket_that_reaches_so_far() {
        let check = |millis: &[u64], expected: &[(&str, usize)]| {
            let buckets = times(millis).histogram();
            let found: Vec<_> = buckets.iter().map(|bucket| (bucket.name(), bucket.count)).collect();
            let found: Vec<_> = found.iter().map(|(name, count)| (name.as_str(), *count)).collect();
            assert_eq!(found, expected, "{millis:?}");
        };
        check(&[], &[]);
        check(&[0], &[("≤ 1 s", 1)]);
        check(&[1000, 1001], &[("≤ 1 s", 1), ("≤ 2 s", 1)]);
        // What is empty in between is shown: otherwise the distance could not be seen.
        check(&[2500, 9000, 2600], &[("≤ 3 s", 2), ("≤ 5 s", 0), ("≤ 10 s", 1)]);
        check(&[1_800_000, 1_800_001], &[("≤ 30 min", 1), ("> 30 min", 1)]);
        check(&[61_000], &[("≤ 2 min", 1)]);
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let check = |values: Vec<u64>, p50, p99| {
            let starts = times(&values);
            let expected = (Some(Duration::from_millis(p50)), Some(Duration::from_millis(p99)));
            assert_eq!((starts.percentile(50), starts.percentile(99)), expected, "{values:?}");
        };
        check(vec![7], 7, 7);
        check(vec![2, 1], 1, 2);
        check(vec![1, 2, 3], 2, 3);
        check((1..=200).collect(), 100, 198);
        assert_eq!(times(&[]).percentile(50), None);
        assert_eq!(times(&[]).in_words(), "no job has started yet");
        assert_eq!(times(&[2400, 12_100]).in_words(), "p50 2.4 s, p99 12.1 s, from the queue to the worker");
    }

    #[test]
    fn the_latest_are_those_that_started_last() {
        let starts = times(&(1..=500).collect::<Vec<_>>());
        assert_eq!((starts.count(), starts.latest(1000).len()), (500, LATEST));
        assert_eq!(starts.latest(2), [499, 500].map(Duration::from_millis));
        assert!(times(&[]).latest(5).is_empty());
    }

    #[test]
    fn how_long_something_took_is_told_in_two_units_at_most() {
        for (seconds, expected) in [(0, "0 s"), (59, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")] {
            assert_eq!(took(Duration::from_secs(seconds)), expected);
        }
    }
}
