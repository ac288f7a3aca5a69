//! The property collector.

use rookery_vim::Node;
use rookery_vim::methods::{
    CancelRetrievePropertiesEx, CancelWaitForUpdates, CheckForUpdates, ContinueRetrievePropertiesEx,
    CreateFilter, CreatePropertyCollector, DestroyPropertyCollector, DestroyPropertyFilter, Fetch,
    Method as _, RetrieveProperties, RetrievePropertiesEx, WaitForUpdates, WaitForUpdatesEx,
};

use super::Dispatch;
use crate::collect::{self, Collector, Filter, Spec, addressed};
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::soap::{self, Call, Handled, answer, read};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    Dispatch::Handled(match call.method.as_str() {
        RetrievePropertiesEx::NAME => read::<RetrievePropertiesEx>(node)
            .and_then(|m| collect::retrieve(world, call, &m.spec_set, m.options.max_objects)),
        ContinueRetrievePropertiesEx::NAME => {
            read::<ContinueRetrievePropertiesEx>(node).and_then(|m| collect::next_page(world, call, &m.token))
        }
        CancelRetrievePropertiesEx::NAME => answer::<CancelRetrievePropertiesEx>(node, |m| {
            world
                .collectors
                .rests
                .retain(|token, rest| *token != m.token || Some(rest.session) != call.session);
            Ok(())
        }),
        RetrieveProperties::NAME => {
            read::<RetrieveProperties>(node).and_then(|m| collect::retrieve_all(world, call, &m.spec_set))
        }
        Fetch::NAME => read::<Fetch>(node).and_then(|m| collect::fetch(world, call, &m.prop)),
        CreatePropertyCollector::NAME => answer::<CreatePropertyCollector>(node, |_| {
            let session = call.session.ok_or_else(|| Refusal::not_authenticated(&call.this))?;
            let id = world.store.next_id(Kind::PropertyCollector);
            world.collectors.insert(id, Collector::new(session));
            Ok(id.reference())
        }),
        DestroyPropertyCollector::NAME => answer::<DestroyPropertyCollector>(node, |_| {
            let id = addressed(world, call)?;
            if let Some(waiting) = world.collectors.remove(id) {
                world.reply(waiting, soap::refuse(&collect::cancelled()));
            }
            Ok(())
        }),
        CreateFilter::NAME => answer::<CreateFilter>(node, |m| {
            let collector = addressed(world, call)?;
            let spec = Spec::new(world, &m.spec)?;
            spec.check_paths(world)?;
            let id = world.store.next_id(Kind::PropertyFilter);
            world.collectors.add_filter(collector, Filter::new(id, spec));
            Ok(id.reference())
        }),
        DestroyPropertyFilter::NAME => answer::<DestroyPropertyFilter>(node, |m| {
            let removed = Id::of(&m.this).is_some_and(|id| world.collectors.remove_filter(id));
            if removed { Ok(()) } else { Err(Refusal::gone(&m.this)) }
        }),
        WaitForUpdatesEx::NAME => read::<WaitForUpdatesEx>(node).and_then(|m| {
            let id = addressed(world, call)?;
            collect::wait(
                world,
                call,
                id,
                m.version.as_deref().unwrap_or_default(),
                m.options.as_ref(),
                false,
            )
        }),
        WaitForUpdates::NAME => read::<WaitForUpdates>(node).and_then(|m| {
            let id = addressed(world, call)?;
            collect::wait(world, call, id, m.version.as_deref().unwrap_or_default(), None, false)
        }),
        CheckForUpdates::NAME => read::<CheckForUpdates>(node).and_then(|m| {
            let id = addressed(world, call)?;
            collect::wait(world, call, id, m.version.as_deref().unwrap_or_default(), None, true)
        }),
        CancelWaitForUpdates::NAME => cancel(world, call, node),
        _ => return Dispatch::Unknown(node),
    })
}

fn cancel(world: &mut World, call: &Call, node: Node) -> Handled {
    answer::<CancelWaitForUpdates>(node, |_| {
        let id = addressed(world, call)?;
        if let Some(waiting) = world.collectors.cancel(id) {
            world.reply(waiting, soap::refuse(&collect::cancelled()));
        }
        Ok(())
    })
}
