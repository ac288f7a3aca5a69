//! What VMs live in.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::saved;
use crate::id::Id;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Folder {
    /// Which classes it may hold.
    #[serde(with = "saved::holds")]
    pub(crate) holds: &'static [&'static str],
    pub(crate) children: BTreeSet<Id>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Datacenter {
    pub(crate) vm_folder: Id,
    pub(crate) host_folder: Id,
    pub(crate) datastore_folder: Id,
    pub(crate) network_folder: Id,
    pub(crate) datastores: BTreeSet<Id>,
    pub(crate) networks: BTreeSet<Id>,
}

/// A cluster, or the compute resource of a standalone host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Compute {
    pub(crate) root_pool: Id,
    pub(crate) hosts: BTreeSet<Id>,
    pub(crate) datastores: BTreeSet<Id>,
    pub(crate) networks: BTreeSet<Id>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Host {
    #[serde(with = "saved::uuid")]
    pub(crate) uuid: u128,
    pub(crate) cpu_mhz: i32,
    pub(crate) cores: i16,
    pub(crate) memory_bytes: i64,
    pub(crate) connected: bool,
    /// Whether a user disconnected it: it runs on. (A dump keeps its older name.)
    #[serde(default, rename = "let_go")]
    pub(crate) disconnected_by_user: bool,
    pub(crate) in_maintenance: bool,
    pub(crate) boot_time: jiff::Timestamp,
    pub(crate) vms: BTreeSet<Id>,
    /// What its running VMs take.
    pub(crate) used_cpus: i64,
    pub(crate) used_memory_mb: i64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub(crate) children: BTreeSet<Id>,
    pub(crate) vms: BTreeSet<Id>,
    /// In MHz.
    pub(crate) cpu_limit: Option<i64>,
    pub(crate) cpu_reservation: i64,
    pub(crate) memory_limit_mb: Option<i64>,
    pub(crate) memory_reservation_mb: i64,
    /// What running VMs in it and below take.
    pub(crate) used_cpu_mhz: i64,
    pub(crate) used_memory_mb: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Datastore {
    pub(crate) browser: Id,
    pub(crate) capacity: i64,
    pub(crate) used: i64,
    /// What takes space on it that is not of this inventory.
    pub(crate) foreign: i64,
    pub(crate) accessible: bool,
    pub(crate) in_maintenance: bool,
    pub(crate) url: String,
    pub(crate) hosts: BTreeSet<Id>,
    pub(crate) vms: BTreeSet<Id>,
    /// Files and folders by path without the datastore's name; a folder has no content.
    #[serde(with = "saved::folders")]
    pub(crate) files: std::collections::BTreeMap<String, Option<crate::files::StoredFile>>,
}

impl Datastore {
    pub(crate) fn free(&self) -> i64 {
        (self.capacity - self.used - self.foreign).max(0)
    }
}

/// A cluster of datastores.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoragePod {
    pub(crate) children: BTreeSet<Id>,
    /// Whether Storage DRS recommends a member.
    pub(crate) automated: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Network {
    pub(crate) hosts: BTreeSet<Id>,
    pub(crate) vms: BTreeSet<Id>,
    /// For a port group: its switch.
    pub(crate) switch: Option<Id>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Switch {
    pub(crate) uuid: String,
    pub(crate) portgroups: BTreeSet<Id>,
}
