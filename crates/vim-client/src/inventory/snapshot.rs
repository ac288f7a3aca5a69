//! All VMs at one moment, and how much that is worth.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use imbl::ordmap::DiffItem;
use rookery_vim::MoRef;
use tokio::time::Instant;

use super::changes::Rows;
use super::row::Vm;
use crate::error::CallError;
use crate::extra_config::ExtraConfigKey;

/// All VMs at one moment. Immutable; a new one is made for every change.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) vms: Rows,
    /// Which entries of extra configuration its VMs show.
    pub(super) keys: Arc<BTreeSet<ExtraConfigKey>>,
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

/// What has become of a VM between two snapshots.
#[derive(Debug, Clone, Copy)]
pub enum VmChange<'s> {
    /// It is new, or something about it is.
    Is(&'s Arc<Vm>),
    /// It is not there any more.
    Gone(&'s MoRef),
}

impl Snapshot {
    pub(super) fn loading() -> Self {
        Self {
            vms: Rows::new(),
            keys: Arc::default(),
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

    /// What has changed since an older snapshot, or all there is. Rows that say the same as before are no changes.
    pub fn changes_since<'s>(&'s self, older: Option<&'s Self>) -> impl Iterator<Item = VmChange<'s>> {
        let differences = older.map(|older| older.vms.diff(&self.vms));
        let all = older.is_none().then(|| self.vms());
        let change = |difference| match difference {
            DiffItem::Add(_, vm) | DiffItem::Update { new: (_, vm), .. } => VmChange::Is(vm),
            DiffItem::Remove(id, _) => VmChange::Gone(id),
        };
        differences.into_iter().flatten().map(change).chain(all.into_iter().flatten().map(VmChange::Is))
    }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn id(number: u16) -> MoRef {
        MoRef::new("VirtualMachine", &format!("vm-{number}"))
    }

    fn row(number: u16, name: u8) -> Arc<Vm> {
        let mut vm = Vm::new(id(number));
        vm.name = name.to_string();
        Arc::new(vm)
    }

    fn apply<'s>(rows: &mut BTreeMap<MoRef, Arc<Vm>>, changes: impl Iterator<Item = VmChange<'s>>) -> usize {
        let mut count = 0;
        for change in changes {
            count += 1;
            match change {
                VmChange::Is(vm) => drop(rows.insert(vm.id.clone(), Arc::clone(vm))),
                VmChange::Gone(id) => drop(rows.remove(id).expect("it was there")),
            }
        }
        count
    }

    proptest! {
        #[test]
        fn changes_lead_from_an_older_snapshot_to_a_newer_one_and_are_no_more_than_what_differs(
            first in vec((0..3000u16, 0..3u8), 0..1200),
            then in vec((0..3000u16, proptest::option::weighted(0.6, 0..3u8)), 0..300),
        ) {
            let first = first.into_iter().map(|(number, name)| (id(number), row(number, name)));
            let older = Snapshot { vms: first.collect(), ..Snapshot::loading() };
            let mut newer = older.clone();
            for (number, name) in then {
                match name {
                    // Also where it says the same as before.
                    Some(name) => drop(newer.vms.insert(id(number), row(number, name))),
                    None => drop(newer.vms.remove(&id(number))),
                }
            }
            let mut rows = BTreeMap::new();
            prop_assert_eq!(apply(&mut rows, older.changes_since(None)), older.vms.len());
            let old = rows.clone();
            let changes = apply(&mut rows, newer.changes_since(Some(&older)));
            prop_assert_eq!(rows.values().collect::<Vec<_>>(), newer.vms().collect::<Vec<_>>());
            let differing = old.keys().chain(rows.keys()).filter(|id| old.get(*id) != rows.get(*id));
            prop_assert_eq!(changes, differing.collect::<std::collections::BTreeSet<_>>().len());
        }
    }
}
