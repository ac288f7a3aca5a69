//! Machines with our mark that are left alone: they are told of, and become ours or nobody's because somebody asks for it. So
//! does a template of another hatchery.

use super::asked::Intended;
use super::{Reconciler, Reply};
use crate::machine::Machine;
use crate::mark::unmarked_notes;
use crate::plan::{Action, Denied, adoptable, adoptable_copy, apart, copy_named};
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use std::collections::BTreeSet;
use std::sync::Arc;
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
            Err(why) => reply.tell(Err(why)),
            Ok(copy) => {
                let done = format!("{} ({}) is a machine of this hatchery now", copy.name, copy.machine);
                if reply.dry_run {
                    return reply.tell(Ok(done));
                }
                let hands = self.context.hands.clone();
                self.supervisor.spawn_until_stopped("adoption of a copy", async move {
                    let adopted = hands.adopt_copy(&copy.machine, &owner).await;
                    info!(vm = %copy.name, moref = %copy.machine, done = adopted.is_ok(), "adoption of a copy was asked for");
                    reply.tell(adopted.map(|()| done).map_err(|error| chain(&error).into()));
                });
            }
        }
    }

    pub(super) fn unmark(&mut self, which: &str, reply: Reply) {
        let owner = self.context.owner();
        match copy_named(&self.state.vsphere.view, &owner, which) {
            Err(why) => reply.tell(Err(why)),
            Ok(copy) => {
                let done =
                    format!("{} ({}) no longer carries the mark of this hatchery", copy.name, copy.machine);
                if reply.dry_run {
                    return reply.tell(Ok(done));
                }
                let hands = self.context.hands.clone();
                self.supervisor.spawn_until_stopped("unmarking of a copy", async move {
                    let unmarked = hands.unmark(&copy.machine, &owner, unmarked_notes(&owner)).await;
                    info!(vm = %copy.name, moref = %copy.machine, done = unmarked.is_ok(), "unmarking of a copy was asked for");
                    reply.tell(unmarked.map(|()| done).map_err(|error| chain(&error).into()));
                });
            }
        }
    }

    /// Sets the template of another hatchery aside that stands in the way of a model.
    pub(super) fn adopt(&mut self, model: &str, reply: Reply) {
        let decided = self.adoption(model);
        self.carry_out(decided, reply);
    }

    fn adoption(&self, model: &str) -> Result<Intended, Denied> {
        let owner = self.context.owner();
        let models = self.state.cds.models.as_deref();
        let adoption = adoptable(&self.state.vsphere.view, &owner, models, model)?;
        let machine = self.state.vsphere.view.machines.get(&adoption.template).map(Arc::clone);
        let is_busy = |machine: &Arc<Machine>| self.state.running.index().has(machine);
        if machine.is_none_or(|machine| is_busy(&machine)) || self.state.running.registers(model) {
            return Err(format!("the template of {model} is being worked on; try again in a moment").into());
        }
        let told = format!(
            "{} of hatchery {} is called {} now; a new template of {} is made, and the old one is deleted once it \
             has no linked clones",
            adoption.name,
            adoption.from,
            adoption.aside(),
            adoption.model
        );
        Ok(Intended::action(told, Action::Adopt(adoption)))
    }
}
