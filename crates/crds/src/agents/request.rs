//! The request for one VM.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OwnedVm;
use crate::schema;

/// Which pool the VM belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "agent-forge.containeroo.ch",
    version = "v1alpha1",
    kind = "VsphereAgent",
    plural = "vsphereagents",
    singular = "vsphereagent",
    shortname = "va",
    namespaced,
    status = "VsphereAgentStatus",
    derive = "PartialEq",
    doc = "Stands for one vSphere VM of a VsphereAgentPool; deleting it deletes the VM if the pool's cleanupPolicy is Delete.",
    printcolumn = r#"{"name":"Pool","type":"string","jsonPath":".spec.poolRef.name"}"#,
    printcolumn = r#"{"name":"VM","type":"string","jsonPath":".status.vm.name"}"#,
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.vm.phase"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct VsphereAgentSpec {
    /// The pool, in the same namespace.
    pub pool_ref: PoolReference,
}

/// Names a pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct PoolReference {
    pub name: String,
}

/// What became of the VM.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct VsphereAgentStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<OwnedVm>,
    /// How often its VM was made in vain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Discovery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Option<Vec<Condition>>,
}

/// VMs of this request that never appeared as Agents.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Discovery {
    /// How many were given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<i32>,
    /// When the last of them was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_failure_time: Option<Time>,
    /// The generation of the pool that they were made by: another one begins anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_generation: Option<i64>,
}
