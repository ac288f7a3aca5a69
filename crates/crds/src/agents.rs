//! `agent-forge.containeroo.ch/v1alpha1`: pools of vSphere VMs that become Agents of a HyperShift NodePool.
//!
//! A [`VsphereAgentPool`] says which NodePool it serves and what its VMs are like; a [`VsphereAgent`] stands for one VM. The
//! API is that of agent-forge-operator. What is added to it is optional, and what it means when absent is what that
//! operator does.

mod condition;
pub mod defaults;
pub mod names;
mod phase;
mod pool;
mod pool_status;
mod request;
mod spec;
mod vm;

pub use condition::{AgentReason, PoolCondition, PoolReason};
pub use phase::{ActionType, Phase, VmReason};
pub use pool::{VsphereAgentPool, VsphereAgentPoolSpec};
pub use pool_status::{IsoStatus, IsoVersion, PlannedAction, VsphereAgentPoolStatus};
pub use request::{Discovery, PoolReference, VsphereAgent, VsphereAgentSpec, VsphereAgentStatus};
pub use spec::{
    AgentSettings, CleanupPolicy, Firmware, IsoSettings, Placement, Reference, SecretReference, Template,
    Vsphere,
};
pub use vm::OwnedVm;

/// The group of both kinds.
pub const GROUP: &str = "agent-forge.containeroo.ch";
pub const VERSION: &str = "v1alpha1";
