//! What a card must be told to be connected to a network.

use rookery_vim::{MoRef, Node, Wire as _};

use crate::cards::NetworkBacking;
use crate::client::Client;
use crate::error::CallError;
use crate::properties::{properties_of, property_of};

/// Reads what kind of network it is, and what its cards have to name.
pub async fn network_backing(client: &Client, network: &MoRef) -> Result<NetworkBacking, CallError> {
    match network.kind() {
        "DistributedVirtualPortgroup" => {
            let paths = ["key", "config.distributedVirtualSwitch"];
            let mut found = properties_of(client, network, &paths).await?;
            let switch = found.remove(paths[1]).and_then(|node| MoRef::from_node(node).ok());
            let uuid = match switch {
                Some(switch) => property_of(client, &switch, "uuid").await?,
                None => None,
            };
            let portgroup_key = text(found.remove(paths[0]));
            Ok(NetworkBacking::Distributed { switch_uuid: text(uuid), portgroup_key })
        }
        "OpaqueNetwork" => {
            let paths = ["summary.opaqueNetworkId", "summary.opaqueNetworkType"];
            let mut found = properties_of(client, network, &paths).await?;
            let [id, kind] = paths.map(|path| text(found.remove(path)));
            Ok(NetworkBacking::Opaque { id, kind })
        }
        _ => {
            let name = text(property_of(client, network, "name").await?);
            Ok(NetworkBacking::Standard { name, network: network.clone() })
        }
    }
}

fn text(node: Option<Node>) -> String {
    node.map(|node| node.text).unwrap_or_default()
}
