//! What making and changing VMs needs: that depends on what is to change.

use rookery_vim::{MoRef, Node};

use super::calls::{Need, parameters, reference};
use crate::files::Place;
use crate::id::{Id, Kind};
use crate::store::{Device, Vm, What};
use crate::world::World;

const ALLOCATE: &str = "Datastore.AllocateSpace";
const ASSIGN: &str = "Network.Assign";

/// What `CloneVM_Task` needs. What the clone is to be like needs privileges on the folder that it comes into: it is not
/// there yet.
pub(super) fn clone(world: &World, source: Id, content: &Node) -> Vec<Need> {
    let Some(origin) = world.store.vms.get(&source) else { return Vec::new() };
    let empty = Node::new("spec");
    let spec = content.child("spec").unwrap_or(&empty);
    let location = spec.child("location").unwrap_or(&empty);
    let folders = parameters(world, content, "folder");
    let to_template = is_true(spec, "template");
    let provisioning = match (origin.template, to_template) {
        (true, false) => "VirtualMachine.Provisioning.DeployTemplate",
        (false, false) => "VirtualMachine.Provisioning.Clone",
        (true, true) => "VirtualMachine.Provisioning.CloneTemplate",
        (false, true) => "VirtualMachine.Provisioning.CreateTemplateFromVM",
    };
    let mut needs = vec![(source, provisioning)];
    if spec.child("customization").is_some() {
        needs.push((source, "VirtualMachine.Provisioning.Customize"));
    }
    let pool = location.child("pool").and_then(|node| reference(world, node)).or(origin.pool);
    needs.extend(pool.filter(|_| !to_template).map(|pool| (pool, "Resource.AssignVMToPool")));
    let datastore = location.child("datastore").and_then(|node| reference(world, node));
    let datastores = datastore.map_or_else(|| origin.datastores().into_iter().collect(), |id| vec![id]);
    needs.extend(datastores.into_iter().map(|id| (id, ALLOCATE)));
    let config = spec.child("config").unwrap_or(&empty);
    let changes = || device_changes(location).chain(device_changes(config));
    let edited: Vec<i32> = changes().map(|change| key(change_device(change))).collect();
    for (device, card) in origin.cards() {
        // A card that is changed has its network in the change.
        if !edited.contains(&device.key) {
            needs.extend(card.network().map(|network| (network, ASSIGN)));
        }
    }
    for folder in folders {
        needs.push((folder, "VirtualMachine.Inventory.CreateFromExisting"));
        if origin.disks().next().is_some() {
            needs.push((folder, "VirtualMachine.Config.AddNewDisk"));
        }
        needs.extend(settings(folder, config));
        needs.extend(changes().flat_map(|change| device(world, Some(origin), folder, change)));
        if is_true(spec, "powerOn") {
            needs.push((folder, "VirtualMachine.Interact.PowerOn"));
        }
    }
    needs
}

/// What `CreateVM_Task` needs. A new VM may have any hardware; only what reaches beyond it needs more.
pub(super) fn create(world: &World, folder: Id, content: &Node) -> Vec<Need> {
    let empty = Node::new("config");
    let config = content.child("config").unwrap_or(&empty);
    let mut needs = vec![(folder, "VirtualMachine.Inventory.Create")];
    needs
        .extend(parameters(world, content, "pool").into_iter().map(|pool| (pool, "Resource.AssignVMToPool")));
    let path = config.child("files").and_then(|files| files.child_text("vmPathName"));
    let place = path.and_then(|path| Place::find(world, path));
    needs.extend(place.map(|place| (place.datastore, ALLOCATE)));
    if config.child("extraConfig").is_some() {
        needs.push((folder, "VirtualMachine.Config.AdvancedConfig"));
    }
    needs.extend(device_changes(config).flat_map(|change| device(world, None, folder, change)));
    needs
}

/// What `ReconfigVM_Task` needs.
pub(super) fn reconfigure(world: &World, id: Id, content: &Node) -> Vec<Need> {
    let Some(vm) = world.store.vms.get(&id) else { return Vec::new() };
    let Some(spec) = content.child("spec") else { return Vec::new() };
    let mut needs = settings(id, spec);
    needs.extend(device_changes(spec).flat_map(|change| device(world, Some(vm), id, change)));
    needs
}

/// What the members of a configuration need, but for its devices.
fn settings(on: Id, spec: &Node) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for member in &spec.children {
        let privilege = match &*member.name {
            "changeVersion" | "deviceChange" | "files" => continue,
            "name" => "VirtualMachine.Config.Rename",
            "annotation" => "VirtualMachine.Config.Annotation",
            "numCPUs" | "numCoresPerSocket" => "VirtualMachine.Config.CPUCount",
            "memoryMB" => "VirtualMachine.Config.Memory",
            "extraConfig" => "VirtualMachine.Config.AdvancedConfig",
            "cpuAllocation" | "memoryAllocation" => "VirtualMachine.Config.Resource",
            "swapPlacement" => "VirtualMachine.Config.SwapPlacement",
            "changeTrackingEnabled" => "VirtualMachine.Config.ChangeTracking",
            "managedBy" => "VirtualMachine.Config.ManagedBy",
            _ => "VirtualMachine.Config.Settings",
        };
        if !needs.contains(&(on, privilege)) {
            needs.push((on, privilege));
        }
    }
    needs
}

