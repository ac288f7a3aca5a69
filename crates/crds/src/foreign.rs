//! The kinds of others that the fronts read, and change a few fields of: Assisted Installer, HyperShift and Cluster API.
//!
//! Only those fields are here that somebody uses, and all of them may be absent. Such an object is never written back as a
//! whole: what is not here would be lost. It is changed by patches.

mod agent;
mod agent_machine;
mod infra_env;
mod machine;
mod object;

pub use agent::{
    Agent, AgentKind, AgentSpec, AgentStatus, ClusterDeploymentName, Interface, Inventory, SystemVendor,
};
pub use agent_machine::{
    AgentMachine, AgentMachineKind, AgentMachineSpec, AgentMachineStatus, LabelSelector, NamedAgent,
};
pub use infra_env::{InfraEnv, InfraEnvKind, InfraEnvStatus};
pub use machine::{Machine, MachineKind, MachineStatus};
pub use object::{Foreign, ForeignCondition, ForeignKind, Nothing};
