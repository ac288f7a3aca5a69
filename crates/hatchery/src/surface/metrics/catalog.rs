//! The metrics: one row for each, with how it is written. The document of all metrics is compared with it.

mod own;
mod upstream;

use rookery_daemon::metrics::{Kind, Metric, Samples};

use super::sight::Sight;

pub use own::OWN;
pub use upstream::UPSTREAM;

/// A metric, and how its samples are written.
#[derive(Debug)]
pub struct Row {
    pub metric: Metric,
    pub(super) write: fn(&Sight<'_>, &mut Samples<'_>),
}

/// All metrics, those of upstream first.
pub fn catalog() -> impl Iterator<Item = &'static Metric> {
    rows().map(|row| &row.metric)
}

pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    UPSTREAM.iter().chain(OWN)
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    write: fn(&Sight<'_>, &mut Samples<'_>),
) -> Row {
    Row { metric: Metric { name, kind: Kind::Counter, labels, help }, write }
}

const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    write: fn(&Sight<'_>, &mut Samples<'_>),
) -> Row {
    Row { metric: Metric { name, kind: Kind::Gauge, labels, help }, write }
}

const fn histogram(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    write: fn(&Sight<'_>, &mut Samples<'_>),
) -> Row {
    Row { metric: Metric { name, kind: Kind::Histogram, labels, help }, write }
}
