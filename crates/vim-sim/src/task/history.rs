//! Which tasks a reader of their history wants.

use rookery_vim::objects::{TaskFilterSpec, TaskFilterSpecByEntity, TaskFilterSpecByTime};

use super::Task;
use crate::id::Id;
use crate::privileges;
use crate::world::World;

/// Whether a filter lets a task through.
pub(crate) fn matches(world: &World, filter: &TaskFilterSpec, id: Id, task: &Task) -> bool {
    // What has gone is no secret any more to those who may see where it was.
    let about = std::iter::once(task.entity).chain(task.within.iter().copied());
    let about = about.filter(|id| id.is_entity()).find(|id| world.store.exists(*id));
    if about.is_some_and(|id| !privileges::sees(world, id)) {
        return false;
    }
    // No task has any of these here.
    let foreign = filter.alarm.is_some()
        || filter.scheduled_task.is_some()
        || [&filter.activation_id, &filter.tag, &filter.parent_task_key, &filter.root_task_key]
            .into_iter()
            .any(|wanted| !wanted.is_empty());
    let states = &filter.state;
    let chains = &filter.event_chain_id;
    !foreign
        && (states.is_empty() || states.iter().any(|state| state.as_str() == task.state.as_str()))
        && (chains.is_empty() || chains.contains(&chain(id)))
        && filter.user_name.as_ref().is_none_or(|by| {
            let anybody = !by.system_user && by.user_list.is_empty();
            anybody || by.system_user && task.user.is_empty() || by.user_list.contains(&task.user)
        })
        && filter.time.as_ref().is_none_or(|time| is_of(time, task))
        && filter.entity.as_ref().is_none_or(|entity| is_about(world, entity, task))
}

/// The number that the events of a task have in common.
pub(crate) fn chain(id: Id) -> i32 {
    i32::try_from(id.number).unwrap_or(i32::MAX)
}

fn is_of(wanted: &TaskFilterSpecByTime, task: &Task) -> bool {
    let time = match wanted.time_type.as_str() {
        "startedTime" => task.started,
        "completedTime" => task.completed,
        _ => Some(task.queued),
    };
    time.is_some_and(|time| {
        wanted.begin_time.is_none_or(|begin| time >= begin) && wanted.end_time.is_none_or(|end| time <= end)
    })
}

fn is_about(world: &World, wanted: &TaskFilterSpecByEntity, task: &Task) -> bool {
    let Some(id) = Id::of(&wanted.entity) else { return false };
    let itself = task.entity == id;
    match wanted.recursion.as_str() {
        "self" => itself,
        "children" => task.within.first() == Some(&id),
        _ => itself || id == world.root || task.within.contains(&id),
    }
}
