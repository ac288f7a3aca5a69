//! What happens to VsphereAgents that are being deleted, and to a pool.

use std::collections::BTreeSet;

use rookery_crds::agents::{CleanupPolicy, VmReason};

use super::{Action, DeleteReason, Pass, Subject, Verdict, VmStatus, WaitReason};
use crate::agents::desired::BoundVms;
use crate::agents::observe::{Mark, Request, RequestName, Seen};

impl Pass<'_> {
    /// VMs in which no node runs go; the pool goes after the last of its VsphereAgents. AgentMachines that were pinned may
    /// take any Agent again.
    pub(super) fn delete_pool(&mut self) {
        for (name, machine) in &self.seen.agent_machines {
            let pinned = machine.pinned.as_deref() == Some(name.as_str());
            if pinned && machine.agent.is_none() && !machine.deleting {
                self.plan.actions.push(Action::Unpin { agent_machine: name.clone() });
            }
        }
        let mut bound = BTreeSet::new();
        for (name, request, status) in self.live() {
            match self.may_be_deleted(name, request, status) {
                Ok(()) => self.delete(name, request, DeleteReason::PoolDeleted),
                Err(why) => {
                    bound.insert(name.clone());
                    self.wait(Subject::Request(name.clone()), why);
                }
            }
        }
        if self.seen.requests.is_empty() {
            self.plan.actions.push(Action::FinishPool);
        }
        if !bound.is_empty() {
            self.plan.verdict = Verdict::BoundVms(bound);
        }
    }

    /// Whether no node is lost with the VM of a VsphereAgent.
    fn may_be_deleted(
        &mut self,
        name: &RequestName,
        request: &Request,
        status: &VmStatus,
    ) -> Result<(), WaitReason> {
        match (self.want.cleanup, self.want.bound_vms) {
            (CleanupPolicy::Retain, _) | (CleanupPolicy::Delete, BoundVms::Destroyed) => Ok(()),
            (CleanupPolicy::Delete, BoundVms::Kept) => self.no_node(name, request, status),
        }
    }

    pub(super) fn finish_requests(&mut self) {
        let seen = self.seen;
        for (name, request) in seen.requests.iter().filter(|(_, request)| request.deleting) {
            match self.finish(name, request) {
                Ok(action) => self.plan.actions.push(action),
                Err(why) => self.wait(Subject::Request(name.clone()), why),
            }
        }
    }

    /// The VM goes first and its Agent after it: an Agent whose VM still runs would come back.
    fn finish(&mut self, name: &RequestName, request: &Request) -> Result<Action, WaitReason> {
        let finish = Action::Finish { request: name.clone() };
        if self.want.cleanup == CleanupPolicy::Retain {
            return Ok(finish);
        }
        match &request.seen {
            Seen::Unknown => Err(WaitReason::InventoryIncomplete),
            Seen::Absent => Ok(self.delete_agent(name).unwrap_or(finish)),
            Seen::Present(vm) => {
                if vm.mark == Mark::Other {
                    return Ok(finish);
                }
                if let Some(status) = self.known.vms.get(name) {
                    self.may_be_deleted(name, request, status)?;
                }
                let (request, vm_name) = (name.clone(), request.vm_name.clone());
                Ok(Action::DestroyVm { request, vm: vm_name, uuid: vm.identity.uuid })
            }
        }
    }

    /// Only one that was told by the hardware to have run in the VM, and that nobody has.
    fn delete_agent(&self, name: &RequestName) -> Option<Action> {
        let (found, agent) = self.agent_of(name)?;
        let goes = found.proof.is_identity() && !agent.is_bound() && !agent.deleting;
        goes.then(|| Action::DeleteAgent {
            agent: found.agent.clone(),
            uid: agent.uid.clone(),
            resource_version: agent.resource_version.clone(),
        })
    }

    /// Agents of VMs that vanished and are made anew are of no use to anybody.
    pub(super) fn delete_stale_agents(&mut self) {
        if self.want.cleanup == CleanupPolicy::Retain {
            return;
        }
        for (name, request, status) in self.live() {
            if request.seen == Seen::Absent && status.reason == VmReason::VmCreatePending {
                let action = self.delete_agent(name);
                self.plan.actions.extend(action);
            }
        }
    }
}