fn device_changes(of: &Node) -> impl Iterator<Item = &Node> {
    of.children.iter().filter(|child| &*child.name == "deviceChange")
}

fn change_device(change: &Node) -> Option<&Node> {
    change.child("device")
}

fn key(device: Option<&Node>) -> i32 {
    device.and_then(|device| device.child_text("key")).and_then(|key| key.trim().parse().ok()).unwrap_or(-1)
}

/// What the change of one device needs.
fn device(world: &World, vm: Option<&Vm>, on: Id, change: &Node) -> Vec<Need> {
    let Some(device) = change_device(change) else { return Vec::new() };
    let class = device.xsi_type.as_deref().unwrap_or_default();
    let operation = change.child_text("operation").map(str::trim).unwrap_or_default();
    let before = vm.and_then(|vm| vm.devices.iter().find(|own| own.key == key(Some(device))));
    let mut needs: Vec<Need> = match (operation, class) {
        ("add", "VirtualDisk") => new_disk(world, on, change, device),
        ("remove", "VirtualDisk") => vec![(on, "VirtualMachine.Config.RemoveDisk")],
        ("edit", _) => edits(before, device).into_iter().map(|privilege| (on, privilege)).collect(),
        _ => vec![(on, "VirtualMachine.Config.AddRemoveDevice")],
    };
    if operation != "remove" {
        needs.extend(network(world, device).map(|network| (network, ASSIGN)));
    }
    needs
}

fn new_disk(world: &World, on: Id, change: &Node, device: &Node) -> Vec<Need> {
    if change.child("fileOperation").is_none() {
        return vec![(on, "VirtualMachine.Config.AddExistingDisk")];
    }
    let backing = device.child("backing");
    let named = backing.and_then(|b| b.child("datastore")).and_then(|node| reference(world, node));
    let path = backing.and_then(|b| b.child_text("fileName"));
    let place = path.and_then(|path| Place::find(world, path));
    let datastore = named.or_else(|| place.map(|place| place.datastore));
    let mut needs = vec![(on, "VirtualMachine.Config.AddNewDisk")];
    needs.extend(datastore.map(|id| (id, ALLOCATE)));
    needs
}

/// What a device that is there becomes needs what it takes to change that.
fn edits(before: Option<&Device>, device: &Node) -> Vec<&'static str> {
    let Some(before) = before else { return vec!["VirtualMachine.Config.EditDevice"] };
    let text = |of: &str, name: &str| device.child(of).and_then(|node| node.child_text(name)).map(str::trim);
    let plugged = |connected: bool, at_start: bool| {
        let now = text("connectable", "connected").map_or(connected, |t| t == "true");
        let later = text("connectable", "startConnected").map_or(at_start, |t| t == "true");
        (now, later) != (connected, at_start)
    };
    let mut found = Vec::new();
    match &before.what {
        What::Cdrom(drive) => {
            if device.child("backing").is_some() && text("backing", "fileName") != drive.iso.as_deref() {
                found.push("VirtualMachine.Interact.SetCDMedia");
            }
            if plugged(drive.connected, drive.start_connected) {
                found.push("VirtualMachine.Interact.DeviceConnection");
            }
        }
        What::Disk(disk) => {
            let kb = device.child_text("capacityInKB").and_then(|kb| kb.trim().parse::<i64>().ok());
            if kb.is_some_and(|kb| kb > disk.capacity_kb) {
                found.push("VirtualMachine.Config.DiskExtend");
            }
        }
        What::Card(card) => {
            if plugged(card.connected, card.start_connected) {
                found.push("VirtualMachine.Interact.DeviceConnection");
            }
            if device.child("backing").is_some() {
                found.push("VirtualMachine.Config.EditDevice");
            }
        }
        What::Controller(_) | What::Other(_) => {}
    }
    if found.is_empty() {
        found.push("VirtualMachine.Config.EditDevice");
    }
    found
}

/// The network that a card is to be in.
fn network(world: &World, device: &Node) -> Option<Id> {
    let backing = device.child("backing")?;
    match backing.xsi_type.as_deref()? {
        "VirtualEthernetCardNetworkBackingInfo" => {
            let named = backing.child("network").and_then(|node| reference(world, node));
            let name = backing.child_text("deviceName").unwrap_or_default();
            named.or_else(|| world.store.networks.keys().copied().find(|id| world.store.name(*id) == name))
        }
        "VirtualEthernetCardDistributedVirtualPortBackingInfo" => {
            let key = backing.child("port")?.child_text("portgroupKey")?;
            let portgroup = Id::of(&MoRef::new(Kind::DistributedVirtualPortgroup.class(), key.trim()))?;
            world.store.exists(portgroup).then_some(portgroup)
        }
        _ => None,
    }
}

fn is_true(of: &Node, name: &str) -> bool {
    of.child_text(name).is_some_and(|text| matches!(text.trim(), "true" | "1"))
}
