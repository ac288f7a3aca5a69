//! One VM by its UUID or inventory path, asked of the server.

use rookery_vim::MoRef;
use rookery_vim::methods::{FindAllByUuid, FindByInventoryPath};

use crate::client::Client;
use crate::error::CallError;

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
    /// There is none.
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

/// A server without one answers the call with a fault that says so.
fn search_index(client: &Client) -> MoRef {
    client.content().search_index.clone().unwrap_or_else(|| MoRef::new("SearchIndex", "SearchIndex"))
}
