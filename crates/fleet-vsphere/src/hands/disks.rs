//! How large the disks of VMs are. The inventory does not watch them: it would be told all devices of each VM for it.

use rookery_fleet::MachineId;
use rookery_fleet::disks::{DiskSizes, Disks};
use rookery_vim::Node;
use rookery_vim_client::{CallError, retrieve};

use super::Hands;
use super::template::{AT_ONCE, DEVICES, devices_of, disks};

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// The sizes of the disks of each VM. VMs that are gone or hidden are left out.
    pub async fn disk_sizes(&self, machines: &[MachineId]) -> Result<Disks, CallError> {
        let mut sizes = Disks::new();
        for some in machines.chunks(AT_ONCE) {
            for object in retrieve(&self.client, devices_of(some)).await? {
                let id = MachineId::new(object.obj.id());
                let devices = object.prop_set.iter().find(|property| property.name == DEVICES);
                sizes.extend(devices.map(|devices| (id, sizes_of(&devices.val))));
            }
        }
        Ok(sizes)
    }
}

fn sizes_of(devices: &Node) -> DiskSizes {
    let number =
        |disk: &Node, name: &str| disk.child_text(name).and_then(|text| text.trim().parse::<u64>().ok());
    let size = |disk: &Node| number(disk, "capacityInKB");
    let first = disks(devices).min_by_key(|disk| number(disk, "key"));
    DiskSizes {
        all_kb: disks(devices).filter_map(size).fold(0, u64::saturating_add),
        first_kb: first.and_then(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disks_count_and_nonsense_is_nothing() {
        let device = |class: &str, key: &str, size: &str| {
            let member = |name: &str, text: &str| Node { text: text.to_owned(), ..Node::new(name) };
            Node {
                xsi_type: Some(class.to_owned().into()),
                children: vec![member("key", key), member("capacityInKB", size)],
                ..Node::new("VirtualDevice")
            }
        };
        let of = |all: Vec<Node>| sizes_of(&Node { children: all, ..Node::new("val") });
        let disks = of(vec![
            device("VirtualDisk", "2001", "1024"),
            device("VirtualDisk", "2000", "4096"),
            device("VirtualDisk", "2002", "-7"),
            device("VirtualFloppy", "8000", "9999"),
        ]);
        assert_eq!(disks, DiskSizes { all_kb: 5120, first_kb: Some(4096) });
        let odd = of(vec![device("VirtualDisk", "2000", "-7"), device("VirtualDisk", "2001", "1024")]);
        assert_eq!(odd, DiskSizes { all_kb: 1024, first_kb: None });
        assert_eq!(of(vec![]), DiskSizes::default());
    }
}
