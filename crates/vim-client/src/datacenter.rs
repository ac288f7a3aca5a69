//! Datacenters by name.

use rookery_vim::inventory_name::unescape;
use rookery_vim::methods::{CreateContainerView, DestroyView};
use rookery_vim::objects::{ObjectSpec, PropertyFilterSpec, PropertySpec, Selection, TraversalSpec};
use rookery_vim::{MoRef, Wire as _};

use crate::client::Client;
use crate::error::CallError;
use crate::properties::retrieve;

/// A datacenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datacenter {
    /// Its reference.
    pub reference: MoRef,
    /// Its name as people write it.
    pub name: String,
}

/// Why a name does not lead to one object.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FindError {
    #[error("the datacenters could not be listed")]
    Listing(#[from] CallError),
    #[error("there is no datacenter {name:?}; there are: {}", .existing.join(", "))]
    Missing { name: String, existing: Vec<String> },
    #[error("{count} datacenters are named {name:?}")]
    Ambiguous { name: String, count: usize },
}

/// The datacenter of that name.
pub async fn find_datacenter(client: &Client, name: &str) -> Result<Datacenter, FindError> {
    let all = list(client).await?;
    let mut matching: Vec<_> = all.iter().filter(|d| d.name == name).cloned().collect();
    match (matching.pop(), matching.len()) {
        (Some(found), 0) => Ok(found),
        (Some(_), others) => Err(FindError::Ambiguous { name: name.to_owned(), count: others + 1 }),
        (None, _) => Err(FindError::Missing {
            name: name.to_owned(),
            existing: all.into_iter().map(|d| d.name).collect(),
        }),
    }
}

async fn list(client: &Client) -> Result<Vec<Datacenter>, CallError> {
    let view = container_view(client, client.content().root_folder.clone(), "Datacenter").await?;
    let found = retrieve(client, members_of(&view, "ContainerView", "Datacenter", &["name"])).await;
    // The view goes with the session anyway: failing to remove it now is not worth an error.
    client.call(&DestroyView { this: view }).await.ok();
    let mut datacenters = Vec::new();
    for object in found? {
        let name = object.prop_set.into_iter().find(|p| p.name == "name");
        let name = name.and_then(|p| String::from_node(p.val).ok()).unwrap_or_default();
        datacenters.push(Datacenter { reference: object.obj, name: unescape(&name) });
    }
    datacenters.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(datacenters)
}

/// A live list of all objects of one class below a container.
pub(crate) async fn container_view(
    client: &Client,
    container: MoRef,
    kind: &str,
) -> Result<MoRef, CallError> {
    // A server without views cannot be used; it answers this call with a fault that says so.
    let this =
        client.content().view_manager.clone().unwrap_or_else(|| MoRef::new("ViewManager", "ViewManager"));
    client.call(&CreateContainerView { this, container, kinds: vec![kind.to_owned()], recursive: true }).await
}

/// Properties of all members of a view.
pub(crate) fn members_of(view: &MoRef, view_kind: &str, kind: &str, paths: &[&str]) -> PropertyFilterSpec {
    let step = TraversalSpec {
        name: Some("members".into()),
        kind: view_kind.into(),
        path: "view".into(),
        skip: Some(false),
        select_set: Vec::new(),
    };
    PropertyFilterSpec {
        prop_set: vec![PropertySpec {
            kind: kind.into(),
            all: None,
            path_set: paths.iter().map(|p| (*p).to_owned()).collect(),
        }],
        object_set: vec![ObjectSpec {
            obj: view.clone(),
            skip: Some(true),
            select_set: vec![Selection::TraversalSpec(step)],
        }],
        report_missing_objects: None,
    }
}
