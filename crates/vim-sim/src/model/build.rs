//! Builds the world from a model.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rookery_vim::inventory_name::escape;

use super::{DatacenterModel, HostModel, Model, PoolModel, VmModel};
use crate::id::{Id, Kind};
use crate::machine::{self, Blueprint};
use crate::methods::add_pool;
use crate::refusal::Refusal;
use crate::settings::{GuestTimes, Settings};
use crate::store::{
    Card, CardBacking, Compute, Controller, Datacenter, Datastore, Device, Host, Network, Pool, StoragePod,
    Switch, Tools, What,
};
use crate::world::{World, uuid_text};
use crate::{privileges, rest};

/// Why a model is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("{what} names the {kind} {name:?}, which the model does not have")]
    Unknown { what: String, kind: &'static str, name: String },
    #[error("there are two things named {name:?} in one place")]
    Twice { name: String },
    #[error("{what} cannot be made: {why}")]
    Refused { what: String, why: String },
    #[error("the users, roles and permissions are wrong: {}", problems.join("; "))]
    Access { problems: Vec<String> },
}

pub(super) fn build(model: &Model, mut settings: Settings, now: Timestamp) -> Result<World, ModelError> {
    if let Some(access) = &model.access {
        settings.access = access.clone();
    }
    // What is on has been on for a while: its guests need not start first.
    let started = GuestTimes {
        tools_installed: settings.guests.tools_installed,
        dhcp: settings.guests.dhcp,
        ..GuestTimes::default()
    };
    let guests = settings.guests.clone();
    let mut world = World::new(Settings { guests: started, ..settings }, now);
    world.settings.programs.extend(model.programs.iter().cloned());
    for datacenter in &model.datacenters {
        Site::build(&mut world, datacenter)?;
    }
    for category in &model.categories {
        rest::apply_model(&mut world, category).map_err(|(what, why)| ModelError::Refused { what, why })?;
    }
    let problems = privileges::apply(&mut world);
    if !problems.is_empty() {
        return Err(ModelError::Access { problems });
    }
    world.settle();
    world.settings.guests = guests;
    Ok(world)
}

/// One datacenter on its way.
struct Site<'m> {
    model: &'m DatacenterModel,
    id: Id,
    networks: BTreeMap<&'m str, Id>,
    datastores: BTreeMap<&'m str, Id>,
    /// Root pools by the name of their cluster or host, in order.
    computes: Vec<(&'m str, Id)>,
}

const VMS: &[&str] = &["Folder", "VirtualMachine", "VirtualApp"];

fn folder(world: &mut World, parent: Id, name: &str, holds: &'static [&'static str]) -> Id {
    world.store.add_folder(Some(parent), &escape(name), holds)
}

/// The folder at a path, made if need be.
fn folder_at(world: &mut World, root: Id, path: &str, holds: &'static [&'static str]) -> Id {
    path.split('/').filter(|part| !part.is_empty()).fold(root, |at, part| {
        world.store.child(at, &escape(part)).unwrap_or_else(|| folder(world, at, part, holds))
    })
}

/// Files something under a name that must be free.
fn file(world: &mut World, id: Id, name: &str, parent: Id) -> Result<(), ModelError> {
    let name = escape(name);
    if world.store.child(parent, &name).is_some() || name.is_empty() {
        return Err(ModelError::Twice { name });
    }
    world.store.file(id, &name, Some(parent));
    Ok(())
}

