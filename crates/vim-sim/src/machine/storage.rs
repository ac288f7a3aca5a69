//! Storage capacity: the files of disks, and what they take on datastores. A file that several disks share is counted
//! once.

use crate::id::Id;
use crate::refusal::Refusal;
use crate::store::{Layer, Vm};
use crate::world::World;

/// The share of its size that a thin disk takes, in percent.
const THIN: i64 = 10;

/// The size of a new disk file.
pub(super) fn bytes(capacity_kb: i64, thin: bool) -> i64 {
    let all = capacity_kb.saturating_mul(1024);
    if thin { all / 100 * THIN } else { all }
}

/// Reserves bytes on a datastore.
pub(super) fn reserve(world: &mut World, datastore: Id, bytes: i64) -> Result<(), Refusal> {
    let name = world.store.name(datastore).to_owned();
    let found = world.store.datastores.get_mut(&datastore);
    let found = found.ok_or_else(|| Refusal::gone(&datastore.reference()))?;
    if !found.accessible {
        return Err(Refusal::inaccessible_datastore(datastore, &name));
    }
    if bytes > found.free() {
        return Err(Refusal::no_disk_space(&name, format!("[{name}]")));
    }
    found.used += bytes;
    world.store.touch_free_space(datastore);
    Ok(())
}

pub(super) fn release(world: &mut World, datastore: Id, bytes: i64) {
    if let Some(found) = world.store.datastores.get_mut(&datastore) {
        found.used -= bytes;
    }
    world.store.touch_free_space(datastore);
}

/// A name for a new file of a disk: numbered, if the plain one is taken.
pub(super) fn free_name(world: &World, stem: &str) -> String {
    let taken = |file: &String| world.store.layers.contains_key(file);
    let plain = std::iter::once(format!("{stem}.vmdk"));
    let mut names = plain.chain((1..u32::MAX).map(|nth| format!("{stem}_{nth}.vmdk")));
    names.find(|file| !taken(file)).unwrap_or_default()
}

/// Renames the files of disks, whose paths begin with the name of their datastore.
pub(super) fn rename(world: &mut World, datastore: Id, old: &str) {
    let (old, new) = (format!("[{old}] "), format!("[{}] ", world.store.name(datastore)));
    let renamed = |file: &str| file.strip_prefix(&old).map(|path| format!("{new}{path}"));
    let vms = world.store.vms.values_mut();
    let disks = vms.flat_map(Vm::all_disks_mut).filter(|disk| disk.datastore == datastore);
    let left = world.store.left_behind.iter_mut().filter(|(of, _)| *of == datastore);
    let layers = disks.flat_map(|disk| &mut disk.layers).chain(left.flat_map(|(_, layers)| layers));
    for layer in layers {
        if let Some(file) = renamed(&layer.file) {
            if let Some(count) = world.store.layers.remove(&layer.file) {
                world.store.layers.insert(file.clone(), count);
            }
            layer.file = file;
        }
    }
}

/// Counts one more disk on each of these files.
pub(super) fn retain_layers(world: &mut World, layers: &[Layer]) {
    for layer in layers {
        *world.store.layers.entry(layer.file.clone()).or_default() += 1;
    }
}

/// Counts one disk less on each of these files, and removes those that no disk needs any more.
pub(crate) fn release_layers(world: &mut World, datastore: Id, layers: &[Layer]) {
    for layer in layers {
        let Some(count) = world.store.layers.get_mut(&layer.file) else { continue };
        *count -= 1;
        if *count == 0 {
            world.store.layers.remove(&layer.file);
            release(world, datastore, layer.bytes);
        }
    }
}
