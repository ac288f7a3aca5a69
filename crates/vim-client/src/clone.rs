//! Cloning: what is wanted, what the source is like, and the one call that follows from both.

mod given_up;
mod guest;
mod run;
mod spec;

use rookery_vim::{MoRef, Node};

use crate::cards::NetworkBacking;
use crate::machine::Change;

pub(crate) use given_up::Ordered;
pub use given_up::{GivenUp, UnfinishedClone};
pub use run::CloneError;

/// A clone as it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneOrder {
    /// The template or VM to copy.
    pub source: MoRef,
    /// The new VM's name as people write it. It must be unique: after a lost answer it is how the VM is found again.
    pub name: String,
    /// Where it is filed.
    pub folder: MoRef,
    /// What it runs in; a template has no pool to inherit.
    pub pool: MoRef,
    /// Which host runs it; vCenter chooses if none is named.
    pub host: Option<MoRef>,
    /// Where its disks go, a datastore or a cluster of them; with the source's if none is named.
    pub datastore: Option<MoRef>,
    /// How its disks are made.
    pub disks: DiskMove,
    /// What its first card is connected to; as the source's if none is named.
    pub network: Option<NetworkBacking>,
    /// Another class for its first card, such as `VirtualVmxnet3`; the source's own if none is named.
    pub card_class: Option<String>,
    /// The least size of its first disk. A smaller one is enlarged; then all disks are copied, whatever [`Self::disks`]
    /// says: a disk that stands on another one cannot grow. A larger one stays as it is.
    pub first_disk_kb: Option<i64>,
    /// Notes, hardware and settings that differ from the source's. The name in here is not used.
    pub change: Change,
    /// How its guest is set up.
    pub guest: GuestSetup,
    /// Whether it starts at once.
    pub power_on: bool,
}

/// How the disks of a clone are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiskMove {
    /// As children of the source's snapshot where there is one within reach, which takes seconds; else as
    /// [`Self::ChildMost`].
    #[default]
    Auto,
    /// By copying what the newest layer of the source holds; a flat disk is copied whole.
    ChildMost,
}

/// How a guest is set up when it first starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestSetup {
    /// It keeps the settings of its source.
    AsIs,
    /// As Linux, named after the VM.
    Linux {
        /// The address of the first card; DHCP if none is given. All other cards use DHCP.
        address: Option<FixedAddress>,
        dns: Vec<String>,
        /// The domain; may be empty.
        domain: String,
    },
}

/// An address that is given out, not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedAddress {
    pub ip: String,
    /// The mask of its network, such as `255.255.255.0`.
    pub mask: String,
    pub gateway: Option<String>,
}

/// What must be known of the source.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Source {
    devices: Vec<Node>,
    /// The snapshot that its disks stand on.
    snapshot: Option<MoRef>,
    datastores: Vec<MoRef>,
}

#[cfg(test)]
mod tests;
