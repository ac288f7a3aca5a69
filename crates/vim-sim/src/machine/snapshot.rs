//! Snapshots: the files that a disk has so far are kept, and a new one is written to.

use rookery_vim::objects::PowerState;

use super::{power_off_now, space, vm_mut, vm_of};
use crate::event;
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::store::{Layer, Snapshot, What};
use crate::world::World;

const CHANGED: [&str; 4] = ["snapshot", "rootSnapshot", "config.hardware.device", "layoutEx"];
/// What a fresh file of changes takes.
const DELTA: i64 = 16 << 20;

/// The VM that a snapshot is of.
pub(super) fn owner(world: &World, snapshot: Id) -> Result<Id, Refusal> {
    let owner = world.snapshots.get(&snapshot).copied();
    owner.ok_or_else(|| Refusal::gone(&snapshot.reference()))
}

pub(super) fn take(
    world: &mut World,
    user: &str,
    id: Id,
    name: &str,
    description: &str,
) -> Result<Id, Refusal> {
    if name.is_empty() {
        return Err(Refusal::new("InvalidName", "The name '' is invalid.").with("name", name));
    }
    let vm = vm_of(world, id)?;
    let kept: Vec<Vec<Layer>> = vm.disks().map(|(_, disk)| disk.layers.clone()).collect();
    let datastore = vm.datastore;
    let (parent, powered_on) = (vm.current_snapshot, vm.is_on());
    let disks = kept.len();
    space::take(world, datastore, DELTA * i64::try_from(disks).unwrap_or(0))?;
    for layers in &kept {
        space::hold(world, layers);
    }
    let snapshot = world.store.next_id(Kind::VirtualMachineSnapshot);
    world.snapshots.insert(snapshot, id);
    let now = world.now;
    let mut fresh = Vec::new();
    let vm = vm_mut(world, id)?;
    for device in &mut vm.devices {
        if let What::Disk(disk) = &mut device.what {
            let layer = Layer { file: child_file(&disk.layers, snapshot), bytes: DELTA };
            fresh.push(layer.clone());
            disk.layers.insert(0, layer);
        }
    }
    vm.snapshots.push(Snapshot {
        id: snapshot,
        name: name.to_owned(),
        description: description.to_owned(),
        created: now,
        parent,
        powered_on,
        layers: kept,
    });
    vm.current_snapshot = Some(snapshot);
    space::hold(world, &fresh);
    world.store.touch(id, &CHANGED);
    let message = format!("Reconfigured {}", event::placed(world, id));
    event::record(world, "VmReconfiguredEvent", id, user, message);
    Ok(snapshot)
}

/// `web/web-000012.vmdk`: beside the file that it holds the changes of.
pub(super) fn child_file(layers: &[Layer], of: Id) -> String {
    let parent = layers.last().map(|layer| layer.file.as_str()).unwrap_or_default();
    let stem = parent.strip_suffix(".vmdk").unwrap_or(parent);
    format!("{stem}-{:06}.vmdk", of.number)
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
    let datastore = vm.datastore;
    for layers in &removed.layers {
        space::let_go(world, datastore, layers);
    }
    world.snapshots.remove(&snapshot);
    world.store.touch(id, &CHANGED);
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
    if vm_of(world, id)?.power != PowerState::Off {
        power_off_now(world, id, user);
    }
    let vm = vm_mut(world, id)?;
    vm.current_snapshot = Some(snapshot);
    world.store.touch(id, &CHANGED);
    Ok(())
}
