//! The pool.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::positive_or;
use super::{
    AgentSettings, CleanupPolicy, IsoSettings, Reference, Template, Vsphere, VsphereAgentPoolStatus, defaults,
};
use crate::schema::DNS_LABEL;
use crate::{DurationText, GoDuration, InvalidDuration};

/// Which NodePool is served, with VMs of which kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "agent-forge.containeroo.ch",
    version = "v1alpha1",
    kind = "VsphereAgentPool",
    plural = "vsphereagentpools",
    singular = "vsphereagentpool",
    shortname = "vap",
    namespaced,
    status = "VsphereAgentPoolStatus",
    derive = "PartialEq",
    doc = "Makes vSphere VMs for the AgentMachines of a HyperShift NodePool that wait for an Agent.",
    printcolumn = r#"{"name":"Waiting","type":"integer","jsonPath":".status.waitingAgentMachines"}"#,
    printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".status.desiredReplicas"}"#,
    printcolumn = r#"{"name":"Agents","type":"integer","jsonPath":".status.matchingAgents"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct VsphereAgentPoolSpec {
    /// The hosted cluster, in the namespace of the pool.
    pub hosted_cluster_ref: Reference,
    /// The NodePool, in the namespace of the pool.
    pub node_pool_ref: Reference,
    /// The InfraEnv whose discovery ISO the VMs start from, in the namespace of the pool.
    pub infra_env_ref: Reference,
    /// Where the AgentMachines and Machines are, usually `NAMESPACE-HOSTEDCLUSTER`.
    #[schemars(length(min = 1, max = 63), regex(pattern = DNS_LABEL))]
    pub control_plane_namespace: String,
    pub vsphere: Vsphere,
    pub template: Template,
    pub agent: AgentSettings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iso: Option<IsoSettings>,
    /// Whether VMs and Agents that nobody needs any more are deleted, or left to somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = defaults::CLEANUP_POLICY))]
    pub cleanup_policy: Option<CleanupPolicy>,
    /// How many VMs stand ready ahead of demand; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub min_spare: Option<i32>,
    /// How many VMs there are at most, spare ones among them; unlimited if absent.
    #[serde(default, rename = "maxVMs", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_vms: Option<i32>,
    /// How long a VM may take to appear as an Agent before it is replaced, such as `30m` (the default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_timeout: Option<DurationText>,
}

impl VsphereAgentPoolSpec {
    pub fn cleanup_policy(&self) -> CleanupPolicy {
        self.cleanup_policy.unwrap_or(defaults::CLEANUP_POLICY)
    }

    /// How the ISO is kept; an absent section is an empty one.
    pub fn iso(&self) -> IsoSettings {
        self.iso.clone().unwrap_or_default()
    }

    pub fn min_spare(&self) -> i32 {
        self.min_spare.unwrap_or(defaults::MIN_SPARE)
    }

    pub fn discovery_timeout(&self) -> Result<GoDuration, InvalidDuration> {
        positive_or(self.discovery_timeout.as_ref(), defaults::DISCOVERY_TIMEOUT)
    }
}
