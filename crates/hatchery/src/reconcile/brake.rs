//! What the brake is told, and what a person tells it.

use crate::machine::Machine;
use crate::plan::braked::Subject;
use jiff::Timestamp;
use rookery_daemon::telemetry::chain;
use rookery_fleet::brake::{WINDOW, Weight};
use rookery_fleet::{MachineId, OwnerId};
use tracing::{info, warn};

use super::{Message, Reconciler, Reply, State};
use crate::mark::Mark;
use crate::plan::Plan;
use crate::plan::sweep::weight;
use crate::surface::metrics::Leak;

impl State {
    /// Notes which machines are in sight, since when, and which machine each worker is or was in.
    pub(super) fn keep_watch(&mut self, owner: &OwnerId) {
        self.reckoning.look(&self.view, owner, Mark::times, self.server_now());
        let busy = self.running.index();
        self.brake.look(&self.view, owner, &|machine: &Machine| busy.has(machine), self.now);
        self.references.look(&self.view, owner, self.listing.as_ref(), self.now);
        for vm in self.out_of_reach.look(&self.view, owner, self.now) {
            warn!(
                vm,
                "vCenter has not reached this VM for an hour; it keeps its slot and its address until somebody repairs or removes it"
            );
        }
    }

    /// Notes what is about to be deleted.
    pub(super) fn note_deletions(&mut self, plan: &Plan, owner: &OwnerId) {
        for (id, reason) in &plan.sweep.delete {
            let machine = self.view.machines.get(id);
            let weight = machine.map_or(Weight::None, |machine| weight(machine, owner, reason));
            self.brake.deletes(id, weight, self.now);
        }
        for id in plan.remove.iter().map(|(id, _)| id).chain(&plan.retire) {
            self.brake.deletes(id, Weight::None, self.now);
        }
    }

    /// Lets through what a person has seen, as far as it waits.
    pub(super) fn confirm(&mut self, list: &[Subject], now: Timestamp) -> usize {
        let waiting = self.braked.iter().map(|waiting| &waiting.subject);
        let confirmed: Vec<_> = waiting.filter(|subject| list.contains(subject)).cloned().collect();
        let count = confirmed.len();
        self.brake.confirm(confirmed.into_iter().map(Into::into), now);
        count
    }
}

impl Reconciler {
    pub(super) fn apply_confirmation(&mut self, list: &[Subject], reply: Reply) {
        let count = self.state.confirm(list, self.context.clock.steady());
        let answer = if count == 0 {
            Err("nothing of this list waits any more".to_owned())
        } else {
            info!(count, "what the brake held back was confirmed");
            Ok(format!("{count} of {} go on, within {} minutes", list.len(), WINDOW.as_mins()))
        };
        reply.send(answer).ok();
    }

    /// Tells of workers that have no machine and that cannot be disabled, or are not: each once.
    pub(super) fn tell_of_orphans(&mut self, plan: &Plan) {
        for name in &plan.orphans {
            if self.state.missed.insert(name.clone()) {
                self.context.metrics.leak_found(Leak::WorkerWithoutMachine);
                warn!(worker = name, "worker has no machine; CDS will notice that it does not answer");
            }
        }
    }

    /// Disables a V1 worker whose machine is gone, if vCenter says so when it is asked for that machine.
    pub(super) fn disable(&mut self, name: &str, machine: &MachineId) {
        let known = self.state.workers.iter().find(|worker| worker.name == name);
        let (Some(worker), Some(v1)) = (known.cloned(), self.context.cds.v1().cloned()) else { return };
        let (context, machine) = (self.context.clone(), machine.clone());
        self.supervisor.spawn_until_stopped("disabling of a worker", async move {
            match context.hands.is_gone(&machine).await {
                Ok(true) => {}
                Ok(false) => {
                    return warn!(worker = %worker.name, moref = %machine, "worker is not disabled: its VM is there");
                }
                Err(error) => {
                    return warn!(worker = %worker.name, moref = %machine, error = %chain(&error), "worker is not disabled: whether its VM is gone cannot be said");
                }
            }
            match v1.disable(&worker).await {
                Ok(()) => {
                    context.metrics.leak_found(Leak::WorkerWithoutMachine);
                    warn!(worker = %worker.name, "worker that has no machine was disabled");
                    context.reconciler.send(Message::Disabled(worker.name)).await.ok();
                }
                Err(error) => {
                    warn!(worker = %worker.name, error = %chain(&error), "worker could not be disabled");
                }
            }
        });
    }
}
