//! Snapshots of VMs: which there are, taking them, going back to them, removing them.

use std::time::Duration;

use jiff::Timestamp;
use rookery_vim::methods::{CreateSnapshotTask, RemoveSnapshotTask, RevertToSnapshotTask};
use rookery_vim::objects::PowerState;
use rookery_vim::{FaultKind, MoRef, Node, Wire as _};

use crate::error::CallError;
use crate::machine::{Machines, OperationError};
use crate::properties::property_of;
use crate::tasks::TaskError;

/// A snapshot of a VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmSnapshot {
    pub id: MoRef,
    /// Several snapshots of a VM may have the same one.
    pub name: String,
    pub description: String,
    pub created: Option<Timestamp>,
    /// The power of the VM when it was taken.
    pub power: Option<PowerState>,
    /// The snapshot that it stands on.
    pub parent: Option<MoRef>,
    /// Whether what the VM is now stands on it.
    pub current: bool,
}

impl Machines {
    /// The snapshots of a VM, each behind the one that it stands on.
    pub async fn snapshots(&self, vm: &MoRef) -> Result<Vec<VmSnapshot>, CallError> {
        let info = property_of(&self.client, vm, "snapshot").await?;
        Ok(info.map(|info| snapshots(&info)).unwrap_or_default())
    }

    /// Takes a snapshot of the disks alone, as a base for linked clones. One of that name that is there already will do:
    /// it is what an earlier call made whose answer was lost.
    pub async fn snapshot(
        &self,
        vm: &MoRef,
        name: &str,
        deadline: Duration,
    ) -> Result<MoRef, OperationError> {
        let known = self.snapshots(vm).await?;
        if let Some(existing) = known.into_iter().find(|snapshot| snapshot.name == name) {
            return Ok(existing.id);
        }
        self.take_snapshot(vm, name, deadline).await
    }

    /// The same for a caller who has looked: takes another one of that name.
    pub async fn take_snapshot(
        &self,
        vm: &MoRef,
        name: &str,
        deadline: Duration,
    ) -> Result<MoRef, OperationError> {
        let snapshot = CreateSnapshotTask {
            this: vm.clone(),
            name: name.to_owned(),
            description: None,
            memory: false,
            quiesce: false,
        };
        let (task, result) = self.run_here(&snapshot, deadline).await?;
        result.and_then(|node| MoRef::from_node(node).ok()).ok_or_else(|| {
            TaskError::Unknown { task, why: "vCenter did not say which snapshot it made".to_owned() }.into()
        })
    }

    /// Makes a VM what it was when a snapshot was taken. What it has written since, and no snapshot has kept, is lost.
    pub async fn revert_to_snapshot(
        &self,
        snapshot: &MoRef,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        self.run_here(&RevertToSnapshotTask { this: snapshot.clone() }, deadline).await?;
        Ok(())
    }

    /// Removes a snapshot, and with `children` those that stand on it, too. The VM stays as it is. That the snapshot is gone
    /// already is a success.
    pub async fn remove_snapshot(
        &self,
        snapshot: &MoRef,
        children: bool,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        let call =
            RemoveSnapshotTask { this: snapshot.clone(), remove_children: children, consolidate: None };
        match self.run_here(&call, deadline).await {
            Err(OperationError::Call(error)) if error.is(FaultKind::ManagedObjectNotFound) => Ok(()),
            result => result.map(drop),
        }
    }
}

/// What a `VirtualMachineSnapshotInfo` tells.
pub(crate) fn snapshots(info: &Node) -> Vec<VmSnapshot> {
    let current = info.child("currentSnapshot").and_then(reference);
    let mut found: Vec<VmSnapshot> = Vec::new();
    // Trees are deep where people take a snapshot on each one before: no recursion.
    let mut left: Vec<(&Node, Option<MoRef>)> =
        named(info, "rootSnapshotList").map(|root| (root, None)).collect();
    left.reverse();
    while let Some((tree, parent)) = left.pop() {
        let Some(id) = tree.child("snapshot").and_then(reference) else { continue };
        let mut children: Vec<_> =
            named(tree, "childSnapshotList").map(|child| (child, Some(id.clone()))).collect();
        children.reverse();
        left.append(&mut children);
        let text = |name: &str| tree.child_text(name).unwrap_or_default().to_owned();
        found.push(VmSnapshot {
            name: text("name"),
            description: text("description"),
            created: tree.child("createTime").and_then(|time| Timestamp::from_node(time.clone()).ok()),
            power: tree.child("state").and_then(|state| PowerState::from_node(state.clone()).ok()),
            parent,
            current: current.as_ref() == Some(&id),
            id,
        });
    }
    found
}

fn named<'n>(node: &'n Node, name: &'n str) -> impl DoubleEndedIterator<Item = &'n Node> {
    node.children.iter().filter(move |child| &*child.name == name)
}

fn reference(node: &Node) -> Option<MoRef> {
    MoRef::from_node(node.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(id: &str, children: Vec<Node>) -> Node {
        let leaf = |name: &str, text: &str| Node { text: text.to_owned(), ..Node::new(name) };
        let mut snapshot = leaf("snapshot", id);
        snapshot.ref_type = Some("VirtualMachineSnapshot".into());
        let mut node = Node::new("childSnapshotList");
        node.children = vec![snapshot, leaf("name", &format!("name of {id}"))];
        node.children.extend(children);
        node
    }

    #[test]
    fn each_snapshot_comes_behind_the_one_that_it_stands_on() {
        let mut root = tree("a", vec![tree("b", vec![tree("c", Vec::new())]), tree("d", Vec::new())]);
        root.name = "rootSnapshotList".into();
        let mut info = Node::new("snapshot");
        info.children = vec![root];
        let told: Vec<_> = snapshots(&info)
            .into_iter()
            .map(|one| (one.id.id().to_owned(), one.parent.map(|parent| parent.id().to_owned()), one.current))
            .collect();
        let of = |id: &str, parent: Option<&str>| (id.to_owned(), parent.map(str::to_owned), false);
        assert_eq!(told, [of("a", None), of("b", Some("a")), of("c", Some("b")), of("d", Some("a"))]);
    }
}
