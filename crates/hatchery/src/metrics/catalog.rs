//! The metrics: one row for each, with how it is written. The document of all metrics is compared with it.

mod own;
mod upstream;

use super::sight::Sight;
use super::text::Samples;

pub use own::OWN;
pub use upstream::UPSTREAM;

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

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The names of its labels, in their order.
    pub labels: &'static [&'static str],
    /// What it tells.
    pub help: &'static str,
    pub(super) write: fn(&Sight<'_>, &mut Samples<'_>),
}

/// All metrics, those of upstream first.
pub fn catalog() -> impl Iterator<Item = &'static Metric> {
    UPSTREAM.iter().chain(OWN)
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    write: fn(&Sight<'_>, &mut Samples<'_>),
) -> Metric {
    Metric { name, kind: Kind::Counter, labels, help, write }
}

const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    write: fn(&Sight<'_>, &mut Samples<'_>),
) -> Metric {
    Metric { name, kind: Kind::Gauge, labels, help, write }
}

const fn histogram(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    write: fn(&Sight<'_>, &mut Samples<'_>),
) -> Metric {
    Metric { name, kind: Kind::Histogram, labels, help, write }
}
