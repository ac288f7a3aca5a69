//! Machines with our mark that are left alone: they are told of, and become ours or nobody's because somebody asks for it.

use std::collections::BTreeSet;

use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use tracing::{info, warn};

use super::{Keeper, Reply};
use crate::plan::{adoptable_copy, apart, copy_named};

impl Keeper {
    /// Tells of each machine once.
    pub(super) fn tell_of_apart(&mut self) {
        let found = apart(&self.state.view, &self.crew.settings().identity.name);
        for one in found.iter().filter(|one| !self.state.told_apart.contains(&one.machine)) {
            let (why, remedy) = (one.why, one.remedy());
            warn!(vm = %one.name, moref = %one.machine, %why, %remedy, "machine is left alone");
        }
        let told: BTreeSet<MachineId> = found.into_iter().map(|one| one.machine).collect();
        self.state.told_apart = told;
    }

    pub(super) fn adopt_copy(&mut self, which: &str, reply: Reply) {
        let owner = self.crew.settings().identity.name.clone();
        match adoptable_copy(&self.state.view, &owner, which) {
            Err(why) => drop(reply.send(Err(why))),
            Ok(copy) => {
                let hands = self.crew.hands.clone();
                self.ask("adoption of a copy", async move {
                    let adopted = hands.adopt_copy(&copy.machine, &owner).await;
                    info!(vm = %copy.name, moref = %copy.machine, done = adopted.is_ok(), "adoption of a copy was asked for");
                    let done = format!("{} ({}) is a machine of this hatchery now", copy.name, copy.machine);
                    reply.send(adopted.map(|()| done).map_err(|error| chain(&error))).ok();
                });
            }
        }
    }

    pub(super) fn unmark(&mut self, which: &str, reply: Reply) {
        let owner = self.crew.settings().identity.name.clone();
        match copy_named(&self.state.view, &owner, which) {
            Err(why) => drop(reply.send(Err(why))),
            Ok(copy) => {
                let hands = self.crew.hands.clone();
                self.ask("unmarking of a copy", async move {
                    let unmarked = hands.unmark(&copy.machine, &owner).await;
                    info!(vm = %copy.name, moref = %copy.machine, done = unmarked.is_ok(), "unmarking of a copy was asked for");
                    let done = format!("{} ({}) is nobody's now", copy.name, copy.machine);
                    reply.send(unmarked.map(|()| done).map_err(|error| chain(&error))).ok();
                });
            }
        }
    }
}
