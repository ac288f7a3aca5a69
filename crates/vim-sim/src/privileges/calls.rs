//! What a call needs, and whether its caller has it.

use rookery_vim::{MoRef, Node, Wire as _};

use super::table::{On, Row, TABLE};
use super::{config, entity_of, holds, user_sees};
use crate::files::Place;
use crate::id::{Id, Kind};
use crate::properties;
use crate::refusal::Refusal;
use crate::soap::Call;
use crate::world::World;

/// A privilege on an object.
pub(super) type Need = (Id, &'static str);

/// Refuses a call that its caller lacks a privilege for. What a call is about may not be there: whoever answers it says
/// so.
pub(crate) fn check(world: &World, call: &Call, content: &Node) -> Result<(), Refusal> {
    if call.session.is_none() || world.authority.is_open() {
        return Ok(());
    }
    let needs = needs(world, call, content);
    let missing = needs.iter().find(|(on, privilege)| match *privilege {
        // The way to what can be seen can be seen.
        "System.View" => !user_sees(world, &call.user, *on),
        privilege => !holds(world, &call.user, *on, privilege),
    });
    match missing {
        Some((on, privilege)) => Err(Refusal::no_permission(*on, privilege)),
        None => Ok(()),
    }
}

/// All that a call needs, in the order in which it is checked.
fn needs(world: &World, call: &Call, content: &Node) -> Vec<Need> {
    let this = properties::find(world, &call.this);
    let rows = TABLE.iter().filter(|row| row.method == call.method);
    let mut needs: Vec<Need> = rows.flat_map(|row| of_row(world, this, content, row)).collect();
    if let Some(this) = this {
        needs.extend(match call.method.as_str() {
            "CloneVM_Task" => config::clone(world, this, content),
            "CreateVM_Task" => config::create(world, this, content),
            "ReconfigVM_Task" => config::reconfigure(world, this, content),
            "Rename_Task" => {
                let [rename, ..] = by_class(this.kind);
                vec![(this, rename)]
            }
            "Destroy_Task" => destroy(world, this),
            "CancelTask" => cancel(world, call, this),
            "MoveIntoFolder_Task" => moving(world, this, content),
            _ => Vec::new(),
        });
        // Whatever is done to an entity, it must be in sight.
        if needs.is_empty() && this.is_entity() {
            needs.push((this, "System.View"));
        }
    }
    needs
}

fn of_row(world: &World, this: Option<Id>, content: &Node, row: &Row) -> Vec<Need> {
    let on: Vec<Id> = match row.on {
        On::This => this.map(|id| entity_of(world, id)).into_iter().collect(),
        On::Root => vec![world.root],
        On::Parameter(name) => parameters(world, content, name),
        On::Datastore(name) => {
            let place = content.child_text(name).and_then(|path| Place::find(world, path));
            place.map(|place| place.datastore).into_iter().collect()
        }
    };
    on.into_iter().map(|id| (id, row.privilege)).collect()
}

/// What the parameters of that name refer to.
pub(super) fn parameters(world: &World, content: &Node, name: &str) -> Vec<Id> {
    let given = content.children.iter().filter(|child| *child.name == *name);
    given.filter_map(|node| reference(world, node)).collect()
}

pub(super) fn reference(world: &World, node: &Node) -> Option<Id> {
    MoRef::from_node(node.clone()).ok().and_then(|reference| properties::find(world, &reference))
}

/// What renaming, removing and moving an entity of a class needs.
const BY_CLASS: [(Kind, [&str; 3]); 10] = [
    (
        Kind::VirtualMachine,
        ["VirtualMachine.Config.Rename", "VirtualMachine.Inventory.Delete", "VirtualMachine.Inventory.Move"],
    ),
    (Kind::Datacenter, ["Datacenter.Rename", "Datacenter.Delete", "Datacenter.Move"]),
    (Kind::Datastore, ["Datastore.Rename", "Datastore.Delete", "Datastore.Move"]),
    (Kind::ResourcePool, ["Resource.RenamePool", "Resource.DeletePool", "Resource.MovePool"]),
    (
        Kind::ClusterComputeResource,
        ["Host.Inventory.RenameCluster", "Host.Inventory.DeleteCluster", "Host.Inventory.MoveCluster"],
    ),
    (
        Kind::ComputeResource,
        ["Host.Inventory.RenameCluster", "Host.Inventory.RemoveHostFromCluster", "Host.Inventory.MoveHost"],
    ),
    (
        Kind::HostSystem,
        ["Host.Config.Connection", "Host.Inventory.RemoveHostFromCluster", "Host.Inventory.MoveHost"],
    ),
    (Kind::Network, ["Network.Config", "Network.Delete", "Network.Move"]),
    (Kind::DistributedVirtualPortgroup, ["DVPortgroup.Modify", "DVPortgroup.Delete", "Network.Move"]),
    (Kind::VmwareDistributedVirtualSwitch, ["DVSwitch.Modify", "DVSwitch.Delete", "DVSwitch.Move"]),
];

fn by_class(kind: Kind) -> [&'static str; 3] {
    let row = BY_CLASS.iter().find(|(class, _)| *class == kind);
    row.map_or(["Folder.Rename", "Folder.Delete", "Folder.Move"], |(_, privileges)| *privileges)
}

/// Everybody may cancel what they started.
fn cancel(world: &World, call: &Call, task: Id) -> Vec<Need> {
    let others = world.tasks.get(task).filter(|task| task.user != call.user);
    others.map(|_| (entity_of(world, task), "Global.CancelTask")).into_iter().collect()
}

/// A folder is removed from the one above.
fn destroy(world: &World, this: Id) -> Vec<Need> {
    let [_, delete, _] = by_class(this.kind);
    let above = world.store.parent(this).filter(|_| this.kind == Kind::Folder);
    [Some(this), above].into_iter().flatten().map(|id| (id, delete)).collect()
}

/// What is moved, and where it goes.
fn moving(world: &World, target: Id, content: &Node) -> Vec<Need> {
    let moved = parameters(world, content, "list").into_iter();
    let needs = moved.flat_map(|id| {
        let [_, _, moving] = by_class(id.kind);
        [(id, moving), (target, moving)]
    });
    needs.collect()
}
