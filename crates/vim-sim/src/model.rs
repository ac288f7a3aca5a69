//! A world from a description of it.

use jiff::{SignedDuration, Timestamp};

use crate::id::{Id, Kind};
use crate::machine::{self, Blueprint};
use crate::methods::add_pool;
use crate::settings::Settings;
use crate::store::{
    Card, CardBacking, Compute, Controller, Datacenter, Datastore, Device, Disk, Folder, Host, Layer,
    Network, Pool, StoragePod, Switch, What,
};
use crate::world::World;

/// How much of everything there is.
#[derive(Debug, Clone)]
pub struct Model {
    /// Datacenters.
    pub datacenters: usize,
    /// Clusters in each.
    pub clusters: usize,
    /// Hosts in each cluster.
    pub cluster_hosts: usize,
    /// Hosts in each datacenter that stand alone.
    pub standalone_hosts: usize,
    /// Pools in each cluster, beside its root.
    pub pools: usize,
    /// Datastores in each datacenter.
    pub datastores: usize,
    /// Datastore clusters in each datacenter, empty.
    pub pods: usize,
    /// VMs in each cluster and on each host that stands alone.
    pub vms: usize,
    /// Whether they are on.
    pub autostart: bool,
    /// Distributed port groups in each datacenter.
    pub portgroups: usize,
    /// Memory of each host.
    pub host_memory_bytes: i64,
    /// Cores of each host.
    pub host_cores: i16,
    /// Size of each datastore.
    pub datastore_bytes: i64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            datacenters: 1,
            clusters: 1,
            cluster_hosts: 3,
            standalone_hosts: 1,
            pools: 0,
            datastores: 1,
            pods: 0,
            vms: 2,
            autostart: true,
            portgroups: 1,
            host_memory_bytes: 1 << 40,
            host_cores: 64,
            datastore_bytes: 64 << 40,
        }
    }
}

impl Model {
    /// A world like this, at that time.
    pub fn build(&self, settings: Settings, now: Timestamp) -> World {
        let mut world = World::new(settings, now);
        for nth in 0..self.datacenters {
            self.datacenter(&mut world, nth);
        }
        world.settle();
        world
    }

