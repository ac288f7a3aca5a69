//! Why warm machines are missing, and why some go.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::capacity::Shortage;

/// Why warm machines are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// Not all machines are known.
    Incomplete,
    /// Machines not told yet may be the missing ones.
    Unknown {
        machines: u32,
    },
    Template,
    /// The template cannot be cloned now.
    NotNow(String),
    /// Its flavor is not configured.
    Flavor(String),
    Resting {
        until: Timestamp,
    },
    PoolSize {
        size: usize,
    },
    Capacity(Shortage),
    /// Which addresses are free is not known yet.
    AddressesNotYet,
    /// There is no free address.
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

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => f.write_str("the inventory is not complete"),
            Self::Unknown { machines } => write!(f, "{machines} machines are not known yet"),
            Self::Template => f.write_str("its template is not in the inventory"),
            Self::NotNow(reason) => f.write_str(reason),
            Self::Flavor(name) => write!(f, "flavor {name:?} is not configured"),
            Self::Resting { until } => write!(f, "it failed and is tried again at {until:.0}"),
            Self::PoolSize { size } => write!(f, "at most {size} are made at once"),
            Self::Capacity(shortage) => shortage.fmt(f),
            Self::AddressesNotYet => f.write_str("clones that may hold addresses are still running"),
            Self::NoAddress => f.write_str("no address is free"),
        }
    }
}

/// Why a warm machine goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Nobody wishes for its kind.
    NotWanted,
    /// There are more than wished for.
    Excess {
        have: u32,
        /// How many are wished for.
        number: u32,
    },
    Stale,
    /// Its flavor was given a larger disk since it was made.
    SmallDisk,
    TooOld {
        age: SignedDuration,
        limit: SignedDuration,
    },
    /// It was kept for somebody to look at, and that has ended.
    HoldEnded,
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

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWanted => f.write_str("no warm machine of its kind is wished for"),
            Self::Excess { have, number } => write!(f, "there are {have}, {number} are wished for"),
            Self::Stale => f.write_str("its template has changed"),
            Self::SmallDisk => f.write_str("its first disk is smaller than its flavor says now"),
            Self::TooOld { age, limit } => {
                let whole = |time: &SignedDuration| SignedDuration::from_secs(time.as_secs());
                write!(f, "it is {:#} old, {:#} are allowed", whole(age), whole(limit))
            }
            Self::HoldEnded => f.write_str("it is no longer kept to be looked at"),
        }
    }
}
