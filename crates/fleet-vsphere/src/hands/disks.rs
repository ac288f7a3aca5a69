//! How large the disks of VMs are. The inventory does not watch them: it would be told all devices of each VM for it.

use std::collections::BTreeMap;

use rookery_fleet::MachineId;
use rookery_vim::Node;
use rookery_vim_client::{CallError, retrieve};

use super::Hands;
use super::template::{AT_ONCE, DEVICES, disks, spec};

impl Hands {
    /// The sizes of all disks of each VM together, in kilobytes. VMs that are gone or hidden are left out.
    pub async fn disk_sizes(&self, machines: &[MachineId]) -> Result<BTreeMap<MachineId, u64>, CallError> {
        let mut sizes = BTreeMap::new();
        for some in machines.chunks(AT_ONCE) {
            for object in retrieve(&self.client, spec(some, None, "VirtualMachine", DEVICES)).await? {
                let id = MachineId::new(object.obj.id());
                let devices = object.prop_set.iter().find(|property| property.name == DEVICES);
                sizes.extend(devices.map(|devices| (id, kilobytes(&devices.val))));
            }
        }
        Ok(sizes)
    }
}

fn kilobytes(devices: &Node) -> u64 {
    let size = |disk: &Node| disk.child_text("capacityInKB").and_then(|text| text.trim().parse::<u64>().ok());
    disks(devices).filter_map(size).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disks_count_and_nonsense_is_nothing() {
        let device = |class: &str, size: &str| Node {
            xsi_type: Some(class.to_owned().into()),
            children: vec![Node { text: size.to_owned(), ..Node::new("capacityInKB") }],
            ..Node::new("VirtualDevice")
        };
        let mut devices = Node::new("val");
        devices.children = vec![
            device("VirtualDisk", "1024"),
            device("VirtualDisk", "4096"),
            device("VirtualDisk", "-7"),
            device("VirtualFloppy", "9999"),
        ];
        assert_eq!(kilobytes(&devices), 5120);
    }
}
