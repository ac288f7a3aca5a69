//! Moving things between folders.

use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::world::World;

pub(super) fn check(world: &World, target: Id, moved: &[Id]) -> Result<(), Refusal> {
    let holds: &[&str] = if target.kind == Kind::StoragePod {
        &["Datastore"]
    } else {
        world.store.folders.get(&target).map(|folder| folder.holds).unwrap_or_default()
    };
    for id in moved {
        if !holds.iter().any(|class| id.kind.is_a(class)) {
            return Err(Refusal::not_supported());
        }
        if let Some(other) = world.store.child(target, world.store.name(*id)).filter(|other| other != id) {
            return Err(Refusal::duplicate_name(world.store.name(*id), other));
        }
        // Nothing goes into itself.
        if target == *id || world.store.ancestors(target).any(|ancestor| ancestor == *id) {
            return Err(Refusal::new("InvalidFolder", "The folder is not a valid target.")
                .about("target", &target.reference()));
        }
    }
    Ok(())
}

pub(super) fn apply(world: &mut World, target: Id, moved: &[Id]) -> Result<(), Refusal> {
    check(world, target, moved)?;
    for id in moved {
        let from = world.store.parent(*id);
        world.store.move_to(*id, target);
        if let Some(pod) = from.and_then(|from| world.store.pods.get_mut(&from)) {
            pod.children.remove(id);
        }
        for place in from.into_iter().chain([target]).filter(|place| place.kind == Kind::StoragePod) {
            world.store.log.touch(place, "summary");
        }
        if let Some(pod) = world.store.pods.get_mut(&target) {
            pod.children.insert(*id);
        }
        touch_descendants(world, *id);
    }
    Ok(())
}

/// Descendants of a moved entity enter or leave views with it, and the capacity of a pool is
/// bounded by the pools around it.
pub(super) fn touch_descendants(world: &mut World, moved: Id) {
    let store = &world.store;
    let below = |id: Id| store.ancestors(id).any(|ancestor| ancestor == moved);
    let in_pool = |id: Id| store.vms.get(&id).and_then(|vm| vm.pool).is_some_and(|p| p == moved || below(p));
    let inside: Vec<Id> = store.each().filter(|id| below(*id) || in_pool(*id)).collect();
    for id in inside {
        world.store.log.listed(id);
        touch_capacity(world, id);
    }
    touch_capacity(world, moved);
}

fn touch_capacity(world: &mut World, id: Id) {
    if id.kind == Kind::ResourcePool {
        world.store.touch(id, &["runtime", "summary"]);
    }
}
