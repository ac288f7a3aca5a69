//! What people write into a pool, section by section, and what it means.

mod meaning;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults;
use crate::DurationText;
use crate::schema::{LABEL_VALUE, MAYBE_DNS_LABEL, RELATIVE_PATH, SUBDOMAIN, VSPHERE_WORD};

pub(super) use meaning::positive_or;

/// Names an object in the namespace of the pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Reference {
    #[schemars(length(min = 1, max = 253), regex(pattern = SUBDOMAIN))]
    pub name: String,
}

/// Names a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SecretReference {
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The namespace of the pool if absent or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63), regex(pattern = MAYBE_DNS_LABEL))]
    pub namespace: Option<String>,
}

/// The vCenter, and where in it the VMs are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Vsphere {
    /// The Secret with `server`, `username` and `password`; `insecure`, `caBundle` and `thumbprint` are optional.
    pub credentials_secret_ref: SecretReference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256), extend("default" = defaults::DATACENTER))]
    pub datacenter: Option<String>,
    /// The datastore cluster (a Storage DRS pod) for the disks.
    #[schemars(length(min = 1, max = 256))]
    pub datastore_cluster: String,
    /// The datastore for discovery ISOs.
    #[schemars(length(min = 1, max = 256))]
    pub iso_datastore: String,
    /// Such as `cluster/Resources`.
    #[schemars(length(min = 1, max = 512))]
    pub resource_pool: String,
    /// The path of a VM folder, which has to exist; the name of the hosted cluster if absent or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub folder: Option<String>,
    #[schemars(length(min = 1, max = 256))]
    pub network: String,
    /// Tags of the VMs, by id or by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub vm_tags: Option<Vec<String>>,
    #[serde(default, rename = "guestID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), regex(pattern = VSPHERE_WORD), extend("default" = defaults::GUEST_ID))]
    pub guest_id: Option<String>,
    /// The kind of disk controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), regex(pattern = VSPHERE_WORD), extend("default" = defaults::SCSI_TYPE))]
    pub scsi_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = defaults::FIRMWARE))]
    pub firmware: Option<Firmware>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), regex(pattern = VSPHERE_WORD), extend("default" = defaults::NETWORK_ADAPTER_TYPE))]
    pub network_adapter_type: Option<String>,
    /// Whether disks are thick and zeroed at once; otherwise they are thin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = defaults::DISK_EAGERLY_SCRUB))]
    pub disk_eagerly_scrub: Option<bool>,
    /// Places over which VMs are spread instead of the one above; what one leaves out is as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub placements: Option<Vec<Placement>>,
}

/// One of several places for VMs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Placement {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub resource_pool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub datastore_cluster: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub network: Option<String>,
}

/// How a VM starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Firmware {
    Efi,
    Bios,
}

/// How large the VMs are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Template {
    /// What the names of spare VMs begin with; the name of the pool if absent or empty. Other VMs have the name of their
    /// AgentMachine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 58), regex(pattern = MAYBE_DNS_LABEL))]
    pub name_prefix: Option<String>,
    #[serde(default, rename = "numCPUs", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 128), extend("default" = defaults::NUM_CPUS))]
    pub num_cpus: Option<i32>,
    #[serde(default, rename = "memoryMiB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1024, max = 1_048_576), extend("default" = defaults::MEMORY_MIB))]
    pub memory_mib: Option<i32>,
    #[serde(default, rename = "diskGiB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 20, max = 65_536), extend("default" = defaults::DISK_GIB))]
    pub disk_gib: Option<i32>,
}

/// What the Agents of the pool get.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AgentSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE), extend("default" = defaults::ROLE))]
    pub role: Option<String>,
    /// Have to match the NodePool's `agentLabelSelector`.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 32))]
    pub labels: BTreeMap<String, String>,
    /// `false`: somebody else approves Agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = defaults::APPROVE))]
    pub approve: Option<bool>,
}

/// How the discovery ISO is fetched and kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct IsoSettings {
    /// How often a new ISO is looked for, such as `10m` (the default) or `1h30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_interval: Option<DurationText>,
    /// How many ISOs stay on the datastore, the current one among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 20), extend("default" = defaults::RETAIN_VERSIONS))]
    pub retain_versions: Option<i32>,
    /// The folder on the datastore; `agent-forge/NAMESPACE/POOL` if absent or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = RELATIVE_PATH))]
    pub path_prefix: Option<String>,
    /// Certificate authorities in PEM form that the server of the ISO is trusted by, besides the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 262_144))]
    pub ca_bundle: Option<String>,
    /// Whether the server of the ISO is trusted whatever its certificate; `false` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_skip_verify: Option<bool>,
    /// The largest ISO that is taken; 8 if absent.
    #[serde(default, rename = "maxSizeGiB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub max_size_gib: Option<i32>,
}

/// What becomes of VMs and Agents that nobody needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum CleanupPolicy {
    Delete,
    Retain,
}

#[cfg(test)]
mod tests;
