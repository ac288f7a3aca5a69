//! What a pool wants, in the words of the plan.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use rookery_crds::agents::CleanupPolicy;
use rookery_fleet::Hardware;

use super::observe::{InfraEnvName, PlaceName, PoolName};

/// How long nobody may have needed a VM before it goes.
pub const GRACE: SignedDuration = SignedDuration::from_mins(10);
/// How often a VM that never appears as an Agent is made anew.
pub const RENEWALS: u32 = 3;
/// How much longer than the pool says each further VM is waited for.
pub const LONGER_EACH_TIME: SignedDuration = SignedDuration::from_mins(10);

#[derive(Debug, Clone)]
pub struct Desired {
    pub pool: PoolName,
    pub namespace: String,
    pub control_plane_namespace: String,
    pub generation: i64,
    pub hosted_cluster: String,
    pub infra_env: InfraEnvName,
    /// What Agents get, and have to have to be counted.
    pub labels: BTreeMap<String, String>,
    pub role: String,
    pub approval: Approval,
    pub cleanup: CleanupPolicy,
    pub standing: Standing,
    pub bound_vms: BoundVms,
    pub spares: Spares,
    pub max_vms: Option<u32>,
    pub discovery_timeout: SignedDuration,
    /// What one VM takes.
    pub footprint: Hardware,
    /// Where VMs may be, at least one place.
    pub places: Vec<PlaceName>,
}

/// Who approves Agents, and on what proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Approval {
    /// Somebody else does.
    Never,
    /// The UUID or an address has to be that of the VM.
    ByIdentity,
    /// A matching host name is enough.
    AlsoByHostname,
}

/// Whether the pool is there to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    Live,
    Deleted,
}

/// What becomes of VMs in which nodes run, when they are asked to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoundVms {
    Kept,
    Destroyed,
}

/// VMs ahead of demand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spares {
    pub number: u32,
    /// What their names begin with.
    pub prefix: String,
}
