//! The page as plain lines, for pipes and for `--exit`. Pure.

use super::model::{Fact, Gauge, Model, Section, counted};

/// How many reasons to wait are told.
const REASONS: usize = 3;

/// How it stands, and what can be done.
pub(crate) fn lines(model: &Model) -> Vec<String> {
    let mut lines = vec![format!("Rookery {}: {}", env!("CARGO_PKG_VERSION"), model.title), String::new()];
    lines.extend(model.state.iter().map(section));
    lines.extend(model.attention.iter().map(|Fact { name, text }| told(name, text)));
    lines.extend(model.reasons().into_iter().take(REASONS).map(|why| told("waiting", &why)));
    if !model.hints.is_empty() {
        lines.push(String::new());
        lines.extend(model.hints.iter().cloned());
    }
    lines
}

fn section(section: &Section) -> String {
    match section {
        Section::Fact(Fact { name, text }) => told(name, text),
        Section::Jobs(jobs) => told("jobs", &jobs.in_words()),
        Section::Queue(counts) => told("queue", &counted(counts)),
        Section::Starts(starts) => told("start time", &starts.in_words()),
        Section::States(states) => told(states.name, &states.in_words()),
        Section::Capacity(gauges) => {
            told("capacity", &gauges.iter().map(gauge).collect::<Vec<_>>().join(", "))
        }
        Section::Addresses(None) => told("addresses", "from DHCP"),
        Section::Addresses(Some(Gauge { used, limit, .. })) => {
            told("addresses", &format!("{used} of {} used", limit.unwrap_or_default()))
        }
    }
}

/// `5/16 workers`.
fn gauge(gauge: &Gauge) -> String {
    let Gauge { name, used, limit, unit } = *gauge;
    let limit = limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    format!("{used}/{limit} {}", if unit.is_empty() { name } else { unit })
}

fn told(name: &str, text: &str) -> String {
    format!("{name:<12} {text}")
}
