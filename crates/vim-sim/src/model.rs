//! Models of an inventory: a file that people write, or a few numbers.

mod build;
mod text;

use serde::Deserialize;

use crate::guests::ProgramRule;
use crate::privileges::Access;
use crate::rest::CategoryModel;
use crate::settings::{Login, Settings};
use crate::world::World;
pub use build::ModelError;
pub use text::Bytes;
pub(crate) use text::default_true;

/// The inventory that a simulator starts with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Users, roles and permissions, if they are not those of the settings.
    pub access: Option<Access>,
    #[serde(default, rename = "datacenter")]
    pub datacenters: Vec<DatacenterModel>,
    #[serde(default, rename = "category")]
    pub categories: Vec<CategoryModel>,
    /// What programs do in guests; rules of the settings come first.
    #[serde(default, rename = "program")]
    pub programs: Vec<ProgramRule>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatacenterModel {
    pub name: String,
    /// The folder that it is in, such as `europe/west`; the root if none is named.
    #[serde(default)]
    pub folder: String,
    /// Networks on the hosts' own switches.
    #[serde(default)]
    pub networks: Vec<String>,
    /// Port groups of a distributed switch.
    #[serde(default)]
    pub portgroups: Vec<String>,
    #[serde(default, rename = "datastore")]
    pub datastores: Vec<DatastoreModel>,
    #[serde(default, rename = "datastore-cluster")]
    pub pods: Vec<PodModel>,
    #[serde(default, rename = "cluster")]
    pub clusters: Vec<ClusterModel>,
    /// Standalone hosts.
    #[serde(default, rename = "host")]
    pub hosts: Vec<HostModel>,
    /// Folders for VMs, such as `ci/templates`.
    #[serde(default)]
    pub folders: Vec<String>,
    #[serde(default, rename = "vm")]
    pub vms: Vec<VmModel>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatastoreModel {
    /// Its name, unique in the whole model.
    pub name: String,
    /// Its size, such as `4TiB`.
    #[serde(default = "text::large")]
    pub capacity: Bytes,
}

/// A cluster of datastores.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodModel {
    pub name: String,
    /// Those of the datacenter's datastores that belong to it.
    #[serde(default)]
    pub datastores: Vec<String>,
    /// Whether it says where disks should go.
    #[serde(default = "text::default_true")]
    pub recommends: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterModel {
    pub name: String,
    #[serde(default, rename = "host")]
    pub hosts: Vec<HostModel>,
    #[serde(default, rename = "pool")]
    pub pools: Vec<PoolModel>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostModel {
    pub name: String,
    #[serde(default = "text::many_cores")]
    pub cores: i16,
    /// The speed of each.
    #[serde(default = "text::fast")]
    pub mhz: i32,
    /// Its memory, such as `512GiB`.
    #[serde(default = "text::default_memory")]
    pub memory: Bytes,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolModel {
    /// Its name; a path such as `ci/fast` for one in another.
    pub name: String,
    /// In MHz.
    #[serde(default, rename = "cpu-limit")]
    pub cpu_limit: Option<i64>,
    /// In MHz.
    #[serde(default, rename = "cpu-reservation")]
    pub cpu_reservation: i64,
    /// Such as `64GiB`.
    #[serde(default, rename = "memory-limit")]
    pub memory_limit: Option<Bytes>,
    /// Such as `16GiB`.
    #[serde(default, rename = "memory-reservation")]
    pub memory_reservation: Bytes,
}

/// A VM, or a template, or many of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VmModel {
    /// Its name; with a count, `#` in it stands for the number.
    pub name: String,
    #[serde(default = "text::one")]
    pub count: usize,
    #[serde(default)]
    pub folder: String,
    /// The cluster or host that it runs on; the first one if none is named.
    #[serde(default)]
    pub compute: String,
    /// The pool in there; the root if none is named.
    #[serde(default)]
    pub pool: String,
    /// Its datastore; the first one if none is named.
    #[serde(default)]
    pub datastore: String,
    #[serde(default)]
    pub template: bool,
    #[serde(default)]
    pub on: bool,
    #[serde(default = "text::one_cpu")]
    pub cpus: i32,
    #[serde(default = "text::small")]
    pub memory: Bytes,
    #[serde(default = "text::one_disk")]
    pub disks: Vec<Bytes>,
    /// A card for each network.
    #[serde(default)]
    pub networks: Vec<String>,
    /// The class of its cards.
    #[serde(default = "text::card")]
    pub card: String,
    #[serde(default)]
    pub annotation: String,
    /// Whether nothing is told of what it is but its name, as of one that has lost its files.
    #[serde(default)]
    pub orphaned: bool,
    /// Its operating system as vSphere names it.
    #[serde(default = "text::linux", rename = "guest-id")]
    pub guest_id: String,
    /// Whether the tools are installed; as the settings say if this does not.
    pub tools: Option<bool>,
    /// The user and password of its guest, and of its clones' guests; those of all if this names none.
    #[serde(default, rename = "guest-login")]
    pub guest_login: Option<Login>,
    /// Snapshots, each on the one before.
    #[serde(default)]
    pub snapshots: Vec<String>,
}

/// How much of everything there is, for those who do not care for names.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub datacenters: usize,
    /// Clusters in each.
    pub clusters: usize,
    /// Hosts in each cluster.
    pub cluster_hosts: usize,
    /// Standalone hosts in each datacenter.
    pub standalone_hosts: usize,
    /// Pools in each cluster, beside its root.
    pub pools: usize,
    /// Datastores in each datacenter.
    pub datastores: usize,
    /// Datastore clusters in each datacenter, empty.
    pub pods: usize,
    /// Port groups in each datacenter.
    pub portgroups: usize,
    /// VMs on each host that stands alone, in each cluster or in each of its pools.
    pub vms: usize,
    pub on: bool,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            datacenters: 1,
            clusters: 1,
            cluster_hosts: 3,
            standalone_hosts: 1,
            pools: 0,
            datastores: 1,
            pods: 0,
            portgroups: 1,
            vms: 2,
            on: true,
        }
    }
}

