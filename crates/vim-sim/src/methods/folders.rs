//! Folders and pools.

use rookery_vim::methods as vim;

use super::{Methods, existing, this_of};
use crate::id::{Id, Kind};
use crate::machine::Work;
use crate::refusal::Refusal;
use crate::store::Pool;
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, call, m: vim::CreateFolder| {
        let parent = this_of(world, call, Kind::Folder)?;
        free(world, parent, &m.name)?;
        let holds = world.store.folders.get(&parent).map(|folder| folder.holds).unwrap_or_default();
        Ok(world.store.add_folder(Some(parent), &m.name, holds).reference())
    });
    all.answer(|world, call, m: vim::CreateResourcePool| {
        let parent = this_of(world, call, Kind::ResourcePool)?;
        free(world, parent, &m.name)?;
        let number =
            |of: &str, name: &str| -> Option<i64> { m.spec.child(of)?.child_text(name)?.trim().parse().ok() };
        let limit = |of: &str| number(of, "limit").filter(|limit| *limit >= 0);
        let pool = Pool {
            cpu_limit: limit("cpuAllocation"),
            cpu_reservation: number("cpuAllocation", "reservation").unwrap_or(0),
            memory_limit_mb: limit("memoryAllocation"),
            memory_reservation_mb: number("memoryAllocation", "reservation").unwrap_or(0),
            ..Pool::default()
        };
        Ok(add_pool(world, parent, &m.name, pool).reference())
    });
    all.order(|world, call, m: vim::MoveIntoFolderTask| {
        let target = existing(world, &call.this)?;
        let moved = m.list.iter().map(|reference| existing(world, reference)).collect::<Result<_, _>>()?;
        Ok((target, Work::Move { target, moved }))
    });
}

/// Files a pool in a pool.
pub(crate) fn add_pool(world: &mut World, parent: Id, name: &str, pool: Pool) -> Id {
    let id = world.store.next_id(Kind::ResourcePool);
    world.store.pools.insert(id, pool);
    world.store.file(id, name, Some(parent));
    if let Some(parent) = world.store.pools.get_mut(&parent) {
        parent.children.insert(id);
    }
    id
}

fn free(world: &World, parent: Id, name: &str) -> Result<(), Refusal> {
    match world.store.child(parent, name) {
        Some(other) => Err(Refusal::duplicate_name(name, other)),
        None if name.is_empty() => Err(Refusal::invalid_name(name)),
        None => Ok(()),
    }
}
