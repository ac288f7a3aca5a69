//! Views and tasks.

use std::collections::BTreeSet;

use rookery_vim::MoRef;
use rookery_vim::methods as vim;

use super::{Methods, existing, this_of};
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::soap::Call;
use crate::task;
use crate::view::{View, What};
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, call, m: vim::CreateContainerView| {
        let container = existing(world, &m.container)?;
        let what = What::Container { container, classes: m.kinds, recursive: m.recursive };
        Ok(create(world, call, Kind::ContainerView, what))
    });
    all.answer(|world, call, m: vim::CreateListView| {
        let (found, _) = partition(world, &m.obj);
        Ok(create(world, call, Kind::ListView, What::List(found)))
    });
    all.answer(|world, call, m: vim::ModifyListView| modify(world, call, &m.add, &m.remove, false));
    all.answer(|world, call, m: vim::ResetListView| modify(world, call, &m.obj, &[], true));
    all.answer(|world, call, m: vim::DestroyView| {
        let id = existing(world, &m.this)?;
        let own = world.views.get(&id).filter(|view| Some(view.session) == call.session);
        let shown: Vec<Id> = own.ok_or_else(|| Refusal::gone(&m.this))?.members(world).collect();
        world.views.remove(&id);
        // Whoever watches through the view no longer sees them.
        for id in shown {
            world.store.log.listed(id);
        }
        Ok(())
    });
    all.answer(|world, call, _: vim::CancelTask| {
        let id = this_of(world, call, Kind::Task)?;
        task::cancel(world, id)
    });
}

fn create(world: &mut World, call: &Call, kind: Kind, what: What) -> MoRef {
    let id = world.store.next_id(kind);
    world.views.insert(id, View { session: call.session.unwrap_or_default(), what });
    id.reference()
}

/// References that exist, and those that do not.
fn partition(world: &World, references: &[MoRef]) -> (BTreeSet<Id>, Vec<MoRef>) {
    let (mut found, mut unknown) = (BTreeSet::new(), Vec::new());
    for reference in references {
        match existing(world, reference) {
            Ok(id) => drop(found.insert(id)),
            Err(_) => unknown.push(reference.clone()),
        }
    }
    (found, unknown)
}

fn modify(
    world: &mut World,
    call: &Call,
    add: &[MoRef],
    remove: &[MoRef],
    reset: bool,
) -> Result<Vec<MoRef>, Refusal> {
    let (added, unknown) = partition(world, add);
    let removed: BTreeSet<Id> = remove.iter().filter_map(Id::of).collect();
    let id = this_of(world, call, Kind::ListView)?;
    let own = world.views.get_mut(&id).filter(|view| Some(view.session) == call.session);
    let Some(View { what: What::List(list), .. }) = own else {
        return Err(Refusal::gone(&call.this));
    };
    let before = list.clone();
    if reset {
        list.clear();
    }
    list.retain(|id| !removed.contains(id));
    list.extend(added);
    let moved: Vec<Id> = before.symmetric_difference(list).copied().collect();
    for id in moved {
        world.store.log.listed(id);
    }
    Ok(unknown)
}
