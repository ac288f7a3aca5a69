//! Snapshots.

use rookery_vim::Node;
use rookery_vim::methods::{
    CreateSnapshotTask, Method as _, RemoveAllSnapshotsTask, RemoveSnapshotTask, RevertToSnapshotTask,
};

use super::{Dispatch, order, this_of};
use crate::id::{Id, Kind};
use crate::machine::Work;
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    let vm = |world: &World| this_of(world, call, Kind::VirtualMachine);
    Dispatch::Handled(match call.method.as_str() {
        CreateSnapshotTask::NAME => answer::<CreateSnapshotTask>(node, |m| {
            let vm = vm(world)?;
            let work = Work::Snapshot { vm, name: m.name, description: m.description.unwrap_or_default() };
            Ok(order::<CreateSnapshotTask>(world, call, vm, work))
        }),
        RemoveSnapshotTask::NAME => answer::<RemoveSnapshotTask>(node, |m| {
            let (snapshot, vm) = snapshot_of(world, call)?;
            let work = Work::RemoveSnapshot { snapshot, vm, with_children: m.remove_children };
            Ok(order::<RemoveSnapshotTask>(world, call, vm, work))
        }),
        RemoveAllSnapshotsTask::NAME => answer::<RemoveAllSnapshotsTask>(node, |_| {
            let vm = vm(world)?;
            Ok(order::<RemoveAllSnapshotsTask>(world, call, vm, Work::RemoveAllSnapshots { vm }))
        }),
        RevertToSnapshotTask::NAME => answer::<RevertToSnapshotTask>(node, |_| {
            let (snapshot, vm) = snapshot_of(world, call)?;
            Ok(order::<RevertToSnapshotTask>(world, call, vm, Work::Revert { snapshot, vm }))
        }),
        _ => return Dispatch::Unknown(node),
    })
}

/// The snapshot that a call was made on, and the VM that it is of.
fn snapshot_of(world: &World, call: &Call) -> Result<(Id, Id), Refusal> {
    let snapshot = this_of(world, call, Kind::VirtualMachineSnapshot)?;
    let vm = world.snapshots.get(&snapshot).copied().ok_or_else(|| Refusal::gone(&call.this))?;
    Ok((snapshot, vm))
}
