//! What there is: typed objects, an index of names, and the log of what changed.
//!
//! Every change goes through a method here that says which property it touched, so that a watcher pays for what
//! changed and not for what there is.

mod log;
mod places;
mod saved;
mod vm;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::id::{Id, Kind};
pub(crate) use log::{Entry, Log, What as LogWhat};
pub(crate) use places::{Compute, Datacenter, Datastore, Folder, Host, Network, Pool, StoragePod, Switch};
pub(crate) use vm::{
    Boot, Card, CardBacking, Cdrom, Controller, Customization, Device, Disk, Fixed, Guest, Hardware, Layer,
    Snapshot, Tools, Vm, What,
};

/// All objects of the inventory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Store {
    pub(crate) folders: BTreeMap<Id, Folder>,
    pub(crate) datacenters: BTreeMap<Id, Datacenter>,
    pub(crate) computes: BTreeMap<Id, Compute>,
    pub(crate) hosts: BTreeMap<Id, Host>,
    pub(crate) pools: BTreeMap<Id, Pool>,
    pub(crate) datastores: BTreeMap<Id, Datastore>,
    pub(crate) pods: BTreeMap<Id, StoragePod>,
    pub(crate) networks: BTreeMap<Id, Network>,
    pub(crate) switches: BTreeMap<Id, Switch>,
    pub(crate) vms: BTreeMap<Id, Vm>,
    /// The name and parent of every entity.
    #[serde(serialize_with = "saved::in_order")]
    entities: HashMap<Id, Entity>,
    /// Children by parent and name.
    #[serde(skip)]
    names: HashMap<(Id, Box<str>), Id>,
    /// The number of disks and snapshots that use each disk file.
    #[serde(serialize_with = "saved::in_order")]
    pub(crate) layers: HashMap<String, u32>,
    /// Folders of VMs, by datastore. A VM that comes later needs another.
    pub(crate) homes: BTreeSet<(Id, String)>,
    /// Files of disks that no VM has any more, but that are still on their datastores.
    pub(crate) left_behind: Vec<(Id, Vec<Layer>)>,
    pub(crate) last_mac: u32,
    /// VMs by BIOS and instance UUID.
    #[serde(skip)]
    pub(crate) uuids: BTreeSet<(u128, Id)>,
    #[serde(skip)]
    pub(crate) log: Log,
    last_number: u32,
}

/// What every entity has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entity {
    /// As it travels: `/`, `\` and `%` escaped.
    pub(crate) name: Box<str>,
    /// Only the root has none.
    pub(crate) parent: Option<Id>,
}

impl Store {
    /// Finds again what was left out of a dump, and forgets what is counted anew.
    pub(crate) fn index(&mut self) {
        let names = self.entities.iter().filter_map(|(id, e)| Some(((e.parent?, e.name.clone()), *id)));
        self.names = names.collect();
        let uuids = self.vms.iter().flat_map(|(id, vm)| [(vm.uuid, *id), (vm.instance_uuid, *id)]);
        self.uuids = uuids.collect();
        for host in self.hosts.values_mut() {
            (host.used_cpus, host.used_memory_mb) = (0, 0);
        }
        for pool in self.pools.values_mut() {
            (pool.used_cpu_mhz, pool.used_memory_mb) = (0, 0);
        }
    }

    pub(crate) fn entities(&self) -> impl Iterator<Item = (Id, &Entity)> {
        self.entities.iter().map(|(id, entity)| (*id, entity))
    }

    pub(crate) fn count(&self) -> usize {
        self.entities.len()
    }

    pub(crate) fn last_number(&self) -> u32 {
        self.last_number
    }

    /// A name for an object that is about to exist.
    pub(crate) fn next_id(&mut self, kind: Kind) -> Id {
        self.last_number += 1;
        Id { kind, number: self.last_number }
    }

    /// Files an entity under its name. What it is must be put into its own map by the caller.
    pub(crate) fn file(&mut self, id: Id, name: &str, parent: Option<Id>) {
        self.entities.insert(id, Entity { name: name.into(), parent });
        if let Some(parent) = parent {
            self.names.insert((parent, name.into()), id);
            if let Some(folder) = self.folders.get_mut(&parent) {
                folder.children.insert(id);
            }
            self.log.touch(parent, children_path(parent.kind, id.kind));
        }
        self.log.appeared(id);
    }

