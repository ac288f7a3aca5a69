//! The table of all keys: meaning, default, effective value, and whether a running hatchery applies a change. [`Section`](super::section::Section) reads no other keys, and takes defaults from here.

mod common;
mod provision;
mod vsphere;

use std::fmt::{self, Display};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::Settings;

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// With `[]` after a list: `workerProvisioning[].number`.
    pub path: &'static str,
    pub default: WhenUnset,
    /// Whether a running hatchery applies a change.
    pub reloads: bool,
    pub meaning: &'static str,
    pub value: fn(&Settings) -> Effective,
}

/// What applies when a key is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUnset {
    /// It must be set, in each entry of its list.
    Mandatory,
    /// Empty: no value.
    Is(&'static str),
}

#[derive(Debug, Clone)]
pub enum Effective {
    Open(String),
    /// Not shown. The key has a companion with the suffix `File`.
    Secret(SecretString),
    /// Not shown, because it may contain a secret. The key has no companion.
    Hidden(SecretString),
}

/// All keys, in the order of the document.
pub const KEYS: &[&[Key]] = &[vsphere::KEYS, common::KEYS, provision::KEYS];

/// Keys that are read only to say that they have no effect.
const WITHOUT_EFFECT: &[&str] = &["log.textFields", "log.skipTextFields", "log.graylog", "log.syslog"];

pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().copied().flatten()
}

pub(super) fn find(path: &str) -> Option<&'static Key> {
    all().find(|key| key.path == path)
}

/// Whether a path is that of a key, of the file of a secret, or of a section or list on the way to a key.
pub(super) fn is_stated(path: &str) -> bool {
    let leads_on = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    let leads_to = |path: &str| all().any(|key| key.path.strip_prefix(path).is_some_and(leads_on));
    leads_to(path) || path.strip_suffix("File").is_some_and(leads_to) || WITHOUT_EFFECT.contains(&path)
}

const fn key(
    path: &'static str,
    default: &'static str,
    meaning: &'static str,
    value: fn(&Settings) -> Effective,
) -> Key {
    Key { path, default: WhenUnset::Is(default), reloads: false, meaning, value }
}

const fn mandatory(path: &'static str, meaning: &'static str, value: fn(&Settings) -> Effective) -> Key {
    Key { path, default: WhenUnset::Mandatory, reloads: false, meaning, value }
}

const fn reloading(key: Key) -> Key {
    Key { reloads: true, ..key }
}

fn open(value: impl Display) -> Effective {
    Effective::Open(value.to_string())
}

fn opt<T: Display>(value: Option<T>) -> Effective {
    Effective::Open(value.map_or_else(String::new, |value| value.to_string()))
}

fn list<T: Display>(values: impl IntoIterator<Item = T>) -> Effective {
    let texts: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    Effective::Open(texts.join(", "))
}

fn seconds(value: Duration) -> Effective {
    open(value.as_secs())
}

fn secret(value: Option<&SecretString>) -> Effective {
    Effective::Secret(value.cloned().unwrap_or_default())
}

/// Several secrets joined, for comparison.
fn secrets<'a>(values: impl IntoIterator<Item = &'a SecretString>) -> Effective {
    let texts: Vec<_> = values.into_iter().map(ExposeSecret::expose_secret).collect();
    Effective::Secret(texts.join("\0").into())
}

impl Effective {
    pub fn is_same(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Open(text) => text,
            Self::Secret(secret) | Self::Hidden(secret) => secret.expose_secret(),
        }
    }
}

impl Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(text) => f.write_str(text),
            Self::Secret(_) | Self::Hidden(_) if self.text().is_empty() => Ok(()),
            Self::Secret(_) | Self::Hidden(_) => f.write_str("***"),
        }
    }
}
