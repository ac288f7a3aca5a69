//! Which datastore a new VM goes to, where a cluster of datastores was named.
//!
//! vCenter is asked first, since it knows loads and rules. Where it gives no advice, the member with the most free
//! space is taken. The rules are pure functions.

use std::cmp::Reverse;

use rookery_vim::methods::RecommendDatastores;
use rookery_vim::objects::{ObjectContent, PropertyFilterSpec};
use rookery_vim::storage::{StoragePlacementResult, StoragePlacementSpec};
use rookery_vim::{MoRef, Wire as _};
use tracing::debug;

use crate::client::Client;
use crate::error::CallError;
use crate::properties::{properties, retrieve, through};

const PATHS: [&str; 4] = ["name", "summary.accessible", "summary.freeSpace", "summary.maintenanceMode"];

/// Why there is no place.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PlacementError {
    /// The cluster could not be looked at.
    #[error("the datastore cluster {pod} could not be read")]
    Unreadable { pod: MoRef, source: CallError },
    /// Every member is out of use, or there is none.
    #[error("the datastore cluster {pod} has no datastore in use: {}", told(members))]
    NoneUsable { pod: MoRef, members: Vec<Member> },
}

/// A datastore of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: MoRef,
    pub name: String,
    /// Whether hosts reach it; nothing if vCenter does not say.
    pub accessible: Option<bool>,
    /// Its maintenance mode, `normal` if it is in none.
    pub maintenance: Option<String>,
    /// Bytes that are free.
    pub free: Option<i64>,
}

impl Member {
    fn is_usable(&self) -> bool {
        self.accessible == Some(true) && self.maintenance.as_deref().is_none_or(|mode| mode == "normal")
    }
}

fn told(members: &[Member]) -> String {
    let state = |member: &Member| match (member.accessible, member.maintenance.as_deref()) {
        (Some(true), mode) => format!("{} is {}", member.name, mode.unwrap_or("normal")),
        (Some(false), _) => format!("{} is not accessible", member.name),
        (None, _) => format!("{} does not say whether it is accessible", member.name),
    };
    if members.is_empty() {
        "it is empty".to_owned()
    } else {
        members.iter().map(state).collect::<Vec<_>>().join(", ")
    }
}

/// Whether it is a cluster of datastores.
pub(crate) fn is_cluster(target: &MoRef) -> bool {
    target.kind() == "StoragePod"
}

/// The datastore that is meant by `target`: itself, or the one of its members that suits what is to be placed. A member
/// to `stay` on goes before all advice.
pub(crate) async fn datastore(
    client: &Client,
    target: &MoRef,
    stay: Option<&MoRef>,
    what: impl FnOnce() -> StoragePlacementSpec,
) -> Result<MoRef, PlacementError> {
    if !is_cluster(target) {
        return Ok(target.clone());
    }
    let unreadable = |source| PlacementError::Unreadable { pod: target.clone(), source };
    let members = members(client, target).await.map_err(unreadable)?;
    if let Some(stay) = stay.filter(|stay| members.iter().any(|m| m.id == **stay && m.is_usable())) {
        return Ok(stay.clone());
    }
    let advice = advice(client, what()).await.map_err(unreadable)?;
    let chosen = advice.as_ref().and_then(recommended).or_else(|| roomiest(&members));
    chosen.ok_or_else(|| PlacementError::NoneUsable { pod: target.clone(), members })
}

/// What vCenter recommends; nothing if it does not recommend.
async fn advice(
    client: &Client,
    storage_spec: StoragePlacementSpec,
) -> Result<Option<StoragePlacementResult>, CallError> {
    let Some(this) = client.content().storage_resource_manager.clone() else { return Ok(None) };
    match client.call(&RecommendDatastores { this, storage_spec }).await {
        Ok(advice) => Ok(Some(advice)),
        Err(CallError::Fault { source, .. }) => {
            debug!(error = %source, "vCenter recommends no datastore");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Where the best recommendation that names a datastore would put it.
fn recommended(advice: &StoragePlacementResult) -> Option<MoRef> {
    let actions = advice.recommendations.iter().flat_map(|recommendation| &recommendation.action);
    let destinations = actions.filter_map(|action| action.child("destination"));
    destinations.filter_map(|node| MoRef::from_node(node.clone()).ok()).find(|id| id.kind() == "Datastore")
}

/// The usable member with the most free space.
fn roomiest(members: &[Member]) -> Option<MoRef> {
    let usable = members.iter().filter(|member| member.is_usable());
    usable.max_by_key(|member| (member.free, Reverse(&member.id))).map(|member| member.id.clone())
}

async fn members(client: &Client, pod: &MoRef) -> Result<Vec<Member>, CallError> {
    let spec = PropertyFilterSpec {
        prop_set: vec![properties("Datastore", &PATHS)],
        object_set: vec![through(pod.clone(), "childEntity")],
        report_missing_objects: None,
    };
    Ok(retrieve(client, spec).await?.into_iter().map(member).collect())
}

fn member(object: ObjectContent) -> Member {
    let mut member = Member {
        name: object.obj.id().to_owned(),
        id: object.obj,
        accessible: None,
        maintenance: None,
        free: None,
    };
    for property in object.prop_set {
        match property.name.as_str() {
            "name" => member.name = String::from_node(property.val).unwrap_or_default(),
            "summary.accessible" => member.accessible = bool::from_node(property.val).ok(),
            "summary.freeSpace" => member.free = i64::from_node(property.val).ok(),
            "summary.maintenanceMode" => member.maintenance = String::from_node(property.val).ok(),
            _ => {}
        }
    }
    member
}

#[cfg(test)]
mod tests;
