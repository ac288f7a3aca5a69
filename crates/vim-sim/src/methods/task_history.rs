//! The history of tasks.

use rookery_vim::methods as vim;

use super::{Methods, history};
use crate::history::next;
use crate::id::{Id, Kind};
use crate::properties::write_task_info;
use crate::refusal::Refusal;
use crate::soap::{Call, Handled, written};
use crate::task::{self, Task};
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, call, m: vim::CreateCollectorForTasks| {
        let id = world.store.next_id(Kind::TaskHistoryCollector);
        history::create(call, id, m.filter, &mut world.tasks.collectors)
    });
    all.write(|world, call, m: vim::ReadNextTasks| step(world, call, m.max_count, true));
    all.write(|world, call, m: vim::ReadPreviousTasks| step(world, call, m.max_count, false));
}

fn step(world: &mut World, call: &Call, most: i32, forward: bool) -> Handled {
    let (id, position, most) = history::reading(world, call, most)?;
    let gone = || Refusal::gone(&call.this);
    let filter = &world.tasks.collectors.get(&id).ok_or_else(gone)?.filter;
    let key = |(id, _): &(Id, &Task)| i64::from(id.number);
    let fits = |(id, task): &(Id, &Task)| task::matches(world, filter, *id, task);
    let found = next(world.tasks.oldest_first(), key, fits, position, most, forward);
    let answer = written(&call.method, |out| {
        for (id, task) in &found {
            write_task_info(out, "returnval", *id, task);
        }
    });
    let last = found.last().map(key);
    history::has_read(world, call, last)?;
    Ok(answer)
}