impl<'m> Site<'m> {
    fn build(world: &mut World, model: &'m DatacenterModel) -> Result<(), ModelError> {
        let root = world.root;
        let parent = folder_at(world, root, &model.folder, &["Folder", "Datacenter"]);
        let id = world.store.next_id(Kind::Datacenter);
        file(world, id, &model.name, parent)?;
        let datacenter = Datacenter {
            vm_folder: folder(world, id, "vm", VMS),
            host_folder: folder(world, id, "host", &["Folder", "ComputeResource"]),
            datastore_folder: folder(world, id, "datastore", &["Folder", "Datastore", "StoragePod"]),
            network_folder: folder(world, id, "network", &["Folder", "Network", "DistributedVirtualSwitch"]),
            datastores: BTreeSet::new(),
            networks: BTreeSet::new(),
        };
        world.store.datacenters.insert(id, datacenter);
        let mut site =
            Self { model, id, networks: BTreeMap::new(), datastores: BTreeMap::new(), computes: Vec::new() };
        site.networks(world)?;
        site.storage(world)?;
        for host in &model.hosts {
            let compute = site.compute(world, Kind::ComputeResource, &host.name)?;
            site.host(world, compute, host)?;
        }
        for cluster in &model.clusters {
            let compute = site.compute(world, Kind::ClusterComputeResource, &cluster.name)?;
            for host in &cluster.hosts {
                site.host(world, compute, host)?;
            }
            for pool in &cluster.pools {
                site.pool(world, &cluster.name, pool)?;
            }
        }
        let vm_folder = site.folder(world, |dc| dc.vm_folder);
        for path in &model.folders {
            folder_at(world, vm_folder, path, VMS);
        }
        for vm in &model.vms {
            for nth in 0..vm.count {
                site.vm(world, vm, nth)?;
            }
        }
        Ok(())
    }

    fn folder(&self, world: &World, which: impl Fn(&Datacenter) -> Id) -> Id {
        world.store.datacenters.get(&self.id).map_or(world.root, which)
    }

    fn networks(&mut self, world: &mut World) -> Result<(), ModelError> {
        let parent = self.folder(world, |dc| dc.network_folder);
        for name in &self.model.networks {
            self.network(world, name, parent, None)?;
        }
        if self.model.portgroups.is_empty() {
            return Ok(());
        }
        let switch = world.store.next_id(Kind::VmwareDistributedVirtualSwitch);
        let uuid = uuid_text(world.uuid());
        file(world, switch, "DVS0", parent)?;
        world.store.switches.insert(switch, Switch { uuid, portgroups: BTreeSet::new() });
        for name in &self.model.portgroups {
            let id = self.network(world, name, parent, Some(switch))?;
            if let Some(switch) = world.store.switches.get_mut(&switch) {
                switch.portgroups.insert(id);
            }
        }
        Ok(())
    }

    fn network(
        &mut self,
        world: &mut World,
        name: &'m str,
        parent: Id,
        switch: Option<Id>,
    ) -> Result<Id, ModelError> {
        let kind = if switch.is_some() { Kind::DistributedVirtualPortgroup } else { Kind::Network };
        let id = world.store.next_id(kind);
        file(world, id, name, parent)?;
        let network = Network { hosts: BTreeSet::new(), vms: BTreeSet::new(), switch };
        world.store.networks.insert(id, network);
        if let Some(datacenter) = world.store.datacenters.get_mut(&self.id) {
            datacenter.networks.insert(id);
        }
        self.networks.insert(name, id);
        Ok(id)
    }

    fn storage(&mut self, world: &mut World) -> Result<(), ModelError> {
        let parent = self.folder(world, |dc| dc.datastore_folder);
        for model in &self.model.datastores {
            let id = world.store.next_id(Kind::Datastore);
            let browser = world.store.next_id(Kind::HostDatastoreBrowser);
            file(world, id, &model.name, parent)?;
            let datastore = Datastore {
                browser,
                capacity: model.capacity.0,
                used: 0,
                foreign: 0,
                accessible: true,
                in_maintenance: false,
                url: format!("ds:///vmfs/volumes/{:08x}/", id.number),
                hosts: BTreeSet::new(),
                vms: BTreeSet::new(),
                files: BTreeMap::new(),
            };
            world.store.datastores.insert(id, datastore);
            if let Some(datacenter) = world.store.datacenters.get_mut(&self.id) {
                datacenter.datastores.insert(id);
            }
            self.datastores.insert(&model.name, id);
        }
        for model in &self.model.pods {
            let id = world.store.next_id(Kind::StoragePod);
            file(world, id, &model.name, parent)?;
            let mut pod = StoragePod { automated: model.recommends, ..StoragePod::default() };
            for name in &model.datastores {
                let member = known(&self.datastores, name, "datastore", &model.name)?;
                world.store.move_to(member, id);
                pod.children.insert(member);
            }
            world.store.pods.insert(id, pod);
        }
        Ok(())
    }

