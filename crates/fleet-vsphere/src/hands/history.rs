//! What vCenter remembers of a VM. History ages out: it is only asked where a mark does not tell.

use jiff::Timestamp;
use rookery_fleet::MachineId;
use rookery_vim_client::{CallError, Event, EventFilter, events};

use super::Hands;
use crate::observe::vm;

const STARTED: &str = "VmStartingEvent";
const POWERED_OFF: &str = "VmPoweredOffEvent";
const RENAMED: &str = "VmRenamedEvent";
/// How the names of machines begin that wait for a job; what happened to them there does not count.
const POOLED: &str = "provision-";

/// When something last happened to a VM as a worker, by vCenter's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    /// It was started.
    pub started: Option<Timestamp>,
    /// It went off.
    pub powered_off: Option<Timestamp>,
    /// It got the name of a worker.
    pub renamed: Option<Timestamp>,
}

impl Hands {
    /// When the VM was last started, went off and was renamed, without what happened while it waited for a job.
    pub async fn events(&self, machine: &MachineId) -> Result<History, CallError> {
        let kinds = [STARTED, POWERED_OFF, RENAMED].map(str::to_owned).into();
        let filter = EventFilter { about: vm(machine), kinds, since: None };
        Ok(history(&events(&self.client, &filter).await?))
    }
}

fn history(events: &[Event]) -> History {
    let latest = |kind: &str| {
        let those = events.iter().filter(|event| event.kind == kind && !is_pooled(event));
        those.filter_map(|event| event.at).max()
    };
    History { started: latest(STARTED), powered_off: latest(POWERED_OFF), renamed: latest(RENAMED) }
}

/// The text about a claim has the old name in it: what counts is the new one.
fn is_pooled(event: &Event) -> bool {
    match event.detail.child_text("newName") {
        Some(name) if event.kind == RENAMED => name.starts_with(POOLED),
        Some(_) | None => event.message.as_deref().is_some_and(|text| text.contains(POOLED)),
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim::Node;

    use super::*;

    #[test]
    fn what_happened_in_the_pool_does_not_count() {
        let event = |second: i64, kind: &str, text: &str, new_name: Option<&str>| {
            let mut detail = Node::new("event");
            detail
                .children
                .extend(new_name.map(|name| Node { text: name.to_owned(), ..Node::new("newName") }));
            Event {
                key: 1,
                kind: kind.to_owned(),
                at: Timestamp::from_second(second).ok(),
                user: None,
                vm: None,
                message: Some(text.to_owned()),
                detail,
            }
        };
        let at = |second: i64| Timestamp::from_second(second).ok();
        let pool = [
            event(1, STARTED, "provision-v2-a is starting", None),
            event(2, POWERED_OFF, "provision-v2-a is powered off", None),
        ];
        assert_eq!(history(&pool), History::default());
        let claim = event(3, RENAMED, "Renamed w from provision-v2-a to w", Some("w"));
        let work = [
            event(9, STARTED, "w is starting", None),
            event(5, STARTED, "w is starting", None),
            event(7, POWERED_OFF, "w is powered off", None),
        ];
        let all: Vec<_> = pool.into_iter().chain([claim]).chain(work).collect();
        assert_eq!(history(&all), History { started: at(9), powered_off: at(7), renamed: at(3) });
        let back = [
            event(4, RENAMED, "Renamed", Some("provision-v2-a")),
            event(4, RENAMED, "to provision-v2", None),
        ];
        assert_eq!(history(&back), History::default());
    }
}