    /// Makes a folder; only the root has no parent.
    pub(crate) fn add_folder(
        &mut self,
        parent: Option<Id>,
        name: &str,
        holds: &'static [&'static str],
    ) -> Id {
        let id = self.next_id(Kind::Folder);
        self.folders.insert(id, Folder { holds, children: BTreeSet::new() });
        self.file(id, name, parent);
        id
    }

    /// Takes an entity out of the inventory.
    pub(crate) fn remove(&mut self, id: Id) {
        let Some(entity) = self.entities.remove(&id) else { return };
        if let Some(parent) = entity.parent {
            self.names.remove(&(parent, entity.name));
            if let Some(folder) = self.folders.get_mut(&parent) {
                folder.children.remove(&id);
            }
            self.log.touch(parent, children_path(parent.kind, id.kind));
        }
        self.log.vanished(id);
    }

    pub(crate) fn rename(&mut self, id: Id, name: &str) {
        let Some(entity) = self.entities.get_mut(&id) else { return };
        let old = std::mem::replace(&mut entity.name, name.into());
        if let Some(parent) = entity.parent {
            self.names.remove(&(parent, old));
            self.names.insert((parent, name.into()), id);
        }
        self.touch(id, &["name", "config.name", "summary.config.name", "summary.name", "info.name"]);
    }

    pub(crate) fn move_to(&mut self, id: Id, parent: Id) {
        let Some(name) = self.entities.get(&id).map(|entity| entity.name.clone()) else { return };
        self.remove(id);
        self.file(id, &name, Some(parent));
        self.log.touch(id, "parent");
    }

    pub(crate) fn exists(&self, id: Id) -> bool {
        self.entities.contains_key(&id)
    }

    /// The name of an entity that exists; empty otherwise.
    pub(crate) fn name(&self, id: Id) -> &str {
        self.entities.get(&id).map_or("", |entity| &entity.name)
    }

    pub(crate) fn parent(&self, id: Id) -> Option<Id> {
        self.entities.get(&id).and_then(|entity| entity.parent)
    }

    pub(crate) fn child(&self, parent: Id, name: &str) -> Option<Id> {
        self.names.get(&(parent, name.into())).copied()
    }

    /// What an entity is in, nearest first.
    pub(crate) fn ancestors(&self, id: Id) -> impl Iterator<Item = Id> {
        std::iter::successors(self.parent(id), |id| self.parent(*id))
    }

    pub(crate) fn datacenter_of(&self, id: Id) -> Option<Id> {
        std::iter::once(id).chain(self.ancestors(id)).find(|id| id.kind == Kind::Datacenter)
    }

    /// The cluster or host that a pool belongs to.
    pub(crate) fn owner_of_pool(&self, pool: Id) -> Option<Id> {
        self.ancestors(pool).find(|id| id.kind.is_a("ComputeResource"))
    }

    /// Puts a VM on the list of a host, pool, datastore or network, or takes it off.
    pub(crate) fn list_vm(&mut self, place: Id, vm: Id, is_there: bool) {
        let host = self.hosts.get_mut(&place).map(|host| &mut host.vms);
        let pool = self.pools.get_mut(&place).map(|pool| &mut pool.vms);
        let datastore = self.datastores.get_mut(&place).map(|datastore| &mut datastore.vms);
        let network = self.networks.get_mut(&place).map(|network| &mut network.vms);
        let vms = host.or(pool).or(datastore).or(network);
        if vms.is_none_or(|vms| if is_there { vms.insert(vm) } else { vms.remove(&vm) }) {
            self.log.touch(place, "vm");
        }
    }

    /// Says that properties of an object have changed.
    pub(crate) fn touch(&mut self, id: Id, paths: &[&'static str]) {
        for path in paths {
            self.log.touch(id, path);
        }
    }

    /// Marks the free space of a datastore as changed, and that of its datastore cluster.
    pub(crate) fn touch_free_space(&mut self, datastore: Id) {
        self.touch(datastore, &["summary.freeSpace", "info.freeSpace"]);
        if let Some(pod) = self.parent(datastore).filter(|parent| parent.kind == Kind::StoragePod) {
            self.log.touch(pod, "summary");
        }
    }

    /// All entities, class by class.
    pub(crate) fn each(&self) -> impl Iterator<Item = Id> {
        let places = self.folders.keys().chain(self.datacenters.keys()).chain(self.computes.keys());
        let places = places.chain(self.hosts.keys()).chain(self.pools.keys()).chain(self.datastores.keys());
        let places = places.chain(self.pods.keys()).chain(self.networks.keys()).chain(self.switches.keys());
        places.chain(self.vms.keys()).copied()
    }

    pub(crate) fn entities_of(&self, kind: Kind) -> impl Iterator<Item = Id> {
        self.each().filter(move |id| id.kind == kind)
    }
}

/// Under which property a parent shows a child.
fn children_path(parent: Kind, child: Kind) -> &'static str {
    match (parent, child) {
        (Kind::ComputeResource | Kind::ClusterComputeResource, Kind::HostSystem) => "host",
        (Kind::ResourcePool | Kind::ComputeResource | Kind::ClusterComputeResource, _) => "resourcePool",
        _ => "childEntity",
    }
}
