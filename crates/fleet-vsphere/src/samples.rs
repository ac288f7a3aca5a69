//! A small front for tests, which marks its machines in the notes.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use rookery_fleet::ownership::{Identity, Labels, Marking, Recogniser, Written};
use rookery_fleet::{OwnerId, Ownership, Recognised};

/// What the test front knows of a VM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) owner: String,
    pub(crate) name: String,
    /// What it was made from.
    pub(crate) kind: String,
    pub(crate) pooled: bool,
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) held_until: Option<Timestamp>,
    /// Never to be deleted, unless its name says that it is not finished.
    pub(crate) protected: bool,
    /// The UUID of the VM that it was written for.
    pub(crate) instance: String,
}

pub(crate) const MARKING: Marking<Mark> = Marking {
    extra_keys: &[],
    recognise,
    write,
    protects: |name, mark| mark.protected && !name.ends_with("-tmp"),
};

pub(crate) fn recogniser() -> Recogniser<Mark> {
    Recogniser::new(MARKING)
}

pub(crate) fn owner(name: &str) -> OwnerId {
    OwnerId::new("samples", name)
}

/// A mark of that owner.
pub(crate) fn marked_by(owner: &str) -> Mark {
    Mark { owner: owner.to_owned(), ..Mark::default() }
}

/// The notes of the VM with that UUID.
pub(crate) fn notes(mark: &Mark, instance: Option<&str>) -> String {
    write(mark, instance).notes.unwrap_or_default()
}

/// Of words with their values: `mark owner=h1 name=a`.
fn recognise(labels: &Labels<'_>) -> Recognised<Mark> {
    let Some(config) = labels.config else { return Recognised::unknown() };
    let Some(words) = config.notes.strip_prefix("mark ") else { return Recognised::nobody() };
    let mut mark = Mark::default();
    for (word, value) in words.split(' ').filter_map(|word| word.split_once('=')) {
        match word {
            "owner" => value.clone_into(&mut mark.owner),
            "name" => value.clone_into(&mut mark.name),
            "kind" => value.clone_into(&mut mark.kind),
            "pooled" => mark.pooled = true,
            "address" => mark.address = value.parse().ok(),
            "held" => mark.held_until = value.parse().ok(),
            "protected" => mark.protected = true,
            "for" => value.clone_into(&mut mark.instance),
            _ => {}
        }
    }
    let owner = owner(&mark.owner);
    let is_proven = !mark.instance.is_empty();
    let ownership = match labels.instance {
        _ if mark.owner.is_empty() => Ownership::Nobody,
        Some(instance) if is_proven && instance != mark.instance => Ownership::Copied(owner),
        None if is_proven => Ownership::Disputed(owner),
        Some(_) | None => Ownership::By(owner),
    };
    Recognised {
        ownership,
        addresses: mark.address.into_iter().collect(),
        held_until: mark.held_until,
        identity: Some(Identity { name: mark.name.as_str().into(), is_proven }),
        mark: Some(Box::new(mark)),
    }
}

fn write(mark: &Mark, instance: Option<&str>) -> Written {
    let text = |word: &str, value: &str| match value {
        "" => String::new(),
        value => format!(" {word}={value}"),
    };
    let flag = |word: &str, is_set: bool| text(word, if is_set { "yes" } else { "" });
    let address = mark.address.map(|ip| ip.to_string()).unwrap_or_default();
    let held = mark.held_until.map(|until| until.to_string()).unwrap_or_default();
    let words = [
        text("owner", &mark.owner),
        text("name", &mark.name),
        text("kind", &mark.kind),
        flag("pooled", mark.pooled),
        text("address", &address),
        text("held", &held),
        flag("protected", mark.protected),
        text("for", instance.unwrap_or_default()),
    ];
    Written { notes: Some(format!("mark{}", words.concat())), extra: Vec::new() }
}
