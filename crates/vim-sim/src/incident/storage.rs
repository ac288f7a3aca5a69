//! Datastores fill up and go away.

use crate::id::Id;
use crate::world::World;

pub(super) fn free(world: &mut World, id: Id, bytes: u64) {
    let Some(datastore) = world.store.datastores.get_mut(&id) else { return };
    let wanted = i64::try_from(bytes).unwrap_or(i64::MAX);
    datastore.foreign = (datastore.capacity - datastore.used).saturating_sub(wanted).max(0);
    world.store.touch(id, &["summary.freeSpace", "info.freeSpace"]);
}

pub(super) fn reach(world: &mut World, id: Id, accessible: bool) {
    let Some(datastore) = world.store.datastores.get_mut(&id) else { return };
    datastore.accessible = accessible;
    let vms: Vec<Id> = datastore.vms.iter().copied().collect();
    world.store.touch(id, &["summary.accessible", "host"]);
    for vm in vms {
        world.store.touch(vm, &["runtime.connectionState", "summary.runtime"]);
    }
}
