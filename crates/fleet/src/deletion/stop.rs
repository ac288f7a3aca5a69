//! Why nobody may be deleted at all.

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
    pub view: &'a View<M>,
    /// The supplier's time less ours; `None` is not known.
    pub skew: Option<SignedDuration>,
    /// What the front was told.
    pub evidence: Evidence,
    pub ours: Timestamp,
    /// Whether the view has lost unusually many machines.
    pub loss: Option<Loss>,
}

/// Why nobody may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("the inventory is not complete")]
    Incomplete,
    #[error("the inventory is {} s old, {} s are allowed", age.as_secs(), MAX_VIEW_AGE.as_secs())]
    Outdated { age: Duration },
    #[error("the inventory's clock is {} s from ours, {} s are allowed", skew.as_secs(), MAX_SKEW.as_secs())]
    Skew {
        /// The supplier's time less ours.
        skew: SignedDuration,
    },
    #[error("the inventory's clock is not known")]
    SkewUnknown,
    /// The front's evidence could not be had.
    #[error("the {of} could not be listed")]
    NoEvidence {
        /// What was to be listed.
        of: &'static str,
    },
    /// It could not be had of late.
    #[error("the list of {of} is {} s old, {} s are allowed", age.as_secs(), MAX_EVIDENCE_AGE.as_secs())]
    OldEvidence {
        of: &'static str,
        /// How old the last list is.
        age: SignedDuration,
    },
    /// The view has lost unusually many machines.
    #[error("{0}")]
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
    /// Its label in metrics and JSON.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brake::Brake;
    use crate::samples::{Mark, OWNER, at, marked, view};

    const NOW: &str = "12:00:00";

    fn stop(view: &View<Mark>, skew: Option<i64>, begun: Option<&str>, loss: Option<Loss>) -> Option<Stop> {
        let skew = skew.map(SignedDuration::from_secs);
        // The supplier's time is noon.
        let ours = at(NOW).saturating_sub(skew.unwrap_or_default()).expect("a time");
        let evidence = Evidence { of: "nodes", begun: begun.map(at) };
        stop_reason(&Grounds { view, skew, evidence, ours, loss })
    }

    #[test]
    fn nothing_is_deleted_by_half_knowledge() {
        let begun = Some("11:59:50");
        let whole = view([marked("x", |_| {})]);
        assert_eq!(stop(&whole, Some(0), begun, None), None);

        let incomplete = View { complete: false, ..whole.clone() };
        assert_eq!(stop(&incomplete, Some(0), begun, None), Some(Stop::Incomplete));
        let aged = |secs| View { age: Duration::from_secs(secs), ..whole.clone() };
        assert_eq!(stop(&aged(119), Some(0), begun, None), None);
        let outdated = Stop::Outdated { age: Duration::from_secs(120) };
        assert_eq!(stop(&aged(120), Some(0), begun, None), Some(outdated));
        for (seconds, stopped) in [(60, None), (61, Some("skew")), (-60, None), (-61, Some("skew"))] {
            let found = stop(&whole, Some(seconds), Some("12:00:30"), None);
            assert_eq!(found.map(|stop| stop.as_str()), stopped, "{seconds}");
        }
        assert_eq!(stop(&whole, None, begun, None), Some(Stop::SkewUnknown));
        assert_eq!(stop(&whole, Some(0), None, None), Some(Stop::NoEvidence { of: "nodes" }));
    }

    #[test]
    fn old_evidence_deletes_nobody() {
        let whole = view([marked("x", |_| {})]);
        let old = |secs| Some(Stop::OldEvidence { of: "nodes", age: SignedDuration::from_secs(secs) });
        for (begun, stopped) in [("11:59:00", None), ("11:58:59", old(61)), ("11:00:00", old(3600))] {
            assert_eq!(stop(&whole, Some(0), Some(begun), None), stopped, "{begun}");
        }
    }

    #[test]
    fn a_view_that_has_lost_unusually_many_deletes_nobody() {
        let names = ["a", "b", "c", "d", "e"];
        let whole = view(names.map(|name| marked(name, |_| {})));
        let mut brake = Brake::default();
        brake.look(&whole, &OWNER, &|_| false, at("11:50:00"));
        assert_eq!(stop(&whole, Some(0), Some(NOW), brake.loss()), None);
        let rest = view([marked("a", |_| {})]);
        brake.look(&rest, &OWNER, &|_| false, at("11:59:00"));
        let lost = Some(Stop::Lost(Loss { lost: 4, of: 5 }));
        assert_eq!(stop(&rest, Some(0), Some(NOW), brake.loss()), lost);
        assert_eq!(stop(&rest, Some(0), None, brake.loss()), lost, "that weighs more than missing evidence");
    }

    #[test]
    fn each_reason_speaks_to_people_and_has_a_label() {
        let age = SignedDuration::from_secs(61);
        for (stop, label, text) in [
            (Stop::Incomplete, "incomplete", "the inventory is not complete"),
            (
                Stop::Outdated { age: Duration::from_secs(120) },
                "outdated",
                "the inventory is 120 s old, 120 s are allowed",
            ),
            (Stop::Skew { skew: age }, "skew", "the inventory's clock is 61 s from ours, 60 s are allowed"),
            (Stop::SkewUnknown, "skew_unknown", "the inventory's clock is not known"),
            (Stop::NoEvidence { of: "nodes" }, "no_listing", "the nodes could not be listed"),
            (
                Stop::OldEvidence { of: "nodes", age },
                "old_listing",
                "the list of nodes is 61 s old, 60 s are allowed",
            ),
            (Stop::Lost(Loss { lost: 4, of: 5 }), "lost", "4 of 5 VMs have vanished from the inventory"),
        ] {
            assert_eq!((stop.as_str(), stop.to_string().as_str()), (label, text));
        }
    }
}
