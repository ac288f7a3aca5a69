//! The mark: what a hatchery writes into the notes of its machines. It is the ledger; memory only saves time.
//!
//! The keys, their order and their omissions are the Go hatchery's, so that either can take over the other's machines.
//! Ours are the last ones: the Go hatchery drops them when it writes a mark, so nothing may depend on them alone.

use std::net::Ipv4Addr;

use jiff::{SignedDuration, Timestamp};
use rookery_fleet::ownership::{Identity, Labels, Marking, Recogniser, Written};
use rookery_fleet::{Origin, OwnerId, Ownership, Recognised};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::names::{self, ModelKind};
use crate::standing::is_in_making;

/// How much later than its mark a machine may have been made. A mark is written with the order of a clone; clones take
/// minutes, and clocks differ.
const MADE_AFTER_MARK: SignedDuration = SignedDuration::from_hours(1);

/// How hatcheries mark their machines: in the notes.
pub const MARKING: Marking<Mark> = Marking {
    extra_keys: &[],
    recognise,
    write,
    protects: |name, mark| mark.model && !is_in_making(name, mark),
};

/// The owner that marks name so.
pub fn owner(hatchery: &str) -> OwnerId {
    OwnerId::new("hatchery", hatchery)
}

/// Recognises machines of hatcheries alone.
pub fn recogniser() -> Recogniser<Mark> {
    Recogniser::new(MARKING)
}

fn recognise(labels: &Labels<'_>) -> Recognised<Mark> {
    let named = names::address_in(labels.name);
    let Some(config) = labels.config else {
        // While a clone is made, its name is all that anybody can see of it.
        return Recognised { addresses: named.into_iter().collect(), ..Recognised::unknown() };
    };
    let Some(mark) = Mark::read(config.notes) else { return Recognised::nobody() };
    let owner = || owner(&mark.hatchery_name);
    let ownership = match mark.is_of(labels.instance, labels.created) {
        _ if mark.hatchery_name.is_empty() => Ownership::Nobody,
        Some(true) => Ownership::By(owner()),
        Some(false) => Ownership::Copied(owner()),
        None => Ownership::Disputed(owner()),
    };
    let named = named.filter(|_| ownership != Ownership::Nobody);
    Recognised {
        ownership,
        addresses: mark.address().into_iter().chain(named).collect(),
        held_until: mark.hold_until,
        identity: Some(Identity {
            name: mark.worker_name.as_str().into(),
            is_proven: !mark.instance.is_empty(),
        }),
        mark: Some(Box::new(mark)),
    }
}

fn write(mark: &Mark, instance: Option<&str>) -> Written {
    let signed = Mark { instance: instance.unwrap_or_default().to_owned(), ..mark.clone() };
    Written { notes: Some(signed.write()), extra: Vec::new() }
}

/// What stands on a machine that is nobody's any more. Some servers keep notes that are to become empty.
pub fn unmarked_notes(owner: &OwnerId) -> Written {
    let notes = format!("once a copy of a machine of the hatchery {owner}");
    Written { notes: Some(notes), extra: Vec::new() }
}

