//! Creating a VM without a source: its specification, whether that is consistent, and the one call that follows.

mod run;
mod spec;

use std::fmt;

use rookery_vim::MoRef;

use crate::cards::NetworkBacking;
use crate::uuid::Uuid;

pub use run::CreateError;

/// A VM as it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateOrder {
    /// Its name as people write it.
    pub name: String,
    /// Where it is filed.
    pub folder: MoRef,
    /// What it runs in.
    pub pool: MoRef,
    /// Which host runs it; vCenter chooses if none is named.
    pub host: Option<MoRef>,
    /// Where its files go: a datastore, or a cluster of them.
    pub datastore: MoRef,
    /// What its guest will be, such as `otherLinux64Guest`.
    pub guest_id: String,
    /// What starts its guest.
    pub firmware: Firmware,
    pub cpus: i32,
    /// How many of them share a socket; vCenter chooses if none is given.
    pub cores_per_socket: Option<i32>,
    pub memory_mb: i64,
    pub annotation: Option<String>,
    /// Settings by name, such as `guestinfo.…`.
    pub extra_config: Vec<(String, String)>,
    /// The UUID that its guest sees, and by which it is known again: with the same one an order may be repeated. A
    /// new one if none is given.
    pub bios_uuid: Option<Uuid>,
    /// The UUID that is unique within vCenter, which gives one if none is given.
    pub instance_uuid: Option<Uuid>,
    /// What its disks are plugged into.
    pub scsi: Option<ScsiController>,
    pub disks: Vec<NewDisk>,
    pub cards: Vec<NewCard>,
    pub cdrom: Option<Cdrom>,
    /// What it tries to start from, in this order; as the firmware pleases if empty.
    pub boot: Vec<BootDevice>,
}

/// What starts a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Firmware {
    #[default]
    Bios,
    Efi {
        /// Whether only signed guests start.
        secure_boot: bool,
    },
}

/// A kind of SCSI controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScsiController {
    /// VMware's own, which all newer guests know.
    #[default]
    Paravirtual,
    /// For guests that do not.
    LsiLogic,
}

/// A disk to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewDisk {
    /// Its size in KiB.
    pub size_kb: i64,
    /// Whether it takes only the space that is written to.
    pub thin: bool,
}

/// A network card to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCard {
    /// What it is connected to.
    pub network: NetworkBacking,
    /// Its class, such as [`NewCard::VMXNET3`].
    pub class: String,
    /// Its MAC address; vCenter gives one if none is given.
    pub mac: Option<String>,
}

impl NewCard {
    /// The class for guests of this century.
    pub const VMXNET3: &str = "VirtualVmxnet3";
}

/// A CD drive to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cdrom {
    /// What it is plugged into.
    pub bus: CdromBus,
    /// The image in it, such as `[datastore] iso/x.iso`.
    pub iso: Option<String>,
}

/// What a CD drive is plugged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CdromBus {
    #[default]
    Ide,
    Sata,
}

/// Something to start from. Disks and cards count from 0 in the order in which they are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootDevice {
    Cdrom,
    /// A disk.
    Disk(usize),
    /// A network card.
    Network(usize),
}

impl fmt::Display for BootDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cdrom => f.write_str("a CD drive"),
            Self::Disk(at) => write!(f, "disk {}", at + 1),
            Self::Network(at) => write!(f, "network card {}", at + 1),
        }
    }
}

/// Why a specification is inconsistent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    #[error("its disks need a SCSI controller")]
    NoController,
    /// There is one controller.
    #[error("its SCSI controller takes {} disks, not {disks}", spec::MOST_DISKS)]
    TooManyDisks { disks: usize },
    #[error("{cpus} CPUs do not fill sockets of {cores} cores")]
    Sockets { cpus: i32, cores: i32 },
    #[error("it cannot start from {device}, which it does not have")]
    BootDevice { device: BootDevice },
}

#[cfg(test)]
mod tests;
