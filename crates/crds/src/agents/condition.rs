//! The types of conditions and their reasons.

use std::fmt;

/// The conditions of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolCondition {
    Ready,
    AgentMachineDemandFound,
    InfraEnvAvailable,
    CapacitySatisfied,
    VsphereReady,
    IsoReady,
}

/// Why a condition of a pool is as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolReason {
    Reconciled,
    InfraEnvUnavailable,
    VsphereAgentListFailed,
    AgentMachinePatchFailed,
    AgentListFailed,
    MachineListFailed,
    AgentMachineListFailed,
    ApplyFailed,
    Observed,
    Available,
    Satisfied,
    Deficit,
    VsphereReady,
    Error,
    IsoReady,
    Uploaded,
    Reused,
    /// Two pools are for one NodePool.
    ConflictingPools,
    /// The pool is deleted, and nodes run in its VMs.
    BoundVms,
    /// A VM that was made three times never appeared as an Agent.
    DiscoveryFailed,
    /// The ISO could not be looked for; the last one serves on.
    RefreshFailed,
    /// A kind that the pool depends on is not installed in the cluster.
    ResourceMissing,
    /// A field says what nobody can do.
    InvalidSpec,
}

/// Why `Ready` of a `VsphereAgent` is as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentReason {
    VmCreated,
    VmAdopted,
    PoolNotFound,
    InfraEnvUnavailable,
    ProviderUnavailable,
    IsoRefreshFailed,
    VmCreateFailed,
    VmMissing,
    DiscoveryFailed,
}

impl PoolCondition {
    pub const ALL: [Self; 6] = [
        Self::Ready,
        Self::InfraEnvAvailable,
        Self::AgentMachineDemandFound,
        Self::CapacitySatisfied,
        Self::VsphereReady,
        Self::IsoReady,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::AgentMachineDemandFound => "AgentMachineDemandFound",
            Self::InfraEnvAvailable => "InfraEnvAvailable",
            Self::CapacitySatisfied => "CapacitySatisfied",
            Self::VsphereReady => "VsphereReady",
            Self::IsoReady => "ISOReady",
        }
    }
}

impl PoolReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reconciled => "Reconciled",
            Self::InfraEnvUnavailable => "InfraEnvUnavailable",
            Self::VsphereAgentListFailed => "VsphereAgentListFailed",
            Self::AgentMachinePatchFailed => "AgentMachinePatchFailed",
            Self::AgentListFailed => "AgentListFailed",
            Self::MachineListFailed => "MachineListFailed",
            Self::AgentMachineListFailed => "AgentMachineListFailed",
            Self::ApplyFailed => "ApplyFailed",
            Self::Observed => "Observed",
            Self::Available => "Available",
            Self::Satisfied => "Satisfied",
            Self::Deficit => "Deficit",
            Self::VsphereReady => "Ready",
            Self::Error => "Error",
            Self::IsoReady => "ISOReady",
            Self::Uploaded => "Uploaded",
            Self::Reused => "Reused",
            Self::ConflictingPools => "ConflictingPools",
            Self::BoundVms => "BoundVMs",
            Self::DiscoveryFailed => "DiscoveryFailed",
            Self::RefreshFailed => "RefreshFailed",
            Self::ResourceMissing => "ResourceMissing",
            Self::InvalidSpec => "InvalidSpec",
        }
    }
}

impl AgentReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VmCreated => "VMCreated",
            Self::VmAdopted => "VMAdopted",
            Self::PoolNotFound => "PoolNotFound",
            Self::InfraEnvUnavailable => "InfraEnvUnavailable",
            Self::ProviderUnavailable => "ProviderUnavailable",
            Self::IsoRefreshFailed => "ISORefreshFailed",
            Self::VmCreateFailed => "VMCreateFailed",
            Self::VmMissing => "VMMissing",
            Self::DiscoveryFailed => "DiscoveryFailed",
        }
    }
}

impl fmt::Display for PoolCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for PoolReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for AgentReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
