//! Where a property that refers to other objects leads.

use std::collections::BTreeSet;

use crate::id::{Id, Kind};
use crate::privileges;
use crate::world::World;

/// The objects that a property of an object refers to; none if the object has no such property.
pub(crate) fn refs(world: &World, id: Id, path: &str) -> Vec<Id> {
    // What cannot be read leads nowhere.
    if privileges::readable(world, id, path).is_err() {
        return Vec::new();
    }
    if path == "parent" {
        return world.store.parent(id).into_iter().collect();
    }
    if path == "recentTask" {
        let all = id == Id::single(Kind::TaskManager);
        return if all { world.tasks.recent().collect() } else { world.tasks.about(id).collect() };
    }
    if let Some(view) = world.views.get(&id) {
        return if path == "view" { view.members(world).collect() } else { Vec::new() };
    }
    places(world, id, path)
        .or_else(|| computing(world, id, path))
        .or_else(|| storage_and_networks(world, id, path))
        .or_else(|| machine(world, id, path))
        .unwrap_or_default()
}

fn places(world: &World, id: Id, path: &str) -> Option<Vec<Id>> {
    let store = &world.store;
    if let Some(datacenter) = store.datacenters.get(&id) {
        return Some(match path {
            "vmFolder" => vec![datacenter.vm_folder],
            "hostFolder" => vec![datacenter.host_folder],
            "datastoreFolder" => vec![datacenter.datastore_folder],
            "networkFolder" => vec![datacenter.network_folder],
            "datastore" => all(&datacenter.datastores),
            "network" => all(&datacenter.networks),
            _ => Vec::new(),
        });
    }
    let folder = store.folders.get(&id).map(|folder| &folder.children);
    let children = folder.or_else(|| store.pods.get(&id).map(|pod| &pod.children))?;
    Some(if path == "childEntity" { all(children) } else { Vec::new() })
}

fn computing(world: &World, id: Id, path: &str) -> Option<Vec<Id>> {
    let store = &world.store;
    if let Some(compute) = store.computes.get(&id) {
        return Some(match path {
            "host" => all(&compute.hosts),
            "resourcePool" => vec![compute.root_pool],
            "datastore" => all(&compute.datastores),
            "network" => all(&compute.networks),
            _ => Vec::new(),
        });
    }
    if let Some(pool) = store.pools.get(&id) {
        return Some(match path {
            "resourcePool" => all(&pool.children),
            "vm" => all(&pool.vms),
            "owner" => store.owner_of_pool(id).into_iter().collect(),
            _ => Vec::new(),
        });
    }
    let host = store.hosts.get(&id)?;
    let compute = store.parent(id).and_then(|parent| store.computes.get(&parent));
    Some(match path {
        "vm" => all(&host.vms),
        "datastore" => compute.map(|c| all(&c.datastores)).unwrap_or_default(),
        "network" => compute.map(|c| all(&c.networks)).unwrap_or_default(),
        _ => Vec::new(),
    })
}

fn storage_and_networks(world: &World, id: Id, path: &str) -> Option<Vec<Id>> {
    let store = &world.store;
    if let Some(datastore) = store.datastores.get(&id) {
        return Some(if path == "vm" { all(&datastore.vms) } else { Vec::new() });
    }
    if let Some(network) = store.networks.get(&id) {
        return Some(match path {
            "vm" => all(&network.vms),
            "host" => all(&network.hosts),
            _ => Vec::new(),
        });
    }
    let switch = store.switches.get(&id)?;
    Some(if path == "portgroup" { all(&switch.portgroups) } else { Vec::new() })
}

fn machine(world: &World, id: Id, path: &str) -> Option<Vec<Id>> {
    let vm = world.store.vms.get(&id)?;
    Some(match path {
        "runtime.host" => vm.host.into_iter().collect(),
        "resourcePool" => vm.pool.into_iter().collect(),
        "datastore" => all(&vm.datastores()),
        "network" => crate::properties::networks_of(vm),
        _ => Vec::new(),
    })
}

fn all(ids: &BTreeSet<Id>) -> Vec<Id> {
    ids.iter().copied().collect()
}
