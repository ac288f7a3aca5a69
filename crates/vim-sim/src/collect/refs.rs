//! Where a property that refers to other objects leads.

use crate::id::{Id, Kind};
use crate::privileges;
use crate::world::World;

/// The objects that a property of an object refers to; none if the object has no such property.
pub(crate) fn refs(world: &World, id: Id, path: &str) -> Vec<Id> {
    // What cannot be read leads nowhere.
    if privileges::readable(world, id, path).is_err() {
        return Vec::new();
    }
    let store = &world.store;
    if path == "parent" && id.is_entity() {
        return store.parent(id).into_iter().collect();
    }
    match id.kind {
        Kind::Folder if path == "childEntity" => {
            store.folders.get(&id).map(|f| sorted(&f.children)).unwrap_or_default()
        }
        Kind::StoragePod if path == "childEntity" => {
            store.pods.get(&id).map(|pod| sorted(&pod.children)).unwrap_or_default()
        }
        Kind::Datacenter => {
            let Some(datacenter) = store.datacenters.get(&id) else { return Vec::new() };
            match path {
                "vmFolder" => vec![datacenter.vm_folder],
                "hostFolder" => vec![datacenter.host_folder],
                "datastoreFolder" => vec![datacenter.datastore_folder],
                "networkFolder" => vec![datacenter.network_folder],
                "datastore" => sorted(&datacenter.datastores),
                "network" => sorted(&datacenter.networks),
                _ => Vec::new(),
            }
        }
        Kind::ComputeResource | Kind::ClusterComputeResource => {
            let Some(compute) = store.computes.get(&id) else { return Vec::new() };
            match path {
                "host" => sorted(&compute.hosts),
                "resourcePool" => vec![compute.root_pool],
                "datastore" => sorted(&compute.datastores),
                "network" => sorted(&compute.networks),
                _ => Vec::new(),
            }
        }
        Kind::ResourcePool => {
            let Some(pool) = store.pools.get(&id) else { return Vec::new() };
            match path {
                "resourcePool" => sorted(&pool.children),
                "vm" => sorted(&pool.vms),
                "owner" => store.owner_of_pool(id).into_iter().collect(),
                _ => Vec::new(),
            }
        }
        Kind::HostSystem => {
            let Some(host) = store.hosts.get(&id) else { return Vec::new() };
            let compute = store.parent(id).and_then(|parent| store.computes.get(&parent));
            match path {
                "vm" => sorted(&host.vms),
                "datastore" => compute.map(|c| sorted(&c.datastores)).unwrap_or_default(),
                "network" => compute.map(|c| sorted(&c.networks)).unwrap_or_default(),
                _ => Vec::new(),
            }
        }
        Kind::Datastore => store
            .datastores
            .get(&id)
            .map(|datastore| match path {
                "vm" => sorted(&datastore.vms),
                _ => Vec::new(),
            })
            .unwrap_or_default(),
        Kind::Network | Kind::DistributedVirtualPortgroup => store
            .networks
            .get(&id)
            .map(|network| match path {
                "vm" => sorted(&network.vms),
                "host" => sorted(&network.hosts),
                _ => Vec::new(),
            })
            .unwrap_or_default(),
        Kind::VmwareDistributedVirtualSwitch if path == "portgroup" => {
            store.switches.get(&id).map(|switch| sorted(&switch.portgroups)).unwrap_or_default()
        }
        Kind::VirtualMachine => {
            let Some(vm) = store.vms.get(&id) else { return Vec::new() };
            match path {
                "runtime.host" => vm.host.into_iter().collect(),
                "resourcePool" => vm.pool.into_iter().collect(),
                "datastore" => sorted(&vm.datastores()),
                "network" => crate::look::networks_of(world, vm),
                _ => Vec::new(),
            }
        }
        Kind::ContainerView | Kind::ListView if path == "view" => {
            world.views.get(&id).map(|view| view.members(world).collect()).unwrap_or_default()
        }
        Kind::TaskManager if path == "recentTask" => world.tasks.recent().collect(),
        _ => Vec::new(),
    }
}

fn sorted(ids: &std::collections::BTreeSet<Id>) -> Vec<Id> {
    ids.iter().copied().collect()
}
