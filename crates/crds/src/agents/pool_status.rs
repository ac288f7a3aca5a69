//! What is told of a pool.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionType, OwnedVm};
use crate::schema;

/// Demand, VMs, plan and ISO of a pool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct VsphereAgentPoolStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The AgentMachines of the NodePool that are not being deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_machines: Option<i32>,
    /// Those that no Agent suits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_agent_machines: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unready_agent_machines: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_machines_without_agent: Option<i32>,
    /// The Agents of the InfraEnv that have the pool's labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matching_agents: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_agents: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_agents: Option<i32>,
    /// How many waiting AgentMachines have neither an Agent nor a VM that will become one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deficit: Option<i32>,
    /// The VMs, by name.
    #[serde(default, rename = "ownedVMs", skip_serializing_if = "Option::is_none")]
    pub owned_vms: Option<Vec<OwnedVm>>,
    /// What the last plan does, and what waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_actions: Option<Vec<PlannedAction>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iso: Option<IsoStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Option<Vec<Condition>>,
}

/// An action of a plan, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct PlannedAction {
    #[serde(rename = "type")]
    pub action: ActionType,
    /// What it is done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub reason: String,
}

/// The discovery ISO on the datastore.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct IsoStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub checked_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub uploaded_at: Option<Time>,
    /// The value of the annotation that asked for the last refresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_refresh_token: Option<String>,
    /// The current ISO and those before it that are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<IsoVersion>>,
    /// What the server called this version, so that it can say that nothing has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// An ISO on the datastore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct IsoVersion {
    pub path: String,
    pub sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub uploaded_at: Option<Time>,
}
