//! Metrics: what is counted, what is known about each metric, and how it is written for Prometheus.
//!
//! Events are counted where they happen ([`Counter`], [`Histogram`]). State is not counted: a front reads it when somebody
//! asks, and writes both with [`Samples`].

mod counts;
mod memory;
mod text;

pub use counts::{BYTES, Counter, Counters, Histogram, Histograms, MILLISECONDS, SECONDS, Scale, numbers_of};
pub use memory::Memory;
pub use text::{Samples, Value};

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Events since the start.
    Counter,
    /// State.
    Gauge,
    /// How often what was measured fell between which bounds.
    Histogram,
}

impl Kind {
    /// As Prometheus writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// What is known about a metric before anything is measured.
#[derive(Debug)]
pub struct Metric {
    /// The name of its samples; those of a histogram have an ending.
    pub name: &'static str,
    pub kind: Kind,
    /// The names of its labels, in the order in which they are written.
    pub labels: &'static [&'static str],
    /// What it tells, in a sentence.
    pub help: &'static str,
}
