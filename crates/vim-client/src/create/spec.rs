//! Builds the specification that is sent. Pure.

use rookery_vim::devices::{
    DeviceBacking, ParaVirtualSCSIController, VirtualAHCIController, VirtualCdrom,
    VirtualCdromIsoBackingInfo, VirtualCdromRemotePassthroughBackingInfo, VirtualDisk,
    VirtualDiskFlatVer2BackingInfo, VirtualIDEController, VirtualLsiLogicController,
};
use rookery_vim::methods::CreateVmTask;
use rookery_vim::specs::{
    BootableDevice, VirtualDeviceConfigSpec, VirtualDeviceConnectInfo, VirtualMachineBootOptions,
    VirtualMachineBootOptionsBootableCdromDevice, VirtualMachineBootOptionsBootableDiskDevice,
    VirtualMachineBootOptionsBootableEthernetDevice, VirtualMachineConfigSpec, VirtualMachineFileInfo,
};
use rookery_vim::storage::{
    PodDiskLocator, StorageDrsPodSelectionSpec, StoragePlacementSpec, VmPodConfigForPlacement,
};
use rookery_vim::{Node, ParseError};

use super::{BootDevice, Cdrom, CdromBus, Contradiction, CreateOrder, Firmware, NewDisk, ScsiController};
use crate::cards::{cards, new_card};
use crate::machine::Change;
use crate::uuid::Uuid;

/// A controller has sixteen places, and takes one itself.
pub(super) const MOST_DISKS: usize = 15;
const CONTROLLER_PLACE: i32 = 7;

// Negative keys hold only within the order: the server replaces them, wherever they stand.
const SCSI: i32 = -1;
const CDROM_BUS: i32 = -2;
const CDROM: i32 = -3;
const FIRST_DISK: i32 = -100;
const FIRST_CARD: i32 = -200;

impl CreateOrder {
    /// All that makes it impossible.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        let disks = self.disks.len();
        if disks > 0 && self.scsi.is_none() {
            found.push(Contradiction::NoController);
        }
        if disks > MOST_DISKS {
            found.push(Contradiction::TooManyDisks { disks });
        }
        if let Some(cores) = self.cores_per_socket
            && (cores < 1 || self.cpus % cores != 0)
        {
            found.push(Contradiction::Sockets { cpus: self.cpus, cores });
        }
        let has = |device: BootDevice| match device {
            BootDevice::Cdrom => self.cdrom.is_some(),
            BootDevice::Disk(at) => at < disks,
            BootDevice::Network(at) => at < self.cards.len(),
        };
        let missing = self.boot.iter().copied().filter(|device| !has(*device));
        found.extend(missing.map(|device| Contradiction::BootDevice { device }));
        found
    }
}

/// What the new VM is like; without a datastore its files have no place yet.
pub(super) fn config(
    order: &CreateOrder,
    uuid: Uuid,
    datastore: Option<&str>,
) -> Result<VirtualMachineConfigSpec, ParseError> {
    let change = Change {
        name: Some(order.name.clone()),
        annotation: order.annotation.clone(),
        instance_uuid: order.instance_uuid,
        cpus: Some(order.cpus),
        memory_mb: Some(order.memory_mb),
        extra_config: order.extra_config.clone(),
    };
    let firmware = match order.firmware {
        Firmware::Bios => "bios",
        Firmware::Efi { .. } => "efi",
    };
    let keys = |first: i32, count: usize| -> Vec<i32> { (0..count).map(|at| key(first, at)).collect() };
    Ok(VirtualMachineConfigSpec {
        uuid: Some(uuid.to_string()),
        guest_id: Some(order.guest_id.clone()),
        files: datastore.map(|name| VirtualMachineFileInfo { vm_path_name: Some(format!("[{name}]")) }),
        cores_per_socket: order.cores_per_socket,
        device_change: devices(order)?,
        boot_options: boot_options(
            order,
            &keys(FIRST_DISK, order.disks.len()),
            &keys(FIRST_CARD, order.cards.len()),
        ),
        firmware: Some(firmware.to_owned()),
        ..change.into_spec()
    })
}

fn key(first: i32, at: usize) -> i32 {
    first - i32::try_from(at).unwrap_or(i32::MAX / 2)
}

fn devices(order: &CreateOrder) -> Result<Vec<VirtualDeviceConfigSpec>, ParseError> {
    let mut devices: Vec<Node> = Vec::new();
    devices.extend(order.scsi.map(scsi).transpose()?);
    if let Some(cdrom) = &order.cdrom {
        devices.push(cdrom_bus(cdrom.bus)?);
    }
    for (at, disk) in order.disks.iter().enumerate() {
        devices.push(new_disk(at, *disk)?);
    }
    if let Some(cdrom) = &order.cdrom {
        devices.push(new_cdrom(cdrom)?);
    }
    for (at, card) in order.cards.iter().enumerate() {
        let backing = Some(card.network.node()?);
        devices.push(new_card(key(FIRST_CARD, at), &card.class, backing, card.mac.as_deref())?);
    }
    let add = |device: Node| {
        let is_disk = device.xsi_type.as_deref() == Some("VirtualDisk");
        VirtualDeviceConfigSpec {
            operation: Some("add".to_owned()),
            file_operation: is_disk.then(|| "create".to_owned()),
            device,
        }
    };
    Ok(devices.into_iter().map(add).collect())
}

fn scsi(kind: ScsiController) -> Result<Node, ParseError> {
    let (key, bus_number, scsi_ctlr_unit_number) = (SCSI, 0, Some(CONTROLLER_PLACE));
    let shared_bus = "noSharing".to_owned();
    match kind {
        ScsiController::Paravirtual => {
            Node::device(&ParaVirtualSCSIController { key, bus_number, shared_bus, scsi_ctlr_unit_number })
        }
        ScsiController::LsiLogic => {
            Node::device(&VirtualLsiLogicController { key, bus_number, shared_bus, scsi_ctlr_unit_number })
        }
    }
}

