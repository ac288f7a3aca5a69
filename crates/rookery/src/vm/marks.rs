//! What hatcheries write into the notes of their machines, as far as people are told of it. Only these keys are read, so
//! that a program without the hatchery knows its machines, too.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// The mark of a machine. Keys and order are those of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    /// The hatchery whose machine it is.
    pub(super) hatchery: String,
    pub(super) worker: Option<String>,
    pub(super) job: Option<String>,
    /// The path of a V1 model, or the template of a V2 model.
    pub(super) model: Option<String>,
    /// The address that was given to it.
    pub(super) address: Option<String>,
    pub(super) flavor: Option<String>,
    /// When it was made.
    pub(super) created: Option<Timestamp>,
    /// When it became a worker.
    pub(super) worker_start_time: Option<Timestamp>,
    pub(super) kept_until: Option<Timestamp>,
    pub(super) kept_because: Option<String>,
    /// Whether it was written for another machine: whoever copies a machine copies its notes.
    pub(super) of_another: bool,
}

/// The mark in the notes of the machine with this UUID.
pub(super) fn mark(notes: Option<&str>, instance_uuid: Option<&str>) -> Option<Mark> {
    let text = |key| member(notes, key).filter(|text| !text.is_empty());
    let time = |key| text(key)?.parse().ok().filter(|time| *time > NEVER);
    let written_for = text("rookery_instance");
    Some(Mark {
        hatchery: hatchery(notes)?,
        worker: text("worker_name"),
        job: text("job_id"),
        model: text("worker_model_path").or_else(|| text("vmware_model_path")),
        address: text("ip_address"),
        flavor: text("flavor"),
        created: time("created"),
        worker_start_time: time("worker_start_time"),
        kept_until: time("rookery_hold_until"),
        kept_because: text("rookery_hold_reason"),
        of_another: written_for
            .is_some_and(|theirs| instance_uuid.is_some_and(|uuid| !uuid.eq_ignore_ascii_case(&theirs))),
    })
}

/// Hatcheries write years long ago for a time that they do not know.
const NEVER: Timestamp = Timestamp::UNIX_EPOCH;

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

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: &str = r#"{"hatchery_name":"nest","worker_name":"w","vmware_model_path":"debian12","created":
        "2026-11-15T08:15:10.5Z","worker_start_time":"0001-01-01T00:00:00Z","job_id":"17","ip_address":"10.99.0.1",
        "rookery_instance":"564D1A2B-3c4d-4e5f-8a9b-0c1d2e3f4a5b"}"#;

    #[test]
    fn a_mark_says_whose_machine_it_is_and_what_it_does() {
        let uuid = "564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b";
        let mark = mark(Some(NOTES), Some(uuid)).expect("there is one");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!((mark.hatchery.as_str(), mark.worker, mark.job), ("nest", text("w"), text("17")));
        assert_eq!((mark.model, mark.address, mark.flavor), (text("debian12"), text("10.99.0.1"), None));
        assert_eq!(mark.created, Some("2026-11-15T08:15:10.5Z".parse().unwrap()));
        assert_eq!((mark.worker_start_time, mark.kept_until, mark.of_another), (None, None, false));
        assert!(super::mark(Some(NOTES), Some("another")).expect("there is one").of_another);
        for nobodys in [None, Some(""), Some("a database"), Some(r#"{"hatchery_name":""}"#), Some("[1]")] {
            assert_eq!(super::mark(nobodys, None), None, "{nobodys:?}");
        }
    }
}
