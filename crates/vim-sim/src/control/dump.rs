//! Export and import of the inventory.
//!
//! A dump holds what there is: the same references, UUIDs and MACs come back. Sessions, history and tasks are not
//! part of it, nor the content of files that were uploaded. What was running when it was taken is dropped when it is
//! loaded: VMs that are not finished go, and guests that are starting start anew.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

use crate::event::Events;
use crate::id::{Id, Kind};
use crate::io::Effect;
use crate::store::{Datastore, Entity, Store, Tools};
use crate::task::Tasks;
use crate::world::{Timer, World};
use crate::{files, guests, machine, methods};

/// Grows when old dumps can no longer be read.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Dump<S> {
    version: u32,
    now: Timestamp,
    root: Id,
    /// Guests that have not said that they know who they are.
    customizing: BTreeSet<Id>,
    /// What uploaded files take on each datastore: they are not part of the dump.
    uploaded: BTreeMap<Id, u64>,
    store: S,
}

/// Why a world cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("this is not the dump of a world: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("the dump has version {0}, and only version {VERSION} can be loaded")]
    Version(u32),
    #[error("the dump does not fit together: {0}")]
    Inconsistent(String),
}

pub(super) fn dump(world: &World) -> Result<String, serde_json::Error> {
    let dump = Dump {
        version: VERSION,
        now: world.now,
        root: world.root,
        customizing: world.guests.customizing.clone(),
        uploaded: world.store.datastores.iter().map(|(id, datastore)| (*id, uploaded(datastore))).collect(),
        store: &world.store,
    };
    serde_json::to_string(&dump)
}

fn uploaded(datastore: &Datastore) -> u64 {
    datastore.files.values().flatten().map(|file| file.content.size).sum()
}

pub(super) fn load(world: &mut World, text: &str) -> Result<(), LoadError> {
    let Dump { version, now, root, customizing, uploaded, mut store } =
        serde_json::from_str::<Dump<Store>>(text)?;
    if version != VERSION {
        return Err(LoadError::Version(version));
    }
    for (id, size) in uploaded {
        if let Some(datastore) = store.datastores.get_mut(&id) {
            datastore.used = datastore.used.saturating_sub_unsigned(size);
        }
    }
    check(&store, root)?;
    store.index();
    for session in world.sessions.ids() {
        methods::end_session(world, session);
    }
    for vm in world.store.vms.keys().copied().collect::<Vec<_>>() {
        world.effect(Effect::StopAll(vm));
    }
    files::cut_uploads(world);
    let files = world.store.datastores.values().flat_map(|datastore| datastore.files.values()).flatten();
    // A file that was copied has its content in common with the copy.
    let blobs: BTreeSet<u64> = files.map(|file| file.content.blob).collect();
    for blob in blobs {
        world.effect(Effect::Discard(blob));
    }
    world.tasks = Tasks::default();
    world.forget_timers(|timer| !matches!(timer, Timer::Reply(_)));
    world.events = Events::default();
    world.guests = guests::Guests::default();
    world.guests.customizing = customizing;
    world.rules.guests.clear();
    world.root = root;
    let snapshots = store.vms.iter().flat_map(|(id, vm)| vm.snapshots.iter().map(|s| (s.id, *id)));
    world.snapshots = snapshots.collect();
    // In another process everything random begins anew, and would come out like what is in the store.
    world.random =
        StdRng::seed_from_u64(world.settings.seed ^ u64::from(store.last_number()).rotate_left(32));
    world.store = store;
    if now > world.now {
        world.now = now;
        world.effect(Effect::Advance(now));
    }
    resume(world);
    Ok(())
}

/// Drops what was under way, counts what runs, and lets guests go on.
fn resume(world: &mut World) {
    let vms: Vec<Id> = world.store.vms.keys().copied().collect();
    for id in vms {
        let Some(vm) = world.store.vms.get_mut(&id) else { continue };
        vm.busy = None;
        if !vm.complete {
            machine::remove_with_files(world, id);
        } else if vm.is_on() {
            let starting = vm.guest.tools == Tools::NotRunning || !vm.guest.operations_ready;
            machine::count(world, id);
            if starting {
                guests::boot(world, id);
            }
        }
    }
}

/// Nothing that is named may be missing, and all stands below the root.
fn check(store: &Store, root: Id) -> Result<(), LoadError> {
    let wrong = |why: String| Err(LoadError::Inconsistent(why));
    if !store.folders.contains_key(&root) || store.parent(root).is_some() {
        return wrong(format!("{} is not a root", root.text()));
    }
    let known: BTreeSet<Id> = store.each().collect();
    for (id, Entity { parent, .. }) in store.entities() {
        if id != root && !parent.is_some_and(|parent| store.exists(parent)) {
            return wrong(format!("{} has no parent", id.text()));
        }
        // Longer than there are objects: a circle.
        if store.ancestors(id).take(store.count() + 1).count() > store.count() {
            return wrong(format!("{} is its own ancestor", id.text()));
        }
        if !known.contains(&id) {
            return wrong(format!("{} has a name and no properties", id.text()));
        }
    }
    for (id, vm) in &store.vms {
        let sane = store.exists(*id)
            && store.datastores.contains_key(&vm.datastore)
            && vm.host.is_none_or(|host| store.hosts.contains_key(&host))
            && vm.pool.is_none_or(|pool| store.pools.contains_key(&pool))
            && (0..1 << 40).contains(&vm.memory_mb)
            && (0..1 << 20).contains(&vm.cpus);
        if !sane {
            return wrong(format!(
                "the VM {} lacks its datastore, host or pool, or has an impossible size",
                id.text()
            ));
        }
    }
    for (id, datastore) in &store.datastores {
        let mut sizes = [datastore.capacity, datastore.used, datastore.foreign].into_iter();
        if !store.exists(*id) || !sizes.all(|size| (0..1 << 60).contains(&size)) {
            return wrong(format!("the datastore {} lacks its name or has an impossible size", id.text()));
        }
    }
    if store.entities().any(|(id, _)| id.number > store.last_number()) || root.kind != Kind::Folder {
        return wrong("a reference has a number above last_number, or the root is no folder".to_owned());
    }
    Ok(())
}
