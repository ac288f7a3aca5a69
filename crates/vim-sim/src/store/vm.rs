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
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum CardBacking {
    Standard(Id),
    Distributed { portgroup: Id, port: u32 },
    Other(#[serde(with = "saved::node")] Box<Node>),
}

impl Card {
    pub(crate) fn network(&self) -> Option<Id> {
        match self.backing {
            CardBacking::Standard(network) => Some(network),
            CardBacking::Distributed { portgroup, .. } => Some(portgroup),
            CardBacking::Other(_) => None,
        }
    }
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
    /// What the VM was like. The files of its disks must stay.
    pub(crate) hardware: Hardware,
}

/// What a snapshot keeps of a VM, and going back to it brings back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hardware {
    guest_id: String,
    annotation: String,
    cpus: i32,
    cores_per_socket: i32,
    memory_mb: i64,
    firmware: String,
    boot: Boot,
    pub(crate) devices: Vec<Device>,
    #[serde(with = "saved::nodes")]
    extra_config: BTreeMap<String, Node>,
}

impl Hardware {
    pub(crate) fn disks(&self) -> impl Iterator<Item = &Disk> {
        disks(&self.devices)
    }
}

/// The customization that the guest applies at its next start.
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
    /// Addresses by the device key of the network card.
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

fn disks(devices: &[Device]) -> impl Iterator<Item = &Disk> {
    devices.iter().filter_map(|device| if let What::Disk(disk) = &device.what { Some(disk) } else { None })
}

fn disks_mut<'d>(devices: impl IntoIterator<Item = &'d mut Device>) -> impl Iterator<Item = &'d mut Disk> {
    let disk =
        |device: &'d mut Device| if let What::Disk(disk) = &mut device.what { Some(disk) } else { None };
    devices.into_iter().filter_map(disk)
}

impl Vm {
    pub(crate) fn cards(&self) -> impl Iterator<Item = (&Device, &Card)> {
        self.devices.iter().filter_map(|device| {
            if let What::Card(card) = &device.what { Some((device, card)) } else { None }
        })
    }

    /// The networks that its cards are in.
    pub(crate) fn networks(&self) -> impl Iterator<Item = Id> {
        self.cards().filter_map(|(_, card)| card.network())
    }

    pub(crate) fn disks(&self) -> impl Iterator<Item = &Disk> {
        disks(&self.devices)
    }

    pub(crate) fn disks_mut(&mut self) -> impl Iterator<Item = &mut Disk> {
        disks_mut(&mut self.devices)
    }

    /// Its disks, and those that its snapshots keep.
    pub(crate) fn all_disks_mut(&mut self) -> impl Iterator<Item = &mut Disk> {
        let kept = self.snapshots.iter_mut().flat_map(|snapshot| &mut snapshot.hardware.devices);
        disks_mut(self.devices.iter_mut().chain(kept))
    }

    pub(crate) fn hardware(&self) -> Hardware {
        Hardware {
            guest_id: self.guest_id.clone(),
            annotation: self.annotation.clone(),
            cpus: self.cpus,
            cores_per_socket: self.cores_per_socket,
            memory_mb: self.memory_mb,
            firmware: self.firmware.clone(),
            boot: self.boot.clone(),
            devices: self.devices.clone(),
            extra_config: self.extra_config.clone(),
        }
    }

    pub(crate) fn restore(&mut self, hardware: Hardware) {
        self.guest_id = hardware.guest_id;
        self.annotation = hardware.annotation;
        self.cpus = hardware.cpus;
        self.cores_per_socket = hardware.cores_per_socket;
        self.memory_mb = hardware.memory_mb;
        self.firmware = hardware.firmware;
        self.boot = hardware.boot;
        self.devices = hardware.devices;
        self.extra_config = hardware.extra_config;
    }

    /// The files of its disks and of its snapshots' disks, with the datastores that they are on.
    pub(crate) fn files(&self) -> Vec<(Id, Vec<Layer>)> {
        let kept = self.snapshots.iter().flat_map(|snapshot| snapshot.hardware.disks());
        self.disks().chain(kept).map(|disk| (disk.datastore, disk.layers.clone())).collect()
    }

    /// Where any of its files are.
    pub(crate) fn datastores(&self) -> BTreeSet<Id> {
        std::iter::once(self.datastore).chain(self.disks().map(|disk| disk.datastore)).collect()
    }

    pub(crate) fn is_on(&self) -> bool {
        self.power == PowerState::On
    }
}
