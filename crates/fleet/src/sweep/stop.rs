//! Why nobody may be deleted at all.

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;

use crate::machine::View;

/// How old a view may be to delete by it.
pub const MAX_VIEW_AGE: Duration = Duration::from_secs(120);

/// How far the supplier's clock may be from ours.
pub const MAX_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// Why nobody may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Not all machines are known.
    Incomplete,
    /// The view is old.
    Outdated {
        /// How old.
        age: Duration,
    },
    /// The clocks differ.
    Skew {
        /// The supplier's time less ours.
        skew: SignedDuration,
    },
    /// Whether the clocks differ is not known.
    SkewUnknown,
    /// The server's workers could not be listed.
    NoListing,
}

/// What stops every deletion, whatever it is for.
pub(crate) fn stop_reason(view: &View, skew: Option<SignedDuration>) -> Option<Stop> {
    if !view.complete {
        Some(Stop::Incomplete)
    } else if view.age >= MAX_VIEW_AGE {
        Some(Stop::Outdated { age: view.age })
    } else {
        match skew {
            None => Some(Stop::SkewUnknown),
            Some(skew) if skew.unsigned_abs() > MAX_SKEW.unsigned_abs() => Some(Stop::Skew { skew }),
            Some(_) => None,
        }
    }
}

impl Stop {
    /// Its label.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Outdated { .. } => "outdated",
            Self::Skew { .. } => "skew",
            Self::SkewUnknown => "skew_unknown",
            Self::NoListing => "no_listing",
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => f.write_str("the inventory is not complete"),
            Self::Outdated { age } => {
                write!(
                    f,
                    "the inventory is {} s old, {} s are allowed",
                    age.as_secs(),
                    MAX_VIEW_AGE.as_secs()
                )
            }
            Self::Skew { skew } => {
                write!(
                    f,
                    "the inventory's clock is {} s from ours, {} s are allowed",
                    skew.as_secs(),
                    MAX_SKEW.as_secs()
                )
            }
            Self::SkewUnknown => f.write_str("the inventory's time is not known"),
            Self::NoListing => f.write_str("the workers could not be listed"),
        }
    }
}