    fn compute(&mut self, world: &mut World, kind: Kind, name: &'m str) -> Result<Id, ModelError> {
        let id = world.store.next_id(kind);
        let pool = world.store.next_id(Kind::ResourcePool);
        let parent = self.folder(world, |dc| dc.host_folder);
        file(world, id, name, parent)?;
        let compute = Compute {
            root_pool: pool,
            hosts: BTreeSet::new(),
            datastores: self.datastores.values().copied().collect(),
            networks: self.networks.values().copied().collect(),
        };
        world.store.computes.insert(id, compute);
        world.store.pools.insert(pool, Pool::default());
        world.store.file(pool, "Resources", Some(id));
        self.computes.push((name, pool));
        Ok(id)
    }

    fn host(&self, world: &mut World, compute: Id, model: &HostModel) -> Result<(), ModelError> {
        let id = world.store.next_id(Kind::HostSystem);
        file(world, id, &model.name, compute)?;
        let host = Host {
            uuid: world.uuid(),
            cpu_mhz: model.mhz,
            cores: model.cores,
            memory_bytes: model.memory.0,
            connected: true,
            disconnected_by_user: false,
            in_maintenance: false,
            boot_time: world.now.saturating_sub(SignedDuration::from_hours(24)).unwrap_or(world.now),
            vms: BTreeSet::new(),
            used_cpus: 0,
            used_memory_mb: 0,
        };
        world.store.hosts.insert(id, host);
        if let Some(compute) = world.store.computes.get_mut(&compute) {
            compute.hosts.insert(id);
        }
        for datastore in self.datastores.values() {
            if let Some(datastore) = world.store.datastores.get_mut(datastore) {
                datastore.hosts.insert(id);
            }
        }
        for network in self.networks.values() {
            if let Some(network) = world.store.networks.get_mut(network) {
                network.hosts.insert(id);
            }
        }
        Ok(())
    }

    fn pool(&self, world: &mut World, cluster: &str, model: &PoolModel) -> Result<(), ModelError> {
        let root = self.root_pool(cluster, &model.name)?;
        let (path, name) = model.name.rsplit_once('/').unwrap_or(("", &model.name));
        let parent = pool_at(world, root, path, &model.name)?;
        let pool = Pool {
            cpu_limit: model.cpu_limit,
            cpu_reservation: model.cpu_reservation,
            memory_limit_mb: model.memory_limit.map(super::Bytes::mib),
            memory_reservation_mb: model.memory_reservation.mib(),
            ..Pool::default()
        };
        add_pool(world, parent, &escape(name), pool);
        Ok(())
    }

    fn root_pool(&self, compute: &str, what: &str) -> Result<Id, ModelError> {
        let mut all = self.computes.iter();
        let found = if compute.is_empty() { all.next() } else { all.find(|(name, _)| *name == compute) };
        found.map(|(_, pool)| *pool).ok_or_else(|| unknown(what, "cluster or host", compute))
    }

    fn vm(&self, world: &mut World, model: &VmModel, nth: usize) -> Result<(), ModelError> {
        let name = if model.name.contains('#') {
            model.name.replace('#', &nth.to_string())
        } else if model.count > 1 {
            format!("{}{nth}", model.name)
        } else {
            model.name.clone()
        };
        let refused = |refusal| refused(&name, refusal);
        let root = self.root_pool(&model.compute, &name)?;
        let pool = pool_at(world, root, &model.pool, &name)?;
        let datastore = match model.datastore.as_str() {
            "" => self.datastores.values().next().copied(),
            given => Some(known(&self.datastores, given, "datastore", &name)?),
        };
        let datastore = datastore.ok_or_else(|| ModelError::Refused {
            what: format!("VM {name:?}"),
            why: "there is no datastore".to_owned(),
        })?;
        let host = machine::choose_host(world, pool).map_err(refused)?;
        let vm_folder = self.folder(world, |dc| dc.vm_folder);
        let parent = folder_at(world, vm_folder, &model.folder, VMS);
        if world.store.child(parent, &escape(&name)).is_some() {
            return Err(ModelError::Twice { name });
        }
        let blueprint = Blueprint { folder: parent, name: escape(&name), pool: Some(pool), host, datastore };
        let id = machine::blank(world, &blueprint);
        machine::being_created(world, "", id);
        self.configure_vm(world, id, model, &name)?;
        if model.orphaned {
            return Ok(());
        }
        machine::complete(world, id);
        machine::created(world, "", id);
        for snapshot in &model.snapshots {
            machine::take_snapshot(world, "", id, snapshot, "").map_err(refused)?;
        }
        if model.template {
            machine::mark(world, "", id, true, None).map_err(refused)?;
        } else if model.on {
            machine::switch_on(world, id).map_err(refused)?;
        }
        Ok(())
    }

