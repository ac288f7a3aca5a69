//! The history of events.

use rookery_vim::methods as vim;

use super::Methods;
use super::history::{self, MOST};
use crate::event::{self, Event};
use crate::history::next;
use crate::id::Kind;
use crate::properties::write_event;
use crate::refusal::Refusal;
use crate::soap::{Call, Handled, Outcome, written};
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.write(|world, call, m: vim::QueryEvents| {
        let found = world.events.newest_first().filter(|e| event::matches(world, &m.filter, e)).take(MOST);
        let mut found: Vec<&Event> = found.collect();
        found.reverse();
        Ok(tell(call, &found))
    });
    all.answer(|world, call, m: vim::CreateCollectorForEvents| {
        let id = world.store.next_id(Kind::EventHistoryCollector);
        history::create(call, id, m.filter, &mut world.events.collectors)
    });
    all.write(|world, call, m: vim::ReadNextEvents| step(world, call, m.max_count, true));
    all.write(|world, call, m: vim::ReadPreviousEvents| step(world, call, m.max_count, false));
}

fn step(world: &mut World, call: &Call, most: i32, forward: bool) -> Handled {
    let (id, position, most) = history::reading(world, call, most)?;
    let gone = || Refusal::gone(&call.this);
    let filter = &world.events.collectors.get(&id).ok_or_else(gone)?.filter;
    let key = |event: &&Event| i64::from(event.key);
    let fits = |event: &&Event| event::matches(world, filter, event);
    let found = next(world.events.newest_first().rev(), key, fits, position, most, forward);
    let (answer, last) = (tell(call, &found), found.last().map(key));
    history::has_read(world, call, last)?;
    Ok(answer)
}

fn tell(call: &Call, events: &[&Event]) -> Outcome {
    written(&call.method, |out| {
        for event in events {
            write_event(out, "returnval", event);
        }
    })
}
