//! History.

use rookery_vim::methods::{
    CreateCollectorForEvents, DestroyCollector, Method as _, QueryEvents, ReadNextEvents, ReadPreviousEvents,
    ResetCollector, RewindCollector, SetCollectorPageSize,
};
use rookery_vim::{Node, Writer};

use super::{Tried, this_of};
use crate::event::{self, Event, History};
use crate::id::Kind;
use crate::look::write_event;
use crate::refusal::Refusal;
use crate::soap::{Call, Handled, answer, read, written};
use crate::world::World;

/// What a vCenter tells at once at most.
const MOST: usize = 1000;
/// How many readers of history a session may have.
const READERS: usize = 32;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Tried {
    Tried::Handled(match call.method.as_str() {
        QueryEvents::NAME => read::<QueryEvents>(node).map(|m| {
            let found =
                world.events.newest_first().filter(|e| event::matches(world, &m.filter, e)).take(MOST);
            let mut found: Vec<&Event> = found.collect();
            found.reverse();
            tell(call, &found)
        }),
        CreateCollectorForEvents::NAME => answer::<CreateCollectorForEvents>(node, |m| {
            let session = call.session.unwrap_or_default();
            let own = world.events.collectors.values().filter(|history| history.session == session).count();
            if own >= READERS {
                return Err(Refusal::new("InvalidState", "There are too many collectors in this session."));
            }
            let id = world.store.next_id(Kind::EventHistoryCollector);
            let history = History { session, filter: m.filter, page: 10, position: None };
            world.events.collectors.insert(id, history);
            Ok(id.reference())
        }),
        SetCollectorPageSize::NAME => answer::<SetCollectorPageSize>(node, |m| {
            let page = usize::try_from(m.max_count).unwrap_or(0).clamp(1, MOST);
            let id = this_of(world, call, Kind::EventHistoryCollector)?;
            reader(world, call)?.page = page;
            world.store.log.touch(id, "latestPage");
            Ok(())
        }),
        ReadNextEvents::NAME => {
            read::<ReadNextEvents>(node).and_then(|m| step(world, call, m.max_count, true))
        }
        ReadPreviousEvents::NAME => {
            read::<ReadPreviousEvents>(node).and_then(|m| step(world, call, m.max_count, false))
        }
        RewindCollector::NAME => answer::<RewindCollector>(node, |_| {
            reader(world, call)?.position = Some(0);
            Ok(())
        }),
        ResetCollector::NAME => answer::<ResetCollector>(node, |_| {
            reader(world, call)?.position = None;
            Ok(())
        }),
        DestroyCollector::NAME => answer::<DestroyCollector>(node, |_| {
            let id = this_of(world, call, Kind::EventHistoryCollector)?;
            world.events.collectors.remove(&id).map(drop).ok_or_else(|| Refusal::gone(&call.this))
        }),
        _ => return Tried::Not(node),
    })
}

fn reader<'w>(world: &'w mut World, call: &Call) -> Result<&'w mut History, Refusal> {
    let id = this_of(world, call, Kind::EventHistoryCollector)?;
    let own = world.events.collectors.get_mut(&id).filter(|history| Some(history.session) == call.session);
    own.ok_or_else(|| Refusal::gone(&call.this))
}

/// Reads on from where the reader is. A fresh one stands before the oldest event.
fn step(world: &mut World, call: &Call, most: i32, forward: bool) -> Handled {
    let most = usize::try_from(most).ok().filter(|most| (1..=MOST).contains(most));
    let most = most.ok_or_else(|| Refusal::invalid_argument("maxCount"))?;
    let history = reader(world, call)?;
    let (filter, position) = (history.filter.clone(), history.position);
    let fits = |e: &&Event| event::matches(world, &filter, e);
    let found: Vec<&Event> = if forward {
        let after = position.unwrap_or(0);
        world.events.newest_first().rev().filter(|e| e.key > after).filter(fits).take(most).collect()
    } else {
        let before = position.unwrap_or(i32::MAX);
        world.events.newest_first().filter(|e| e.key < before).filter(fits).take(most).collect()
    };
    let last = found.last().map(|e| e.key);
    let answer = tell(call, &found);
    if let Some(last) = last {
        reader(world, call)?.position = Some(last);
    }
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
