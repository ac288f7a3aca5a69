//! Devices: from what clients ask for to what a VM has.

use std::collections::{BTreeMap, BTreeSet};

use rookery_vim::specs::VirtualDeviceConfigSpec;
use rookery_vim::{MoRef, Node, Wire as _};

use super::storage;
use crate::files::Place;
use crate::id::{Id, Kind};
use crate::properties::is_fixed;
use crate::refusal::Refusal;
use crate::store::{Card, CardBacking, Cdrom, Controller, Device, Disk, Layer, Vm, What};
use crate::world::World;

/// Temporary keys of a request, and what they became.
pub(super) type Keys = BTreeMap<i32, i32>;

/// What a change of devices did to datastores.
#[derive(Debug, Default)]
struct DiskChanges {
    taken: Vec<(Id, Vec<Layer>)>,
    grown: Vec<(Id, i64)>,
    /// Disks that were removed, and whether their files go too.
    removed: Vec<(Disk, bool)>,
}

/// Changes the devices of a VM: all of them, or none.
pub(super) fn apply(
    world: &mut World,
    vm: &mut Vm,
    changes: &[VirtualDeviceConfigSpec],
) -> Result<Keys, Refusal> {
    let before = vm.devices.clone();
    let mut disks = DiskChanges::default();
    let done = apply_each(world, vm, changes, &mut disks);
    if done.is_err() {
        vm.devices = before;
        for (datastore, layers) in disks.taken {
            storage::release_layers(world, datastore, &layers);
        }
        for (datastore, bytes) in disks.grown {
            storage::release(world, datastore, bytes);
        }
        return done;
    }
    for (disk, with_files) in disks.removed {
        if with_files {
            storage::release_layers(world, disk.datastore, &disk.layers);
        } else {
            world.store.left_behind.push((disk.datastore, disk.layers));
        }
    }
    done
}

fn apply_each(
    world: &mut World,
    vm: &mut Vm,
    changes: &[VirtualDeviceConfigSpec],
    disks: &mut DiskChanges,
) -> Result<Keys, Refusal> {
    let mut keys = Keys::new();
    for (index, change) in changes.iter().enumerate() {
        let wrong = |what: &str| {
            Refusal::new("InvalidDeviceSpec", format!("Invalid configuration for device '{index}'."))
                .with("property", format!("virtualDeviceSpec.{what}"))
                .with("deviceIndex", index.to_string())
        };
        let key: i32 = change.device.child_text("key").and_then(|k| k.trim().parse().ok()).unwrap_or(-1);
        let place = vm.devices.iter().position(|device| device.key == key);
        match change.operation.as_deref() {
            Some("add") => {
                let device = added(world, vm, &change.device, &keys).ok_or_else(|| wrong("device"))??;
                keys.insert(key, device.key);
                if let What::Disk(disk) = &device.what {
                    disks.taken.push((disk.datastore, disk.layers.clone()));
                }
                if !is_fixed(device.key) {
                    vm.devices.push(device);
                }
            }
            Some("edit") => {
                let device =
                    place.and_then(|at| vm.devices.get_mut(at)).ok_or_else(|| wrong("device.key"))?;
                if grows_on_others(device, &change.device) {
                    return Err(no_growth(index));
                }
                let more = edit(world, device, &change.device).ok_or_else(|| wrong("device.backing"))?;
                if let What::Disk(disk) = &device.what {
                    storage::reserve(world, disk.datastore, more)?;
                    disks.grown.push((disk.datastore, more));
                }
            }
            Some("remove") => {
                let at = place.ok_or_else(|| wrong("device.key"))?;
                if let What::Disk(disk) = vm.devices.remove(at).what {
                    let with_files = change.file_operation.as_deref() == Some("destroy");
                    disks.removed.push((disk, with_files));
                }
            }
            _ => return Err(wrong("operation")),
        }
    }
    Ok(keys)
}

fn added(world: &mut World, vm: &Vm, node: &Node, keys: &Keys) -> Option<Result<Device, Refusal>> {
    let class = node.xsi_type.as_deref()?.to_owned();
    let number = |name: &str| node.child_text(name).and_then(|t| t.trim().parse::<i32>().ok());
    let controller = number("controllerKey").map(|key| keys.get(&key).copied().unwrap_or(key));
    let unit = number("unitNumber");
    let unit_on = |controller| unit.filter(|unit| *unit >= 0).unwrap_or_else(|| free_unit(vm, controller));
    let (key, controller, unit, what) = if class == "VirtualDisk" {
        let disk = match new_disk(world, vm, node)? {
            Ok(disk) => disk,
            Err(refusal) => return Some(Err(refusal)),
        };
        let controller = controller.unwrap_or(1000);
        (free_key(vm, 2000), Some(controller), Some(unit_on(controller)), What::Disk(disk))
    } else if class == "VirtualCdrom" {
        let controller = controller.unwrap_or(200);
        (free_key(vm, 3000), Some(controller), Some(unit_on(controller)), What::Cdrom(cdrom(node)))
    } else if is_card(&class) {
        let key = free_key(vm, 4000);
        (key, Some(100), Some(7 + key - 4000), What::Card(new_card(world, node)?))
    } else if class.ends_with("Controller") {
        let bus = number("busNumber").unwrap_or(0);
        let key = match class.as_str() {
            "VirtualIDEController" => 200 + bus.clamp(0, 1),
            "VirtualAHCIController" => 15_000 + bus,
            "VirtualNVMEController" => 31_000 + bus,
            _ => 1000 + bus,
        };
        let key = if is_fixed(key) { key } else { free_key(vm, key) };
        let shared_bus = node.child_text("sharedBus").map(str::to_owned);
        (key, Some(100), Some(3), What::Controller(Controller { bus, shared_bus }))
    } else {
        (free_key(vm, 9000), controller, unit, What::Other(Box::new(node.clone())))
    };
    Some(Ok(Device { key, class, controller, unit, what }))
}

