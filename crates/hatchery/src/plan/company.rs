//! Workers that CDS knows and that have no machine. One look proves nothing: a listing and a view are never of the same
//! moment.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rookery_fleet::workers::without_machine;

use super::Pass;

/// Workers that had no machine, and by which listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspects {
    names: BTreeSet<String>,
    listed: Option<Timestamp>,
}

impl Pass<'_> {
    /// Who has no machine in two listings in a row, each seen beside a complete view, is to be disabled; vCenter is asked
    /// for the machine that was theirs before.
    pub(super) fn find_orphans(&mut self) {
        let before = self.seen.suspects;
        // What is old disables nobody, and who was missed before is looked at anew.
        if self.stop.is_some() {
            return;
        }
        let Some(listing) = self.seen.listing else { return };
        if before.listed == Some(listing.begun) {
            self.plan.suspects = before.clone();
            return;
        }
        let Some(mut lost) = without_machine(self.seen.view, listing) else { return };
        lost.retain(|name| !self.busy.has_name(name));
        let (v1, references) = (self.seen.v1_workers, self.seen.references);
        let can_be = |name: &String| v1.contains(name) && references.contains_key(name);
        let twice = lost.intersection(&before.names).cloned();
        (self.plan.disable, self.plan.orphans) = twice.partition(can_be);
        self.plan.suspects = Suspects { names: lost, listed: Some(listing.begun) };
    }
}
