//! The history of events.

use rookery_vim::methods::{
    CreateCollectorForEvents, Method as _, QueryEvents, ReadNextEvents, ReadPreviousEvents,
};
use rookery_vim::{Node, Writer};

use super::Dispatch;
use super::history::{self, MOST};
use crate::event::{self, Event};
use crate::history::next;
use crate::id::Kind;
use crate::properties::write_event;
use crate::refusal::Refusal;
use crate::soap::{Call, Handled, answer, read, written};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    Dispatch::Handled(match call.method.as_str() {
        QueryEvents::NAME => read::<QueryEvents>(node).map(|m| {
            let found =
                world.events.newest_first().filter(|e| event::matches(world, &m.filter, e)).take(MOST);
            let mut found: Vec<&Event> = found.collect();
            found.reverse();
            tell(call, &found)
        }),
        CreateCollectorForEvents::NAME => answer::<CreateCollectorForEvents>(node, |m| {
            let id = world.store.next_id(Kind::EventHistoryCollector);
            history::create(call, id, m.filter, &mut world.events.collectors)
        }),
        ReadNextEvents::NAME => {
            read::<ReadNextEvents>(node).and_then(|m| step(world, call, m.max_count, true))
        }
        ReadPreviousEvents::NAME => {
            read::<ReadPreviousEvents>(node).and_then(|m| step(world, call, m.max_count, false))
        }
        _ => return Dispatch::Unknown(node),
    })
}

fn step(world: &mut World, call: &Call, most: i32, forward: bool) -> Handled {
    let (id, reading) = history::reading(world, call, most, forward)?;
    let gone = || Refusal::gone(&call.this);
    let filter = &world.events.collectors.get(&id).ok_or_else(gone)?.filter;
    let key = |event: &&Event| i64::from(event.key);
    let fits = |event: &&Event| event::matches(world, filter, event);
    let found = next(world.events.newest_first().rev(), key, fits, &reading);
    let (answer, last) = (tell(call, &found), found.last().map(key));
    history::has_read(world, call, last)?;
    Ok(answer)
}

fn tell(call: &Call, events: &[&Event]) -> crate::soap::Outcome {
    let mut out = Writer::new();
    for event in events {
        write_event(&mut out, "returnval", event);
    }
    let text = out.into_string();
    written(&call.method, |out| out.raw(&text))
}