    /// Hardware, disks and cards.
    fn configure_vm(&self, world: &mut World, id: Id, model: &VmModel, name: &str) -> Result<(), ModelError> {
        let networks: Vec<Id> = if model.networks.is_empty() {
            let first = self.model.networks.first().and_then(|first| self.networks.get(first.as_str()));
            first.copied().into_iter().collect()
        } else {
            let known = model.networks.iter().map(|network| known(&self.networks, network, "network", name));
            known.collect::<Result<_, _>>()?
        };
        let Some(mut vm) = world.store.vms.get(&id).cloned() else { return Ok(()) };
        vm.cpus = model.cpus;
        vm.memory_mb = model.memory.mib();
        vm.annotation.clone_from(&model.annotation);
        vm.guest_id.clone_from(&model.guest_id);
        vm.guest.login.clone_from(&model.guest_login);
        if let Some(installed) = model.tools {
            vm.guest.tools = if installed { Tools::NotRunning } else { Tools::NotInstalled };
        }
        let device = |key, class: &str, controller, unit, what| Device {
            key,
            class: class.to_owned(),
            controller: Some(controller),
            unit: Some(unit),
            what,
        };
        let scsi = Controller { bus: 0, shared_bus: Some("noSharing".to_owned()) };
        vm.devices.push(device(1000, "ParaVirtualSCSIController", 100, 3, What::Controller(scsi)));
        for (nth, size) in (0..).zip(&model.disks) {
            let datastore = vm.datastore;
            let disk =
                machine::make_disk(world, &vm, datastore, size.0 / 1024, true, "persistent".to_owned());
            let disk = disk.map_err(|refusal| refused(name, refusal))?;
            // The controller itself is number 7.
            let unit = if nth < 7 { nth } else { nth + 1 };
            vm.devices.push(device(2000 + nth, "VirtualDisk", 1000, unit, What::Disk(disk)));
        }
        for (nth, network) in (0..).zip(networks) {
            let backing = if network.kind == Kind::DistributedVirtualPortgroup {
                CardBacking::Distributed { portgroup: network, port: 0 }
            } else {
                CardBacking::Standard(network)
            };
            let card = Card {
                mac: machine::next_mac(world),
                manual: false,
                backing,
                connected: true,
                start_connected: true,
            };
            vm.devices.push(device(4000 + nth, &model.card, 100, 7 + nth, What::Card(card)));
        }
        world.store.vms.insert(id, vm);
        Ok(())
    }
}

fn known(names: &BTreeMap<&str, Id>, name: &str, kind: &'static str, what: &str) -> Result<Id, ModelError> {
    names.get(name).copied().ok_or_else(|| unknown(what, kind, name))
}

fn unknown(what: &str, kind: &'static str, name: &str) -> ModelError {
    ModelError::Unknown { what: what.to_owned(), kind, name: name.to_owned() }
}

fn refused(vm: &str, refusal: Refusal) -> ModelError {
    ModelError::Refused { what: format!("VM {vm:?}"), why: refusal.message }
}

fn pool_at(world: &World, root: Id, path: &str, what: &str) -> Result<Id, ModelError> {
    path.split('/').filter(|part| !part.is_empty()).try_fold(root, |at, part| {
        world.store.child(at, &escape(part)).ok_or_else(|| unknown(what, "resource pool", path))
    })
}
