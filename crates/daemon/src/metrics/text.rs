//! Prometheus' text format, version 0.0.4.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::{Histogram, Kind, Metric};

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Whole(number.try_into().unwrap_or(u64::MAX))
    }
}

impl From<bool> for Value {
    fn from(holds: bool) -> Self {
        Self::Whole(holds.into())
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Self::Real(time.as_secs_f64())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
        }
    }
}

/// Writes the samples of one metric.
#[derive(Debug)]
pub struct Samples<'s> {
    text: &'s mut String,
    metric: &'s Metric,
    constants: &'s [(&'static str, &'s str)],
}

impl<'s> Samples<'s> {
    /// Writes the head of a metric; its samples come next. Labels that are among the constants are the same in all samples
    /// of the process.
    pub fn new(text: &'s mut String, metric: &'s Metric, constants: &'s [(&'static str, &'s str)]) -> Self {
        let mut samples = Self { text, metric, constants };
        let Metric { name, kind, labels: _, help } = metric;
        samples.line(format_args!("# HELP {name} {help}"));
        samples.line(format_args!("# TYPE {name} {}", kind.as_str()));
        samples
    }

    /// The only sample of a metric.
    pub fn value(&mut self, value: impl Into<Value>) {
        self.labelled(&[], value);
    }

    /// A sample with these labels, in the order of the metric's, without the constants.
    pub fn labelled(&mut self, labels: &[&str], value: impl Into<Value>) {
        self.sample("", labels, None, value.into());
    }

    /// A sample for each word.
    pub fn words<V: Into<Value>>(&mut self, words: impl Iterator<Item = (&'static str, V)>) {
        for (word, value) in words {
            self.labelled(&[word], value);
        }
    }

    /// All samples of a histogram.
    pub fn histogram(&mut self, labels: &[&str], histogram: &Histogram) {
        debug_assert_eq!(self.metric.kind, Kind::Histogram);
        let mut last = 0;
        for (bound, count) in histogram.buckets() {
            self.sample("_bucket", labels, Some(bound), count.into());
            last = count;
        }
        self.sample("_sum", labels, None, histogram.sum());
        // Of the last bucket, and not counted anew: what is measured meanwhile must not make the two differ.
        self.sample("_count", labels, None, last.into());
    }

    fn sample(&mut self, suffix: &str, labels: &[&str], bound: Option<&str>, value: Value) {
        let (metric, constants) = (self.metric, self.constants);
        let mut given = labels.iter();
        self.text.push_str(metric.name);
        self.text.push_str(suffix);
        let names = metric.labels.iter().map(|name| {
            let constant = constants.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
            (*name, constant.or_else(|| given.next().copied()).unwrap_or_default())
        });
        let all: Vec<_> = names.chain(bound.map(|bound| ("le", bound))).collect();
        for (at, (name, value)) in all.iter().enumerate() {
            self.text.push(if at == 0 { '{' } else { ',' });
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.escaped(value);
            self.text.push('"');
        }
        if !all.is_empty() {
            self.text.push('}');
        }
        self.line(format_args!(" {value}"));
    }

    fn escaped(&mut self, value: &str) {
        for letter in value.chars() {
            match letter {
                '\\' => self.text.push_str("\\\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str("\\n"),
                letter => self.text.push(letter),
            }
        }
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        writeln!(self.text, "{line}").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_quoted_whatever_is_in_them() {
        let metric = Metric { name: "m", kind: Kind::Gauge, labels: &["service_name", "vm"], help: "h" };
        let mut text = String::new();
        let mut samples = Samples::new(&mut text, &metric, &[("service_name", "the \"h\"")]);
        samples.labelled(&["a\\b\nc"], Value::Real(0.5));
        assert_eq!(
            text,
            "# HELP m h\n# TYPE m gauge\nm{service_name=\"the \\\"h\\\"\",vm=\"a\\\\b\\nc\"} 0.5\n"
        );
    }
}
