//! Templates: making one, who clones it now, and its linked clones.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rookery_fleet::overlay::Fact;
use rookery_fleet::{MachineId, OwnerId, Role};
use rookery_vim::objects::{ObjectContent, ObjectSpec, PropertyFilterSpec, PropertySpec};
use rookery_vim::{MoRef, Node, Wire as _};
use rookery_vim_client::{
    CallError, OperationError, itself, properties, properties_of, retrieve, through, vm_names,
};

use super::clone_tasks::{has_ended, is_clone};
use super::fresh::Fresh;
use super::{ActError, HEAVY, Hands};
use crate::observe::vm;

pub(super) const DEVICES: &str = "config.hardware.device";
/// The file that a VM is described in: it lies in the VM's own folder.
const HOME: &str = "config.files.vmPathName";
/// How many VMs are looked at in one call: the devices of one are some kilobytes.
pub(super) const AT_ONCE: usize = 100;

/// A clone that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningClone {
    /// What is cloned; none if vCenter does not tell.
    pub template: Option<MachineId>,
    /// The task that does it.
    pub task: String,
    /// Since when, by vCenter's clock; none if it waits for its turn.
    pub started: Option<Timestamp>,
}

/// Whether a template has linked clones: VMs with disks whose parents are its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkedClones {
    #[error("it has no linked clones")]
    None,
    #[error("{0} is a linked clone of it")]
    Vm(MachineId),
    /// vCenter says that its disks are in use, and not by whom.
    #[error("vCenter says that its disks are in use")]
    Unnamed,
    /// For this reason; callers act as if there were some.
    #[error("whether it has linked clones is unknown ({0})")]
    Unknown(String),
}

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Makes a VM of this owner that is off a template, with a snapshot for clones to stand on. That it is one already
    /// is a success.
    pub async fn make_template(
        &self,
        machine: &MachineId,
        owner: &OwnerId,
        snapshot: &str,
    ) -> Result<(), ActError> {
        let action = "make a template of";
        let is_ours_and_off = |fresh: &Fresh<M>| fresh.own(owner).and_then(|_| fresh.is_off());
        self.fresh_if(action, machine, is_ours_and_off).await?;
        let failed = |source| ActError::failed(action, machine, source);
        let id = vm(machine);
        match self.machines.snapshot(&id, snapshot, HEAVY).await {
            // One of that name is looked for first: what was made is not made twice.
            Err(lost) if lost.may_have_happened() && lost.fault().is_none() => {
                self.machines.snapshot(&id, snapshot, HEAVY).await.map_err(failed)?;
            }
            result => drop(result.map_err(failed)?),
        }
        let marked = self.machines.mark_as_template(&id).await;
        let is_one = |fresh: Option<&Fresh<M>>| fresh.is_some_and(|fresh| fresh.role == Role::Template);
        self.outcome(machine, marked, is_one).await.map_err(failed)?;
        self.told(machine, Fact::Role(Role::Template));
        Ok(())
    }

    /// The clones of these templates that have not ended, whoever ordered them.
    pub async fn running_clones(&self, templates: &[MachineId]) -> Result<Vec<RunningClone>, CallError> {
        if templates.is_empty() {
            return Ok(Vec::new());
        }
        let tasks = templates.iter().map(|template| through(vm(template), "recentTask"));
        let spec = spec(properties("Task", &["info"]), tasks.collect());
        Ok(retrieve(&self.client, spec).await?.into_iter().filter_map(running_clone).collect())
    }

    /// Whether disks of other VMs of the datacenter stand on this template's: all of their disks are looked at, now.
    pub async fn linked_clones(&self, template: &MachineId) -> LinkedClones {
        match self.look_at_disks(template).await {
            Ok(clones) => clones,
            Err(error) => LinkedClones::Unknown(rookery_daemon::telemetry::chain(&error)),
        }
    }

    async fn look_at_disks(&self, template: &MachineId) -> Result<LinkedClones, OperationError> {
        // First: what ends after this is in the list.
        if !self.running_clones(std::slice::from_ref(template)).await?.is_empty() {
            return Ok(LinkedClones::Unknown("a clone of it is under way".to_owned()));
        }
        let own = properties_of(&self.client, &vm(template), &[DEVICES, HOME]).await?;
        let home = own.get(HOME).map(|file| folder(&file.text));
        let own: BTreeSet<String> =
            own.get(DEVICES).map(|devices| own_files(devices, home)).unwrap_or_default();
        if own.is_empty() {
            return Ok(LinkedClones::Unknown("vCenter shows no disk of it".to_owned()));
        }
        let all = vm_names(&self.client, &self.grounds.datacenter).await?;
        let others = all.iter().map(|(id, _)| MachineId::new(id.id())).filter(|id| id != template);
        let others: Vec<_> = others.collect();
        let mut hidden = None;
        for some in others.chunks(AT_ONCE) {
            for other in retrieve(&self.client, devices_of(some)).await? {
                let id = MachineId::new(other.obj.id());
                match other.prop_set.iter().find(|property| property.name == DEVICES) {
                    Some(devices) if disk_files(&devices.val).any(|file| own.contains(&file)) => {
                        return Ok(LinkedClones::Vm(id));
                    }
                    Some(_) => {}
                    None => hidden = Some(id),
                }
            }
        }
        let hidden =
            hidden.map(|id| LinkedClones::Unknown(format!("vCenter does not show the disks of {id}")));
        Ok(hidden.unwrap_or(LinkedClones::None))
    }
}