/// The notes of one machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub hatchery_name: String,
    /// The worker that runs in it; of a pooled machine its own name.
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub worker_name: String,
    #[serde(skip_serializing_if = "is_false", deserialize_with = "flag")]
    pub register_only: bool,
    /// Whether it was made ahead of time. Older hatcheries leave it set when they claim a machine: compare names.
    #[serde(skip_serializing_if = "is_false", deserialize_with = "flag")]
    pub provisioning: bool,
    /// The path of its V1 model, always `group/name`.
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub worker_model_path: String,
    /// The template of its V2 model.
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub vmware_model_path: String,
    /// When its V1 model was changed last, in seconds, as text.
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub worker_model_last_modified: String,
    /// Whether it is a template; never to be deleted by a sweep.
    #[serde(skip_serializing_if = "is_false", deserialize_with = "flag")]
    pub model: bool,
    #[serde(serialize_with = "write_time", deserialize_with = "time")]
    pub created: Option<Timestamp>,
    /// When it became a worker.
    #[serde(serialize_with = "write_time", deserialize_with = "time")]
    pub worker_start_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub job_id: String,
    /// The address that was given to it.
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub ip_address: String,
    /// The size that was given to it, by name.
    #[serde(skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub flavor: String,
    /// Which incarnation of its template it was cloned from. Ours.
    #[serde(rename = "rookery_template", skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub template_incarnation: String,
    /// The UUID of the machine that it was written for: whoever copies a machine copies its notes. Ours.
    #[serde(rename = "rookery_instance", skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub instance: String,
    /// Until when it is kept for somebody to look at. Ours.
    #[serde(
        rename = "rookery_hold_until",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time"
    )]
    pub hold_until: Option<Timestamp>,
    /// Why it is kept. Ours.
    #[serde(
        rename = "rookery_hold_reason",
        skip_serializing_if = "str::is_empty",
        deserialize_with = "text"
    )]
    pub hold_reason: String,
    /// The wish that it is kept for after its worker had failed; empty: somebody named it. Ours.
    #[serde(rename = "rookery_hold_wish", skip_serializing_if = "str::is_empty", deserialize_with = "text")]
    pub hold_wish: String,
}

impl Mark {
    /// Reads notes. What is empty, no JSON or no object is no mark.
    pub fn read(notes: &str) -> Option<Self> {
        // A sequence would do for serde, too.
        notes.trim_start().starts_with('{').then(|| serde_json::from_str(notes).ok()).flatten()
    }

    /// A mark that names a model: the path of a V1 model, or the template of a V2 model.
    pub fn of_model(kind: ModelKind, model: String) -> Self {
        match kind {
            ModelKind::V1 => Self { worker_model_path: model, ..Self::default() },
            ModelKind::V2 => Self { vmware_model_path: model, ..Self::default() },
        }
    }

    pub fn write(&self) -> String {
        // Only a map with keys that are no text could fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether a machine with this UUID, made at that time by the supplier's clock, is the one that the mark was written
    /// for; `None`: it cannot be told.
    pub fn is_of(&self, instance: Option<&str>, created: Option<Timestamp>) -> Option<bool> {
        if self.instance.is_empty() {
            // Somebody else's mark: only one that is older than its machine tells.
            let written = self.created.max(self.worker_start_time);
            let is_older = written
                .zip(created)
                .is_some_and(|(written, created)| created.duration_since(written) > MADE_AFTER_MARK);
            return Some(!is_older);
        }
        instance.map(|instance| instance.eq_ignore_ascii_case(&self.instance))
    }

    /// What its machine was made from.
    pub fn origin(&self) -> Origin {
        let told = |state: &String| Some(state.clone()).filter(|state| !state.is_empty());
        Origin {
            incarnation: told(&self.template_incarnation),
            revision: told(&self.worker_model_last_modified),
        }
    }

    /// The times that it carries, by vCenter's clock.
    pub fn times(&self) -> [Option<Timestamp>; 2] {
        [self.worker_start_time, self.created]
    }

    /// The address that was given to the machine.
    pub fn address(&self) -> Option<Ipv4Addr> {
        self.ip_address.parse().ok()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Whatever is no text is as good as absent: one odd member must not make the machine somebody else's.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(value.as_str().map(str::to_owned).unwrap_or_default())
}

fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(value.as_bool().unwrap_or_default())
}

/// Go writes the year 1 for "never".
const NEVER: &str = "0001-01-01T00:00:00Z";

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    let time = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    Ok(time.filter(|time| time.to_string() != NEVER))
}

#[expect(clippy::ref_option, reason = "serde hands out references")]
fn write_time<S: Serializer>(time: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        None => to.serialize_str(NEVER),
        Some(time) => to.collect_str(time),
    }
}

#[cfg(test)]
mod tests;
