//! Why something is not done now: the same words appear in status, log and command line.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use rookery_crds::agents::{ActionType, PlannedAction};
use rookery_fleet::capacity::Shortage;

use super::Plan;
use crate::agents::observe::{AgentMachineName, AgentName, Object, PoolName, RequestName};

/// How many entries the status shows at most: an object of the cluster has a largest size.
const SHOWN: usize = 100;

/// Who waits, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub subject: Subject,
    pub why: WaitReason,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// It waits for an Agent.
    AgentMachine(AgentMachineName),
    /// Its VM waits to be prepared, made anew or deleted.
    Request(RequestName),
    /// The pool waits for a spare VM.
    Spare,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    ConflictingPools {
        pools: BTreeSet<PoolName>,
    },
    /// Its VM is on its way.
    BeingMade {
        request: RequestName,
    },
    CreateFailed {
        request: RequestName,
    },
    DiscoveryFailed {
        request: RequestName,
    },
    /// Its VM may run a node whose Agent has vanished.
    NodeMayRun {
        request: RequestName,
    },
    /// The former VM of its name is being deleted.
    BeingDeleted {
        request: RequestName,
    },
    NameTaken {
        request: RequestName,
    },
    TooManyVms {
        used: u32,
        max: u32,
    },
    NoRoom {
        shortage: Shortage,
    },
    NotApproved {
        agent: AgentName,
    },
    ApprovedByOthers {
        agent: AgentName,
    },
    /// It would go, but AgentMachines wait.
    Demand,
    /// It goes then, if nobody needs it until then.
    Grace {
        until: Timestamp,
    },
    AgentBound {
        agent: AgentName,
    },
    StillThere {
        object: Object,
    },
    /// Whether it is still there is being asked.
    Asking {
        object: Object,
    },
    InventoryIncomplete,
    AgentBeingDeleted {
        agent: AgentName,
    },
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AgentMachine(name) => write!(f, "the AgentMachine {name}"),
            Self::Machine(name, _) => write!(f, "the Machine {name}"),
        }
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConflictingPools { pools } => {
                let pools: Vec<_> = pools.iter().map(PoolName::as_str).collect();
                write!(f, "other pools are for the same NodePool: {}; delete all but one", pools.join(", "))
            }
            Self::BeingMade { request } => write!(f, "the VM of {request} has not appeared as an Agent yet"),
            Self::CreateFailed { request } => {
                write!(f, "the VM of {request} cannot be made: see its conditions")
            }
            Self::DiscoveryFailed { request } => write!(
                f,
                "the VM of {request} was made several times and never appeared as an Agent: look at its console, then \
                 change the pool"
            ),
            Self::NodeMayRun { request } => {
                write!(f, "the Agent of {request} has vanished, and a node may run in its VM")
            }
            Self::BeingDeleted { request } => write!(f, "{request} is being deleted; a new one is made then"),
            Self::NameTaken { request } => write!(f, "another VsphereAgent is named {request}"),
            Self::TooManyVms { used, max } => write!(f, "{used} of {max} VMs are in use (spec.maxVMs)"),
            Self::NoRoom { shortage } => write!(f, "{shortage}"),
            Self::NotApproved { agent } => write!(
                f,
                "the Agent {agent} is known by its host name alone and is not approved: approve it, or annotate the pool \
                 with agent-forge.containeroo.ch/approve-by-hostname"
            ),
            Self::ApprovedByOthers { agent } => {
                write!(f, "the Agent {agent} is not approved, and spec.agent.approve is false")
            }
            Self::Demand => f.write_str("it is kept while AgentMachines have no Agent"),
            Self::Grace { until } => write!(f, "it goes at {until:.0} if nobody needs it"),
            Self::AgentBound { agent } => write!(f, "its Agent {agent} is bound"),
            Self::StillThere { object } => write!(f, "{object} exists"),
            Self::Asking { object } => write!(f, "whether {object} still exists is being asked"),
            Self::InventoryIncomplete => f.write_str("vCenter has not shown all its VMs"),
            Self::AgentBeingDeleted { agent } => write!(f, "the Agent {agent} is being deleted"),
        }
    }
}

impl Waiting {
    fn told(&self) -> PlannedAction {
        let name = match &self.subject {
            Subject::AgentMachine(name) => Some(name.to_string()),
            Subject::Request(name) => Some(name.to_string()),
            Subject::Spare => None,
        };
        PlannedAction { action: ActionType::Wait, name, reason: self.why.to_string() }
    }
}

/// A plan as the status shows it: what is missing, what is done, what waits.
pub fn told(plan: &Plan) -> Vec<PlannedAction> {
    let deficit = (plan.counts.deficit > 0).then(|| PlannedAction {
        action: ActionType::DemandDeficit,
        name: None,
        reason: format!(
            "{} AgentMachines are waiting for suitable Agents, with {} available Agents and {} owned provisioning VMs",
            plan.counts.waiting, plan.counts.usable, plan.counts.provisioning
        ),
    });
    let actions = plan.actions.iter().filter_map(super::Action::told);
    let mut all: Vec<_> = deficit.into_iter().chain(actions).collect();
    all.extend(plan.waiting.iter().map(Waiting::told));
    let more = all.len().saturating_sub(SHOWN);
    if more > 0 {
        all.truncate(SHOWN);
        all.push(PlannedAction { action: ActionType::Wait, name: None, reason: format!("and {more} more") });
    }
    if all.is_empty() {
        let reason = "Agent capacity satisfies current AgentMachine demand".to_owned();
        all.push(PlannedAction { action: ActionType::Noop, name: None, reason });
    }
    all
}
