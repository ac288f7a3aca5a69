//! Machines with our mark that are left alone: they are told of, and become ours or nobody's because somebody asks for it.

use super::{Reconciler, Reply};
use crate::mark::unmarked_notes;
use crate::plan::{adoptable_copy, apart, copy_named};
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use std::collections::BTreeSet;
use tracing::{info, warn};

impl Reconciler {
    /// Tells of each machine once.
    pub(super) fn tell_of_apart(&mut self) {
        let found = apart(&self.state.vsphere.view, &self.context.owner());
        for one in found.iter().filter(|one| !self.state.said.apart.contains(&one.machine)) {
            let (why, remedy) = (one.why, one.remedy());
            warn!(vm = %one.name, moref = %one.machine, %why, %remedy, "machine is left alone");
        }
        let told: BTreeSet<MachineId> = found.into_iter().map(|one| one.machine).collect();
        self.state.said.apart = told;
    }

    pub(super) fn adopt_copy(&mut self, which: &str, reply: Reply) {
        let owner = self.context.owner();
        match adoptable_copy(&self.state.vsphere.view, &owner, which) {
            Err(why) => drop(reply.send(Err(why))),
            Ok(copy) => {
                let hands = self.context.hands.clone();
                self.supervisor.spawn_until_stopped("adoption of a copy", async move {
                    let adopted = hands.adopt_copy(&copy.machine, &owner).await;
                    info!(vm = %copy.name, moref = %copy.machine, done = adopted.is_ok(), "adoption of a copy was asked for");
                    let done = format!("{} ({}) is a machine of this hatchery now", copy.name, copy.machine);
                    reply.send(adopted.map(|()| done).map_err(|error| chain(&error))).ok();
                });
            }
        }
    }

    pub(super) fn unmark(&mut self, which: &str, reply: Reply) {
        let owner = self.context.owner();
        match copy_named(&self.state.vsphere.view, &owner, which) {
            Err(why) => drop(reply.send(Err(why))),
            Ok(copy) => {
                let hands = self.context.hands.clone();
                self.supervisor.spawn_until_stopped("unmarking of a copy", async move {
                    let unmarked = hands.unmark(&copy.machine, &owner, unmarked_notes(&owner)).await;
                    info!(vm = %copy.name, moref = %copy.machine, done = unmarked.is_ok(), "unmarking of a copy was asked for");
                    let done = format!("{} ({}) is nobody's now", copy.name, copy.machine);
                    reply.send(unmarked.map(|()| done).map_err(|error| chain(&error))).ok();
                });
            }
        }
    }
}
