//! The network cards of VMs. Pure.

use rookery_vim::specs::{
    DistributedVirtualSwitchPortConnection, VirtualDeviceConfigSpec, VirtualDeviceConnectInfo,
    VirtualEthernetCardDistributedVirtualPortBackingInfo, VirtualEthernetCardNetworkBackingInfo,
    VirtualEthernetCardOpaqueNetworkBackingInfo,
};
use rookery_vim::{MoRef, Node, ParseError};

const CLASSES: [&str; 7] = [
    "VirtualE1000",
    "VirtualE1000e",
    "VirtualPCNet32",
    "VirtualVmxnet",
    "VirtualVmxnet2",
    "VirtualVmxnet3",
    "VirtualSriovEthernetCard",
];

/// What a card is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkBacking {
    /// A network of the hosts' own switches.
    Standard { name: String, network: MoRef },
    /// A port group of a distributed switch.
    Distributed { switch_uuid: String, portgroup_key: String },
    /// A network that something beside vCenter manages.
    Opaque {
        id: String,
        /// What it is there, such as `nsx.LogicalSwitch`.
        kind: String,
    },
}

impl NetworkBacking {
    pub(crate) fn node(&self) -> Result<Node, ParseError> {
        let mut node = match self {
            Self::Standard { name, network } => Node::any(&VirtualEthernetCardNetworkBackingInfo {
                device_name: name.clone(),
                network: Some(network.clone()),
            }),
            Self::Distributed { switch_uuid, portgroup_key } => {
                let port = DistributedVirtualSwitchPortConnection {
                    switch_uuid: switch_uuid.clone(),
                    portgroup_key: Some(portgroup_key.clone()),
                };
                Node::any(&VirtualEthernetCardDistributedVirtualPortBackingInfo { port })
            }
            Self::Opaque { id, kind } => Node::any(&VirtualEthernetCardOpaqueNetworkBackingInfo {
                opaque_network_id: id.clone(),
                opaque_network_type: kind.clone(),
            }),
        }?;
        node.name = "backing".into();
        Ok(node)
    }
}

/// The cards among devices, in their order.
pub(crate) fn cards(devices: &[Node]) -> impl Iterator<Item = &Node> {
    devices.iter().filter(|d| d.xsi_type.as_deref().is_some_and(|class| CLASSES.contains(&class)))
}

/// The changes that connect the first card to another network or give it another class; all else of it stays.
pub(crate) fn rewire(
    devices: &[Node],
    network: Option<&NetworkBacking>,
    class: Option<&str>,
) -> Result<Vec<VirtualDeviceConfigSpec>, ParseError> {
    let Some(card) = cards(devices).next() else { return Ok(Vec::new()) };
    let other_class = class.filter(|class| card.xsi_type.as_deref() != Some(class));
    if network.is_none() && other_class.is_none() {
        return Ok(Vec::new());
    }
    let backing = match network {
        Some(network) => Some(network.node()?),
        None => card.child("backing").cloned(),
    };
    let change = |operation: &str, device: Node| VirtualDeviceConfigSpec {
        operation: Some(operation.to_owned()),
        file_operation: None,
        device,
    };
    Ok(match other_class {
        // A device cannot change its class: the old one goes and a new one comes.
        Some(class) => {
            vec![change("remove", card.clone()), change("add", new_card(-1, class, backing, None)?)]
        }
        None => vec![change("edit", edited(card, backing))],
    })
}

/// Members keep their order, which the server insists on. Without a MAC address the clone gets one of its own.
fn edited(card: &Node, backing: Option<Node>) -> Node {
    let mut card = card.clone();
    card.children.retain(|c| !matches!(&*c.name, "macAddress" | "addressType"));
    if let Some(backing) = backing {
        card.children.retain(|c| &*c.name != "backing");
        let after = card.children.iter().rposition(|c| matches!(&*c.name, "key" | "deviceInfo"));
        card.children.insert(after.map_or(0, |at| at + 1), backing);
    }
    card
}

/// A card that is plugged in. Its key is negative: the server replaces it. Without a MAC address it gets one of its own.
pub(crate) fn new_card(
    key: i32,
    class: &str,
    backing: Option<Node>,
    mac: Option<&str>,
) -> Result<Node, ParseError> {
    let mut connectable = Node::any(&VirtualDeviceConnectInfo {
        start_connected: true,
        allow_guest_control: true,
        connected: true,
    })?;
    connectable.name = "connectable".into();
    connectable.xsi_type = None;
    let leaf = |name: &str, text: &str| Node { text: text.to_owned(), ..Node::new(name) };
    let mut card = Node { xsi_type: Some(class.into()), ..Node::new("device") };
    card.children.push(leaf("key", &key.to_string()));
    card.children.extend(backing);
    card.children.push(connectable);
    if let Some(mac) = mac {
        card.children.extend([leaf("addressType", "manual"), leaf("macAddress", mac)]);
    }
    Ok(card)
}
