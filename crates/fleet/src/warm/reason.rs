//! Why warm machines are missing, and why some go.

use jiff::{SignedDuration, Timestamp};

use crate::capacity::Shortage;

/// Why warm machines are missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaitReason {
    #[error("the inventory is not complete")]
    Incomplete,
    /// Machines not told yet may be the missing ones.
    #[error("{machines} machines are not known yet")]
    Unknown { machines: u32 },
    #[error("its template is not in the inventory")]
    Template,
    /// The template cannot be cloned now.
    #[error("{0}")]
    NotNow(String),
    #[error("flavor {0:?} is not configured")]
    Flavor(String),
    #[error("the last attempt failed; the next one is at {until:.0}")]
    Resting { until: Timestamp },
    #[error("at most {size} are made at once")]
    PoolSize { size: usize },
    #[error("{0}")]
    Capacity(Shortage),
    /// Which addresses are free is not known yet.
    #[error("clones that run in vCenter may hold addresses; none is given out until they have ended")]
    AddressesNotYet,
    #[error("no address is free")]
    NoAddress,
}

impl WaitReason {
    /// Its label in metrics and JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Unknown { .. } => "unknown",
            Self::Template => "template_missing",
            Self::NotNow(_) => "template_not_now",
            Self::Flavor(_) => "flavor_unknown",
            Self::Resting { .. } => "resting",
            Self::PoolSize { .. } => "pool_size",
            Self::Capacity(shortage) => shortage.as_str(),
            Self::AddressesNotYet => "addresses_not_yet",
            Self::NoAddress => "no_address",
        }
    }
}

/// Why a warm machine goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Removal {
    #[error("no warm machine of its kind is configured")]
    NotWanted,
    #[error("there are {have} of its kind, and {number} are configured")]
    Excess { have: u32, number: u32 },
    #[error("its template has changed")]
    Stale,
    /// Its flavor was given a larger disk since it was made.
    #[error("its first disk is smaller than its flavor says now")]
    SmallDisk,
    #[error("it is {:#} old, {:#} are allowed", whole(*age), whole(*limit))]
    TooOld { age: SignedDuration, limit: SignedDuration },
    /// It was kept for somebody to look at, and that has ended.
    #[error("it is no longer kept to be looked at")]
    HoldEnded,
}

fn whole(time: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(time.as_secs())
}

impl Removal {
    /// Its label in metrics and JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotWanted => "not_wanted",
            Self::Excess { .. } => "excess",
            Self::Stale => "stale",
            Self::SmallDisk => "small_disk",
            Self::TooOld { .. } => "too_old",
            Self::HoldEnded => "hold_ended",
        }
    }
}
