//! The actions of a plan. Each carries all that it needs, and does no harm when it is done twice.

use std::collections::BTreeMap;

use rookery_crds::agents::{ActionType, PlannedAction};

use crate::agents::identity::BiosUuid;
use crate::agents::observe::{AgentMachineName, AgentName, PlaceName, Purpose, RequestName, Uid, VmName};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Makes a VsphereAgent, whose VM follows.
    Create {
        request: RequestName,
        vm: VmName,
        purpose: Purpose,
        place: PlaceName,
    },
    /// Gives a VM that nobody needs to an AgentMachine.
    Assign {
        request: RequestName,
        agent_machine: AgentMachineName,
    },
    /// Lets an AgentMachine take only the Agent that is meant for it.
    Pin {
        agent_machine: AgentMachineName,
    },
    /// Lets it take any Agent again.
    Unpin {
        agent_machine: AgentMachineName,
    },
    Patch(AgentPatch),
    /// Destroys a VM that never appeared as an Agent, and has it made anew with another UUID.
    Renew {
        request: RequestName,
        uuid: Option<BiosUuid>,
        failures: u32,
    },
    /// Deletes a VsphereAgent; its finalizer deals with the VM.
    DeleteRequest {
        request: RequestName,
        uid: Uid,
        reason: DeleteReason,
    },
    /// Destroys the VM of a VsphereAgent that is being deleted.
    DestroyVm {
        request: RequestName,
        vm: VmName,
        uuid: Option<BiosUuid>,
    },
    /// Deletes the Agent of a VM that is gone; only if it is still the one that was looked at.
    DeleteAgent {
        agent: AgentName,
        uid: Uid,
        resource_version: String,
    },
    /// Removes the finalizer of a VsphereAgent.
    Finish {
        request: RequestName,
    },
    /// Removes the finalizer of the pool.
    FinishPool,
}

/// What changes on an Agent: what is not here stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPatch {
    pub agent: AgentName,
    /// It fails if the Agent has changed since.
    pub resource_version: String,
    pub labels: BTreeMap<String, String>,
    pub role: Option<String>,
    pub hostname: Option<String>,
    pub approve: bool,
}

/// Why a VsphereAgent is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeleteReason {
    /// Its Machine was seen deleting and is gone.
    MachineDeleted,
    /// Nobody is left who would need it.
    Orphan,
    /// There are more free VMs than are kept.
    Surplus,
    PoolDeleted,
}

impl DeleteReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MachineDeleted => "its Machine was deleted",
            Self::Orphan => "nobody is left who would need it",
            Self::Surplus => "there are more free VMs than are kept",
            Self::PoolDeleted => "the pool is deleted",
        }
    }
}

impl AgentPatch {
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.role.is_none() && self.hostname.is_none() && !self.approve
    }
}

impl Action {
    /// As the status shows it; none for what is bookkeeping.
    pub fn told(&self) -> Option<PlannedAction> {
        let (action, name, reason) = match self {
            Self::Create { vm, purpose, place, .. } => {
                let reason = match purpose {
                    Purpose::AgentMachine(machine) => format!("the AgentMachine {machine} waits; in {place}"),
                    Purpose::Spare => format!("to have one ready; in {place}"),
                };
                (ActionType::CreateVm, vm.as_str(), reason)
            }
            Self::Patch(patch) => {
                (ActionType::PatchAgent, patch.agent.as_str(), "prepare it for its AgentMachine".to_owned())
            }
            Self::Renew { request, failures, .. } => {
                let reason =
                    format!("it never appeared as an Agent and is made anew (failure {failures} of 3)");
                (ActionType::DeleteVm, request.as_str(), reason)
            }
            Self::DeleteRequest { request, reason, .. } => {
                (ActionType::DeleteVm, request.as_str(), reason.as_str().to_owned())
            }
            Self::DestroyVm { vm, .. } => {
                (ActionType::DeleteVm, vm.as_str(), "its VsphereAgent is deleted".to_owned())
            }
            Self::DeleteAgent { agent, .. } => {
                (ActionType::DeleteAgent, agent.as_str(), "its VM is gone".to_owned())
            }
            Self::Assign { .. }
            | Self::Pin { .. }
            | Self::Unpin { .. }
            | Self::Finish { .. }
            | Self::FinishPool => return None,
        };
        Some(PlannedAction { action, name: Some(name.to_owned()), reason })
    }
}
