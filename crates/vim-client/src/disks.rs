//! The disks of VMs. Pure.

use rookery_vim::Node;

/// A virtual disk, as vCenter tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// What vCenter calls it, such as `Hard disk 1`.
    pub label: String,
    pub size_kb: Option<i64>,
    /// The file that is written to: `[datastore] folder/file.vmdk`.
    pub file: Option<String>,
    /// The file that it stands on, of a snapshot or of what it was cloned from.
    pub parent: Option<String>,
}

/// The disks among devices, in their order.
pub(crate) fn disks(devices: &[Node]) -> Vec<Disk> {
    let of_disk = |device: &&Node| device.xsi_type.as_deref() == Some("VirtualDisk");
    devices.iter().filter(of_disk).map(disk).collect()
}

fn disk(device: &Node) -> Disk {
    let text = |node: Option<&Node>, name: &str| node?.child_text(name).map(str::to_owned);
    let backing = device.child("backing");
    Disk {
        label: text(device.child("deviceInfo"), "label").unwrap_or_default(),
        size_kb: device.child_text("capacityInKB").and_then(|size| size.parse().ok()),
        file: text(backing, "fileName"),
        parent: text(backing.and_then(|backing| backing.child("parent")), "fileName"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, children: Vec<Node>) -> Node {
        let mut node = Node::new(name);
        node.children = children;
        node
    }

    fn leaf(name: &str, text: &str) -> Node {
        Node { text: text.to_owned(), ..Node::new(name) }
    }

    #[test]
    fn a_disk_has_a_file_and_perhaps_one_that_it_stands_on() {
        let parent = node("parent", vec![leaf("fileName", "[fast] base/base.vmdk")]);
        let mut linked = node(
            "VirtualDevice",
            vec![
                node("deviceInfo", vec![leaf("label", "Hard disk 1")]),
                node("backing", vec![leaf("fileName", "[fast] a/a.vmdk"), parent]),
                leaf("capacityInKB", "1048576"),
            ],
        );
        linked.xsi_type = Some("VirtualDisk".into());
        let mut card = Node::new("VirtualDevice");
        card.xsi_type = Some("VirtualVmxnet3".into());
        let expected = Disk {
            label: "Hard disk 1".to_owned(),
            size_kb: Some(1 << 20),
            file: Some("[fast] a/a.vmdk".to_owned()),
            parent: Some("[fast] base/base.vmdk".to_owned()),
        };
        assert_eq!(disks(&[card, linked]), [expected]);
    }
}
