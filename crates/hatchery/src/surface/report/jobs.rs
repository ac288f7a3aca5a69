//! Jobs as people and programs ask for them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How far a job is, as this hatchery knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Waiting,
    /// A worker is on its way.
    Starting,
    /// A worker was launched.
    Served,
    Ended,
    /// CDS has it, and it is not in the queue of this hatchery.
    #[default]
    Unknown,
}

/// What is known of a job. What is not known is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobLine {
    pub job: String,
    pub state: JobState,
    pub model: Option<String>,
    pub machine: Option<String>,
    /// Since when it waits, as CDS says.
    pub queued: Option<Timestamp>,
    /// When its start began, when its worker was launched, and when that was seen to be over, by the clock of this machine.
    pub begun: Option<Timestamp>,
    pub launched: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// How CDS says that it has ended.
    pub status: Option<String>,
    /// Why it waits: a word.
    pub reason: Option<String>,
    pub why: String,
    /// Whether waiting alone will not help.
    pub permanent: bool,
}

impl JobState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Served => "served",
            Self::Ended => "ended",
            Self::Unknown => "unknown",
        }
    }
}
