//! Events: what happened, in order.

use std::collections::VecDeque;

use jiff::Timestamp;
use rookery_vim::Node;
use rookery_vim::objects::EventFilterSpec;

use crate::history::Readers;
use crate::id::{Id, Kind};
use crate::refusal;
use crate::world::World;

#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) key: i32,
    pub(crate) class: &'static str,
    pub(crate) time: Timestamp,
    pub(crate) user: String,
    /// Name and object: names are as they were then.
    pub(crate) datacenter: Option<(String, Id)>,
    pub(crate) compute: Option<(String, Id)>,
    pub(crate) host: Option<(String, Id)>,
    pub(crate) vm: Option<(String, Id)>,
    pub(crate) message: String,
    pub(crate) template: bool,
    /// What this class has beyond all others, in schema order.
    pub(crate) extra: Vec<Node>,
}

#[derive(Debug, Default)]
pub(crate) struct Events {
    kept: VecDeque<Event>,
    last_key: i32,
    pub(crate) collectors: Readers<EventFilterSpec>,
}

impl Events {
    pub(crate) fn newest_first(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.kept.iter().rev()
    }
}

/// Records an event of a VM or a host.
pub(crate) fn record(world: &mut World, class: &'static str, of: Id, user: &str, message: String) {
    record_with(world, class, of, user, message, Vec::new());
}

/// Records an event of a VM, with a message that says where it is.
pub(crate) fn record_placed(
    world: &mut World,
    class: &'static str,
    vm: Id,
    user: &str,
    message: impl FnOnce(String) -> String,
) {
    let message = message(placed(world, vm));
    record(world, class, vm, user, message);
}

/// Records an event of a VM or a host with members of its own.
pub(crate) fn record_with(
    world: &mut World,
    class: &'static str,
    of: Id,
    user: &str,
    message: String,
    extra: Vec<Node>,
) {
    let store = &world.store;
    let named = |id: Id| (store.name(id).to_owned(), id);
    let only = |kind: Kind| Some(of).filter(|of| of.kind == kind);
    let host = store.vms.get(&of).map_or_else(|| only(Kind::HostSystem), |vm| vm.host);
    let compute = host.and_then(|host| store.parent(host));
    let event = Event {
        key: world.events.last_key + 1,
        class,
        time: world.now,
        user: user.to_owned(),
        datacenter: store.datacenter_of(of).map(named),
        compute: compute.map(named),
        host: host.map(named),
        vm: only(Kind::VirtualMachine).map(named),
        message,
        template: store.vms.get(&of).is_some_and(|vm| vm.template),
        extra,
    };
    world.events.last_key += 1;
    world.events.kept.push_back(event);
    if world.events.kept.len() > world.settings.events {
        world.events.kept.pop_front();
    }
    for id in world.events.collectors.keys() {
        world.store.log.touch(*id, "latestPage");
    }
}

/// A member of an event that names an object: by its name as it was then, and by reference.
pub(crate) fn argument(world: &World, name: &str, reference: &str, id: Id) -> Node {
    let object = refusal::reference(reference, &id.reference());
    Node { children: vec![refusal::text("name", world.store.name(id)), object], ..Node::new(name) }
}

/// `web on esx1 in DC0`: how messages name a VM.
pub(crate) fn placed(world: &World, vm: Id) -> String {
    let store = &world.store;
    let host = store.vms.get(&vm).and_then(|vm| vm.host).map(|host| store.name(host)).unwrap_or_default();
    let datacenter = store.datacenter_of(vm).map(|dc| store.name(dc)).unwrap_or_default();
    format!("{} on {host} in {datacenter}", store.name(vm))
}

/// Whether a filter lets an event through.
pub(crate) fn matches(world: &World, filter: &EventFilterSpec, event: &Event) -> bool {
    // What has gone is no secret any more to those who may see its datacenter.
    let about = [&event.vm, &event.datacenter].into_iter().flatten().find(|(_, id)| world.store.exists(*id));
    if about.is_some_and(|(_, id)| !crate::privileges::sees(world, *id)) {
        return false;
    }
    // Some clients name classes as the documentation does: `vim.event.VmPoweredOnEvent`.
    let fits = |class: &String| is_a(event.class, class.strip_prefix("vim.event.").unwrap_or(class));
    if !filter.event_type_id.is_empty() && !filter.event_type_id.iter().any(fits) {
        return false;
    }
    if let Some(time) = &filter.time
        && (time.begin_time.is_some_and(|begin| event.time < begin)
            || time.end_time.is_some_and(|end| event.time > end))
    {
        return false;
    }
    let Some(entity) = &filter.entity else { return true };
    let Some(id) = Id::of(&entity.entity) else { return false };
    let itself = event.vm.as_ref().or(event.host.as_ref()).is_some_and(|(_, of)| *of == id);
    match entity.recursion.as_str() {
        "self" => itself,
        "children" => below(world, event, id, 1),
        _ => itself || below(world, event, id, usize::MAX),
    }
}

fn below(world: &World, event: &Event, id: Id, reach: usize) -> bool {
    let places = [&event.host, &event.compute, &event.datacenter];
    id == world.root
        || places.into_iter().flatten().any(|(_, of)| *of == id)
        || event.vm.as_ref().is_some_and(|(_, vm)| world.store.ancestors(*vm).take(reach).any(|a| a == id))
}

/// Classes of events that others extend.
fn is_a(class: &str, base: &str) -> bool {
    class == base
        || match base {
            "Event" => true,
            "VmEvent" => {
                class.starts_with("Vm") || class.starts_with("Customization") || class.starts_with("DrsVm")
            }
            "HostEvent" => class.starts_with("Host"),
            "VmPoweredOnEvent" => class == "DrsVmPoweredOnEvent",
            "CustomizationEvent" => class.starts_with("Customization"),
            "VmCloneEvent" => matches!(class, "VmBeingClonedEvent" | "VmClonedEvent" | "VmCloneFailedEvent"),
            _ => false,
        }
}

/// Classes of events and how serious they are.
pub(crate) const CLASSES: [(&str, &str); 22] = [
    ("VmBeingCreatedEvent", "info"),
    ("VmCreatedEvent", "info"),
    ("VmInstanceUuidAssignedEvent", "info"),
    ("VmUuidAssignedEvent", "info"),
    ("VmMacAssignedEvent", "info"),
    ("VmBeingClonedEvent", "info"),
    ("VmClonedEvent", "info"),
    ("VmCloneFailedEvent", "error"),
    ("VmBeingDeployedEvent", "info"),
    ("VmDeployedEvent", "info"),
    ("VmStartingEvent", "info"),
    ("VmPoweredOnEvent", "info"),
    ("VmFailedToPowerOnEvent", "error"),
    ("VmStoppingEvent", "info"),
    ("VmPoweredOffEvent", "info"),
    ("VmReconfiguredEvent", "info"),
    ("VmRenamedEvent", "info"),
    ("VmRemovedEvent", "info"),
    ("CustomizationStartedEvent", "info"),
    ("CustomizationSucceeded", "info"),
    ("HostConnectedEvent", "info"),
    ("HostDisconnectedEvent", "info"),
];
