//! When vCenter is asked what it remembers of machines whose marks do not tell when they started: for all of them
//! together, one query at a time, and rarely.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::machine::Hands;
use crate::names::POOLED;
use jiff::Timestamp;
use rookery_fleet::MachineId;
use rookery_fleet::machine::History;
use rookery_vim_client::CallError;
use tokio::time::Instant;

use super::State;

/// After a query. Machines that are found without a start time meanwhile are asked for together.
const REST: Duration = Duration::from_mins(1);
/// After failures in a row the rest doubles, but not beyond this.
const LONGEST_REST: Duration = Duration::from_mins(16);
/// A query that has not ended by then never will.
const LOST: Duration = Duration::from_mins(15);

/// Whether a query is under way, and when the next one may begin.
#[derive(Debug, Clone, Default)]
pub(super) struct Histories {
    asked: Option<Instant>,
    rests_until: Option<Instant>,
    failures: u32,
}

impl Histories {
    /// Whom to ask about now. What it gives counts as asked.
    pub(super) fn due(&mut self, needed: &[MachineId], now: Instant) -> Vec<MachineId> {
        let under_way = self.asked.is_some_and(|asked| now < asked + LOST);
        let rests = self.rests_until.is_some_and(|until| now < until);
        if needed.is_empty() || under_way || rests {
            return Vec::new();
        }
        self.asked = Some(now);
        needed.to_vec()
    }

    pub(super) fn ended(&mut self, answered: bool, now: Instant) {
        self.asked = None;
        self.failures = if answered { 0 } else { self.failures.saturating_add(1) };
        let rest = REST.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST_REST);
        self.rests_until = Some(now + rest);
    }
}

impl State {
    /// Takes in what a query brought; nothing if it failed.
    pub(super) fn apply_histories(&mut self, told: Option<BTreeMap<MachineId, Option<History>>>) {
        self.vsphere.histories.ended(told.is_some(), Instant::now());
        self.vsphere.events.extend(told.unwrap_or_default());
    }
}

/// What vCenter remembers of these machines, which were made then.
pub(super) async fn read(
    hands: &Hands,
    machines: &BTreeMap<MachineId, Option<Timestamp>>,
) -> Result<BTreeMap<MachineId, Option<History>>, CallError> {
    // On the heap: it would make whoever waits for it large.
    Box::pin(hands.histories(machines, POOLED)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<MachineId> {
        names.iter().map(|name| MachineId::new(*name)).collect()
    }

    #[test]
    fn all_are_asked_for_together_and_nobody_while_a_query_is_under_way() {
        let (mut histories, start) = (Histories::default(), Instant::now());
        assert_eq!(histories.due(&[], start), []);
        assert_eq!(histories.due(&ids(&["a", "b"]), start), ids(&["a", "b"]));
        assert_eq!(histories.due(&ids(&["a", "b", "c"]), start + Duration::from_secs(800)), []);
        histories.ended(true, start + Duration::from_secs(800));
        assert_eq!(histories.due(&ids(&["c"]), start + Duration::from_secs(859)), []);
        assert_eq!(histories.due(&ids(&["c"]), start + Duration::from_secs(860)), ids(&["c"]));
        // The task that asked has vanished.
        assert_eq!(histories.due(&ids(&["c"]), start + Duration::from_secs(1759)), []);
        assert_eq!(histories.due(&ids(&["c"]), start + Duration::from_secs(1760)), ids(&["c"]));
    }

    #[test]
    fn after_failures_vcenter_is_asked_ever_more_rarely() {
        let (mut histories, mut now) = (Histories::default(), Instant::now());
        let needed = ids(&["a"]);
        for minutes in [2, 4, 8, 16, 16] {
            assert_eq!(histories.due(&needed, now), needed);
            histories.ended(false, now);
            let rest = Duration::from_mins(minutes);
            assert_eq!(histories.due(&needed, now + rest - Duration::from_secs(1)), []);
            now += rest;
        }
        assert_eq!(histories.due(&needed, now), needed);
        histories.ended(true, now);
        assert_eq!(histories.due(&needed, now + REST), needed);
    }
}
