//! The metrics: one row for each, with how it is written. The document of all metrics is compared with it.

mod own;
mod upstream;

use rookery_daemon::metrics::{Kind, Metric, Samples, Value};

use super::sight::Sight;

pub use own::OWN;
pub use upstream::UPSTREAM;

/// A metric, and how its samples are written.
#[derive(Debug)]
pub struct Row {
    pub metric: Metric,
    pub(super) write: Write,
}

/// All metrics, those of upstream first.
pub fn catalog() -> impl Iterator<Item = &'static Metric> {
    rows().map(|row| &row.metric)
}

pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    UPSTREAM.iter().chain(OWN)
}

/// How samples are written.
type Write = fn(&Sight<'_>, &mut Samples<'_>);
type Labels = &'static [&'static str];

const fn counter(name: &'static str, labels: Labels, help: &'static str, write: Write) -> Row {
    Row { metric: Metric { name, kind: Kind::Counter, labels, help }, write }
}

const fn gauge(name: &'static str, labels: Labels, help: &'static str, write: Write) -> Row {
    Row { metric: Metric { name, kind: Kind::Gauge, labels, help }, write }
}

const fn histogram(name: &'static str, labels: Labels, help: &'static str, write: Write) -> Row {
    Row { metric: Metric { name, kind: Kind::Histogram, labels, help }, write }
}

/// The only sample of a metric, if there is one.
fn optional(out: &mut Samples<'_>, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        out.value(value);
    }
}
