//! A VM.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::Timestamp;
use rookery_vim::Node;
use rookery_vim::objects::PowerState;
use serde::{Deserialize, Serialize};

use super::saved;
use crate::id::Id;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Vm {
    /// Whether its configuration is known: not while it is being made.
    pub(crate) complete: bool,
    pub(crate) template: bool,
    pub(crate) pool: Option<Id>,
    pub(crate) host: Option<Id>,
    pub(crate) datastore: Id,
    /// Below its datastore, such as `web/web.vmx`.
    pub(crate) path: String,
    #[serde(with = "saved::uuid")]
    pub(crate) uuid: u128,
    #[serde(with = "saved::uuid")]
    pub(crate) instance_uuid: u128,
    pub(crate) guest_id: String,
    pub(crate) annotation: String,
    pub(crate) cpus: i32,
    pub(crate) cores_per_socket: i32,
    pub(crate) memory_mb: i64,
    pub(crate) firmware: String,
    pub(crate) boot: Boot,
    pub(crate) devices: Vec<Device>,
    #[serde(with = "saved::nodes")]
    pub(crate) extra_config: BTreeMap<String, Node>,
    pub(crate) tools_after_power_on: bool,
    pub(crate) created: Timestamp,
    pub(crate) changed: Timestamp,
    pub(crate) version: u64,
    #[serde(with = "saved::power")]
    pub(crate) power: PowerState,
    pub(crate) booted: Option<Timestamp>,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) current_snapshot: Option<Id>,
    pub(crate) customization: Option<Box<Customization>>,
    pub(crate) guest: Box<Guest>,
    /// The task that works on it.
    pub(crate) busy: Option<Id>,
    /// Counts starts and stops: what was planned for an earlier run of the guest is void.
    pub(crate) run: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Boot {
    pub(crate) secure: bool,
    #[serde(with = "saved::boot_order")]
    pub(crate) order: Vec<rookery_vim::specs::BootableDevice>,
}

/// A device beyond those that every VM has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Device {
    pub(crate) key: i32,
    pub(crate) class: String,
    pub(crate) controller: Option<i32>,
    pub(crate) unit: Option<i32>,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum What {
    Controller(Controller),
    Disk(Disk),
    Card(Card),
    Cdrom(Cdrom),
    /// Kept as it came.
    Other(#[serde(with = "saved::node")] Box<Node>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Controller {
    pub(crate) bus: i32,
    /// SCSI controllers have a bus mode and a place of their own on it.
    pub(crate) shared_bus: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Disk {
    pub(crate) datastore: Id,
    pub(crate) capacity_kb: i64,
    pub(crate) thin: bool,
    pub(crate) mode: String,
    #[serde(with = "saved::uuid")]
    pub(crate) uuid: u128,
    /// From the one that is written to, down to the one that everything began with.
    pub(crate) layers: Vec<Layer>,
}

/// One file of a disk. Files with the same name are the same file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layer {
    pub(crate) file: String,
    /// What it takes on its datastore.
    pub(crate) bytes: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Card {
    pub(crate) mac: [u8; 6],
    pub(crate) manual: bool,
    pub(crate) backing: CardBacking,
    pub(crate) connected: bool,
    pub(crate) start_connected: bool,
    pub(crate) wake_on_lan: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum CardBacking {
    Standard { name: String, network: Option<Id> },
    Distributed { portgroup: Id, port: u32 },
    Other(#[serde(with = "saved::node")] Box<Node>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cdrom {
    pub(crate) iso: Option<String>,
    pub(crate) connected: bool,
    pub(crate) start_connected: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) created: Timestamp,
    pub(crate) parent: Option<Id>,
    pub(crate) powered_on: bool,
    /// The files that must stay: layers of each disk at that time.
    pub(crate) layers: Vec<Vec<Layer>>,
}

/// What the guest is told at its next start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Customization {
    pub(crate) host_name: String,
    /// One for each card; none is DHCP.
    pub(crate) cards: Vec<Option<Fixed>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fixed {
    pub(crate) ip: IpAddr,
    pub(crate) prefix: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tools {
    NotInstalled,
    NotRunning,
    Running,
}

/// As vSphere names it, such as `running`.
type State = &'static str;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Guest {
    pub(crate) tools: Tools,
    pub(crate) operations_ready: bool,
    pub(crate) host_name: Option<String>,
    /// By card.
    pub(crate) addresses: Vec<(i32, Vec<IpAddr>)>,
    /// What it was told by its last customization: it keeps that.
    pub(crate) fixed: Option<Box<Customization>>,
    #[serde(with = "saved::guest_state")]
    pub(crate) state: State,
    /// Its user and password, if it is not those of all guests.
    pub(crate) login: Option<crate::settings::Login>,
    /// What an operator of the simulator set by hand, by path.
    #[serde(with = "saved::nodes")]
    pub(crate) overrides: BTreeMap<String, Node>,
}

impl Guest {
    pub(crate) fn off(tools_installed: bool) -> Self {
        Self {
            tools: if tools_installed { Tools::NotRunning } else { Tools::NotInstalled },
            operations_ready: false,
            host_name: None,
            addresses: Vec::new(),
            fixed: None,
            state: "notRunning",
            login: None,
            overrides: BTreeMap::new(),
        }
    }
}

impl Vm {
    pub(crate) fn cards(&self) -> impl Iterator<Item = (&Device, &Card)> {
        self.devices.iter().filter_map(|device| match &device.what {
            What::Card(card) => Some((device, card)),
            What::Controller(_) | What::Disk(_) | What::Cdrom(_) | What::Other(_) => None,
        })
    }

    pub(crate) fn disks(&self) -> impl Iterator<Item = (&Device, &Disk)> {
        self.devices.iter().filter_map(|device| match &device.what {
            What::Disk(disk) => Some((device, disk)),
            What::Controller(_) | What::Card(_) | What::Cdrom(_) | What::Other(_) => None,
        })
    }

    /// Where any of its files are.
    pub(crate) fn datastores(&self) -> BTreeSet<Id> {
        std::iter::once(self.datastore).chain(self.disks().map(|(_, disk)| disk.datastore)).collect()
    }

    pub(crate) fn is_on(&self) -> bool {
        self.power == PowerState::On
    }
}
