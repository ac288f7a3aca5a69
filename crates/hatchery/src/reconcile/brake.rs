//! What the brake is told, and what a person tells it.

use crate::machine::Machine;
use crate::plan::braked::Subject;
use jiff::Timestamp;
use rookery_fleet::OwnerId;
use rookery_fleet::brake::WINDOW;
use tracing::{info, warn};

use super::{Reconciler, Reply, State};
use crate::mark::Mark;
use crate::plan::Plan;
use crate::surface::metrics::Leak;

impl State {
    /// Notes which machines are in sight, since when, and which machine each worker is or was in.
    pub(super) fn keep_watch(&mut self, owner: &OwnerId) {
        self.times.reckoning.look(&self.vsphere.view, owner, Mark::times, self.server_now());
        let busy = self.running.index();
        self.vsphere.brake.look(
            &self.vsphere.view,
            owner,
            &|machine: &Machine| busy.has(machine),
            self.times.now,
        );
        self.vsphere.references.look(&self.vsphere.view, owner, self.cds.listing.as_ref(), self.times.now);
        for vm in self.vsphere.out_of_reach.look(&self.vsphere.view, owner, self.times.now) {
            warn!(
                vm,
                "vCenter has not reached this VM for an hour; it keeps its slot and its address until somebody repairs or removes it"
            );
        }
    }

    /// Lets through what a person has seen, as far as it waits.
    pub(super) fn confirm(&mut self, list: &[Subject], now: Timestamp) -> usize {
        let waiting = self.braked.iter().map(|waiting| &waiting.subject);
        let confirmed: Vec<_> = waiting.filter(|subject| list.contains(subject)).cloned().collect();
        let count = confirmed.len();
        self.vsphere.brake.confirm(confirmed.into_iter().map(Into::into), now);
        count
    }
}

impl Reconciler {
    pub(super) fn apply_confirmation(&mut self, list: &[Subject], reply: Reply) {
        let count = self.state.confirm(list, self.context.clock.steady());
        let answer = if count == 0 {
            Err("nothing of this list is held back any more".to_owned().into())
        } else {
            info!(count, "what the brake held back was confirmed");
            Ok(format!(
                "{count} of {} held back are let through: they may be deleted or disabled within {} minutes",
                list.len(),
                WINDOW.as_mins()
            ))
        };
        reply.tell(answer);
    }

    /// Tells of workers that have no machine and that cannot be disabled, or are not: each once.
    pub(super) fn tell_of_orphans(&mut self, plan: &Plan) {
        for name in &plan.orphans {
            if self.state.said.orphans.insert(name.clone()) {
                self.context.metrics.leak_found(Leak::WorkerWithoutMachine);
                warn!(worker = name, "worker has no machine; CDS will notice that it does not answer");
            }
        }
    }
}
