//! Folders and pools.

use rookery_vim::methods::{CreateFolder, CreateResourcePool, Method as _, MoveIntoFolderTask};
use rookery_vim::{MoRef, Node};

use super::{Dispatch, existing, order, this_of};
use crate::id::{Id, Kind};
use crate::machine::Work;
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::store::{Folder, Pool};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    Dispatch::Handled(match call.method.as_str() {
        CreateFolder::NAME => answer::<CreateFolder>(node, |m| {
            let parent = this_of(world, call, Kind::Folder)?;
            free(world, parent, &m.name)?;
            let holds = world.store.folders.get(&parent).map(|folder| folder.holds).unwrap_or_default();
            let id = world.store.next_id(Kind::Folder);
            world.store.folders.insert(id, Folder { holds, ..Folder::default() });
            world.store.file(id, &m.name, Some(parent));
            Ok(id.reference())
        }),
        CreateResourcePool::NAME => answer::<CreateResourcePool>(node, |m| {
            let parent = this_of(world, call, Kind::ResourcePool)?;
            free(world, parent, &m.name)?;
            let number = |of: &str, name: &str| -> Option<i64> {
                m.spec.child(of)?.child_text(name)?.trim().parse().ok()
            };
            let limit = |of: &str| number(of, "limit").filter(|limit| *limit >= 0);
            let pool = Pool {
                cpu_limit: limit("cpuAllocation"),
                cpu_reservation: number("cpuAllocation", "reservation").unwrap_or(0),
                memory_limit_mb: limit("memoryAllocation"),
                memory_reservation_mb: number("memoryAllocation", "reservation").unwrap_or(0),
                ..Pool::default()
            };
            Ok(add_pool(world, parent, &m.name, pool).reference())
        }),
        MoveIntoFolderTask::NAME => answer::<MoveIntoFolderTask>(node, |m| move_into(world, call, &m.list)),
        _ => return Dispatch::Unknown(node),
    })
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
        None if name.is_empty() => {
            Err(Refusal::new("InvalidName", "The name '' is invalid.").with("name", name))
        }
        None => Ok(()),
    }
}

fn move_into(world: &mut World, call: &Call, list: &[MoRef]) -> Result<MoRef, Refusal> {
    let target = existing(world, &call.this)?;
    let moved = list.iter().map(|reference| existing(world, reference)).collect::<Result<Vec<_>, _>>()?;
    Ok(order::<MoveIntoFolderTask>(world, call, target, Work::Move { target, moved }))
}
