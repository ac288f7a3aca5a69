//! What a card must be told to be connected to a network.

use rookery_vim::{MoRef, Node, Wire as _};

use crate::cards::NetworkBacking;
use crate::client::Client;
use crate::error::CallError;
use crate::properties::properties_of;

/// Reads what kind of network it is, and what its cards have to name.
pub async fn network_backing(client: &Client, network: &MoRef) -> Result<NetworkBacking, CallError> {
    match network.kind() {
        "DistributedVirtualPortgroup" => {
            let found = properties_of(client, network, &["key", "config.distributedVirtualSwitch"]).await?;
            let switch = found.iter().find(|(name, _)| name == "config.distributedVirtualSwitch");
            let switch = switch.and_then(|(_, node)| MoRef::from_node(node.clone()).ok());
            let switch_uuid = match switch {
                Some(switch) => text(&properties_of(client, &switch, &["uuid"]).await?, "uuid"),
                None => String::new(),
            };
            Ok(NetworkBacking::Distributed { switch_uuid, portgroup_key: text(&found, "key") })
        }
        "OpaqueNetwork" => {
            let paths = ["summary.opaqueNetworkId", "summary.opaqueNetworkType"];
            let found = properties_of(client, network, &paths).await?;
            Ok(NetworkBacking::Opaque { id: text(&found, paths[0]), kind: text(&found, paths[1]) })
        }
        _ => {
            let found = properties_of(client, network, &["name"]).await?;
            Ok(NetworkBacking::Standard { name: text(&found, "name"), network: network.clone() })
        }
    }
}

fn text(found: &[(String, Node)], path: &str) -> String {
    let node = found.iter().find(|(name, _)| name == path).map(|(_, node)| node.text.clone());
    node.unwrap_or_default()
}
