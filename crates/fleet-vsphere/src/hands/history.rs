//! What vCenter remembers of VMs. History ages out: it is only asked where a mark does not tell.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rookery_fleet::machine::{History, MachineId};
use rookery_vim::MoRef;
use rookery_vim_client::{CallError, Event, EventFilter, LatestEvents, latest_events};

use super::Hands;
use crate::observe::vm;

const STARTED: &str = "VmStartingEvent";
const POWERED_OFF: &str = "VmPoweredOffEvent";
const RENAMED: &str = "VmRenamedEvent";
/// How many events are read at most: ten pages.
const MOST: usize = 10_000;
/// How long before the making of a VM its events are looked for.
const MARGIN: SignedDuration = SignedDuration::from_hours(1);

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// When VMs were last started, went off and were renamed, without what happened while their names began
    /// with `pooled`. `None`: what was read does not reach back far enough to tell. The VMs come with the time of their making.
    ///
    /// This is one query over the datacenter, however many they are, and it is bounded: whoever asks about each VM alone
    /// asks hundreds of times, and the history of a busy datacenter is long.
    pub async fn histories(
        &self,
        machines: &BTreeMap<MachineId, Option<Timestamp>>,
        pooled: &str,
    ) -> Result<BTreeMap<MachineId, Option<History>>, CallError> {
        let kinds = [STARTED, POWERED_OFF, RENAMED].map(str::to_owned).into();
        let filter =
            EventFilter { about: self.grounds.datacenter.clone(), kinds, since: since(machines.values()) };
        Ok(sort_out(machines, pooled, &latest_events(&self.client, &filter, MOST).await?))
    }
}

/// Nothing happened to VMs before they were made.
fn since<'a>(mut created: impl Iterator<Item = &'a Option<Timestamp>>) -> Option<Timestamp> {
    let first = created.try_fold(Timestamp::MAX, |first, created| Some(first.min((*created)?)))?;
    first.checked_sub(MARGIN).ok()
}

/// Which event is about whom.
fn sort_out(
    machines: &BTreeMap<MachineId, Option<Timestamp>>,
    pooled: &str,
    read: &LatestEvents,
) -> BTreeMap<MachineId, Option<History>> {
    let mut by_vm = BTreeMap::<&MoRef, Vec<&Event>>::new();
    for event in &read.events {
        if let Some(vm) = &event.vm {
            by_vm.entry(vm).or_default().push(event);
        }
    }
    let oldest = read.events.iter().filter_map(|event| event.at).min();
    let told = |(id, created): (&MachineId, &Option<Timestamp>)| {
        let events = by_vm.get(&vm(id)).map(Vec::as_slice).unwrap_or_default();
        let since_made = created.zip(oldest).is_some_and(|(created, oldest)| oldest < created);
        (id.clone(), known(history(events, pooled), read.complete || since_made))
    };
    machines.iter().map(told).collect()
}

/// What is known of a VM, if that is enough: what came before its last start or its last renaming does not matter, and
/// without either the events must reach back to its beginning.
fn known(history: History, reaches_back: bool) -> Option<History> {
    let told = history.started.is_some() || history.renamed.is_some();
    (told || reaches_back).then_some(history)
}

fn history(events: &[&Event], pooled: &str) -> History {
    let latest = |kind: &str| {
        let those = events.iter().filter(|event| event.kind == kind && !is_pooled(event, pooled));
        those.filter_map(|event| event.at).max()
    };
    History { started: latest(STARTED), powered_off: latest(POWERED_OFF), renamed: latest(RENAMED) }
}

/// The text about a claim has the old name in it: what counts is the new one.
fn is_pooled(event: &Event, pooled: &str) -> bool {
    match event.detail.child_text("newName") {
        Some(name) if event.kind == RENAMED => name.starts_with(pooled),
        Some(_) | None => event.message.as_deref().is_some_and(|text| text.contains(pooled)),
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim::Node;

    use super::*;

    fn event(second: i64, vm: &str, kind: &str, text: &str, new_name: Option<&str>) -> Event {
        let mut detail = Node::new("event");
        detail.children.extend(new_name.map(|name| Node { text: name.to_owned(), ..Node::new("newName") }));
        Event {
            key: 1,
            kind: kind.to_owned(),
            at: at(second),
            user: None,
            vm: Some(MoRef::new("VirtualMachine", vm)),
            message: Some(text.to_owned()),
            detail,
        }
    }

    fn at(second: i64) -> Option<Timestamp> {
        Timestamp::from_second(second).ok()
    }

    #[test]
    fn what_happened_in_the_pool_does_not_count() {
        let event = |second, kind: &str, text: &str, name| event(second, "vm-1", kind, text, name);
        let history = |events: &[Event]| history(&events.iter().collect::<Vec<_>>(), "pool-");
        let pool = [
            event(1, STARTED, "pool-a is starting", None),
            event(2, POWERED_OFF, "pool-a is powered off", None),
        ];
        assert_eq!(history(&pool), History::default());
        let claim = event(3, RENAMED, "Renamed w from pool-a to w", Some("w"));
        let work = [
            event(9, STARTED, "w is starting", None),
            event(5, STARTED, "w is starting", None),
            event(7, POWERED_OFF, "w is powered off", None),
        ];
        let all: Vec<_> = pool.into_iter().chain([claim]).chain(work).collect();
        assert_eq!(history(&all), History { started: at(9), powered_off: at(7), renamed: at(3) });
        let back = [event(4, RENAMED, "Renamed", Some("pool-a")), event(4, RENAMED, "to pool-", None)];
        assert_eq!(history(&back), History::default());
    }

    #[test]
    fn a_vm_that_the_events_do_not_reach_back_to_is_unknown() {
        let nothing = Some(History::default());
        let started = Some(History { started: at(60), ..History::default() });
        let renamed = Some(History { renamed: at(70), ..History::default() });
        for (name, created, cut, whole) in [
            ("started", Some(10), started, started),
            ("renamed", None, renamed, renamed),
            // Older events may say that it was started.
            ("went-off", Some(10), None, Some(History { powered_off: at(80), ..History::default() })),
            ("silent", Some(50), None, nothing),
            ("undated", None, None, nothing),
            // All that happened since it was made was read.
            ("young", Some(51), nothing, nothing),
        ] {
            for (complete, expected) in [(false, cut), (true, whole)] {
                let events = vec![
                    event(80, "went-off", POWERED_OFF, "w is powered off", None),
                    event(70, "renamed", RENAMED, "Renamed", Some("w")),
                    event(60, "started", STARTED, "w is starting", None),
                    event(50, "another", STARTED, "x is starting", None),
                ];
                let machines = BTreeMap::from([(MachineId::new(name), created.and_then(at))]);
                let told = sort_out(&machines, "pool-", &LatestEvents { events, complete });
                assert_eq!(told.into_values().collect::<Vec<_>>(), [expected], "{name} {complete}");
            }
        }
        let machines = BTreeMap::from([(MachineId::new("any"), at(10))]);
        assert_eq!(
            sort_out(&machines, "pool-", &LatestEvents::default()).into_values().collect::<Vec<_>>(),
            [None]
        );
    }

    #[test]
    fn events_are_asked_for_since_the_oldest_vm_was_made() {
        let hour = 3600;
        for (created, expected) in [
            (vec![at(2 * hour), at(9 * hour)], at(hour)),
            (vec![at(9 * hour), None], None),
            (vec![at(9 * hour)], at(8 * hour)),
        ] {
            assert_eq!(since(created.iter()), expected);
        }
    }
}