fn cdrom_bus(bus: CdromBus) -> Result<Node, ParseError> {
    match bus {
        CdromBus::Ide => Node::device(&VirtualIDEController { key: CDROM_BUS, bus_number: 0 }),
        CdromBus::Sata => Node::device(&VirtualAHCIController { key: CDROM_BUS, bus_number: 0 }),
    }
}

fn new_disk(at: usize, disk: NewDisk) -> Result<Node, ParseError> {
    let place = i32::try_from(at).unwrap_or(i32::MAX);
    Node::device(&VirtualDisk {
        key: key(FIRST_DISK, at),
        backing: Some(DeviceBacking::VirtualDiskFlatVer2BackingInfo(VirtualDiskFlatVer2BackingInfo {
            file_name: String::new(),
            disk_mode: "persistent".to_owned(),
            thin_provisioned: Some(disk.thin),
        })),
        controller_key: Some(SCSI),
        unit_number: Some(if place < CONTROLLER_PLACE { place } else { place.saturating_add(1) }),
        capacity_in_kb: disk.size_kb,
    })
}

fn new_cdrom(cdrom: &Cdrom) -> Result<Node, ParseError> {
    let backing = if let Some(iso) = &cdrom.iso {
        DeviceBacking::VirtualCdromIsoBackingInfo(VirtualCdromIsoBackingInfo { file_name: iso.clone() })
    } else {
        let empty = VirtualCdromRemotePassthroughBackingInfo { device_name: String::new(), exclusive: false };
        DeviceBacking::VirtualCdromRemotePassthroughBackingInfo(empty)
    };
    let connected = cdrom.iso.is_some();
    Node::device(&VirtualCdrom {
        key: CDROM,
        backing: Some(backing),
        connectable: Some(VirtualDeviceConnectInfo {
            start_connected: connected,
            allow_guest_control: true,
            connected,
        }),
        controller_key: Some(CDROM_BUS),
        unit_number: Some(0),
    })
}

/// How it starts, with the keys that its disks and cards have. Nothing, if there is nothing to say.
pub(super) fn boot_options(
    order: &CreateOrder,
    disks: &[i32],
    cards: &[i32],
) -> Option<VirtualMachineBootOptions> {
    let device = |device: &BootDevice| {
        Some(match *device {
            BootDevice::Cdrom => BootableDevice::VirtualMachineBootOptionsBootableCdromDevice(
                VirtualMachineBootOptionsBootableCdromDevice {},
            ),
            BootDevice::Disk(at) => BootableDevice::VirtualMachineBootOptionsBootableDiskDevice(
                VirtualMachineBootOptionsBootableDiskDevice { device_key: *disks.get(at)? },
            ),
            BootDevice::Network(at) => BootableDevice::VirtualMachineBootOptionsBootableEthernetDevice(
                VirtualMachineBootOptionsBootableEthernetDevice { device_key: *cards.get(at)? },
            ),
        })
    };
    let secure = order.firmware == Firmware::Efi { secure_boot: true };
    let options = VirtualMachineBootOptions {
        efi_secure_boot_enabled: secure.then_some(true),
        boot_order: order.boot.iter().filter_map(device).collect(),
    };
    (options != VirtualMachineBootOptions::default()).then_some(options)
}

/// The same for the VM that came of it. Its disks and cards are known by their places, which go up as they were wanted.
pub(super) fn boot_options_of(order: &CreateOrder, devices: &[Node]) -> Option<VirtualMachineBootOptions> {
    let disks = devices.iter().filter(|device| device.xsi_type.as_deref() == Some("VirtualDisk"));
    boot_options(order, &keys_by_place(disks), &keys_by_place(cards(devices)))
}

fn keys_by_place<'a>(devices: impl Iterator<Item = &'a Node>) -> Vec<i32> {
    let number =
        |device: &Node, name: &str| device.child_text(name).and_then(|text| text.parse::<i32>().ok());
    let mut devices: Vec<&Node> = devices.collect();
    devices.sort_by_key(|device| number(device, "unitNumber"));
    devices.into_iter().filter_map(|device| number(device, "key")).collect()
}

/// The question where in a datastore cluster it should go.
pub(super) fn placement(order: &CreateOrder, config: VirtualMachineConfigSpec) -> StoragePlacementSpec {
    let pod = &order.datastore;
    let disk = |device: &Node| VmPodConfigForPlacement {
        storage_pod: pod.clone(),
        disk: vec![PodDiskLocator {
            disk_id: device.child_text("key").and_then(|key| key.parse().ok()).unwrap_or_default(),
            disk_backing_info: device.child("backing").cloned(),
        }],
    };
    let disks = config.device_change.iter().filter(|change| change.file_operation.is_some());
    StoragePlacementSpec {
        kind: "create".to_owned(),
        vm: None,
        pod_selection_spec: StorageDrsPodSelectionSpec {
            initial_vm_config: disks.map(|change| disk(&change.device)).collect(),
            storage_pod: Some(pod.clone()),
        },
        clone_spec: None,
        clone_name: None,
        resource_pool: Some(order.pool.clone()),
        host: order.host.clone(),
        folder: Some(order.folder.clone()),
        config_spec: Some(config),
    }
}

/// The call that makes it.
pub(super) fn call(order: &CreateOrder, config: VirtualMachineConfigSpec) -> CreateVmTask {
    CreateVmTask { this: order.folder.clone(), config, pool: order.pool.clone(), host: order.host.clone() }
}
