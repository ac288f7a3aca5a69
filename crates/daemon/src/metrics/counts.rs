//! Counters and histograms: a few atomic numbers each, all of them made at the start. Counting takes no lock and no
//! memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::text::Value;

/// A number of events.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were counted.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Numbers of events, one for each word of a closed set. Its last word stands for all that are not in it.
#[derive(Debug)]
pub struct Counters {
    words: &'static [&'static str],
    counts: Vec<Counter>,
}

impl Counters {
    pub fn new(words: &'static [&'static str]) -> Self {
        Self { words, counts: words.iter().map(|_| Counter::default()).collect() }
    }

    /// Counts one more of a word.
    pub fn count(&self, word: &str) {
        let at = self.words.iter().position(|known| *known == word);
        if let Some(counter) = self.counts.get(at.unwrap_or(self.words.len() - 1)) {
            counter.count();
        }
    }

    /// How many were counted for a word.
    pub fn get(&self, word: &str) -> u64 {
        self.iter().find(|(known, _)| *known == word).map_or(0, |(_, count)| count)
    }

    /// How many were counted for each word.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.words.iter().zip(&self.counts).map(|(word, count)| (*word, count.get()))
    }
}

/// What a histogram measures, and where its buckets end.
#[derive(Debug)]
pub struct Scale {
    /// The ends, in what is measured, and as they are written.
    pub bounds: &'static [(u64, &'static str)],
    /// The sum as it is written.
    pub sum: fn(u64) -> Value,
}

/// Times from milliseconds to minutes; measured in microseconds, written in seconds.
pub static SECONDS: Scale = Scale {
    bounds: &[
        (5_000, "0.005"),
        (10_000, "0.01"),
        (25_000, "0.025"),
        (50_000, "0.05"),
        (100_000, "0.1"),
        (250_000, "0.25"),
        (500_000, "0.5"),
        (1_000_000, "1"),
        (2_500_000, "2.5"),
        (5_000_000, "5"),
        (10_000_000, "10"),
        (20_000_000, "20"),
        (30_000_000, "30"),
        (60_000_000, "60"),
        (120_000_000, "120"),
        (300_000_000, "300"),
        (600_000_000, "600"),
    ],
    sum: |micros| Value::Real(Duration::from_micros(micros).as_secs_f64()),
};

/// Times of answers; measured in microseconds, written in milliseconds.
pub static MILLISECONDS: Scale = Scale {
    bounds: &[
        (100_000, "100"),
        (200_000, "200"),
        (300_000, "300"),
        (400_000, "400"),
        (500_000, "500"),
        (750_000, "750"),
        (1_000_000, "1000"),
        (2_000_000, "2000"),
        (5_000_000, "5000"),
    ],
    sum: |micros| Value::Real(Duration::from_micros(micros).as_secs_f64() * 1e3),
};

/// Sizes of requests and answers, written as Go writes numbers.
pub static BYTES: Scale = Scale {
    bounds: &[
        (25_600, "25600"),
        (102_400, "102400"),
        (256_000, "256000"),
        (512_000, "512000"),
        (1_048_576, "1.048576e+06"),
        (1_572_864, "1.572864e+06"),
        (5_242_880, "5.24288e+06"),
        (10_485_760, "1.048576e+07"),
    ],
    sum: Value::Whole,
};

/// How often what was measured fell between which bounds.
#[derive(Debug)]
pub struct Histogram {
    scale: &'static Scale,
    counts: Vec<Counter>,
    sum: AtomicU64,
}

impl Histogram {
    pub fn new(scale: &'static Scale) -> Self {
        let counts = (0..=scale.bounds.len()).map(|_| Counter::default()).collect();
        Self { scale, counts, sum: AtomicU64::new(0) }
    }

    /// Takes in a time, in the microseconds that scales of times have.
    pub fn time(&self, time: Duration) {
        self.measure(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Takes in what was measured.
    pub fn measure(&self, measured: u64) {
        let at = self.scale.bounds.partition_point(|(bound, _)| *bound < measured);
        if let Some(counter) = self.counts.get(at) {
            counter.count();
        }
        self.sum.fetch_add(measured, Ordering::Relaxed);
    }

    /// How often something was measured.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(Counter::get).sum()
    }

    /// All that was measured, as it is written.
    pub fn sum(&self) -> Value {
        (self.scale.sum)(self.sum.load(Ordering::Relaxed))
    }

    /// How many were at most so large, for each bound.
    pub fn buckets(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let ends = self.scale.bounds.iter().map(|(_, word)| *word).chain(["+Inf"]);
        let mut so_far = 0;
        ends.zip(&self.counts).map(move |(word, count)| {
            so_far += count.get();
            (word, so_far)
        })
    }
}

/// A histogram for each word of a closed set.
#[derive(Debug)]
pub struct Histograms(Vec<(&'static str, Histogram)>);

impl Histograms {
    pub fn new(words: &'static [&'static str], scale: &'static Scale) -> Self {
        Self(words.iter().map(|word| (*word, Histogram::new(scale))).collect())
    }

    /// Takes in a time for a word of the set.
    pub fn time(&self, word: &str, time: Duration) {
        if let Some((_, histogram)) = self.iter().find(|(known, _)| *known == word) {
            histogram.time(time);
        }
    }

    /// The histogram of each word.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        self.0.iter().map(|(word, histogram)| (*word, histogram))
    }
}

/// How many there are of each word of a closed set. Its last word stands for all that are not in it.
pub fn numbers_of<'w>(
    words: &'static [&'static str],
    found: impl Iterator<Item = &'w str> + Clone,
) -> impl Iterator<Item = (&'static str, usize)> {
    let is = |word: &&str, one: &str| *word == one || (Some(word) == words.last() && !words.contains(&one));
    words.iter().map(move |word| (*word, found.clone().filter(|one| is(word, one)).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_buckets_add_up() {
        let histogram = Histogram::new(&SECONDS);
        for millis in [0, 5, 6, 600_000, 600_001] {
            histogram.time(Duration::from_millis(millis));
        }
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets.first(), Some(&("0.005", 2)));
        assert_eq!(buckets.get(1), Some(&("0.01", 3)));
        assert_eq!(buckets.iter().rev().take(2).collect::<Vec<_>>(), [&("+Inf", 5), &("600", 4)]);
        assert_eq!((histogram.count(), histogram.sum()), (5, Value::Real(1_200.012)));
    }

    #[test]
    fn bounds_rise_and_are_written_as_they_are() {
        for (scale, unit) in [(&SECONDS, 1e6), (&MILLISECONDS, 1e3), (&BYTES, 1.0)] {
            assert!(scale.bounds.is_sorted_by(|one, next| one.0 < next.0), "{scale:?}");
            for (bound, word) in scale.bounds {
                let written: f64 = word.parse().unwrap();
                assert_eq!(format!("{}", (written * unit).round()), bound.to_string(), "{word}");
            }
        }
    }

    #[test]
    fn a_word_that_is_not_in_the_set_counts_as_its_last() {
        let counters = Counters::new(&["one", "other"]);
        counters.count("one");
        counters.count("two");
        assert_eq!(counters.iter().collect::<Vec<_>>(), [("one", 1), ("other", 1)]);
    }

    #[test]
    fn words_of_no_set_are_the_last_one() {
        let numbers: Vec<_> = numbers_of(&["a", "b", "other"], ["b", "c", "b", "d"].into_iter()).collect();
        assert_eq!(numbers, [("a", 0), ("b", 2), ("other", 2)]);
    }
}
