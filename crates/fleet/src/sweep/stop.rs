//! Why nobody may be deleted at all.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::brake::Loss;
use crate::machine::View;
use crate::workers::Listing;

/// How old a view may be to delete by it.
pub const MAX_VIEW_AGE: Duration = Duration::from_secs(120);

/// How far the supplier's clock may be from ours.
pub const MAX_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// How old a list of workers may be to delete by it, disable workers or give jobs back.
pub const MAX_LISTING_AGE: SignedDuration = SignedDuration::from_secs(60);

/// What everything is judged by that cannot be undone.
#[derive(Debug, Clone, Copy)]
pub struct Grounds<'a> {
    /// The machines.
    pub view: &'a View,
    /// The supplier's time less ours; `None` is not known.
    pub skew: Option<SignedDuration>,
    /// The workers that the server lists; `None` is a listing that failed.
    pub listing: Option<&'a Listing>,
    /// Our steady time.
    pub ours: Timestamp,
    /// Whether the view has lost unusually many machines.
    pub loss: Option<Loss>,
}

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
    /// They could not be listed of late.
    OldListing {
        /// How old the last list is.
        age: SignedDuration,
    },
    /// The view has lost unusually many machines.
    Lost(Loss),
}

/// What stops every deletion, whatever it is for, and all that is told to the server about workers.
pub fn stop_reason(grounds: &Grounds<'_>) -> Option<Stop> {
    let Grounds { view, skew, listing, ours, loss } = *grounds;
    if !view.complete {
        Some(Stop::Incomplete)
    } else if view.age >= MAX_VIEW_AGE {
        Some(Stop::Outdated { age: view.age })
    } else {
        match skew {
            None => Some(Stop::SkewUnknown),
            Some(skew) if skew.unsigned_abs() > MAX_SKEW.unsigned_abs() => Some(Stop::Skew { skew }),
            Some(_) => loss.map(Stop::Lost).or_else(|| stale(listing, ours)),
        }
    }
}

/// What CDS said a while ago may be wrong by now: its workers come and go.
fn stale(listing: Option<&Listing>, ours: Timestamp) -> Option<Stop> {
    let Some(listing) = listing else { return Some(Stop::NoListing) };
    let age = ours.duration_since(listing.begun);
    (age > MAX_LISTING_AGE).then_some(Stop::OldListing { age })
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
            Self::OldListing { .. } => "old_listing",
            Self::Lost(_) => "lost",
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
            Self::OldListing { age } => {
                write!(
                    f,
                    "the list of workers is {} s old, {} s are allowed",
                    age.as_secs(),
                    MAX_LISTING_AGE.as_secs()
                )
            }
            Self::Lost(loss) => write!(f, "{loss}; `rookery hatchery confirm` shows them"),
        }
    }
}
