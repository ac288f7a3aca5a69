//! Consistency of the world. Each check counts anew what the store keeps count of.

use std::collections::{BTreeMap, BTreeSet};

use rookery_vim::objects::PowerState;

use crate::files::StoredFile;
use crate::id::{Id, Kind};
use crate::machine::Work;
use crate::store::{Layer, Store, Vm};
use crate::world::World;

type Verdict = Result<(), String>;

impl World {
    /// Says what is wrong, if anything is: names, references, addresses, capacity and space.
    pub fn check(&self) -> Result<(), String> {
        names(&self.store)?;
        identities(&self.store)?;
        places(&self.store)?;
        compute_capacity(self)?;
        storage_capacity(&self.store)?;
        snapshots(self)
    }
}

fn expect(right: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if right { Ok(()) } else { Err(otherwise()) }
}

/// Every entity stands in its parent under its own name, and nothing else does.
fn names(store: &Store) -> Verdict {
    let mut numbers = BTreeSet::new();
    for id in store.each() {
        expect(numbers.insert(id.number), || format!("two entities have the number of {}", id.text()))?;
        expect(store.exists(id), || format!("{} is not filed", id.text()))?;
        let Some(parent) = store.parent(id) else { continue };
        expect(store.exists(parent), || format!("the parent of {} is gone", id.text()))?;
        let found = store.child(parent, store.name(id));
        expect(found == Some(id), || format!("{} is not found by its name {:?}", id.text(), store.name(id)))?;
        let folder = store.folders.get(&parent).map(|folder| &folder.children);
        let list = folder.or_else(|| store.pods.get(&parent).map(|pod| &pod.children));
        let list = list.or_else(|| store.pools.get(&parent).map(|pool| &pool.children));
        expect(list.is_none_or(|list| list.contains(&id)), || {
            format!("{} does not list {}", parent.text(), id.text())
        })?;
    }
    for (id, folder) in &store.folders {
        let strays = folder.children.iter().find(|child| store.parent(**child) != Some(*id));
        expect(strays.is_none(), || format!("{} lists what is not in it: {strays:?}", id.text()))?;
    }
    expect(numbers.len() == store.count(), || "something is filed that does not exist".to_owned())
}

/// No two VMs share what the server gave them.
fn identities(store: &Store) -> Verdict {
    let (mut uuids, mut macs) = (BTreeSet::new(), BTreeSet::new());
    for (id, vm) in &store.vms {
        expect(uuids.insert(vm.instance_uuid), || format!("{} shares its instance UUID", id.text()))?;
        for uuid in [vm.uuid, vm.instance_uuid] {
            expect(store.uuids.contains(&(uuid, *id)), || format!("{} is not found by UUID", id.text()))?;
        }
        for (_, card) in vm.cards().filter(|(_, card)| !card.manual) {
            expect(macs.insert(card.mac), || format!("{} shares a MAC", id.text()))?;
        }
    }
    let has = |vm: &Vm, uuid: u128| vm.uuid == uuid || vm.instance_uuid == uuid;
    let known = |(uuid, id): &(u128, Id)| store.vms.get(id).is_some_and(|vm| has(vm, *uuid));
    expect(store.uuids.iter().all(known), || "a UUID leads nowhere".to_owned())
}

/// Hosts, pools, datastores and networks list the VMs that say they are there, and no others.
fn places(store: &Store) -> Verdict {
    let mut listed: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    for (id, vm) in &store.vms {
        let lasting = vm.networks().chain(vm.datastores()).filter(|_| vm.complete);
        for place in vm.host.into_iter().chain(vm.pool).chain(lasting) {
            listed.entry(place).or_default().insert(*id);
        }
    }
    let hosts = store.hosts.iter().map(|(id, host)| (id, &host.vms));
    let pools = store.pools.iter().map(|(id, pool)| (id, &pool.vms));
    let datastores = store.datastores.iter().map(|(id, datastore)| (id, &datastore.vms));
    let networks = store.networks.iter().map(|(id, network)| (id, &network.vms));
    for (id, vms) in hosts.chain(pools).chain(datastores).chain(networks) {
        let right = listed.remove(id).unwrap_or_default();
        expect(*vms == right, || format!("{} lists {vms:?}, but {right:?} are there", id.text()))?;
    }
    expect(listed.is_empty(), || format!("VMs are where nothing is: {listed:?}"))
}

