//! Disks, their files, and the space that they take. Files that several disks stand on are counted once.

use crate::id::Id;
use crate::refusal::Refusal;
use crate::store::Layer;
use crate::world::World;

/// What a thin disk takes of its size, in percent.
const THIN: i64 = 10;

/// What a new file for a disk takes.
pub(super) fn bytes(capacity_kb: i64, thin: bool) -> i64 {
    let all = capacity_kb.saturating_mul(1024);
    if thin { all / 100 * THIN } else { all }
}

/// Takes space on a datastore.
pub(super) fn take(world: &mut World, datastore: Id, bytes: i64) -> Result<(), Refusal> {
    let name = world.store.name(datastore).to_owned();
    let Some(found) = world.store.datastores.get_mut(&datastore) else {
        return Err(Refusal::gone(&datastore.reference()));
    };
    if !found.accessible {
        return Err(Refusal::inaccessible_datastore(datastore, &name));
    }
    if bytes > found.free() {
        return Err(Refusal::new("NoDiskSpace", format!("Insufficient disk space on datastore '{name}'."))
            .with("file", format!("[{name}]"))
            .with("datastore", name));
    }
    found.used += bytes;
    touch(world, datastore);
    Ok(())
}

pub(super) fn give_back(world: &mut World, datastore: Id, bytes: i64) {
    if let Some(found) = world.store.datastores.get_mut(&datastore) {
        found.used -= bytes;
    }
    touch(world, datastore);
}

fn touch(world: &mut World, datastore: Id) {
    world.store.touch(datastore, &["summary.freeSpace", "info.freeSpace"]);
}

/// A file that a disk stands on has one more disk standing on it.
pub(super) fn hold(world: &mut World, layers: &[Layer]) {
    for layer in layers {
        *world.store.layers.entry(layer.file.clone()).or_default() += 1;
    }
}

/// The files of a disk have one disk less standing on them; those that nobody needs go.
pub(super) fn let_go(world: &mut World, datastore: Id, layers: &[Layer]) {
    for layer in layers {
        let Some(count) = world.store.layers.get_mut(&layer.file) else { continue };
        *count -= 1;
        if *count == 0 {
            world.store.layers.remove(&layer.file);
            give_back(world, datastore, layer.bytes);
        }
    }
}
