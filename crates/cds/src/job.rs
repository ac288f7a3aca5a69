//! Which job, and how far it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A job of a V1 workflow: a positive number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct V1JobId(i64);

/// A job of a V2 workflow: a UUID in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct V2JobId(String);

/// A job of either kind. What is a UUID is a V2 job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobId {
    /// Of a V1 workflow.
    V1(V1JobId),
    /// Of a V2 workflow.
    V2(V2JobId),
}

/// A text or number that names no job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not the id of a job: a V1 job has a positive number, a V2 job a UUID")]
pub struct InvalidJobId {
    given: String,
}

/// Digits of each group of a UUID.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

impl V1JobId {
    pub fn number(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for V1JobId {
    type Error = InvalidJobId;
    fn try_from(given: i64) -> Result<Self, InvalidJobId> {
        if given > 0 { Ok(Self(given)) } else { Err(InvalidJobId { given: given.to_string() }) }
    }
}

impl From<V1JobId> for i64 {
    fn from(job: V1JobId) -> Self {
        job.0
    }
}

impl fmt::Display for V1JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl V2JobId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for V2JobId {
    type Error = InvalidJobId;
    fn try_from(given: String) -> Result<Self, InvalidJobId> {
        let is_hex = |group: &str| group.chars().all(|c| c.is_ascii_hexdigit());
        let fits = given.split('-').map(str::len).eq(GROUPS) && given.split('-').all(is_hex);
        if fits { Ok(Self(given.to_ascii_lowercase())) } else { Err(InvalidJobId { given }) }
    }
}

impl From<V2JobId> for String {
    fn from(job: V2JobId) -> Self {
        job.0
    }
}

impl fmt::Display for V2JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for JobId {
    type Err = InvalidJobId;
    fn from_str(text: &str) -> Result<Self, InvalidJobId> {
        if let Ok(job) = V2JobId::try_from(text.to_owned()) {
            return Ok(Self::V2(job));
        }
        let number: Result<i64, _> = text.parse();
        let job = number.ok().and_then(|number| V1JobId::try_from(number).ok());
        job.map(Self::V1).ok_or_else(|| InvalidJobId { given: text.to_owned() })
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V1(job) => job.fmt(f),
            Self::V2(job) => job.fmt(f),
        }
    }
}

impl From<V1JobId> for JobId {
    fn from(job: V1JobId) -> Self {
        Self::V1(job)
    }
}

impl From<V2JobId> for JobId {
    fn from(job: V2JobId) -> Self {
        Self::V2(job)
    }
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobStatus {
    Blocked,
    Waiting,
    /// Taken by a hatchery (V2).
    Scheduling,
    /// Taken by a worker.
    Building,
    Retrying,
    Fail,
    Stopped,
    Success,
    Cancelled,
    Skipped,
    /// A status that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl JobStatus {
    /// Whether the job is over.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Fail | Self::Stopped | Self::Success | Self::Cancelled | Self::Skipped => true,
            Self::Blocked
            | Self::Waiting
            | Self::Scheduling
            | Self::Building
            | Self::Retrying
            | Self::Other(_) => false,
        }
    }
}

/// As CDS writes it.
impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Default for JobStatus {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "6ec08f8c-2b9f-4e0a-81ab-5e980012400a";

    #[test]
    fn a_uuid_is_a_v2_job_and_a_positive_number_a_v1_job() {
        assert_eq!(UUID.parse(), Ok(JobId::V2(V2JobId(UUID.to_owned()))));
        assert_eq!(UUID.to_uppercase().parse::<JobId>().unwrap().to_string(), UUID);
        assert_eq!("1234".parse(), Ok(JobId::V1(V1JobId(1234))));
        for bad in
            ["", "0", "-1", "9223372036854775808", "x", "6ec08f8c2b9f4e0a81ab5e980012400a", "../../worker"]
        {
            assert!(bad.parse::<JobId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_unknown_status_is_kept() {
        let read = |text: &str| serde_json::from_str::<JobStatus>(text).unwrap();
        assert_eq!(read("\"Waiting\""), JobStatus::Waiting);
        assert_eq!(read("\"Pending\""), JobStatus::Other("Pending".to_owned()));
        assert_eq!(serde_json::to_string(&JobStatus::Other("Pending".to_owned())).unwrap(), "\"Pending\"");
        assert_eq!(JobStatus::Waiting.to_string(), "Waiting");
        assert_eq!(JobStatus::Other("Pending".to_owned()).to_string(), "Pending");
    }

    proptest! {
        #[test]
        fn what_is_read_is_printed_the_same(number in 1..i64::MAX, text in any::<String>()) {
            prop_assert_eq!(number.to_string().parse::<JobId>().unwrap().to_string(), number.to_string());
            drop(text.parse::<JobId>());
        }
    }
}
