//! `Agent`: a host that booted a discovery ISO.

use serde::{Deserialize, Serialize};

use super::{Foreign, ForeignKind};
use crate::reading::{lenient, lenient_list};

/// An Agent of the Assisted Installer.
pub type Agent = Foreign<AgentKind>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentKind;

impl ForeignKind for AgentKind {
    const GROUP: &'static str = "agent-install.openshift.io";
    const VERSION: &'static str = "v1beta1";
    const KIND: &'static str = "Agent";
    const PLURAL: &'static str = "agents";
    type Spec = AgentSpec;
    type Status = AgentStatus;
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub cluster_deployment_name: Option<ClusterDeploymentName>,
}

/// The cluster that has the Agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterDeploymentName {
    #[serde(default)]
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentStatus {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
}

/// What the host said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub system_vendor: Option<SystemVendor>,
    #[serde(default, deserialize_with = "lenient_list", skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
}

/// A network card. Which of the two it has depends on who wrote the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
}

impl Interface {
    /// Whichever it has.
    pub fn address(&self) -> Option<&str> {
        let either = [&self.mac_address, &self.mac].into_iter().flatten();
        either.map(String::as_str).find(|address| !address.is_empty())
    }
}
