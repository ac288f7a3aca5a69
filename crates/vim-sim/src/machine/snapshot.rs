//! Snapshots: the files that a disk has so far are kept, and a new one is written to.

use rookery_vim::objects::PowerState;

use super::{devices, power_off_now, storage, vm_mut, vm_of};
use crate::event;
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::store::{Hardware, Layer, Snapshot};
use crate::world::World;

const CHANGED: [&str; 5] =
    ["snapshot", "rootSnapshot", "config.hardware.device", "summary.storage", "layoutEx"];
/// What a fresh file of changes takes.
const DELTA: i64 = 16 << 20;

/// The VM that a snapshot is of.
pub(crate) fn owner(world: &World, snapshot: Id) -> Result<Id, Refusal> {
    let owner = world.snapshots.get(&snapshot).copied();
    owner.ok_or_else(|| Refusal::gone(&snapshot.reference()))
}

pub(crate) fn take(
    world: &mut World,
    user: &str,
    id: Id,
    name: &str,
    description: &str,
) -> Result<Id, Refusal> {
    if name.is_empty() {
        return Err(Refusal::invalid_name(name));
    }
    let vm = vm_of(world, id)?;
    let (hardware, parent, powered_on) = (vm.hardware(), vm.current_snapshot, vm.is_on());
    let number = world.store.next_id(Kind::VirtualMachineSnapshot);
    let children = children(world, id, &hardware, number)?;
    for disk in hardware.disks() {
        storage::retain_layers(world, &disk.layers);
    }
    world.snapshots.insert(number, id);
    let created = world.now;
    let vm = vm_mut(world, id)?;
    for (disk, child) in vm.disks_mut().zip(children) {
        disk.layers.insert(0, child);
    }
    let (name, description) = (name.to_owned(), description.to_owned());
    vm.snapshots.push(Snapshot { id: number, name, description, created, parent, powered_on, hardware });
    vm.current_snapshot = Some(number);
    world.store.touch(id, &CHANGED);
    event::record_placed(world, "VmReconfiguredEvent", id, user, |vm| format!("Reconfigured {vm}"));
    Ok(number)
}

/// New files to be written to from now on, one for each disk: all of them, or none.
fn children(world: &mut World, id: Id, hardware: &Hardware, after: Id) -> Result<Vec<Layer>, Refusal> {
    let stem = vm_of(world, id)?.path.strip_suffix(".vmx").unwrap_or_default().to_owned();
    let mut made: Vec<(Id, Layer)> = Vec::new();
    for (nth, disk) in hardware.disks().enumerate() {
        if let Err(refusal) = storage::reserve(world, disk.datastore, DELTA) {
            for (datastore, layer) in made {
                storage::release_layers(world, datastore, &[layer]);
            }
            return Err(refusal);
        }
        let name = world.store.name(disk.datastore);
        let file = storage::free_name(world, &format!("[{name}] {stem}_{nth}-{:06}", after.number));
        let layer = Layer { file, bytes: DELTA };
        storage::retain_layers(world, std::slice::from_ref(&layer));
        made.push((disk.datastore, layer));
    }
    Ok(made.into_iter().map(|(_, layer)| layer).collect())
}

pub(super) fn remove(world: &mut World, snapshot: Id, with_children: bool) -> Result<(), Refusal> {
    let id = owner(world, snapshot)?;
    let mut doomed = vec![snapshot];
    if with_children {
        let vm = vm_of(world, id)?;
        let mut next = 0;
        while let Some(parent) = doomed.get(next).copied() {
            doomed.extend(vm.snapshots.iter().filter(|s| s.parent == Some(parent)).map(|s| s.id));
            next += 1;
        }
    }
    for snapshot in doomed {
        remove_one(world, id, snapshot)?;
    }
    Ok(())
}

fn remove_one(world: &mut World, id: Id, snapshot: Id) -> Result<(), Refusal> {
    let vm = vm_mut(world, id)?;
    let Some(at) = vm.snapshots.iter().position(|s| s.id == snapshot) else { return Ok(()) };
    let removed = vm.snapshots.remove(at);
    for other in &mut vm.snapshots {
        if other.parent == Some(snapshot) {
            other.parent = removed.parent;
        }
    }
    if vm.current_snapshot == Some(snapshot) {
        vm.current_snapshot = removed.parent;
    }
    for disk in removed.hardware.disks() {
        storage::release_layers(world, disk.datastore, &disk.layers);
    }
    world.snapshots.remove(&snapshot);
    consolidate(world, id)?;
    world.store.touch(id, &CHANGED);
    Ok(())
}

/// Merges files of the VM's disks that nothing else stands on any more.
fn consolidate(world: &mut World, id: Id) -> Result<(), Refusal> {
    let mut vm = vm_of(world, id)?.clone();
    for disk in vm.disks_mut() {
        let alone = |world: &World, layer: &Layer| world.store.layers.get(&layer.file) == Some(&1);
        while let [upper, lower, ..] = disk.layers.as_slice()
            && alone(world, upper)
            && alone(world, lower)
        {
            let merged = disk.layers.remove(0);
            storage::release_layers(world, disk.datastore, &[merged]);
        }
    }
    *vm_mut(world, id)? = vm;
    Ok(())
}

pub(super) fn remove_all(world: &mut World, id: Id) -> Result<(), Refusal> {
    let all: Vec<Id> = vm_of(world, id)?.snapshots.iter().map(|s| s.id).collect();
    for snapshot in all {
        remove_one(world, id, snapshot)?;
    }
    Ok(())
}

pub(super) fn revert(world: &mut World, user: &str, snapshot: Id) -> Result<(), Refusal> {
    let id = owner(world, snapshot)?;
    let found = vm_of(world, id)?.snapshots.iter().find(|s| s.id == snapshot);
    let hardware = found.map(|s| s.hardware.clone()).ok_or_else(|| Refusal::gone(&snapshot.reference()))?;
    let number = world.store.next_id(Kind::VirtualMachineSnapshot);
    let children = children(world, id, &hardware, number)?;
    if vm_of(world, id)?.power != PowerState::Off {
        power_off_now(world, id, user);
    }
    for disk in hardware.disks() {
        storage::retain_layers(world, &disk.layers);
    }
    let before = vm_of(world, id)?.clone();
    for disk in before.disks() {
        storage::release_layers(world, disk.datastore, &disk.layers);
    }
    let vm = vm_mut(world, id)?;
    vm.restore(hardware);
    vm.version += 1;
    for (disk, child) in vm.disks_mut().zip(children) {
        disk.layers.insert(0, child);
    }
    vm.current_snapshot = Some(snapshot);
    devices::plug_in(world, id, &before);
    world.store.touch(
        id,
        &["config", "summary", "network", "datastore", "guest.net", "snapshot", "storage", "layoutEx"],
    );
    Ok(())
}
