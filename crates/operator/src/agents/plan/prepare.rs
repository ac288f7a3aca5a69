//! What Agents in our VMs need before their CAPI provider takes them.

use std::collections::BTreeMap;

use rookery_crds::agents::Phase;
use rookery_crds::agents::names::{AGENT_MACHINE_LABEL, ROLE_LABEL};

use super::matching::{Match, Proof};
use super::{Action, AgentPatch, Pass, WaitReason};
use crate::agents::desired::Approval;
use crate::agents::observe::{Agent, AgentMachineName, Request};

impl Pass<'_> {
    pub(super) fn prepare(&mut self) {
        for (name, request, status) in self.live() {
            let Some((found, agent)) = self.agent_of(name) else { continue };
            if status.phase != Phase::Available || agent.is_bound() || agent.deleting {
                continue;
            }
            let purpose = self.purpose(name, request);
            let patch = self.patch(request, purpose.as_ref(), found, agent);
            if !patch.is_empty() {
                self.plan.actions.push(Action::Patch(patch));
            }
        }
    }

    fn patch(
        &self,
        request: &Request,
        purpose: Option<&AgentMachineName>,
        found: &Match,
        agent: &Agent,
    ) -> AgentPatch {
        let (vm, role) = (request.vm_name.as_str(), self.want.role.as_str());
        let mut labels: BTreeMap<&str, &str> =
            self.want.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        labels.insert(ROLE_LABEL, role);
        labels.extend(purpose.map(|machine| (AGENT_MACHINE_LABEL, machine.as_str())));
        let missing =
            |(key, value): &(&str, &str)| agent.labels.get(*key).map(String::as_str) != Some(*value);
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let other = |is: Option<&String>, wanted: &str| {
            (is.map(String::as_str) != Some(wanted)).then(|| wanted.to_owned())
        };
        AgentPatch {
            agent: found.agent.clone(),
            resource_version: agent.resource_version.clone(),
            labels: labels.into_iter().filter(missing).map(owned).collect(),
            role: other(agent.role.as_ref(), role),
            hostname: other(agent.hostname.as_ref(), vm),
            approve: !agent.approved && self.may_approve(found),
        }
    }

    /// Approval hands out secrets of the cluster, and a host name is only what a guest says of itself.
    pub(super) fn may_approve(&self, found: &Match) -> bool {
        match self.want.approval {
            Approval::Never => false,
            Approval::ByIdentity => found.proof.is_identity(),
            Approval::AlsoByHostname => found.proof.is_identity() || found.proof == Proof::Hostname,
        }
    }

    pub(super) fn not_approved(&self, found: &Match) -> WaitReason {
        let agent = found.agent.clone();
        match self.want.approval {
            Approval::Never => WaitReason::ApprovedByOthers { agent },
            Approval::ByIdentity | Approval::AlsoByHostname => WaitReason::NotApproved { agent },
        }
    }
}
