//! Making, changing and removing VMs.

use rookery_vim::Node;
use rookery_vim::methods::{
    CloneVmTask, CreateVmTask, CustomizeVmTask, DestroyTask, MarkAsTemplate, MarkAsVirtualMachine,
    Method as _, ReconfigVmTask, RenameTask, UnregisterVm,
};

use super::{Dispatch, existing, order, this_of};
use crate::id::Kind;
use crate::machine::{self, Work};
use crate::soap::{Call, answer};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    let vm = |world: &World| this_of(world, call, Kind::VirtualMachine);
    Dispatch::Handled(match call.method.as_str() {
        CreateVmTask::NAME => answer::<CreateVmTask>(node, |m| {
            let folder = this_of(world, call, Kind::Folder)?;
            let pool = existing(world, &m.pool)?;
            let host = m.host.as_ref().map(|host| existing(world, host)).transpose()?;
            let work = Work::Create { folder, spec: Box::new(m.config), pool, host, vm: None };
            Ok(order::<CreateVmTask>(world, call, folder, work))
        }),
        CloneVmTask::NAME => answer::<CloneVmTask>(node, |m| {
            let source = vm(world)?;
            let folder = existing(world, &m.folder)?;
            let work = Work::Clone { source, folder, name: m.name, spec: Box::new(m.spec), vm: None };
            Ok(order::<CloneVmTask>(world, call, source, work))
        }),
        ReconfigVmTask::NAME => answer::<ReconfigVmTask>(node, |m| {
            let vm = vm(world)?;
            let work = Work::Reconfigure { vm, spec: Box::new(m.spec) };
            Ok(order::<ReconfigVmTask>(world, call, vm, work))
        }),
        CustomizeVmTask::NAME => answer::<CustomizeVmTask>(node, |m| {
            let vm = vm(world)?;
            let work = Work::Customize { vm, spec: Box::new(m.spec) };
            Ok(order::<CustomizeVmTask>(world, call, vm, work))
        }),
        RenameTask::NAME => answer::<RenameTask>(node, |m| {
            let entity = existing(world, &call.this)?;
            let work = Work::Rename { entity, name: m.new_name };
            Ok(order::<RenameTask>(world, call, entity, work))
        }),
        DestroyTask::NAME => answer::<DestroyTask>(node, |_| {
            let entity = existing(world, &call.this)?;
            Ok(order::<DestroyTask>(world, call, entity, Work::Destroy { entity }))
        }),
        MarkAsTemplate::NAME => answer::<MarkAsTemplate>(node, |_| {
            let vm = vm(world)?;
            machine::mark(world, &call.user, vm, true, None)
        }),
        MarkAsVirtualMachine::NAME => answer::<MarkAsVirtualMachine>(node, |m| {
            let (vm, pool) = (vm(world)?, existing(world, &m.pool)?);
            machine::mark(world, &call.user, vm, false, Some(pool))
        }),
        UnregisterVm::NAME => answer::<UnregisterVm>(node, |_| {
            let vm = vm(world)?;
            machine::unregister(world, vm)
        }),
        _ => return Dispatch::Unknown(node),
    })
}
