//! What waits for a person, as people are told of it and confirm it.

use rookery_fleet::{MachineId, brake};
use serde::{Deserialize, Serialize};

/// What the brake is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A machine that runs and would be deleted.
    Machine(MachineId),
    /// A worker that would be disabled, by name.
    Worker(String),
    /// A machine that is not in sight any more.
    Lost(MachineId),
}

impl Subject {
    /// A word for metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Machine(_) => "machine",
            Self::Worker(_) => "worker",
            Self::Lost(_) => "lost",
        }
    }
}

impl From<brake::Subject> for Subject {
    fn from(subject: brake::Subject) -> Self {
        match subject {
            brake::Subject::Machine(machine) => Self::Machine(machine),
            brake::Subject::Other(worker) => Self::Worker(worker),
            brake::Subject::Lost(machine) => Self::Lost(machine),
        }
    }
}

impl From<Subject> for brake::Subject {
    fn from(subject: Subject) -> Self {
        match subject {
            Subject::Machine(machine) => Self::Machine(machine),
            Subject::Worker(worker) => Self::Other(worker),
            Subject::Lost(machine) => Self::Lost(machine),
        }
    }
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub subject: Subject,
    pub name: String,
    /// What would be done, and why.
    pub why: String,
}

impl From<brake::Waiting> for Waiting {
    fn from(brake::Waiting { subject, name, why }: brake::Waiting) -> Self {
        Self { subject: subject.into(), name, why }
    }
}
