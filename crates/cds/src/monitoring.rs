//! What a hatchery tells of itself in its heartbeats.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of a hatchery at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitoringStatus {
    /// When it was so.
    pub now: Timestamp,
    /// One line per component, in the order in which they are shown.
    pub lines: Vec<Line>,
}

/// The state of one component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// How well it is.
    pub status: LineStatus,
    /// What it is, such as `Version` or `goroutine/queuePolling`.
    pub component: String,
    /// What there is to say.
    pub value: String,
    /// The kind of service: `hatchery`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The hatchery's name.
    pub service: String,
    /// The machine it runs on.
    pub hostname: String,
}

/// How well a component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LineStatus {
    #[serde(rename = "OK")]
    Ok,
    /// Somebody should look some time.
    #[serde(rename = "WARN")]
    Warn,
    /// Somebody must look now.
    #[serde(rename = "AL")]
    Alarm,
}
