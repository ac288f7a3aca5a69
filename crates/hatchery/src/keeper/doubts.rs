//! Addresses of clones that nobody answered for. Such a clone may appear later: nobody else gets its address until it
//! cannot, which the running tasks of the templates tell, or until so much time has passed that it will not. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use jiff::{SignedDuration, Timestamp};

/// After this long a clone will not appear any more, whatever vCenter says.
const LONGEST: SignedDuration = SignedDuration::from_mins(15);
/// An order that is on its way arrives within this.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_mins(1);
/// A clone that has ended is seen within this.
const SEEN: SignedDuration = SignedDuration::from_secs(15);

/// Addresses that somebody may have.
#[derive(Debug, Default)]
pub(super) struct Doubts(BTreeMap<Ipv4Addr, Doubt>);

#[derive(Debug)]
struct Doubt {
    /// When the answer did not come, by our clock.
    since: Timestamp,
    /// Since when no clone runs that could be it.
    ended: Option<Timestamp>,
}

impl Doubts {
    pub(super) fn add(&mut self, address: Ipv4Addr, since: Timestamp) {
        self.0.insert(address, Doubt { since, ended: None });
    }

    /// Forgets what is too long ago.
    pub(super) fn pass(&mut self, now: Timestamp) {
        self.0.retain(|_, doubt| now.duration_since(doubt.since) < LONGEST);
    }

    /// Learns which clones ran at a time, each with its start by a clock that is `skew` ahead; one without a start waits.
    pub(super) fn learn(&mut self, at: Timestamp, skew: SignedDuration, running: &[Option<Timestamp>]) {
        self.0.retain(|_, doubt| {
            let ordered = doubt.since.saturating_add(skew).unwrap_or(Timestamp::MAX);
            let runs = running.iter().any(|started| started.is_none_or(|started| started <= ordered));
            if runs || at.duration_since(doubt.since) < ON_ITS_WAY {
                doubt.ended = None;
                return true;
            }
            at.duration_since(*doubt.ended.get_or_insert(at)) < SEEN
        });
    }

    pub(super) fn addresses(&self) -> BTreeSet<Ipv4Addr> {
        self.0.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
    /// How far vCenter's clock is ahead.
    const SKEW: i64 = 30;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    /// A doubt of second 0, after looks at some seconds, each at clones that run by vCenter's clock.
    fn is_held(looks: &[(i64, &[Option<i64>])]) -> bool {
        let mut doubts = Doubts::default();
        doubts.add(ADDRESS, at(0));
        for (second, running) in looks {
            let running: Vec<_> = running.iter().map(|started| started.map(at)).collect();
            doubts.learn(at(*second), SignedDuration::from_secs(SKEW), &running);
        }
        doubts.addresses().contains(&ADDRESS)
    }

    #[test]
    fn an_address_is_free_once_no_clone_runs_that_could_have_it() {
        let before = Some(SKEW - 1);
        let after = Some(SKEW + 1);
        for (looks, expected) in [
            (&[][..], true),
            // An order may still be on its way, and what has ended may not be seen yet.
            (&[(10, &[][..]), (50, &[])], true),
            (&[(60, &[])], true),
            (&[(60, &[]), (70, &[])], true),
            (&[(60, &[]), (75, &[])], false),
            (&[(60, &[before]), (300, &[before])], true),
            (&[(60, &[before]), (300, &[]), (320, &[])], false),
            (&[(60, &[]), (70, &[before]), (90, &[])], true),
            // Others that began later do not matter; one that waits for its turn may be it.
            (&[(60, &[after]), (80, &[after, after])], false),
            (&[(60, &[None]), (80, &[None])], true),
        ] {
            assert_eq!(is_held(looks), expected, "{looks:?}");
        }
    }

    #[test]
    fn after_a_quarter_of_an_hour_nothing_appears_any_more() {
        let mut doubts = Doubts::default();
        doubts.add(ADDRESS, at(0));
        doubts.pass(at(15 * 60 - 1));
        assert!(!doubts.addresses().is_empty());
        doubts.pass(at(15 * 60));
        assert!(doubts.addresses().is_empty());
    }
}
