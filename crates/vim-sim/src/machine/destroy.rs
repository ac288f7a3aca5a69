//! Removing things.

use std::collections::BTreeMap;

use super::{compute, devices, moving, storage, vm_of};
use crate::event;
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::store::Layer;
use crate::world::World;

pub(super) fn check(world: &World, id: Id) -> Result<(), Refusal> {
    if id.kind == Kind::VirtualMachine {
        return check_vm(world, id);
    }
    if !world.store.exists(id) {
        return Err(Refusal::gone(&id.reference()));
    }
    // The root pool of a cluster, the root folder and the folders of a datacenter are not things of their own.
    let parent = world.store.parent(id).map(|parent| parent.kind);
    match (id.kind, parent) {
        (Kind::ResourcePool, Some(Kind::ResourcePool)) => check_pool(world, id),
        (Kind::Folder, Some(Kind::Folder)) => check_folder(world, id),
        _ => Err(Refusal::not_supported()),
    }
}

/// The pools in a pool go to the one around it, where their names must be free.
fn check_pool(world: &World, id: Id) -> Result<(), Refusal> {
    let store = &world.store;
    let children = store.pools.get(&id).into_iter().flat_map(|pool| &pool.children);
    for name in children.map(|child| store.name(*child)) {
        let taken =
            store.parent(id).and_then(|parent| store.child(parent, name)).filter(|other| *other != id);
        if let Some(other) = taken {
            return Err(Refusal::duplicate_name(name, other));
        }
    }
    Ok(())
}

/// A folder goes with all that is in it, or not at all.
fn check_folder(world: &World, id: Id) -> Result<(), Refusal> {
    let children = world.store.folders.get(&id).into_iter().flat_map(|folder| &folder.children);
    for child in children {
        if let Some(task) = world.store.vms.get(child).and_then(|vm| vm.busy) {
            return Err(super::in_progress(task));
        }
        check(world, *child)?;
    }
    Ok(())
}

fn check_vm(world: &World, id: Id) -> Result<(), Refusal> {
    super::expect_off(vm_of(world, id)?)?;
    if holds_others(world, id) {
        return Err(Refusal::new("ResourceInUse", "The resource is in use: other disks stand on this one.")
            .with("type", "VirtualDisk")
            .with("name", world.store.name(id)));
    }
    Ok(())
}

/// Whether disks of other VMs stand on files of this one: files in its folder that more hold than the VM itself.
fn holds_others(world: &World, id: Id) -> bool {
    let Some(vm) = world.store.vms.get(&id) else { return false };
    let mut own: BTreeMap<String, u32> = BTreeMap::new();
    for layer in vm.files().into_iter().flat_map(|(_, layers)| layers) {
        *own.entry(layer.file).or_default() += 1;
    }
    let inside = format!("{}/", vm.path.rsplit_once('/').map_or("", |(folder, _)| folder));
    own.iter().any(|(file, held)| {
        let goes_too = file.split_once("] ").is_some_and(|(_, path)| path.starts_with(&inside));
        goes_too && world.store.layers.get(file).is_some_and(|all| all > held)
    })
}

pub(super) fn destroy(world: &mut World, user: &str, id: Id) -> Result<(), Refusal> {
    check(world, id)?;
    if id.kind == Kind::VirtualMachine {
        event::record_placed(world, "VmRemovedEvent", id, user, |vm| format!("Removed {vm}"));
        remove_with_files(world, id);
    } else if id.kind == Kind::ResourcePool {
        remove_pool(world, id);
    } else {
        let folder = world.store.folders.get(&id);
        let children: Vec<Id> = folder.into_iter().flat_map(|folder| &folder.children).copied().collect();
        for child in children {
            destroy(world, user, child)?;
        }
        world.store.folders.remove(&id);
        world.store.remove(id);
    }
    Ok(())
}

/// Removes a pool; what it contains goes to its parent.
fn remove_pool(world: &mut World, id: Id) {
    let (Some(pool), Some(parent)) = (world.store.pools.remove(&id), world.store.parent(id)) else { return };
    for vm in pool.vms {
        compute::join_pool(world, vm, parent);
    }
    // First, since a pool in it may have its name.
    world.store.remove(id);
    for child in &pool.children {
        world.store.move_to(*child, parent);
        moving::touch_descendants(world, *child);
    }
    if let Some(parent) = world.store.pools.get_mut(&parent) {
        parent.children.remove(&id);
        parent.children.extend(pool.children);
    }
}

/// Takes a VM out of the inventory, but leaves its files.
pub(crate) fn unregister(world: &mut World, id: Id) -> Result<(), Refusal> {
    let vm = vm_of(world, id)?;
    if let Some(task) = vm.busy {
        return Err(super::in_progress(task));
    }
    super::expect_off(vm)?;
    let (datastore, mut files) = (vm.datastore, vm.files());
    let file = format!("[{}] {}", world.store.name(datastore), vm.path);
    let configuration = vec![Layer { file, bytes: 0 }];
    storage::retain_layers(world, &configuration);
    files.push((datastore, configuration));
    world.store.left_behind.extend(files);
    take_out(world, id);
    Ok(())
}

/// Removes a VM with all that it has.
pub(crate) fn remove_with_files(world: &mut World, id: Id) {
    let Some(vm) = world.store.vms.get(&id) else { return };
    let home = vm.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let (datastore, files) = (vm.datastore, vm.files());
    for (datastore, layers) in files {
        storage::release_layers(world, datastore, &layers);
    }
    world.store.homes.remove(&(datastore, home));
    take_out(world, id);
}

fn take_out(world: &mut World, id: Id) {
    compute::leave_pool(world, id);
    compute::leave_host(world, id);
    devices::unplug_all(world, id);
    let Some(vm) = world.store.vms.remove(&id) else { return };
    for snapshot in &vm.snapshots {
        world.snapshots.remove(&snapshot.id);
    }
    world.store.uuids.remove(&(vm.uuid, id));
    world.store.uuids.remove(&(vm.instance_uuid, id));
    crate::guests::forget(world, id);
    world.store.remove(id);
}
