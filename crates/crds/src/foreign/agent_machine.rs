//! `AgentMachine`: the infrastructure of a Machine, which is an Agent once one is found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Foreign, ForeignCondition, ForeignKind};
use crate::reading::{lenient, lenient_list};

/// An AgentMachine of the CAPI provider for Agents.
pub type AgentMachine = Foreign<AgentMachineKind>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentMachineKind;

impl ForeignKind for AgentMachineKind {
    const GROUP: &'static str = "capi-provider.agent-install.openshift.io";
    const VERSION: &'static str = "v1beta1";
    const KIND: &'static str = "AgentMachine";
    const PLURAL: &'static str = "agentmachines";
    type Spec = AgentMachineSpec;
    type Status = AgentMachineStatus;
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentMachineSpec {
    #[serde(
        default,
        rename = "providerID",
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub agent_label_selector: Option<LabelSelector>,
}

/// Which Agents suit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentMachineStatus {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<NamedAgent>,
    #[serde(default, deserialize_with = "lenient_list", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ForeignCondition>,
}

/// The Agent that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NamedAgent {
    #[serde(default)]
    pub name: String,
}

impl AgentMachineStatus {
    pub fn ready(&self) -> Option<&ForeignCondition> {
        self.conditions.iter().find(|condition| condition.name == "Ready")
    }
}