pub(super) fn is_card(class: &str) -> bool {
    matches!(
        class,
        "VirtualE1000"
            | "VirtualE1000e"
            | "VirtualPCNet32"
            | "VirtualVmxnet"
            | "VirtualVmxnet2"
            | "VirtualVmxnet3"
            | "VirtualSriovEthernetCard"
    )
}

fn free_key(vm: &Vm, first: i32) -> i32 {
    (first..first.saturating_add(1000)).find(|key| !vm.devices.iter().any(|d| d.key == *key)).unwrap_or(first)
}

fn free_unit(vm: &Vm, controller: i32) -> i32 {
    // The controller itself is number 7 on its bus.
    let taken =
        |unit: i32| vm.devices.iter().any(|d| d.controller == Some(controller) && d.unit == Some(unit));
    (0..1000).find(|unit| *unit != 7 && !taken(*unit)).unwrap_or(0)
}

fn new_disk(world: &mut World, vm: &Vm, node: &Node) -> Option<Result<Disk, Refusal>> {
    let capacity_kb = capacity_kb(node).filter(|kb| *kb > 0)?;
    let backing = node.child("backing");
    let text = |name: &str| backing.and_then(|b| b.child_text(name)).map(str::trim);
    let given = text("fileName").and_then(|file| Place::find(world, file)).map(|place| place.datastore);
    let named = backing.and_then(|b| b.child("datastore")).and_then(|d| MoRef::from_node(d.clone()).ok());
    let datastore = named.as_ref().and_then(Id::of).or(given).unwrap_or(vm.datastore);
    let thin = text("thinProvisioned") == Some("true");
    let mode = text("diskMode").filter(|mode| !mode.is_empty()).unwrap_or("persistent").to_owned();
    Some(make_disk(world, vm, datastore, capacity_kb, thin, mode))
}

fn capacity_kb(node: &Node) -> Option<i64> {
    let number = |name: &str| node.child_text(name).and_then(|text| text.trim().parse::<i64>().ok());
    number("capacityInBytes").filter(|bytes| *bytes > 0).map(|bytes| bytes / 1024).or(number("capacityInKB"))
}

/// Makes a disk and reserves its storage.
pub(crate) fn make_disk(
    world: &mut World,
    vm: &Vm,
    datastore: Id,
    capacity_kb: i64,
    thin: bool,
    mode: String,
) -> Result<Disk, Refusal> {
    let bytes = storage::bytes(capacity_kb, thin);
    storage::reserve(world, datastore, bytes)?;
    let stem = vm.path.strip_suffix(".vmx").unwrap_or(&vm.path);
    let name = world.store.name(datastore);
    let layer = Layer { file: storage::free_name(world, &format!("[{name}] {stem}")), bytes };
    storage::retain_layers(world, std::slice::from_ref(&layer));
    let uuid = world.uuid();
    Ok(Disk { datastore, capacity_kb, thin, mode, uuid, layers: vec![layer] })
}

fn cdrom(node: &Node) -> Cdrom {
    let backing = node.child("backing");
    let is_iso = backing.and_then(|b| b.xsi_type.as_deref()) == Some("VirtualCdromIsoBackingInfo");
    let iso = backing.filter(|_| is_iso).and_then(|b| b.child_text("fileName")).map(str::to_owned);
    let connect = node.child("connectable");
    let flag = |name: &str| connect.and_then(|c| c.child_text(name)).map(str::trim) == Some("true");
    Cdrom { iso, connected: flag("connected"), start_connected: flag("startConnected") }
}

fn new_card(world: &mut World, node: &Node) -> Option<Card> {
    let given = manual_mac(node);
    let connect = node.child("connectable");
    let flag = |name: &str| connect.is_none_or(|c| c.child_text(name).map(str::trim) != Some("false"));
    Some(Card {
        mac: given.unwrap_or_else(|| next_mac(world)),
        manual: given.is_some(),
        backing: backing(world, node.child("backing")?)?,
        connected: flag("connected"),
        start_connected: flag("startConnected"),
    })
}

