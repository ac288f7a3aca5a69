//! What a plan of one pool is made from: the objects of the cluster and the VMs behind them, parsed once.
//!
//! Absent and unknown are different things: what vCenter has not told is [`Seen::Unknown`], and that an object of the
//! cluster is gone counts only where it was asked for and not found ([`Observed::confirmed_gone`]), since a watch may
//! lag behind.

mod name;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rookery_crds::agents::{Phase, VmReason};
use rookery_fleet::capacity::PoolRoom;

use super::identity::{BiosUuid, Identity, Mac};

pub use name::{
    AgentMachineName, AgentName, InfraEnvName, MachineName, Name, PlaceName, PoolName, RequestName, Uid,
    VmName,
};
pub use read::{Unreadable, agent_machine, infra_envs, machine, request};

/// Everything of one pool at one moment.
#[derive(Debug, Clone)]
pub struct Observed {
    pub now: Timestamp,
    /// The AgentMachines of the NodePool.
    pub agent_machines: BTreeMap<AgentMachineName, AgentMachine>,
    /// The Machines of the namespace in which those are.
    pub machines: BTreeMap<MachineName, Machine>,
    /// The Agents of the pool's namespace.
    pub agents: BTreeMap<AgentName, Agent>,
    /// The VsphereAgents of the pool.
    pub requests: BTreeMap<RequestName, Request>,
    /// The names of all other VsphereAgents of the namespace.
    pub other_requests: BTreeSet<RequestName>,
    /// Agents that VMs of other pools are known by.
    pub claimed_elsewhere: BTreeSet<AgentName>,
    /// Other live pools for the same NodePool.
    pub rivals: BTreeSet<PoolName>,
    /// What was asked for just now and not found.
    pub confirmed_gone: BTreeSet<Object>,
    /// How much room each place has, as far as that was told.
    pub rooms: BTreeMap<PlaceName, PoolRoom>,
    /// What the last plan had to remember. Losing it only delays deletions.
    pub carried: Carried,
}

/// An object that may be asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// Whoever has that name.
    AgentMachine(AgentMachineName),
    /// That one, or with `None` whoever has the name.
    Machine(MachineName, Option<Uid>),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Carried {
    /// Since when VMs are not needed.
    pub idle_since: BTreeMap<RequestName, Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMachine {
    pub uid: Uid,
    pub created: Timestamp,
    pub deleting: bool,
    pub ready: Ready,
    /// The Agent that it has.
    pub agent: Option<AgentName>,
    /// The value that its selector demands of an Agent's selection label.
    pub pinned: Option<String>,
    /// The Machine that it is the infrastructure of.
    pub machine: MachineName,
}

/// What its condition `Ready` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ready {
    Yes,
    /// No Agent suits it.
    NoSuitableAgents,
    /// No for another reason, or not told.
    No,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub uid: Uid,
    pub deleting: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub uid: Uid,
    pub resource_version: String,
    pub deleting: bool,
    pub labels: BTreeMap<String, String>,
    /// The InfraEnvs that it belongs to, by label or by owner.
    pub infra_envs: BTreeSet<InfraEnvName>,
    pub approved: bool,
    pub role: Option<String>,
    pub hostname: Option<String>,
    /// The host name that the host itself has.
    pub observed_hostname: Option<String>,
    /// The cluster deployment that has it.
    pub cluster: Option<String>,
    /// The AgentMachine that has it, by name or by UID.
    pub bound_to: Option<String>,
    pub serial: Option<BiosUuid>,
    /// Its name, if that is a UUID: in the order of vCenter, or with three groups turned around.
    pub named: Option<BiosUuid>,
    pub macs: BTreeSet<Mac>,
}

/// A VsphereAgent, and what is known of its VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub uid: Uid,
    pub deleting: bool,
    pub purpose: Purpose,
    pub vm_name: VmName,
    pub stored: StoredVm,
    pub seen: Seen,
    /// Its VM could not be made.
    pub create_failed: bool,
    pub discovery: DiscoveryFailures,
}

/// What a VM is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    AgentMachine(AgentMachineName),
    Spare,
}

/// What its status says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredVm {
    pub identity: Identity,
    pub agent: Option<AgentName>,
    pub machine: Option<MachineRef>,
    pub phase: Option<Phase>,
    pub reason: Option<VmReason>,
    pub since: Option<Timestamp>,
    pub powered_on_at: Option<Timestamp>,
    pub place: Option<PlaceName>,
}

/// The Machine that a VM serves; without UID nobody knows yet which one of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRef {
    pub name: MachineName,
    pub uid: Option<Uid>,
}

/// What vCenter shows of a VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Not told: the inventory is incomplete or old, or the VM is being made.
    Unknown,
    /// A complete and fresh inventory has no such VM.
    Absent,
    Present(Vm),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    pub identity: Identity,
    pub mark: Mark,
}

/// Whose mark a VM carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// That of this pool and this VsphereAgent.
    Ours,
    /// None, or that of somebody else.
    Other,
}

/// How often VMs of a VsphereAgent never appeared as Agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiscoveryFailures {
    pub count: u32,
    pub last: Option<Timestamp>,
    /// The generation of the pool that they happened under.
    pub generation: Option<i64>,
}

impl AgentMachine {
    /// Whether it waits for an Agent.
    pub fn waits(&self) -> bool {
        !self.deleting && self.ready == Ready::NoSuitableAgents
    }
}

impl Agent {
    pub fn is_bound(&self) -> bool {
        self.bound_to.is_some() || self.cluster.is_some()
    }
}

impl Request {
    /// What is known of its VM: vCenter's word counts, and what is stored where that says nothing.
    pub fn identity(&self) -> Identity {
        let seen = match &self.seen {
            Seen::Present(vm) => vm.identity.clone(),
            Seen::Unknown | Seen::Absent => Identity::default(),
        };
        Identity {
            uuid: seen.uuid.or(self.stored.identity.uuid),
            macs: if seen.macs.is_empty() { self.stored.identity.macs.clone() } else { seen.macs },
        }
    }
}
