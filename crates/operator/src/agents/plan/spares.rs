//! VMs that stand ready ahead of demand.

use std::collections::BTreeSet;

use rookery_crds::agents::Phase;

use super::counts::number;
use super::{Action, Pass, Subject, naming};
use crate::agents::observe::{Purpose, Request, RequestName};

impl Pass<'_> {
    /// Keeps as many as are wanted, and makes those that are missing once everybody who waits is served.
    pub(super) fn keep_spares(&mut self) {
        let mut all: Vec<_> = self
            .live()
            .filter(|(name, request, _)| !self.assigned.contains_key(*name) && self.is_nobodys(name, request))
            .filter_map(|(name, request, status)| {
                let order = match status.phase {
                    Phase::Available => 0,
                    Phase::Provisioning => 1,
                    // One that never appeared is made anew, or told to have failed: not replaced by the next that fails.
                    Phase::Orphaned if request.purpose == Purpose::Spare => 2,
                    Phase::Orphaned | Phase::Bound | Phase::Released | Phase::Other(_) => return None,
                };
                Some((order, request.purpose != Purpose::Spare, name))
            })
            .collect();
        all.sort();
        let wanted = usize::try_from(self.want.spares.number).unwrap_or(usize::MAX);
        self.spares = all.into_iter().take(wanted).map(|(_, _, name)| name).collect();
        let missing = self.want.spares.number.saturating_sub(number(self.spares.len()));
        let mut named = BTreeSet::new();
        for _ in 0..missing {
            let place = match self.room.take(self.want) {
                Ok(place) => place,
                Err(why) => return self.wait(Subject::Spare, why),
            };
            let seen = self.seen;
            let taken =
                |name: &RequestName| seen.requests.contains_key(name) || seen.other_requests.contains(name);
            let (request, vm) = naming::spare(self.want, self.random, &taken, &named);
            named.insert(request.clone());
            self.plan.actions.push(Action::Create { request, vm, purpose: Purpose::Spare, place });
        }
    }

    /// Whether no AgentMachine needs it.
    pub(super) fn is_nobodys(&self, name: &RequestName, request: &Request) -> bool {
        self.purpose(name, request).is_none() || self.is_served_elsewhere(name, request)
    }
}