/// What is taken of hosts and pools is what running and starting VMs take.
fn compute_capacity(world: &World) -> Verdict {
    let store = &world.store;
    let mut hosts: BTreeMap<Id, (i64, i64)> = BTreeMap::new();
    let mut pools: BTreeMap<Id, (i64, i64)> = BTreeMap::new();
    for vm in store.vms.values().filter(|vm| takes_capacity(world, vm)) {
        let mhz = vm.host.and_then(|host| store.hosts.get(&host)).map_or(0, |host| i64::from(host.cpu_mhz));
        let cpus = i64::from(vm.cpus);
        if let Some(host) = vm.host {
            let taken = hosts.entry(host).or_default();
            *taken = (taken.0 + cpus, taken.1 + vm.memory_mb);
        }
        let around = vm.pool.into_iter().flat_map(|pool| std::iter::once(pool).chain(store.ancestors(pool)));
        for pool in around.filter(|id| id.kind == Kind::ResourcePool) {
            let taken = pools.entry(pool).or_default();
            *taken = (taken.0 + cpus * mhz, taken.1 + vm.memory_mb);
        }
    }
    for (id, host) in &store.hosts {
        let (kept, right) = ((host.used_cpus, host.used_memory_mb), hosts.remove(id).unwrap_or_default());
        expect(kept == right, || format!("{} counts {kept:?} as taken, but {right:?} are", id.text()))?;
        expect(host.used_memory_mb <= host.memory_bytes >> 20, || format!("{} is overfull", id.text()))?;
    }
    for (id, pool) in &store.pools {
        let (kept, right) = ((pool.used_cpu_mhz, pool.used_memory_mb), pools.remove(id).unwrap_or_default());
        expect(kept == right, || format!("{} counts {kept:?} as taken, but {right:?} are", id.text()))?;
    }
    Ok(())
}

fn takes_capacity(world: &World, vm: &Vm) -> bool {
    let work = vm.busy.and_then(|task| world.tasks.get(task)).and_then(|task| task.work());
    vm.power == PowerState::On || matches!(work, Some(Work::PowerOn { .. }))
}

/// What is taken of a datastore is what the files on it take, each counted once however many disks stand on it.
fn storage_capacity(store: &Store) -> Verdict {
    let mut held: BTreeMap<String, u32> = BTreeMap::new();
    let mut taken: BTreeMap<Id, i64> = BTreeMap::new();
    let files = store.vms.values().flat_map(Vm::files).chain(store.left_behind.iter().cloned());
    for (datastore, layers) in files {
        for Layer { file, bytes } in layers {
            let count = held.entry(file).or_default();
            *count += 1;
            if *count == 1 {
                *taken.entry(datastore).or_default() += bytes;
            }
        }
    }
    let right = held.iter().all(|(file, count)| store.layers.get(file) == Some(count));
    expect(right && held.len() == store.layers.len(), || {
        format!("the files of disks are {held:?}, but {:?} are kept count of", store.layers)
    })?;
    for (id, datastore) in &store.datastores {
        let files = datastore.files.values().flatten();
        let files: i64 = files.map(StoredFile::bytes).sum();
        let right = files + taken.remove(id).unwrap_or_default();
        expect(datastore.used == right, || {
            format!("{} counts {} bytes as taken, but {right} are", id.text(), datastore.used)
        })?;
        expect(datastore.used <= datastore.capacity, || format!("{} is overfull", id.text()))?;
    }
    Ok(())
}

/// Every snapshot is of the VM that lists it, and stands on one that is there.
fn snapshots(world: &World) -> Verdict {
    let mut seen = 0;
    for (id, vm) in &world.store.vms {
        let there = |wanted: Option<Id>| wanted.is_none_or(|w| vm.snapshots.iter().any(|s| s.id == w));
        expect(there(vm.current_snapshot), || format!("{} is at a snapshot that is gone", id.text()))?;
        for snapshot in &vm.snapshots {
            seen += 1;
            let owner = world.snapshots.get(&snapshot.id);
            expect(owner == Some(id), || format!("{} is not of {}", snapshot.id.text(), id.text()))?;
            expect(there(snapshot.parent), || format!("{} stands on nothing", snapshot.id.text()))?;
        }
    }
    expect(seen == world.snapshots.len(), || "there are snapshots of nothing".to_owned())
}
