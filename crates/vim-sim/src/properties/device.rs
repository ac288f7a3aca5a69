//! Devices.

use rookery_vim::{Wire as _, Writer};

use super::{Members, item};
use crate::id::Id;
use crate::store::{Card, CardBacking, Cdrom, Controller, Device, Disk, Vm, What};
use crate::world::{World, uuid_text};

/// A device that every VM has.
pub(super) struct Fixed {
    key: i32,
    class: &'static str,
    label: &'static str,
    controller: Option<(i32, i32)>,
    /// Controllers have a bus.
    bus: Option<i32>,
}

static FIXED: [Fixed; 9] = [
    bus(200, "VirtualIDEController", "IDE 0", 0),
    bus(201, "VirtualIDEController", "IDE 1", 1),
    bus(300, "VirtualPS2Controller", "PS2 controller 0", 0),
    bus(100, "VirtualPCIController", "PCI controller 0", 0),
    bus(400, "VirtualSIOController", "SIO controller 0", 0),
    on_bus(600, "VirtualKeyboard", "Keyboard", (300, 0)),
    on_bus(700, "VirtualPointingDevice", "Pointing device", (300, 1)),
    on_bus(500, "VirtualMachineVideoCard", "Video card", (100, 0)),
    on_bus(12_000, "VirtualMachineVMCIDevice", "VMCI device", (100, 17)),
];

const fn bus(key: i32, class: &'static str, label: &'static str, bus: i32) -> Fixed {
    Fixed { key, class, label, controller: None, bus: Some(bus) }
}

const fn on_bus(key: i32, class: &'static str, label: &'static str, controller: (i32, i32)) -> Fixed {
    Fixed { key, class, label, controller: Some(controller), bus: None }
}

/// Whether every VM has the device of that key.
pub(crate) fn is_fixed(key: i32) -> bool {
    FIXED.iter().any(|fixed| fixed.key == key)
}

/// A device, whichever it is.
pub(super) enum Any<'v> {
    Fixed(&'static Fixed),
    /// With its number among those of its kind.
    Own(&'v Device, usize),
}

/// All devices of a VM.
pub(super) fn all(vm: &Vm) -> impl Iterator<Item = Any<'_>> {
    let own = vm.devices.iter().map(|device| {
        let before = vm.devices.iter().take_while(|d| d.key != device.key);
        let nth = before
            .filter(|d| std::mem::discriminant(&d.what) == std::mem::discriminant(&device.what))
            .count();
        Any::Own(device, nth + 1)
    });
    FIXED.iter().map(Any::Fixed).chain(own)
}

impl Any<'_> {
    pub(super) fn write(&self, world: &World, vm: &Vm, out: &mut Writer, element: &str) {
        match self {
            Self::Fixed(fixed) => write_fixed(fixed, vm, out, element),
            Self::Own(device, nth) => write_own(world, vm, device, *nth, out, element),
        }
    }
}

fn write_fixed(fixed: &Fixed, vm: &Vm, out: &mut Writer, element: &str) {
    item(out, element, Some(fixed.class), |m| {
        m.int("key", fixed.key);
        description(fixed.label, fixed.label, m);
        if let Some((controller, unit)) = fixed.controller {
            m.int("controllerKey", controller);
            m.int("unitNumber", unit);
        }
        if let Some(bus) = fixed.bus {
            m.int("busNumber", bus);
            m.values("device", attached(vm, fixed.key));
        }
        if fixed.key == 500 {
            m.long("videoRamSizeInKB", 4096);
            m.int("numDisplays", 1);
        }
        if fixed.key == 12_000 {
            m.long("id", -1);
            m.flag("allowUnrestrictedCommunication", false);
        }
    });
}

fn description(label: &str, summary: &str, m: &mut Members<'_, '_>) {
    m.variant("deviceInfo", "Description", |m| {
        m.text("label", label);
        m.text("summary", summary);
    });
}

fn attached(vm: &Vm, controller: i32) -> Vec<i32> {
    let fixed = FIXED.iter().filter(|f| f.controller.is_some_and(|(of, _)| of == controller)).map(|f| f.key);
    let own = vm.devices.iter().filter(|d| d.controller == Some(controller)).map(|d| d.key);
    fixed.chain(own).collect()
}

fn write_own(world: &World, vm: &Vm, device: &Device, nth: usize, out: &mut Writer, element: &str) {
    if let What::Other(node) = &device.what {
        node.write(out, element, true);
        return;
    }
    item(out, element, Some(&device.class), |m| {
        m.int("key", device.key);
        match &device.what {
            What::Controller(controller) => before_controller(&device.class, controller, m),
            What::Disk(disk) => before_disk(disk, nth, m),
            What::Card(card) => before_card(world, card, nth, m),
            What::Cdrom(cdrom) => before_cdrom(cdrom, nth, m),
            What::Other(_) => {}
        }
        m.maybe("controllerKey", device.controller, Members::int);
        m.maybe("unitNumber", device.unit, Members::int);
        match &device.what {
            What::Controller(controller) => {
                m.int("busNumber", controller.bus);
                m.values("device", attached(vm, device.key));
                if let Some(shared) = &controller.shared_bus {
                    m.flag("hotAddRemove", true);
                    m.one_of("sharedBus", "VirtualSCSISharing", shared);
                    m.int("scsiCtlrUnitNumber", 7);
                }
            }
            What::Disk(disk) => {
                m.long("capacityInKB", disk.capacity_kb);
                m.long("capacityInBytes", disk.capacity_kb.saturating_mul(1024));
            }
            What::Card(card) => {
                m.text("addressType", if card.manual { "manual" } else { "assigned" });
                m.text("macAddress", &mac_text(card.mac));
                m.flag("wakeOnLanEnabled", true);
            }
            What::Cdrom(_) | What::Other(_) => {}
        }
    });
}

