//! VMs by their UUID, inventory path or name, asked of the server.

use rookery_vim::MoRef;
use rookery_vim::inventory_name::unescape;
use rookery_vim::methods::{DestroyView, FindAllByUuid, FindByInventoryPath};
use rookery_vim::objects::ObjectContent;

use crate::client::Client;
use crate::error::CallError;
use crate::properties::{container_view, members_of, retrieve};

/// Which of a VM's two UUIDs is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UuidKind {
    /// The BIOS UUID, which the guest sees. Copies of a VM may share it.
    Bios,
    /// The UUID that vCenter gives, unique there.
    Instance,
}

/// Why a search does not lead to one VM.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SearchError {
    /// vCenter could not be asked.
    #[error("searching for {wanted} failed")]
    Call { wanted: String, source: CallError },
    #[error("there is no VM {wanted}")]
    Missing { wanted: String },
    /// There are several; none is better than the others.
    #[error("{} VMs have the UUID {wanted}: {}", found.len(), ids(found))]
    Ambiguous { wanted: String, found: Vec<MoRef> },
}

fn ids(found: &[MoRef]) -> String {
    found.iter().map(MoRef::id).collect::<Vec<_>>().join(", ")
}

/// The VM with that UUID.
pub async fn vm_by_uuid(client: &Client, uuid: &str, kind: UuidKind) -> Result<MoRef, SearchError> {
    let wanted = || uuid.to_owned();
    let search = FindAllByUuid {
        this: search_index(client),
        datacenter: None,
        uuid: uuid.to_owned(),
        vm_search: true,
        instance_uuid: Some(kind == UuidKind::Instance),
    };
    let found =
        client.call(&search).await.map_err(|source| SearchError::Call { wanted: wanted(), source })?;
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(SearchError::Missing { wanted: wanted() }),
        _ => Err(SearchError::Ambiguous { wanted: wanted(), found }),
    }
}

/// The VM at a path such as `/DC0/vm/folder/name`; a slash inside a name is written `%2f`.
pub async fn vm_by_path(client: &Client, path: &str) -> Result<MoRef, SearchError> {
    let wanted = || path.to_owned();
    // Not every server takes the leading slash that people write.
    let inventory_path = path.trim_start_matches('/').to_owned();
    let search = FindByInventoryPath { this: search_index(client), inventory_path };
    let found =
        client.call(&search).await.map_err(|source| SearchError::Call { wanted: wanted(), source })?;
    found.filter(|id| id.kind() == "VirtualMachine").ok_or_else(|| SearchError::Missing { wanted: wanted() })
}

/// The names of all VMs below a container, as people write them. A VM that leaves meanwhile is left out.
pub async fn vm_names(client: &Client, container: &MoRef) -> Result<Vec<(MoRef, String)>, CallError> {
    let view = container_view(client, container.clone(), &["VirtualMachine"]).await?;
    let found = retrieve(client, members_of(&view, "VirtualMachine", &["name"])).await;
    // The view goes with the session anyway: failing to remove it now is not worth an error.
    client.call(&DestroyView { this: view }).await.ok();
    let named = |object: ObjectContent| {
        let name = object.prop_set.into_iter().find(|property| property.name == "name")?;
        Some((object.obj, unescape(&name.val.text)))
    };
    Ok(found?.into_iter().filter_map(named).collect())
}

/// A server without one answers the call with a fault that says so.
pub(crate) fn search_index(client: &Client) -> MoRef {
    client.content().search_index.clone().unwrap_or_else(|| MoRef::new("SearchIndex", "SearchIndex"))
}
