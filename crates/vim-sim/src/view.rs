//! Views: lists of objects that a session keeps.

use std::collections::BTreeSet;

use crate::id::Id;
use crate::privileges;
use crate::world::World;

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) session: u32,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// All objects of some classes in something; of all classes if none is named.
    Container { container: Id, classes: Vec<String>, recursive: bool },
    /// What the client put there.
    List(BTreeSet<Id>),
}

impl View {
    /// What it shows now.
    pub(crate) fn members<'w>(&'w self, world: &'w World) -> Box<dyn Iterator<Item = Id> + 'w> {
        match &self.what {
            What::List(ids) => Box::new(privileges::seen(world, ids.iter().copied())),
            What::Container { .. } => Box::new(world.store.each().filter(|id| self.contains(world, *id))),
        }
    }

    pub(crate) fn contains(&self, world: &World, id: Id) -> bool {
        match &self.what {
            What::List(ids) => ids.contains(&id) && privileges::sees(world, id),
            What::Container { container, classes, recursive } => {
                id.is_entity()
                    && id != *container
                    && (classes.is_empty() || classes.iter().any(|class| id.kind.is_a(class)))
                    && is_in(world, id, *container, *recursive)
                    && privileges::sees(world, id)
            }
        }
    }
}

/// Whether an object is in a container: filed there, or running there.
fn is_in(world: &World, id: Id, container: Id, recursive: bool) -> bool {
    let store = &world.store;
    let reach = if recursive { usize::MAX } else { 1 };
    if store.ancestors(id).take(reach).any(|ancestor| ancestor == container) {
        return true;
    }
    let Some(vm) = store.vms.get(&id) else { return false };
    let in_pool = |pool: Id| {
        pool == container || recursive && store.ancestors(pool).any(|ancestor| ancestor == container)
    };
    vm.host == Some(container) || vm.pool.is_some_and(in_pool)
}
