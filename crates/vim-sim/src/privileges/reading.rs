//! What can be seen and read by whom.

use std::cell::RefCell;

use rookery_vim::Writer;

use super::{asker, canonical, entity_of, holds};
use crate::id::{Id, Kind};
use crate::properties::{self, Frame};
use crate::refusal::Refusal;
use crate::world::World;

/// What can be read of an entity that can only be seen.
const IN_VIEW: [&str; 9] = [
    "name",
    "parent",
    "childEntity",
    "childType",
    "vmFolder",
    "hostFolder",
    "datastoreFolder",
    "networkFolder",
    "effectiveRole",
];

/// Whether the caller may see an object.
pub(crate) fn sees(world: &World, id: Id) -> bool {
    world.authority.is_open() || asker(world).is_none_or(|user| user_sees(world, user, id))
}

/// Those of some objects that whoever asks may see.
pub(crate) fn seen(world: &World, ids: impl IntoIterator<Item = Id>) -> impl Iterator<Item = Id> {
    ids.into_iter().filter(|id| sees(world, *id))
}

/// Whether a user may see an object: it, or something in it.
pub(crate) fn user_sees(world: &World, user: &str, id: Id) -> bool {
    let of_an_entity = id.is_entity() || matches!(id.kind, Kind::Task | Kind::VirtualMachineSnapshot);
    // Whoever starts a task sees how it ends, even if its object goes with it.
    let own_task = || world.tasks.get(id).is_some_and(|task| task.user == user);
    !of_an_entity
        || own_task()
        || holds(world, user, id, "System.View")
        || leads_somewhere(world, user, entity_of(world, id))
}

/// Who may see an object may see its ancestors.
fn leads_somewhere(world: &World, user: &str, id: Id) -> bool {
    let own = world.authority.grants.get(&canonical(user)).into_iter().flatten();
    let mut shown = own.filter(|(_, grant)| world.authority.role_has(grant.role, "System.View"));
    shown.any(|(entity, _)| world.store.ancestors(*entity).any(|above| above == id))
}

/// Whether the caller may read a property; if not, why not.
pub(crate) fn readable(world: &World, id: Id, path: &str) -> Result<(), Refusal> {
    if world.authority.is_open() {
        return Ok(());
    }
    let Some(user) = asker(world) else { return Ok(()) };
    let first = path.split('.').next().unwrap_or(path);
    let (on, privilege) = if id.kind == Kind::SessionManager && first == "sessionList" {
        (world.root, "Sessions.TerminateSession")
    } else if !user_sees(world, user, id) {
        (id, "System.View")
    } else if id.is_entity() && !IN_VIEW.contains(&first) {
        (id, "System.Read")
    } else {
        return Ok(());
    };
    if holds(world, user, on, privilege) { Ok(()) } else { Err(Refusal::no_permission(on, privilege)) }
}

/// A property that was asked for and may not be read.
pub(crate) fn write_missing(out: &mut Writer, path: &str, refusal: &Refusal) {
    out.open("missingSet", None);
    out.leaf("path", None, path);
    refusal.write_localized(out, "fault", false);
    out.close("missingSet");
}

/// All properties of an object. Those that may not be read are told as missing.
pub(crate) fn write_all(world: &World, id: Id, out: &mut Writer, frame: Frame) {
    let missing = RefCell::new(Writer::new());
    let shown = |path: &str| match readable(world, id, path) {
        Ok(()) => true,
        Err(refusal) => {
            write_missing(&mut missing.borrow_mut(), path, &refusal);
            false
        }
    };
    properties::all(world, id, out, frame, &shown);
    out.raw(&missing.into_inner().into_string());
}
