//! What happened, from vCenter's own history. History ages out: nothing may depend on it alone.

use jiff::Timestamp;
use rookery_vim::methods::{
    CreateCollectorForEvents, DestroyCollector, ReadNextEvents, ReadPreviousEvents, ResetCollector,
};
use rookery_vim::objects::{EventFilterSpec, EventFilterSpecByEntity, EventFilterSpecByTime};
use rookery_vim::{MoRef, Node, Wire as _};

use crate::client::Client;
use crate::error::CallError;
use crate::properties::property_of;

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

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number; grows with time, also where times are equal.
    pub key: i32,
    /// Its class, such as `VmPoweredOnEvent`.
    pub kind: String,
    /// When, on vCenter's clock.
    pub at: Option<Timestamp>,
    pub user: Option<String>,
    /// The VM that it happened to.
    pub vm: Option<MoRef>,
    /// In vCenter's words.
    pub message: Option<String>,
    /// All of it, for what only this class has.
    pub detail: Node,
}

/// The end of a history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatestEvents {
    /// Newest first.
    pub events: Vec<Event>,
    /// Whether there are no older ones that fit.
    pub complete: bool,
}

/// All events that fit, newest first.
pub async fn events(client: &Client, filter: &EventFilter) -> Result<Vec<Event>, CallError> {
    let collector = collect(client, filter).await?;
    let read = read_all(client, &collector).await;
    release(client, collector).await;
    Ok(in_order(read?))
}

/// The newest events that fit: at least `most` of them if there are so many, and less than a page more.
pub async fn latest_events(
    client: &Client,
    filter: &EventFilter,
    most: usize,
) -> Result<LatestEvents, CallError> {
    let collector = collect(client, filter).await?;
    let read = read_latest(client, &collector, most).await;
    release(client, collector).await;
    let (read, complete) = read?;
    Ok(LatestEvents { events: in_order(read), complete })
}

async fn collect(client: &Client, filter: &EventFilter) -> Result<MoRef, CallError> {
    let manager = client.content().event_manager.clone();
    let create = CreateCollectorForEvents {
        this: manager.unwrap_or_else(|| MoRef::new("EventManager", "EventManager")),
        filter: spec(filter),
    };
    client.call(&create).await
}

/// A session may have few collectors; one that cannot be removed now goes with the session.
async fn release(client: &Client, collector: MoRef) {
    client.call(&DestroyCollector { this: collector }).await.ok();
}

/// Pages of a history that grows while it is read may overlap.
fn in_order(read: Vec<Node>) -> Vec<Event> {
    let mut found: Vec<Event> = read.into_iter().filter_map(|node| event(&node)).collect();
    found.sort_by_key(|event| std::cmp::Reverse(event.key));
    found.dedup_by_key(|event| event.key);
    found
}

/// From the newest event on; and whether the oldest one was reached.
async fn read_latest(
    client: &Client,
    collector: &MoRef,
    most: usize,
) -> Result<(Vec<Node>, bool), CallError> {
    // Whether a reset collector stands before or behind its latest page is told in two ways: it is read in any case.
    let latest = property_of(client, collector, "latestPage").await?;
    let mut all: Vec<Node> = latest.map(|page| page.children).unwrap_or_default();
    client.call(&ResetCollector { this: collector.clone() }).await?;
    let mut read = 0;
    while read < most {
        let previous = ReadPreviousEvents { this: collector.clone(), max_count: PAGE };
        let mut page = client.call_within(&previous, client.deadlines().page).await?;
        if page.is_empty() {
            return Ok((all, true));
        }
        read += page.len();
        all.append(&mut page);
    }
    Ok((all, false))
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