/// The address that a client gives a card.
fn manual_mac(node: &Node) -> Option<[u8; 6]> {
    let manual = node.child_text("addressType")?.trim().eq_ignore_ascii_case("manual");
    node.child_text("macAddress").and_then(parse_mac).filter(|_| manual)
}

fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.trim().split(':');
    for byte in &mut mac {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// An address from the range that a vCenter gives out.
pub(crate) fn next_mac(world: &mut World) -> [u8; 6] {
    world.store.last_mac += 1;
    let [_, high, middle, low] = world.store.last_mac.to_be_bytes();
    [0x00, 0x50, 0x56, 0x80 | (high & 0x3f), middle, low]
}

/// What a card is connected to; none if there is no such thing.
fn backing(world: &World, node: &Node) -> Option<CardBacking> {
    match node.xsi_type.as_deref()? {
        "VirtualEthernetCardNetworkBackingInfo" => {
            let named = node.child("network").and_then(|n| MoRef::from_node(n.clone()).ok());
            let name = node.child_text("deviceName").unwrap_or_default().to_owned();
            let network = named.as_ref().and_then(Id::of);
            let by_name = || world.store.networks.keys().copied().find(|id| world.store.name(*id) == name);
            let network = network.filter(|id| world.store.networks.contains_key(id)).or_else(by_name);
            network.map(CardBacking::Standard)
        }
        "VirtualEthernetCardDistributedVirtualPortBackingInfo" => {
            let key = node.child("port")?.child_text("portgroupKey")?;
            let portgroup = Id::of(&MoRef::new(Kind::DistributedVirtualPortgroup.class(), key))?;
            world.store.exists(portgroup).then_some(CardBacking::Distributed { portgroup, port: 0 })
        }
        _ => Some(CardBacking::Other(Box::new(node.clone()))),
    }
}

/// Whether a disk would grow that stands on others: it only holds what differs from them, and has their size.
fn grows_on_others(device: &Device, node: &Node) -> bool {
    let What::Disk(disk) = &device.what else { return false };
    disk.layers.len() > 1 && capacity_kb(node).is_some_and(|kb| kb > disk.capacity_kb)
}

fn no_growth(index: usize) -> Refusal {
    Refusal::new("InvalidDeviceOperation", format!("Invalid operation for device '{index}'."))
        .with("deviceIndex", index.to_string())
        .with("badOp", "edit")
}

/// Changes a device; how many bytes more it takes. None if it cannot be so.
fn edit(world: &World, device: &mut Device, node: &Node) -> Option<i64> {
    match &mut device.what {
        What::Card(card) => edit_card(world, card, node)?,
        What::Cdrom(drive) => *drive = cdrom(node),
        What::Disk(disk) => {
            // Disks grow, but never shrink.
            let kb = capacity_kb(node).unwrap_or(disk.capacity_kb);
            let more = storage::bytes(kb, disk.thin) - storage::bytes(disk.capacity_kb, disk.thin);
            if kb < disk.capacity_kb {
                return None;
            }
            disk.capacity_kb = kb;
            if let Some(layer) = disk.layers.first_mut() {
                layer.bytes += more;
            }
            return Some(more);
        }
        What::Controller(_) | What::Other(_) => {}
    }
    Some(0)
}

fn edit_card(world: &World, card: &mut Card, node: &Node) -> Option<()> {
    if let Some(given) = node.child("backing") {
        card.backing = backing(world, given)?;
    }
    if let Some(mac) = manual_mac(node) {
        card.mac = mac;
        card.manual = true;
    }
    if let Some(connect) = node.child("connectable") {
        let flag = |name: &str, before: bool| connect.child_text(name).map_or(before, |t| t.trim() == "true");
        card.connected = flag("connected", card.connected);
        card.start_connected = flag("startConnected", card.start_connected);
    }
    Some(())
}

/// Lets networks and datastores know who is in them, after the devices of a VM have changed.
pub(super) fn plug_in(world: &mut World, id: Id, before: &Vm) {
    let Some(vm) = world.store.vms.get(&id) else { return };
    let (was, is) = (plugged(before), plugged(vm));
    for place in was.symmetric_difference(&is) {
        world.store.list_vm(*place, id, is.contains(place));
    }
}

/// The same for a VM that was nowhere before.
pub(super) fn plug_in_all(world: &mut World, id: Id) {
    list_everywhere(world, id, true);
}

pub(super) fn unplug_all(world: &mut World, id: Id) {
    list_everywhere(world, id, false);
}

fn list_everywhere(world: &mut World, id: Id, is_there: bool) {
    for place in world.store.vms.get(&id).map(plugged).unwrap_or_default() {
        world.store.list_vm(place, id, is_there);
    }
}

fn plugged(vm: &Vm) -> BTreeSet<Id> {
    vm.networks().chain(vm.datastores()).collect()
}
