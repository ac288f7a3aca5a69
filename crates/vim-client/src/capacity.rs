//! How much room there is: pools, clusters, hosts and datastores, all in one call.
//!
//! vSphere counts memory in megabytes here and in bytes there, sometimes in the same object. What comes out of this
//! module is MHz and bytes, whatever it was. What the server did not say is `None`: it may be much or little, and
//! nobody may take it for nothing.

mod decode;

use std::collections::BTreeMap;

use rookery_vim::MoRef;
use rookery_vim::objects::{ObjectSpec, PropertyFilterSpec, PropertySpec};

use crate::client::Client;
use crate::error::CallError;
use crate::properties::retrieve;

/// What there is and what of it is taken, by object. An object that is not here is gone, or hidden from the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Resource pools and vApps.
    pub pools: BTreeMap<MoRef, PoolCapacity>,
    /// Clusters, and hosts that stand alone.
    pub clusters: BTreeMap<MoRef, ClusterCapacity>,
    /// Hosts.
    pub hosts: BTreeMap<MoRef, HostCapacity>,
    /// Datastores and clusters of them.
    pub datastores: BTreeMap<MoRef, DatastoreCapacity>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mhz(pub u64);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Bytes {
    fn from_mb(megabytes: u64) -> Option<Self> {
        megabytes.checked_mul(1 << 20).map(Self)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolCapacity {
    /// The cluster or host that it divides.
    pub owner: Option<MoRef>,
    /// Its share of the CPU.
    pub cpu: Share<Mhz>,
    /// Its share of the memory.
    pub memory: Share<Bytes>,
}

/// A pool's part of one resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share<U> {
    /// What it is sure to get.
    pub reservation: Option<U>,
    /// What it gets at most.
    pub limit: Option<Limit<U>>,
    /// Whether it may take from its parent when its own reservation is used up.
    pub expandable: Option<bool>,
    /// What it could use now, all limits above it considered.
    pub max_usage: Option<U>,
    /// What its VMs use now.
    pub usage: Option<U>,
    /// What is reserved inside it.
    pub reservation_used: Option<U>,
    /// What a pool inside it may still reserve.
    pub unreserved_for_pool: Option<U>,
    /// What a VM inside it may still reserve.
    pub unreserved_for_vm: Option<U>,
}

/// What something gets at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit<U> {
    Unlimited,
    /// No more than this.
    AtMost(U),
}

/// A cluster, or a host that stands alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterCapacity {
    /// CPU of all hosts.
    pub total_cpu: Option<Mhz>,
    /// CPU that VMs can have: without hosts that are out of service, and without overhead.
    pub effective_cpu: Option<Mhz>,
    /// Memory of all hosts.
    pub total_memory: Option<Bytes>,
    /// Memory that VMs can have.
    pub effective_memory: Option<Bytes>,
    pub hosts: Option<u64>,
    /// Hosts that are in service.
    pub effective_hosts: Option<u64>,
    /// What is asked of it; only clusters say so.
    pub demand: Option<ClusterDemand>,
}

/// What is asked of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterDemand {
    /// CPU that is reserved.
    pub cpu_reserved: Option<Mhz>,
    /// CPU that VMs would use if they could.
    pub cpu: Option<Mhz>,
    /// Memory that is reserved.
    pub memory_reserved: Option<Bytes>,
    /// Memory that VMs would use if they could.
    pub memory: Option<Bytes>,
    /// VMs, running or not.
    pub vms: Option<u64>,
    /// VMs that are off.
    pub vms_off: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCapacity {
    /// CPU of all its cores.
    pub cpu: Option<Mhz>,
    /// CPU of one core: no virtual CPU is faster.
    pub core_cpu: Option<Mhz>,
    pub cores: Option<u64>,
    pub threads: Option<u64>,
    pub memory: Option<Bytes>,
    pub cpu_used: Option<Mhz>,
    pub memory_used: Option<Bytes>,
    /// Whether vCenter hears it.
    pub connection: Option<HostConnection>,
    /// Whether it is in maintenance and takes no VMs.
    pub in_maintenance: Option<bool>,
}

/// How a host is connected to its vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostConnection {
    /// It can be used.
    Connected,
    /// Somebody disconnected it.
    Disconnected,
    /// It was lost.
    NotResponding,
    /// A state that is not in the vocabulary.
    Other(String),
}

/// A datastore, or a cluster of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatastoreCapacity {
    pub capacity: Option<Bytes>,
    /// What is free now.
    pub free: Option<Bytes>,
    /// What thin disks may still grow by.
    pub uncommitted: Option<Bytes>,
    /// Whether any host reaches it. If none does, nothing is known about its space.
    pub accessible: Option<bool>,
    /// Whether several hosts reach it.
    pub shared: Option<bool>,
    /// Whether it is in maintenance, or on its way there.
    pub in_maintenance: Option<bool>,
    /// What it is made of, in vSphere's words: `VMFS`, `NFS`, `vsan`.
    pub kind: Option<String>,
}

/// What is read of each class; classes that inherit from one of them are meant as well.
const PATHS: [(&str, &[&str]); 5] = [
    (
        "ResourcePool",
        &["owner", "config.cpuAllocation", "config.memoryAllocation", "runtime.cpu", "runtime.memory"],
    ),
    // In one piece: the summary of a cluster has members that a host's has not, and asking for them by path would be
    // refused for the whole call.
    ("ComputeResource", &["summary"]),
    (
        "HostSystem",
        &[
            "summary.hardware.cpuMhz",
            "summary.hardware.numCpuCores",
            "summary.hardware.numCpuThreads",
            "summary.hardware.memorySize",
            "summary.quickStats.overallCpuUsage",
            "summary.quickStats.overallMemoryUsage",
            "runtime.connectionState",
            "runtime.inMaintenanceMode",
        ],
    ),
    ("Datastore", &["summary"]),
    ("StoragePod", &["summary"]),
];

/// Reads how much room there is in these pools, clusters, hosts and datastores. Other objects are passed over.
pub async fn capacity(client: &Client, of: &[MoRef]) -> Result<Capacity, CallError> {
    let asked: Vec<(&MoRef, &str)> = of.iter().filter_map(|id| Some((id, class(id)?))).collect();
    if asked.is_empty() {
        return Ok(Capacity::default());
    }
    let wanted = PATHS.iter().filter(|(kind, _)| asked.iter().any(|(_, class)| class == kind));
    let spec = PropertyFilterSpec {
        prop_set: wanted
            .map(|(kind, paths)| PropertySpec {
                kind: (*kind).to_owned(),
                all: None,
                path_set: paths.iter().map(|path| (*path).to_owned()).collect(),
            })
            .collect(),
        object_set: asked
            .iter()
            .map(|(id, _)| ObjectSpec { obj: (*id).clone(), skip: None, select_set: Vec::new() })
            .collect(),
        // One that is gone must not cost the answer about the others.
        report_missing_objects: Some(true),
    };
    Ok(decode::decode(retrieve(client, spec).await?))
}

/// The class in [`PATHS`] that covers an object.
fn class(id: &MoRef) -> Option<&'static str> {
    match id.kind() {
        "ResourcePool" | "VirtualApp" => Some("ResourcePool"),
        "ComputeResource" | "ClusterComputeResource" => Some("ComputeResource"),
        "HostSystem" => Some("HostSystem"),
        "Datastore" => Some("Datastore"),
        "StoragePod" => Some("StoragePod"),
        _ => None,
    }
}
