//! Why nobody may be deleted at all.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::brake::Loss;
use crate::machine::View;

/// How old a view may be to delete by it.
pub const MAX_VIEW_AGE: Duration = Duration::from_secs(120);

/// How far the supplier's clock may be from ours.
pub const MAX_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// How old the evidence of a front may be to do something by it that cannot be undone.
pub const MAX_EVIDENCE_AGE: SignedDuration = SignedDuration::from_secs(60);

/// What a front was told by others about what runs in its machines: a list that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// What is listed, for people.
    pub of: &'static str,
    /// When it was asked for, by our clock; `None`: the last one failed.
    pub begun: Option<Timestamp>,
}

/// What everything is judged by that cannot be undone.
#[derive(Debug)]
pub struct Grounds<'a, M> {
    /// The machines.
    pub view: &'a View<M>,
    /// The supplier's time less ours; `None` is not known.
    pub skew: Option<SignedDuration>,
    /// What the front was told.
    pub evidence: Evidence,
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
    /// The front's evidence could not be had.
    NoEvidence {
        /// What was to be listed.
        of: &'static str,
    },
    /// It could not be had of late.
    OldEvidence {
        /// What is listed.
        of: &'static str,
        /// How old the last list is.
        age: SignedDuration,
    },
    /// The view has lost unusually many machines.
    Lost(Loss),
}

/// What stops every deletion, whatever it is for, and whatever else cannot be undone.
pub fn stop_reason<M>(grounds: &Grounds<'_, M>) -> Option<Stop> {
    let Grounds { view, skew, evidence, ours, loss } = *grounds;
    if !view.complete {
        Some(Stop::Incomplete)
    } else if view.age >= MAX_VIEW_AGE {
        Some(Stop::Outdated { age: view.age })
    } else {
        match skew {
            None => Some(Stop::SkewUnknown),
            Some(skew) if skew.unsigned_abs() > MAX_SKEW.unsigned_abs() => Some(Stop::Skew { skew }),
            Some(_) => loss.map(Stop::Lost).or_else(|| stale(evidence, ours)),
        }
    }
}

/// What was told a while ago may be wrong by now.
fn stale(Evidence { of, begun }: Evidence, ours: Timestamp) -> Option<Stop> {
    let Some(begun) = begun else { return Some(Stop::NoEvidence { of }) };
    let age = ours.duration_since(begun);
    (age > MAX_EVIDENCE_AGE).then_some(Stop::OldEvidence { of, age })
}

impl Stop {
    /// Its label.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Outdated { .. } => "outdated",
            Self::Skew { .. } => "skew",
            Self::SkewUnknown => "skew_unknown",
            Self::NoEvidence { .. } => "no_listing",
            Self::OldEvidence { .. } => "old_listing",
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
            Self::NoEvidence { of } => write!(f, "the {of} could not be listed"),
            Self::OldEvidence { of, age } => {
                write!(
                    f,
                    "the list of {of} is {} s old, {} s are allowed",
                    age.as_secs(),
                    MAX_EVIDENCE_AGE.as_secs()
                )
            }
            Self::Lost(loss) => loss.fmt(f),
        }
    }
}
