//! The devices of a new VM: one row a class, members in schema order, inherited ones first.
//!
//! A device that is only passed on is kept as a tree; these rows are for what we make ourselves. Network cards are not
//! here: they come in many classes with the same members, and the class is the caller's choice.

use crate::Node;
use crate::specs::VirtualDeviceConnectInfo;
use crate::wire::{objects, variants};

objects! {
    /// A SCSI controller that guests need a driver for; the fastest one.
    ParaVirtualSCSIController {
        key: i32 = "key",
        bus_number: i32 = "busNumber",
        shared_bus: String = "sharedBus",
        scsi_ctlr_unit_number: Option<i32> = "scsiCtlrUnitNumber",
    }

    /// A SCSI controller that old guests know.
    VirtualLsiLogicController {
        key: i32 = "key",
        bus_number: i32 = "busNumber",
        shared_bus: String = "sharedBus",
        scsi_ctlr_unit_number: Option<i32> = "scsiCtlrUnitNumber",
    }

    /// An IDE controller.
    VirtualIDEController {
        key: i32 = "key",
        bus_number: i32 = "busNumber",
    }

    /// A SATA controller.
    VirtualAHCIController {
        key: i32 = "key",
        bus_number: i32 = "busNumber",
    }

    /// A disk.
    VirtualDisk {
        key: i32 = "key",
        backing: Option<DeviceBacking> = "backing",
        controller_key: Option<i32> = "controllerKey",
        unit_number: Option<i32> = "unitNumber",
        capacity_in_kb: i64 = "capacityInKB",
    }

    /// A file that holds a disk; without a name it is made beside the VM's other files.
    VirtualDiskFlatVer2BackingInfo {
        file_name: String = "fileName",
        disk_mode: String = "diskMode",
        thin_provisioned: Option<bool> = "thinProvisioned",
    }

    /// A CD drive.
    VirtualCdrom {
        key: i32 = "key",
        backing: Option<DeviceBacking> = "backing",
        connectable: Option<VirtualDeviceConnectInfo> = "connectable",
        controller_key: Option<i32> = "controllerKey",
        unit_number: Option<i32> = "unitNumber",
    }

    /// An image such as `[datastore] iso/x.iso` in a CD drive.
    VirtualCdromIsoBackingInfo {
        file_name: String = "fileName",
    }

    /// An empty CD drive, for a person to put something in from afar. It ties the VM to no host.
    VirtualCdromRemotePassthroughBackingInfo {
        device_name: String = "deviceName",
        exclusive: bool = "exclusive",
    }
}

variants! {
    /// What is behind a device.
    DeviceBacking of "VirtualDeviceBackingInfo" {
        VirtualDiskFlatVer2BackingInfo,
        VirtualCdromIsoBackingInfo,
        VirtualCdromRemotePassthroughBackingInfo,
    }
}

impl Node {
    /// A device for a place whose declared type is `VirtualDevice`.
    pub fn device<T: crate::Wire>(device: &T) -> Result<Self, crate::ParseError> {
        let mut node = Self::any(device)?;
        node.name = "device".into();
        Ok(node)
    }
}
