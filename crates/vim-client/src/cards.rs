//! The network cards of a clone. Pure.

use rookery_vim::specs::{
    DistributedVirtualSwitchPortConnection, VirtualDeviceConfigSpec, VirtualDeviceConnectInfo,
    VirtualEthernetCardDistributedVirtualPortBackingInfo, VirtualEthernetCardNetworkBackingInfo,
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
    Standard {
        /// Its name.
        name: String,
        /// Its reference.
        network: MoRef,
    },
    /// A port group of a distributed switch.
    Distributed {
        /// The switch.
        switch_uuid: String,
        /// The port group.
        portgroup_key: String,
    },
}

impl NetworkBacking {
    fn node(&self) -> Result<Node, ParseError> {
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
        }?;
        node.name = "backing".into();
        Ok(node)
    }
}

/// The cards among devices, in their order.
pub(super) fn cards(devices: &[Node]) -> impl Iterator<Item = &Node> {
    devices.iter().filter(|d| d.xsi_type.as_deref().is_some_and(|class| CLASSES.contains(&class)))
}

/// The changes that connect the first card to another network or give it another class; all else of it stays.
pub(super) fn rewire(
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
        Some(class) => vec![change("remove", card.clone()), change("add", new_card(class, backing)?)],
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

fn new_card(class: &str, backing: Option<Node>) -> Result<Node, ParseError> {
    let mut card = Node { xsi_type: Some(class.into()), ..Node::new("device") };
    let mut connectable = Node::any(&VirtualDeviceConnectInfo {
        start_connected: true,
        allow_guest_control: true,
        connected: true,
    })?;
    connectable.name = "connectable".into();
    connectable.xsi_type = None;
    // Negative keys are replaced by the server.
    card.children.push(Node { text: "-1".to_owned(), ..Node::new("key") });
    card.children.extend(backing);
    card.children.push(connectable);
    Ok(card)
}
