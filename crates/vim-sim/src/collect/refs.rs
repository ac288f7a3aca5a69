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
    let store = &world.store;
    let found = match (id.kind, path) {
        (Kind::Datacenter, _) => store.datacenters.get(&id).map(|datacenter| match path {
            "vmFolder" => vec![datacenter.vm_folder],
            "hostFolder" => vec![datacenter.host_folder],
            "datastoreFolder" => vec![datacenter.datastore_folder],
            "networkFolder" => vec![datacenter.network_folder],
            "datastore" => all(&datacenter.datastores),
            "network" => all(&datacenter.networks),
            _ => Vec::new(),
        }),
        (Kind::Folder, "childEntity") => store.folders.get(&id).map(|folder| all(&folder.children)),
        (Kind::StoragePod, "childEntity") => store.pods.get(&id).map(|pod| all(&pod.children)),
        (Kind::ComputeResource | Kind::ClusterComputeResource, "resourcePool") => {
            store.computes.get(&id).map(|compute| vec![compute.root_pool])
        }
        (Kind::ComputeResource | Kind::ClusterComputeResource, _) => around(world, Some(id), path),
        (Kind::ResourcePool, "resourcePool") => store.pools.get(&id).map(|pool| all(&pool.children)),
        (Kind::ResourcePool, "vm") => store.pools.get(&id).map(|pool| all(&pool.vms)),
        (Kind::ResourcePool, "owner") => Some(store.owner_of_pool(id).into_iter().collect()),
        (Kind::HostSystem, "vm") => store.hosts.get(&id).map(|host| all(&host.vms)),
        (Kind::HostSystem, "datastore" | "network") => around(world, store.parent(id), path),
        (Kind::Datastore, "vm") => store.datastores.get(&id).map(|datastore| all(&datastore.vms)),
        (Kind::Network | Kind::DistributedVirtualPortgroup, "vm") => {
            store.networks.get(&id).map(|network| all(&network.vms))
        }
        (Kind::Network | Kind::DistributedVirtualPortgroup, "host") => {
            store.networks.get(&id).map(|network| all(&network.hosts))
        }
        (Kind::VmwareDistributedVirtualSwitch, "portgroup") => {
            store.switches.get(&id).map(|switch| all(&switch.portgroups))
        }
        (Kind::VirtualMachine, _) => store.vms.get(&id).map(|vm| match path {
            "runtime.host" => vm.host.into_iter().collect(),
            "resourcePool" => vm.pool.into_iter().collect(),
            "datastore" => all(&vm.datastores()),
            "network" => crate::properties::networks_of(vm),
            _ => Vec::new(),
        }),
        _ => None,
    };
    found.unwrap_or_default()
}

/// What a cluster has, or its hosts have through it.
fn around(world: &World, compute: Option<Id>, path: &str) -> Option<Vec<Id>> {
    let compute = world.store.computes.get(&compute?)?;
    match path {
        "host" => Some(all(&compute.hosts)),
        "datastore" => Some(all(&compute.datastores)),
        "network" => Some(all(&compute.networks)),
        _ => None,
    }
}

fn all(ids: &BTreeSet<Id>) -> Vec<Id> {
    ids.iter().copied().collect()
}
