//! What hatcheries write into the notes of their machines, as far as people are told of it. Only these two keys are read,
//! so that a program without the hatchery knows its machines, too.

use jiff::Timestamp;
use serde_json::Value;

/// The hatchery whose machine it is.
pub(super) fn hatchery(notes: Option<&str>) -> Option<String> {
    member(notes, "hatchery_name").filter(|name| !name.is_empty())
}

/// Until when somebody keeps it.
pub(super) fn held_until(notes: Option<&str>) -> Option<Timestamp> {
    member(notes, "rookery_hold_until")?.parse().ok()
}

fn member(notes: Option<&str>, key: &str) -> Option<String> {
    let mark: Value = serde_json::from_str(notes?).ok()?;
    mark.get(key)?.as_str().map(str::to_owned)
}
