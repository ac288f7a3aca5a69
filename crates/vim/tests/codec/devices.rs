//! New devices: a vCenter refuses members out of order, and a backing without its class.

use rookery_vim::devices::{
    DeviceBacking, ParaVirtualSCSIController, VirtualCdrom, VirtualCdromIsoBackingInfo,
    VirtualCdromRemotePassthroughBackingInfo, VirtualDisk, VirtualDiskFlatVer2BackingInfo,
    VirtualIDEController,
};
use rookery_vim::specs::{VirtualDeviceConnectInfo, VirtualEthernetCardOpaqueNetworkBackingInfo};
use rookery_vim::{Node, Wire};

fn check<T: Wire + PartialEq + std::fmt::Debug>(device: &T, members: &str, backing: Option<&str>) {
    let node = Node::device(device).expect("it is well-formed");
    assert_eq!((&*node.name, node.xsi_type.as_deref()), ("device", Some(T::TYPE)));
    assert_eq!(node.children.iter().map(|c| &*c.name).collect::<Vec<_>>().join(" "), members);
    assert_eq!(node.child("backing").and_then(|b| b.xsi_type.as_deref()), backing);
    assert_eq!(T::from_node(node).as_ref(), Ok(device));
}

#[test]
fn devices_are_written_in_the_order_of_the_schema_with_their_class_and_come_back() {
    let scsi = ParaVirtualSCSIController {
        key: -1,
        bus_number: 0,
        shared_bus: "noSharing".into(),
        scsi_ctlr_unit_number: Some(7),
    };
    check(&scsi, "key busNumber sharedBus scsiCtlrUnitNumber", None);
    check(&VirtualIDEController { key: -2, bus_number: 0 }, "key busNumber", None);
    let file = VirtualDiskFlatVer2BackingInfo {
        file_name: String::new(),
        disk_mode: "persistent".into(),
        thin_provisioned: Some(true),
    };
    let disk = VirtualDisk {
        key: -3,
        backing: Some(DeviceBacking::VirtualDiskFlatVer2BackingInfo(file)),
        controller_key: Some(-1),
        unit_number: Some(0),
        capacity_in_kb: 1 << 40,
    };
    check(&disk, "key backing controllerKey unitNumber capacityInKB", Some("VirtualDiskFlatVer2BackingInfo"));
    let drive = |backing| VirtualCdrom {
        key: -4,
        backing: Some(backing),
        connectable: Some(VirtualDeviceConnectInfo {
            start_connected: true,
            allow_guest_control: true,
            connected: true,
        }),
        controller_key: Some(-2),
        unit_number: Some(0),
    };
    let members = "key backing connectable controllerKey unitNumber";
    let iso = VirtualCdromIsoBackingInfo { file_name: "[fast] iso/x.iso".into() };
    let empty = VirtualCdromRemotePassthroughBackingInfo { device_name: String::new(), exclusive: false };
    let (full, empty) = (
        drive(DeviceBacking::VirtualCdromIsoBackingInfo(iso)),
        drive(DeviceBacking::VirtualCdromRemotePassthroughBackingInfo(empty)),
    );
    check(&full, members, Some("VirtualCdromIsoBackingInfo"));
    check(&empty, members, Some("VirtualCdromRemotePassthroughBackingInfo"));
    let opaque = VirtualEthernetCardOpaqueNetworkBackingInfo {
        opaque_network_id: "n1".into(),
        opaque_network_type: "nsx.LogicalSwitch".into(),
    };
    check(&opaque, "opaqueNetworkId opaqueNetworkType", None);
}