/// One property of these. One that is gone does not cost the others.
fn spec(properties: PropertySpec, object_set: Vec<ObjectSpec>) -> PropertyFilterSpec {
    PropertyFilterSpec { prop_set: vec![properties], object_set, report_missing_objects: Some(true) }
}

/// The devices of these VMs.
pub(super) fn devices_of(machines: &[MachineId]) -> PropertyFilterSpec {
    let vms = machines.iter().map(|machine| itself(vm(machine)));
    spec(properties("VirtualMachine", &[DEVICES]), vms.collect())
}

/// A task, if it clones and has not ended. One of which nothing is told may be a clone.
fn running_clone(task: ObjectContent) -> Option<RunningClone> {
    let id = task.obj.id().to_owned();
    let Some(info) = task.prop_set.into_iter().find(|property| property.name == "info") else {
        return Some(RunningClone { template: None, task: id, started: None });
    };
    let info = info.val;
    let entity = info.child("entity").and_then(|entity| MoRef::from_node(entity.clone()).ok());
    let started = info.child("startTime").and_then(|time| Timestamp::from_node(time.clone()).ok());
    let template = entity.map(|entity| MachineId::new(entity.id()));
    (is_clone(&info) && !has_ended(&info)).then_some(RunningClone { template, task: id, started })
}

/// The files that go with a VM whose own folder is that one. A template may stand on the disks of the image that it was
/// made from, as others do: those stay.
fn own_files(devices: &Node, home: Option<&str>) -> BTreeSet<String> {
    let of_disk = |files: Vec<String>| {
        let top = files.first().map(|file| folder(file).to_owned());
        let is_own = move |file: &String| Some(folder(file)) == top.as_deref() || Some(folder(file)) == home;
        files.into_iter().filter(is_own).collect::<Vec<_>>()
    };
    chains(devices).flat_map(of_disk).collect()
}

/// Where a file lies: `[datastore] folder`.
fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or(file, |(folder, _)| folder)
}

/// The files of all disks, with all that they stand on.
fn disk_files(devices: &Node) -> impl Iterator<Item = String> + '_ {
    chains(devices).flatten()
}

/// The files of each disk, the one that is written to first.
fn chains(devices: &Node) -> impl Iterator<Item = Vec<String>> + '_ {
    let chain = |disk: &'_ Node| {
        let first = disk.child("backing").cloned();
        // Bounded, should a server ever answer with more than any disk has.
        let layers = std::iter::successors(first, |layer| layer.child("parent").cloned()).take(256);
        layers.filter_map(|layer| layer.child_text("fileName").map(str::to_owned)).collect::<Vec<_>>()
    };
    disks(devices).map(chain)
}

pub(super) fn disks(devices: &Node) -> impl Iterator<Item = &Node> {
    devices.children.iter().filter(|device| device.xsi_type.as_deref() == Some("VirtualDisk"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, text: &str) -> Node {
        Node { text: text.to_owned(), ..Node::new(name) }
    }

    #[test]
    fn a_disk_is_followed_down_to_what_it_stands_on() {
        let layer = |name: &str, file: &str, parent: Option<Node>| {
            let mut layer = Node::new(name);
            layer.children = [Some(text("fileName", file)), parent].into_iter().flatten().collect();
            layer
        };
        let base = layer("parent", "[ds] t/t.vmdk", None);
        let backing = layer("backing", "[ds] c/c.vmdk", Some(base));
        let device = |class: &str, backing: Node| Node {
            xsi_type: Some(class.into()),
            children: vec![backing],
            ..Node::new("VirtualDevice")
        };
        let iso = layer("backing", "[ds] x.iso", None);
        let mut devices = Node::new("val");
        devices.children = vec![device("VirtualCdrom", iso), device("VirtualDisk", backing)];
        assert_eq!(disk_files(&devices).collect::<Vec<_>>(), ["[ds] c/c.vmdk", "[ds] t/t.vmdk"]);
        // What c stands on is not its own: t was once taken for a reason to keep c for ever.
        assert_eq!(own_files(&devices, None), BTreeSet::from(["[ds] c/c.vmdk".to_owned()]));
        assert_eq!(own_files(&devices, Some("[ds] t")).len(), 2);
    }

    #[test]
    fn a_clone_that_has_not_ended_is_told_from_other_tasks() {
        let check = |description: &str, state: &str, expected: bool| {
            let mut info = Node::new("val");
            info.children = vec![text("descriptionId", description), text("state", state)];
            let task = ObjectContent {
                obj: MoRef::new("Task", "task-1"),
                prop_set: vec![rookery_vim::objects::DynamicProperty { name: "info".to_owned(), val: info }],
                missing_set: Vec::new(),
            };
            let untold = ObjectContent { prop_set: Vec::new(), ..task.clone() };
            assert!(running_clone(untold).is_some(), "unknown is not ended");
            assert_eq!(running_clone(task).is_some(), expected, "{description} {state}");
        };
        for (state, running) in
            [("queued", true), ("running", true), ("success", false), ("error", false), ("odd", true)]
        {
            check("VirtualMachine.clone", state, running);
            check("VirtualMachine.powerOn", state, false);
        }
    }
}
