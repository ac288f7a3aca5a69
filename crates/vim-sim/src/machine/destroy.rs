//! Removing things.

use rookery_vim::objects::PowerState;

use super::{room, space, vm_of};
use crate::event;
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::store::Disk;
use crate::world::World;

pub(super) fn check(world: &World, id: Id) -> Result<(), Refusal> {
    match id.kind {
        Kind::VirtualMachine => {
            let vm = vm_of(world, id)?;
            if vm.power != PowerState::Off {
                return Err(Refusal::power_state(&PowerState::Off, &vm.power));
            }
            let disks: Vec<&Disk> = vm.disks().map(|(_, disk)| disk).collect();
            if holds_others(world, id, &disks) {
                return Err(Refusal::new(
                    "ResourceInUse",
                    "The resource is in use: other disks stand on this one.",
                )
                .with("type", "VirtualDisk")
                .with("name", world.store.name(id)));
            }
            Ok(())
        }
        Kind::Folder if id == world.root => Err(Refusal::not_supported()),
        Kind::Folder | Kind::ResourcePool if world.store.exists(id) => Ok(()),
        _ if world.store.exists(id) => Err(Refusal::not_supported()),
        _ => Err(Refusal::gone(&id.reference())),
    }
}

/// Whether disks of other VMs stand on files of this one: more than the disk itself and its own snapshots hold them.
fn holds_others(world: &World, id: Id, disks: &[&Disk]) -> bool {
    let snapshots = world.store.vms.get(&id).map(|vm| vm.snapshots.as_slice()).unwrap_or_default();
    disks.iter().flat_map(|disk| &disk.layers).any(|layer| {
        let by_snapshots =
            snapshots.iter().flat_map(|s| &s.layers).filter(|layers| layers.contains(layer)).count();
        let held = world.store.layers.get(&layer.file).copied().unwrap_or_default() as usize;
        held > 1 + by_snapshots && is_own_file(world, id, &layer.file)
    })
}

/// Whether a file is in the folder of a VM, and so goes with it.
fn is_own_file(world: &World, id: Id, file: &str) -> bool {
    let Some(vm) = world.store.vms.get(&id) else { return false };
    let folder = vm.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    file.split_once("] ").is_some_and(|(_, path)| path.starts_with(&format!("{folder}/")))
}

pub(super) fn destroy(world: &mut World, user: &str, id: Id) -> Result<(), Refusal> {
    check(world, id)?;
    match id.kind {
        Kind::VirtualMachine => {
            let message = format!("Removed {}", event::placed(world, id));
            event::record(world, "VmRemovedEvent", id, user, message);
            vanish(world, id);
        }
        Kind::ResourcePool => {
            let Some(pool) = world.store.pools.remove(&id) else { return Ok(()) };
            let parent = world.store.parent(id);
            for vm in pool.vms {
                if let Some(parent) = parent {
                    room::join_pool(world, vm, parent);
                }
            }
            if let Some(parent) = parent.and_then(|parent| world.store.pools.get_mut(&parent)) {
                parent.children.remove(&id);
            }
            world.store.remove(id);
        }
        _ => {
            let children: Vec<Id> = world
                .store
                .folders
                .get(&id)
                .map(|f| f.children.iter().copied().collect())
                .unwrap_or_default();
            for child in children {
                if matches!(child.kind, Kind::VirtualMachine | Kind::Folder) {
                    destroy(world, user, child)?;
                }
            }
            world.store.folders.remove(&id);
            world.store.remove(id);
        }
    }
    Ok(())
}

/// Takes a VM out of the inventory, but leaves its files.
pub(crate) fn unregister(world: &mut World, id: Id) {
    room::leave_pool(world, id);
    room::leave_host(world, id);
    let Some(vm) = world.store.vms.remove(&id) else { return };
    for snapshot in &vm.snapshots {
        world.snapshots.remove(&snapshot.id);
    }
    for datastore in vm.datastores() {
        if let Some(found) = world.store.datastores.get_mut(&datastore) {
            found.vms.remove(&id);
        }
        world.store.log.touch(datastore, "vm");
    }
    super::devices::unplug_all(world, id, &vm);
    world.store.uuids.remove(&(vm.uuid, id));
    world.store.uuids.remove(&(vm.instance_uuid, id));
    crate::guests::forget(world, id);
    world.store.remove(id);
}

/// Removes a VM with all that it has.
pub(crate) fn vanish(world: &mut World, id: Id) {
    let Some(vm) = world.store.vms.get(&id) else { return };
    let mut held: Vec<(Id, Vec<crate::store::Layer>)> =
        vm.disks().map(|(_, disk)| (disk.datastore, disk.layers.clone())).collect();
    let datastore = vm.datastore;
    held.extend(vm.snapshots.iter().flat_map(|s| s.layers.clone()).map(|layers| (datastore, layers)));
    for (datastore, layers) in held {
        space::let_go(world, datastore, &layers);
    }
    unregister(world, id);
}
