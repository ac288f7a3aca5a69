//! Whether anybody may still need a VM. Only an object that was asked for and not found is gone.

use rookery_crds::agents::{Phase, VmReason};

use super::{Pass, VmStatus, WaitReason};
use crate::agents::observe::{AgentMachine, MachineName, Object, Purpose, Request, RequestName};

impl Pass<'_> {
    /// Whether no node runs in a VM, nor is about to. What is bound is in use whatever else is said of it.
    pub(super) fn no_node(
        &mut self,
        name: &RequestName,
        request: &Request,
        status: &VmStatus,
    ) -> Result<(), WaitReason> {
        if let Some((found, agent)) = self.agent_of(name) {
            let is_taken =
                |machine: &AgentMachine| !machine.deleting && machine.agent.as_ref() == Some(&found.agent);
            let own = match &request.purpose {
                Purpose::AgentMachine(machine) => self.seen.agent_machines.get(machine),
                Purpose::Spare => None,
            };
            if agent.is_bound() || own.is_some_and(is_taken) {
                return Err(WaitReason::AgentBound { agent: found.agent.clone() });
            }
        }
        if status.reason == VmReason::MachineDeleted {
            return Ok(());
        }
        match status.phase {
            // Nobody has ever been bound to it.
            Phase::Provisioning | Phase::Available => Ok(()),
            Phase::Bound | Phase::Released | Phase::Orphaned | Phase::Other(_) => {
                self.machine_gone(request, status)
            }
        }
    }

    fn machine_gone(&mut self, request: &Request, status: &VmStatus) -> Result<(), WaitReason> {
        let own = match &request.purpose {
            Purpose::AgentMachine(machine) => Some(machine.clone()),
            Purpose::Spare => None,
        };
        if let Some(own) = &own {
            // One that finds no Agent has no node, unless it is known that it had one.
            let waits =
                self.seen.agent_machines.get(own).is_some_and(|own| own.waits() && own.agent.is_none());
            if waits && status.machine.is_none() {
                return Ok(());
            }
            self.gone(Object::AgentMachine(own.clone()))?;
        }
        let of_own = || own.as_ref().map(|machine| (MachineName::new(machine.as_str()), None));
        let machine = status.machine.as_ref().map(|machine| (machine.name.clone(), machine.uid.clone()));
        let Some((machine, uid)) = machine.or_else(of_own) else { return Ok(()) };
        self.gone(Object::Machine(machine, uid))
    }

    /// Whether the AgentMachine that a VM was made for needs it no more.
    pub(super) fn purpose_over(&mut self, name: &RequestName, request: &Request) -> Result<(), WaitReason> {
        let Purpose::AgentMachine(machine) = &request.purpose else { return Ok(()) };
        if self.is_served_elsewhere(name, request) {
            return Ok(());
        }
        self.gone(Object::AgentMachine(machine.clone()))
    }

    /// Whether the AgentMachine that it was made for has an Agent in another VM.
    pub(super) fn is_served_elsewhere(&self, name: &RequestName, request: &Request) -> bool {
        let Purpose::AgentMachine(machine) = &request.purpose else { return false };
        let found = self.agent_of(name).map(|(found, _)| &found.agent);
        let agent = self.seen.agent_machines.get(machine).and_then(|machine| machine.agent.as_ref());
        agent.is_some() && agent != found && agent != request.stored.agent.as_ref()
    }

    fn gone(&mut self, object: Object) -> Result<(), WaitReason> {
        let is_seen = match &object {
            Object::AgentMachine(name) => self.seen.agent_machines.contains_key(name),
            Object::Machine(name, None) => self.seen.machines.contains_key(name),
            Object::Machine(name, Some(uid)) => {
                self.seen.machines.get(name).is_some_and(|machine| machine.uid == *uid)
            }
        };
        if is_seen {
            return Err(WaitReason::StillThere { object });
        }
        if self.seen.confirmed_gone.contains(&object) {
            return Ok(());
        }
        self.plan.ask.insert(object.clone());
        Err(WaitReason::Asking { object })
    }
}
