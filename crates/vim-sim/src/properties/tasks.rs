//! Tasks.

use rookery_vim::Writer;

use super::{Members, item};
use crate::id::Id;
use crate::task::{self, Done, State, Task};
use crate::world::World;

pub(super) fn task(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(task) = world.tasks.get(id) else { return };
    m.object("info", "TaskInfo", |m| task_info(id, task, m));
    m.without(&["availableField", "value"]);
}

pub(super) fn history(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(history) = world.tasks.collectors.get(&id) else { return };
    let latest = world.tasks.oldest_first().rev();
    let latest = latest.filter(|(id, task)| task::matches(world, &history.filter, *id, task));
    m.value("filter", &history.filter);
    m.items("latestPage", "TaskInfo", latest.take(history.reader.page), |m, (id, task)| {
        task_info(id, task, m);
    });
}

/// What is known of a task, as an element of that name.
pub(crate) fn write_task_info(out: &mut Writer, element: &str, id: Id, task: &Task) {
    item(out, element, None, |m| task_info(id, task, m));
}

/// What is known of a task.
fn task_info(id: Id, task: &Task, m: &mut Members<'_, '_>) {
    m.text("key", &id.text());
    m.reference("task", id);
    m.unset("description");
    m.text("name", task.name);
    m.text("descriptionId", task.description);
    m.reference("entity", task.entity);
    m.text("entityName", &task.entity_name);
    m.unset("locked");
    m.one_of("state", "TaskInfoState", task.state.as_str());
    m.flag("cancelled", task.cancelled);
    m.flag("cancelable", !task.is_over());
    match &task.state {
        State::Error(refusal) => m.fault("error", refusal),
        State::Queued | State::Running | State::Success(_) => m.unset("error"),
    }
    match &task.state {
        State::Success(Done::Object(object)) => m.any_reference("result", *object),
        State::Success(Done::Value(xml)) => m.raw("result", xml),
        State::Success(Done::Nothing) | State::Queued | State::Running | State::Error(_) => m.unset("result"),
    }
    m.maybe("progress", task.progress, Members::int);
    m.variant("reason", "TaskReasonUser", |m| m.text("userName", &task.user));
    m.time("queueTime", task.queued);
    m.maybe("startTime", task.started, Members::time);
    m.maybe("completeTime", task.completed, Members::time);
    m.int("eventChainId", task::chain(id));
}
