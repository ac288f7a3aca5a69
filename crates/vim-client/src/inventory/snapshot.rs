//! All VMs at one moment, and how much that is worth.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rookery_vim::MoRef;
use tokio::time::Instant;

use super::row::Vm;
use crate::error::CallError;

/// All VMs at one moment. Immutable; a new one is made for every change.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) vms: Arc<BTreeMap<MoRef, Arc<Vm>>>,
    pub(super) completeness: Completeness,
    /// Why the server cannot be heard at present; also set while the first load fails.
    pub(super) trouble: Option<CallError>,
    pub(super) confirmed: Instant,
    pub(super) revision: u64,
}

/// Whether a snapshot holds every VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completeness {
    /// The first load is not finished: VMs may be missing.
    Loading,
    /// Every VM is here, as the server told at the time of the last confirmation.
    Complete,
    /// It was complete once; since then the server could not be heard, for this reason.
    Stale(String),
}

impl Snapshot {
    pub(super) fn loading() -> Self {
        Self {
            vms: Arc::default(),
            completeness: Completeness::Loading,
            trouble: None,
            confirmed: Instant::now(),
            revision: 0,
        }
    }

    /// All VMs, by reference.
    pub fn vms(&self) -> impl ExactSizeIterator<Item = &Arc<Vm>> {
        self.vms.values()
    }

    /// One VM.
    pub fn get(&self, id: &MoRef) -> Option<&Arc<Vm>> {
        self.vms.get(id)
    }

    /// The VMs of that name; in different folders there may be several.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arc<Vm>> {
        self.vms.values().filter(move |vm| vm.name == name)
    }

    /// Whether the absence of a VM means anything.
    pub fn is_complete(&self) -> bool {
        self.completeness == Completeness::Complete
    }

    /// Whether, and if not why not, every VM is here.
    pub fn completeness(&self) -> &Completeness {
        &self.completeness
    }

    /// Why the server cannot be heard at present. The inventory goes on trying whatever the reason is.
    pub fn trouble(&self) -> Option<&CallError> {
        self.trouble.as_ref()
    }

    /// How long ago the server last confirmed it.
    pub fn age(&self) -> Duration {
        self.confirmed.elapsed()
    }

    /// Grows with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}