    fn datacenter(&self, world: &mut World, nth: usize) {
        let name = format!("DC{nth}");
        let dc = world.store.next_id(Kind::Datacenter);
        let root = world.root;
        world.store.file(dc, &name, Some(root));
        let mut folder = |name: &str, holds: &'static [&'static str]| {
            let id = world.store.next_id(Kind::Folder);
            world.store.folders.insert(id, Folder { holds, ..Folder::default() });
            world.store.file(id, name, Some(dc));
            id
        };
        let vm_folder = folder("vm", &["Folder", "VirtualMachine", "VirtualApp"]);
        let host_folder = folder("host", &["Folder", "ComputeResource"]);
        let datastore_folder = folder("datastore", &["Folder", "Datastore", "StoragePod"]);
        let network_folder = folder("network", &["Folder", "Network", "DistributedVirtualSwitch"]);
        let datacenter = Datacenter {
            vm_folder,
            host_folder,
            datastore_folder,
            network_folder,
            datastores: Default::default(),
            networks: Default::default(),
        };
        world.store.datacenters.insert(dc, datacenter);
        let network = self.network(world, dc, "VM Network", None);
        if self.portgroups > 0 {
            self.switch(world, dc);
        }
        let datastores: Vec<Id> = (0..self.datastores).map(|n| self.datastore(world, dc, n)).collect();
        for pod in 0..self.pods {
            let id = world.store.next_id(Kind::StoragePod);
            world.store.pods.insert(id, StoragePod { automated: true, ..StoragePod::default() });
            world.store.file(id, &format!("{name}_POD{pod}"), Some(datastore_folder));
        }
        for host in 0..self.standalone_hosts {
            let host_name = format!("{name}_H{host}");
            let (compute, pool) = self.compute(world, dc, Kind::ComputeResource, &host_name);
            self.host(world, compute, &host_name);
            self.fill(world, &host_name, pool, vm_folder, datastores.first().copied(), network);
        }
        for cluster in 0..self.clusters {
            let cluster_name = format!("{name}_C{cluster}");
            let (compute, root_pool) = self.compute(world, dc, Kind::ClusterComputeResource, &cluster_name);
            for host in 0..self.cluster_hosts {
                self.host(world, compute, &format!("{cluster_name}_H{host}"));
            }
            for pool in 1..=self.pools {
                add_pool(world, root_pool, &format!("{cluster_name}_RP{pool}"), Pool::default());
            }
            let prefix = format!("{cluster_name}_RP0");
            self.fill(world, &prefix, root_pool, vm_folder, datastores.first().copied(), network);
        }
    }

    fn network(&self, world: &mut World, dc: Id, name: &str, switch: Option<Id>) -> Id {
        let kind = if switch.is_some() { Kind::DistributedVirtualPortgroup } else { Kind::Network };
        let id = world.store.next_id(kind);
        world
            .store
            .networks
            .insert(id, Network { hosts: Default::default(), vms: Default::default(), switch });
        let folder = world.store.datacenters.get_mut(&dc).map(|dc| {
            dc.networks.insert(id);
            dc.network_folder
        });
        world.store.file(id, name, folder);
        id
    }

    fn switch(&self, world: &mut World, dc: Id) {
        let name = world.store.name(dc).to_owned();
        let id = world.store.next_id(Kind::VmwareDistributedVirtualSwitch);
        let uuid = crate::world::uuid_text(world.uuid());
        world.store.switches.insert(id, Switch { uuid, portgroups: Default::default() });
        let folder = world.store.datacenters.get(&dc).map(|dc| dc.network_folder);
        world.store.file(id, "DVS0", folder);
        for nth in 0..self.portgroups {
            let group = self.network(world, dc, &format!("{name}_DVPG{nth}"), Some(id));
            if let Some(switch) = world.store.switches.get_mut(&id) {
                switch.portgroups.insert(group);
            }
        }
    }

    fn datastore(&self, world: &mut World, dc: Id, nth: usize) -> Id {
        let id = world.store.next_id(Kind::Datastore);
        let browser = world.store.next_id(Kind::HostDatastoreBrowser);
        let datastore = Datastore {
            browser,
            capacity: self.datastore_bytes,
            used: 0,
            accessible: true,
            in_maintenance: false,
            url: format!("ds:///vmfs/volumes/{:08x}/", id.number),
            hosts: Default::default(),
            vms: Default::default(),
            files: Default::default(),
        };
        world.store.datastores.insert(id, datastore);
        // Names of datastores are unique in the simulator: uploads name nothing else.
        let number = world.store.datastores.len() - 1;
        let _ = nth;
        let folder = world.store.datacenters.get_mut(&dc).map(|dc| {
            dc.datastores.insert(id);
            dc.datastore_folder
        });
        world.store.file(id, &format!("LocalDS_{number}"), folder);
        id
    }

    fn compute(&self, world: &mut World, dc: Id, kind: Kind, name: &str) -> (Id, Id) {
        let id = world.store.next_id(kind);
        let pool = world.store.next_id(Kind::ResourcePool);
        let Some(datacenter) = world.store.datacenters.get(&dc) else { return (id, pool) };
        let compute = Compute {
            root_pool: pool,
            hosts: Default::default(),
            datastores: datacenter.datastores.clone(),
            networks: datacenter.networks.clone(),
        };
        let folder = datacenter.host_folder;
        world.store.computes.insert(id, compute);
        world.store.file(id, name, Some(folder));
        world.store.pools.insert(pool, Pool::default());
        world.store.file(pool, "Resources", Some(id));
        (id, pool)
    }

    fn host(&self, world: &mut World, compute: Id, name: &str) {
        let id = world.store.next_id(Kind::HostSystem);
        let host = Host {
            uuid: world.uuid(),
            cpu_mhz: 2_400,
            cores: self.host_cores,
            memory_bytes: self.host_memory_bytes,
            connected: true,
            in_maintenance: false,
            boot_time: world.now.saturating_sub(SignedDuration::from_hours(24)).unwrap_or(world.now),
            vms: Default::default(),
            used_cpus: 0,
            used_memory_mb: 0,
        };
        world.store.hosts.insert(id, host);
        world.store.file(id, name, Some(compute));
        let Some(found) = world.store.computes.get_mut(&compute) else { return };
        found.hosts.insert(id);
        for datastore in found.datastores.clone() {
            if let Some(datastore) = world.store.datastores.get_mut(&datastore) {
                datastore.hosts.insert(id);
            }
        }
        let networks = world.store.computes.get(&compute).map(|c| c.networks.clone()).unwrap_or_default();
        for network in networks {
            if let Some(network) = world.store.networks.get_mut(&network) {
                network.hosts.insert(id);
            }
        }
    }

    fn fill(
        &self,
        world: &mut World,
        prefix: &str,
        pool: Id,
        folder: Id,
        datastore: Option<Id>,
        network: Id,
    ) {
        let Some(datastore) = datastore else { return };
        for nth in 0..self.vms {
            let name = format!("{prefix}_VM{nth}");
            let Ok(host) = machine::choose_host(world, pool) else { return };
            let id = machine::blank(world, Blueprint { folder, name, pool: Some(pool), host, datastore });
            furnish(world, id, network);
            machine::complete(world, id);
            if self.autostart {
                machine::switch_on(world, id);
            }
        }
    }
}

/// What every VM of a model has: a disk and a card.
fn furnish(world: &mut World, id: Id, network: Id) {
    let mac = machine::next_mac(world);
    let uuid = world.uuid();
    let network_name = world.store.name(network).to_owned();
    let Some(vm) = world.store.vms.get(&id) else { return };
    let store_name = world.store.name(vm.datastore);
    let stem = vm.path.strip_suffix(".vmx").unwrap_or_default();
    let layer = Layer { file: format!("[{store_name}] {stem}.vmdk"), bytes: 1 << 30 };
    let datastore = vm.datastore;
    *world.store.layers.entry(layer.file.clone()).or_default() += 1;
    if let Some(found) = world.store.datastores.get_mut(&datastore) {
        found.used += layer.bytes;
    }
    let disk = Disk {
        datastore,
        capacity_kb: 10 << 20,
        thin: true,
        mode: "persistent".to_owned(),
        uuid,
        layers: vec![layer],
    };
    let card = Card {
        mac,
        manual: false,
        backing: CardBacking::Standard { name: network_name, network: Some(network) },
        connected: true,
        start_connected: true,
        wake_on_lan: true,
    };
    let device = |key, class: &str, controller, unit, what| Device {
        key,
        class: class.to_owned(),
        controller: Some(controller),
        unit: Some(unit),
        what,
    };
    let scsi = Controller { bus: 0, shared_bus: Some("noSharing".to_owned()) };
    if let Some(vm) = world.store.vms.get_mut(&id) {
        vm.devices = vec![
            device(1000, "ParaVirtualSCSIController", 100, 3, What::Controller(scsi)),
            device(2000, "VirtualDisk", 1000, 0, What::Disk(disk)),
            device(4000, "VirtualVmxnet3", 100, 7, What::Card(card)),
        ];
        vm.guest_id = "otherLinux64Guest".to_owned();
        vm.memory_mb = 32;
    }
}
