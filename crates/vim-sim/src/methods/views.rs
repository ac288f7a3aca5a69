//! Views and tasks.

use std::collections::BTreeSet;

use rookery_vim::methods::{
    CancelTask, CreateContainerView, CreateListView, DestroyView, Method as _, ModifyListView, ResetListView,
};
use rookery_vim::{MoRef, Node};

use super::{Dispatch, existing, this_of};
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::task;
use crate::view::{View, What};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    let session = call.session.unwrap_or_default();
    Dispatch::Handled(match call.method.as_str() {
        CreateContainerView::NAME => answer::<CreateContainerView>(node, |m| {
            let container = existing(world, &m.container)?;
            let what = What::Container { container, classes: m.kinds, recursive: m.recursive };
            Ok(add(world, Kind::ContainerView, View { session, what }))
        }),
        CreateListView::NAME => answer::<CreateListView>(node, |m| {
            let (found, _) = partition(world, &m.obj);
            Ok(add(world, Kind::ListView, View { session, what: What::List(found) }))
        }),
        ModifyListView::NAME => {
            answer::<ModifyListView>(node, |m| modify(world, call, &m.add, &m.remove, false))
        }
        ResetListView::NAME => answer::<ResetListView>(node, |m| modify(world, call, &m.obj, &[], true)),
        DestroyView::NAME => answer::<DestroyView>(node, |m| {
            let id = existing(world, &m.this)?;
            if world.views.get(&id).is_none_or(|view| view.session != session) {
                return Err(Refusal::gone(&m.this));
            }
            let shown: Vec<Id> =
                world.views.get(&id).map(|view| view.members(world).collect()).unwrap_or_default();
            world.views.remove(&id).ok_or_else(|| Refusal::gone(&m.this))?;
            // Whoever watches through the view no longer sees them.
            for id in shown {
                world.store.log.listed(id);
            }
            Ok(())
        }),
        CancelTask::NAME => answer::<CancelTask>(node, |_| {
            let id = this_of(world, call, Kind::Task)?;
            task::cancel(world, id)
        }),
        _ => return Dispatch::Unknown(node),
    })
}

fn add(world: &mut World, kind: Kind, view: View) -> MoRef {
    let id = world.store.next_id(kind);
    world.views.insert(id, view);
    id.reference()
}

/// References that exist, and those that do not.
fn partition(world: &World, references: &[MoRef]) -> (BTreeSet<Id>, Vec<MoRef>) {
    let mut found = BTreeSet::new();
    let mut unknown = Vec::new();
    for reference in references {
        match existing(world, reference) {
            Ok(id) => {
                found.insert(id);
            }
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