fn before_controller(class: &str, controller: &Controller, m: &mut Members<'_, '_>) {
    let label = match class {
        "VirtualAHCIController" => format!("SATA controller {}", controller.bus),
        "VirtualNVMEController" => format!("NVME controller {}", controller.bus),
        _ => format!("SCSI controller {}", controller.bus),
    };
    let summary = match class {
        "ParaVirtualSCSIController" => "VMware paravirtual SCSI",
        "VirtualLsiLogicController" => "LSI Logic",
        "VirtualLsiLogicSASController" => "LSI Logic SAS",
        "VirtualBusLogicController" => "BusLogic",
        _ => "AHCI",
    };
    description(&label, summary, m);
}

fn before_disk(disk: &Disk, nth: usize, m: &mut Members<'_, '_>) {
    let kb = disk.capacity_kb.to_string();
    // With a comma between thousands, as everywhere in vSphere.
    let grouped: Vec<&str> =
        kb.as_bytes().rchunks(3).rev().filter_map(|c| std::str::from_utf8(c).ok()).collect();
    description(&format!("Hard disk {nth}"), &format!("{} KB", grouped.join(",")), m);
    m.variant("backing", "VirtualDiskFlatVer2BackingInfo", |m| backing(disk, 0, m));
}

fn backing(disk: &Disk, layer: usize, m: &mut Members<'_, '_>) {
    m.text("fileName", disk.layers.get(layer).map_or("", |layer| &layer.file));
    m.reference("datastore", disk.datastore);
    m.text("diskMode", &disk.mode);
    m.flag("split", false);
    m.flag("writeThrough", false);
    m.flag("thinProvisioned", disk.thin);
    m.flag("eagerlyScrub", false);
    m.text("uuid", &uuid_text(disk.uuid));
    if layer + 1 < disk.layers.len() {
        m.object("parent", "VirtualDiskFlatVer2BackingInfo", |m| backing(disk, layer + 1, m));
    }
}

fn before_card(world: &World, card: &Card, nth: usize, m: &mut Members<'_, '_>) {
    let label = format!("Network adapter {nth}");
    match &card.backing {
        CardBacking::Standard(network) => {
            let name = world.store.name(*network);
            description(&label, name, m);
            m.variant("backing", "VirtualEthernetCardNetworkBackingInfo", |m| {
                m.text("deviceName", name);
                m.flag("useAutoDetect", false);
                m.reference("network", *network);
            });
        }
        CardBacking::Distributed { portgroup, port } => {
            let uuid = switch_uuid(world, *portgroup);
            description(&label, &format!("DVSwitch: {uuid}"), m);
            m.variant("backing", "VirtualEthernetCardDistributedVirtualPortBackingInfo", |m| {
                m.object("port", "DistributedVirtualSwitchPortConnection", |m| {
                    m.text("switchUuid", &uuid);
                    m.text("portgroupKey", &portgroup.text());
                    m.text("portKey", &port.to_string());
                });
            });
        }
        CardBacking::Other(node) => {
            description(&label, "", m);
            m.node("backing", node);
        }
    }
    connectable(card.start_connected, card.connected, m);
}

fn switch_uuid(world: &World, portgroup: Id) -> String {
    let switch = world.store.networks.get(&portgroup).and_then(|network| network.switch);
    switch.and_then(|id| world.store.switches.get(&id)).map(|switch| switch.uuid.clone()).unwrap_or_default()
}

fn before_cdrom(cdrom: &Cdrom, nth: usize, m: &mut Members<'_, '_>) {
    let summary = cdrom.iso.as_ref().map_or_else(|| "Remote device".to_owned(), |iso| format!("ISO {iso}"));
    description(&format!("CD/DVD drive {nth}"), &summary, m);
    match &cdrom.iso {
        Some(iso) => m.variant("backing", "VirtualCdromIsoBackingInfo", |m| m.text("fileName", iso)),
        None => m.variant("backing", "VirtualCdromRemotePassthroughBackingInfo", |m| {
            m.text("deviceName", "");
            m.flag("useAutoDetect", false);
            m.flag("exclusive", false);
        }),
    }
    connectable(cdrom.start_connected, cdrom.connected, m);
}

fn connectable(start: bool, connected: bool, m: &mut Members<'_, '_>) {
    m.object("connectable", "VirtualDeviceConnectInfo", |m| {
        m.flag("startConnected", start);
        m.flag("allowGuestControl", true);
        m.flag("connected", connected);
        m.text("status", "untried");
    });
}

/// As guests and people write it.
pub(crate) fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
