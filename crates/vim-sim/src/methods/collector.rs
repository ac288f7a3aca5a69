//! The property collector.

use rookery_vim::methods as vim;

use super::Methods;
use crate::collect::{self, Filter, Spec, addressed};
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::soap;
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.write(|world, call, m: vim::RetrievePropertiesEx| {
        collect::retrieve(world, call, &m.spec_set, m.options.max_objects)
    });
    all.write(|world, call, m: vim::ContinueRetrievePropertiesEx| collect::next_page(world, call, &m.token));
    all.answer(|world, call, m: vim::CancelRetrievePropertiesEx| {
        let rests = &mut world.collectors.rests;
        rests.retain(|token, rest| *token != m.token || Some(rest.session) != call.session);
        Ok(())
    });
    all.write(|world, call, m: vim::RetrieveProperties| collect::retrieve_all(world, call, &m.spec_set));
    all.write(|world, call, m: vim::Fetch| collect::fetch(world, call, &m.prop));
    all.answer(|world, call, _: vim::CreatePropertyCollector| {
        let session = call.session.ok_or_else(|| Refusal::not_authenticated(&call.this))?;
        Ok(collect::create(world, session).reference())
    });
    all.answer(|world, call, _: vim::DestroyPropertyCollector| {
        let id = addressed(world, call)?;
        cancel(world, id);
        world.collectors.remove(id);
        Ok(())
    });
    all.answer(|world, call, m: vim::CreateFilter| {
        let collector = addressed(world, call)?;
        let spec = Spec::new(world, &m.spec)?;
        spec.check_paths(world)?;
        let id = world.store.next_id(Kind::PropertyFilter);
        world.collectors.add_filter(collector, Filter::new(id, spec));
        Ok(id.reference())
    });
    all.answer(|world, _, m: vim::DestroyPropertyFilter| {
        let removed = Id::of(&m.this).is_some_and(|id| world.collectors.remove_filter(id));
        if removed { Ok(()) } else { Err(Refusal::gone(&m.this)) }
    });
    all.write(|world, call, m: vim::WaitForUpdatesEx| {
        collect::wait(world, call, m.version, m.options.as_ref(), false)
    });
    all.write(|world, call, m: vim::WaitForUpdates| collect::wait(world, call, m.version, None, false));
    all.write(|world, call, m: vim::CheckForUpdates| collect::wait(world, call, m.version, None, true));
    all.answer(|world, call, _: vim::CancelWaitForUpdates| {
        let id = addressed(world, call)?;
        cancel(world, id);
        Ok(())
    });
}

fn cancel(world: &mut World, id: Id) {
    if let Some(waiting) = world.collectors.cancel(id) {
        world.reply(waiting, soap::refuse(&collect::cancelled()));
    }
}