impl Model {
    /// A world like this, at that time.
    pub fn build(&self, settings: Settings, now: jiff::Timestamp) -> Result<World, ModelError> {
        build::build(self, settings, now)
    }

    /// Many of everything, named as VMware's own simulator names them.
    pub fn uniform(counts: Counts) -> Self {
        let mut datastores = 0;
        let datacenters = (0..counts.datacenters).map(|nth| {
            let datacenter = uniform_datacenter(counts, nth, datastores);
            datastores += counts.datastores;
            datacenter
        });
        Self { datacenters: datacenters.collect(), ..Self::default() }
    }
}

fn uniform_datacenter(counts: Counts, nth: usize, datastores_before: usize) -> DatacenterModel {
    let name = format!("DC{nth}");
    let host = |name: String| HostModel {
        name,
        cores: text::many_cores(),
        mhz: text::fast(),
        memory: text::default_memory(),
    };
    let pod = |nth| PodModel { name: format!("{name}_POD{nth}"), datastores: Vec::new(), recommends: true };
    let vms = |prefix: &str, compute: &str, pool: &str| VmModel {
        name: format!("{prefix}_VM#"),
        count: counts.vms,
        compute: compute.to_owned(),
        pool: pool.to_owned(),
        on: counts.on,
        ..VmModel::default()
    };
    let mut datacenter = DatacenterModel {
        networks: vec!["VM Network".to_owned()],
        portgroups: (0..counts.portgroups).map(|nth| format!("{name}_DVPG{nth}")).collect(),
        datastores: (datastores_before..datastores_before + counts.datastores)
            .map(|nth| DatastoreModel { name: format!("LocalDS_{nth}"), capacity: text::large() })
            .collect(),
        pods: (0..counts.pods).map(pod).collect(),
        ..DatacenterModel::default()
    };
    for nth in 0..counts.standalone_hosts {
        let host_name = format!("{name}_H{nth}");
        datacenter.vms.push(vms(&host_name, &host_name, ""));
        datacenter.hosts.push(host(host_name));
    }
    for nth in 0..counts.clusters {
        let cluster = format!("{name}_C{nth}");
        let hosts = (0..counts.cluster_hosts).map(|nth| host(format!("{cluster}_H{nth}"))).collect();
        let pools: Vec<PoolModel> = (1..=counts.pools)
            .map(|nth| PoolModel { name: format!("{cluster}_RP{nth}"), ..PoolModel::default() })
            .collect();
        if pools.is_empty() {
            datacenter.vms.push(vms(&format!("{cluster}_RP0"), &cluster, ""));
        }
        datacenter.vms.extend(pools.iter().map(|pool| vms(&pool.name, &cluster, &pool.name)));
        datacenter.clusters.push(ClusterModel { name: cluster, hosts, pools });
    }
    datacenter.name = name;
    datacenter
}

impl Default for VmModel {
    fn default() -> Self {
        Self {
            name: String::new(),
            count: 1,
            folder: String::new(),
            compute: String::new(),
            pool: String::new(),
            datastore: String::new(),
            template: false,
            on: false,
            cpus: text::one_cpu(),
            memory: text::small(),
            disks: text::one_disk(),
            networks: Vec::new(),
            card: text::card(),
            annotation: String::new(),
            orphaned: false,
            guest_id: text::linux(),
            tools: None,
            guest_login: None,
            snapshots: Vec::new(),
        }
    }
}
