//! AgentMachines that wait get a VM: their own, a free one, or a new one. Whoever is served takes no other Agent.

use std::collections::{BTreeSet, VecDeque};

use rookery_crds::agents::Phase;
use rookery_crds::agents::names::AGENT_MACHINE_LABEL;

use super::renew::{failures, is_over};
use super::{Action, Pass, Subject, WaitReason, naming};
use crate::agents::desired::RENEWALS;
use crate::agents::observe::{AgentMachineName, Purpose, RequestName, VmName};

impl<'p> Pass<'p> {
    pub(super) fn serve(&mut self) {
        let bindings = self.known.bindings;
        let bound = self.seen.agents.iter().filter(|(_, agent)| agent.is_bound());
        let bound = bound.filter_map(|(name, agent)| bindings.agent_machine(name, agent));
        let bound: BTreeSet<_> = bound.map(|machine| machine.uid.clone()).collect();
        let mut free = self.free();
        for name in self.waiting.clone() {
            let Some(machine) = self.seen.agent_machines.get(name) else { continue };
            // It has one already, and will say so in a moment.
            if machine.agent.is_some() || bound.contains(&machine.uid) {
                continue;
            }
            match self.serve_one(name, &mut free) {
                Ok(why) => {
                    if machine.pinned.as_deref() != Some(name.as_str()) {
                        self.plan.actions.push(Action::Pin { agent_machine: name.clone() });
                    }
                    if let Some(why) = why {
                        self.wait(Subject::AgentMachine(name.clone()), why);
                    }
                }
                Err(why) => self.wait(Subject::AgentMachine(name.clone()), why),
            }
        }
    }

    /// What it still waits for if it is served, or why it is not.
    fn serve_one(
        &mut self,
        machine: &'p AgentMachineName,
        free: &mut VecDeque<&'p RequestName>,
    ) -> Result<Option<WaitReason>, WaitReason> {
        let own = self.own.get(machine).cloned().unwrap_or_default();
        let is_deleting = |name: &&RequestName| self.seen.requests.get(*name).is_some_and(|own| own.deleting);
        if let Some(own) = own.iter().find(|name| !is_deleting(name)) {
            return Ok(self.progress(own));
        }
        if let Some(own) = own.first() {
            return Err(WaitReason::BeingDeleted { request: (*own).clone() });
        }
        if let Some(request) = free.pop_front() {
            self.assigned.insert(request.clone(), machine.clone());
            let (request, agent_machine) = (request.clone(), machine.clone());
            self.plan.actions.push(Action::Assign { request, agent_machine });
            return Ok(None);
        }
        let names = naming::requests(self.want, machine);
        let [_, last] = names.clone();
        let name = names.into_iter().find(|name| !self.is_taken(name));
        let request = name.ok_or(WaitReason::NameTaken { request: last })?;
        let place = self.room.take(self.want)?;
        let (vm, purpose) = (VmName::new(machine.as_str()), Purpose::AgentMachine(machine.clone()));
        let why = WaitReason::BeingMade { request: request.clone() };
        self.plan.actions.push(Action::Create { request, vm, purpose, place });
        Ok(Some(why))
    }

    pub(super) fn is_taken(&self, name: &RequestName) -> bool {
        self.seen.requests.contains_key(name) || self.seen.other_requests.contains(name)
    }

    /// What the VM of its own that somebody waits for lacks; none if the Agent only has to be bound.
    fn progress(&self, own: &RequestName) -> Option<WaitReason> {
        let request = self.seen.requests.get(own)?;
        let status = self.known.vms.get(own)?;
        let own = own.clone();
        if let Some((found, agent)) = self.agent_of(&own).filter(|_| status.phase == Phase::Available) {
            if agent.deleting {
                return Some(WaitReason::AgentBeingDeleted { agent: found.agent.clone() });
            }
            let lacks = !agent.approved && !self.may_approve(found);
            return lacks.then(|| self.not_approved(found));
        }
        let given_up = failures(self.want, request) >= RENEWALS && is_over(self.want, request, self.seen.now);
        Some(match status.phase {
            Phase::Released | Phase::Bound => WaitReason::NodeMayRun { request: own },
            Phase::Orphaned if status.machine.is_some() => WaitReason::NodeMayRun { request: own },
            _ if given_up => WaitReason::DiscoveryFailed { request: own },
            _ if request.create_failed => WaitReason::CreateFailed { request: own },
            Phase::Provisioning | Phase::Available | Phase::Orphaned | Phase::Other(_) => {
                WaitReason::BeingMade { request: own }
            }
        })
    }

    /// VMs with an approved Agent that nobody needs and nobody is pinned to, spares first.
    fn free(&self) -> VecDeque<&'p RequestName> {
        let pins: BTreeSet<&str> = self
            .seen
            .agent_machines
            .values()
            .filter(|machine| !machine.deleting)
            .filter_map(|machine| machine.pinned.as_deref())
            .collect();
        let mut free: Vec<_> = self
            .live()
            .filter(|(name, request, status)| {
                let Some((_, agent)) = self.agent_of(name) else { return false };
                let pinned =
                    agent.labels.get(AGENT_MACHINE_LABEL).is_some_and(|label| pins.contains(label.as_str()));
                let needed = match &request.purpose {
                    Purpose::AgentMachine(machine) => {
                        self.is_live(machine) && !self.is_served_elsewhere(name, request)
                    }
                    Purpose::Spare => false,
                };
                status.phase == Phase::Available
                    && agent.approved
                    && !agent.deleting
                    && !agent.is_bound()
                    && !pinned
                    && !needed
            })
            .map(|(name, request, _)| (request.purpose != Purpose::Spare, name))
            .collect();
        free.sort();
        free.into_iter().map(|(_, name)| name).collect()
    }
}
