//! What happened, from vCenter's own history. History ages out: nothing may depend on it alone.

use jiff::Timestamp;
use rookery_vim::methods::{CreateCollectorForEvents, DestroyCollector, ReadNextEvents};
use rookery_vim::objects::{EventFilterSpec, EventFilterSpecByEntity, EventFilterSpecByTime};
use rookery_vim::{MoRef, Node, Wire as _};

use crate::client::Client;
use crate::error::CallError;

/// As many as a vCenter gives at a time.
const PAGE: i32 = 1000;

/// Which events are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFilter {
    /// About this object, and about all inside it.
    pub about: MoRef,
    /// Of these classes, such as `VmPoweredOffEvent`; of all if none is named.
    pub kinds: Vec<String>,
    /// Not older than this.
    pub since: Option<Timestamp>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number; grows with time, also where times are equal.
    pub key: i32,
    /// Its class.
    pub kind: String,
    /// When, on vCenter's clock.
    pub at: Option<Timestamp>,
    /// Who did it.
    pub user: Option<String>,
    /// The VM that it happened to.
    pub vm: Option<MoRef>,
    /// In vCenter's words.
    pub message: Option<String>,
    /// All of it, for what only this class has.
    pub detail: Node,
}

/// All events that fit, newest first.
pub async fn events(client: &Client, filter: &EventFilter) -> Result<Vec<Event>, CallError> {
    let manager = client.content().event_manager.clone();
    let create = CreateCollectorForEvents {
        this: manager.unwrap_or_else(|| MoRef::new("EventManager", "EventManager")),
        filter: spec(filter),
    };
    let collector = client.call(&create).await?;
    let read = read_all(client, &collector).await;
    // A session may have few collectors; one that cannot be removed now goes with the session.
    client.call(&DestroyCollector { this: collector }).await.ok();
    let mut found: Vec<Event> = read?.into_iter().filter_map(|node| event(&node)).collect();
    found.sort_by_key(|event| std::cmp::Reverse(event.key));
    // Pages of a history that grows while it is read may overlap.
    found.dedup_by_key(|event| event.key);
    Ok(found)
}

async fn read_all(client: &Client, collector: &MoRef) -> Result<Vec<Node>, CallError> {
    // A new collector stands before the oldest event. Rewinding it would do nothing, and makes vcsim skip that one.
    let mut all = Vec::new();
    loop {
        let next = ReadNextEvents { this: collector.clone(), max_count: PAGE };
        let mut page = client.call_within(&next, client.deadlines().page).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.append(&mut page);
    }
}

fn spec(filter: &EventFilter) -> EventFilterSpec {
    EventFilterSpec {
        entity: Some(EventFilterSpecByEntity { entity: filter.about.clone(), recursion: "all".to_owned() }),
        time: filter.since.map(|since| EventFilterSpecByTime { begin_time: Some(since), end_time: None }),
        disable_full_message: None,
        event_type_id: filter.kinds.clone(),
    }
}

/// An event without a number is none.
fn event(node: &Node) -> Option<Event> {
    let text = |name: &str| node.child_text(name).map(str::to_owned).filter(|text| !text.is_empty());
    let read_time = |node: &Node| Timestamp::from_node(node.clone()).ok();
    Some(Event {
        key: text("key")?.parse().ok()?,
        kind: node.xsi_type.as_deref().unwrap_or("Event").to_owned(),
        at: node.child("createdTime").and_then(read_time),
        user: text("userName"),
        vm: node.child("vm").and_then(|vm| MoRef::from_node(vm.child("vm")?.clone()).ok()),
        message: text("fullFormattedMessage"),
        detail: node.clone(),
    })
}
