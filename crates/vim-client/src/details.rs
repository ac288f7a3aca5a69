//! What is worth a call for one VM, but not worth watching on all.

use rookery_vim::{MoRef, Wire as _};

use crate::client::Client;
use crate::disks::{Disk, disks};
use crate::error::CallError;
use crate::properties::properties_of;
use crate::snapshots::{VmSnapshot, snapshots};

/// What a VM has on datastores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// The datastores that its files are on.
    pub datastores: Vec<MoRef>,
    pub disks: Vec<Disk>,
    /// Each behind the one that it stands on.
    pub snapshots: Vec<VmSnapshot>,
}

/// Reads what a VM has on datastores.
pub async fn details(client: &Client, vm: &MoRef) -> Result<Details, CallError> {
    let mut found = properties_of(client, vm, &["datastore", "config.hardware.device", "snapshot"]).await?;
    let references = found.remove("datastore").map(|list| list.children).unwrap_or_default();
    Ok(Details {
        datastores: references.into_iter().filter_map(|node| MoRef::from_node(node).ok()).collect(),
        disks: found.remove("config.hardware.device").map(|list| disks(&list.children)).unwrap_or_default(),
        snapshots: found.remove("snapshot").map(|info| snapshots(&info)).unwrap_or_default(),
    })
}
