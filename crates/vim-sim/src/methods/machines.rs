//! VMs.

use rookery_vim::methods::{
    CloneVmTask, CreateSnapshotTask, CreateVmTask, CustomizeVmTask, DestroyTask, MarkAsTemplate,
    MarkAsVirtualMachine, Method, PowerOffVmTask, PowerOnMultiVmTask, PowerOnVmTask, RebootGuest,
    ReconfigVmTask, RemoveAllSnapshotsTask, RemoveSnapshotTask, RenameTask, ResetVmTask,
    RevertToSnapshotTask, ShutdownGuest, SuspendVmTask, UnregisterVm,
};
use rookery_vim::objects::PowerState;
use rookery_vim::{MoRef, Node};

use super::{Tried, existing, this_of};
use crate::id::{Id, Kind};
use crate::machine::{self, Work};
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::span::Span;
use crate::store::Tools;
use crate::task::{self, Title};
use crate::world::World;
use crate::{event, guests};

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Tried {
    let times = world.settings.durations.clone();
    let vm = |world: &World| this_of(world, call, Kind::VirtualMachine);
    Tried::Handled(match call.method.as_str() {
        PowerOnVmTask::NAME => answer::<PowerOnVmTask>(node, |m| {
            let vm = vm(world)?;
            let host = m.host.as_ref().map(|host| existing(world, host)).transpose()?;
            order::<PowerOnVmTask>(
                world,
                call,
                "VirtualMachine.powerOn",
                vm,
                times.power,
                Work::PowerOn { vm, host },
            )
        }),
        PowerOffVmTask::NAME => answer::<PowerOffVmTask>(node, |_| {
            let vm = vm(world)?;
            order::<PowerOffVmTask>(
                world,
                call,
                "VirtualMachine.powerOff",
                vm,
                times.power,
                Work::PowerOff { vm },
            )
        }),
        ResetVmTask::NAME => answer::<ResetVmTask>(node, |_| {
            let vm = vm(world)?;
            order::<ResetVmTask>(world, call, "VirtualMachine.reset", vm, times.power, Work::Reset { vm })
        }),
        SuspendVmTask::NAME => answer::<SuspendVmTask>(node, |_| {
            let vm = vm(world)?;
            order::<SuspendVmTask>(
                world,
                call,
                "VirtualMachine.suspend",
                vm,
                times.power,
                Work::Suspend { vm },
            )
        }),
        PowerOnMultiVmTask::NAME => answer::<PowerOnMultiVmTask>(node, |m| power_on_many(world, call, &m.vm)),
        ShutdownGuest::NAME => answer::<ShutdownGuest>(node, |_| ask_guest(world, call, false)),
        RebootGuest::NAME => answer::<RebootGuest>(node, |_| ask_guest(world, call, true)),
        CreateVmTask::NAME => answer::<CreateVmTask>(node, |m| {
            let folder = this_of(world, call, Kind::Folder)?;
            let pool = existing(world, &m.pool)?;
            let host = m.host.as_ref().map(|host| existing(world, host)).transpose()?;
            let work = Work::Create { folder, spec: Box::new(m.config), pool, host, vm: None };
            order::<CreateVmTask>(world, call, "Folder.createVm", folder, times.create, work)
        }),
        CloneVmTask::NAME => answer::<CloneVmTask>(node, |m| {
            let source = vm(world)?;
            let folder = existing(world, &m.folder)?;
            let work = Work::Clone { source, folder, name: m.name, spec: Box::new(m.spec), vm: None };
            order::<CloneVmTask>(world, call, "VirtualMachine.clone", source, times.clone, work)
        }),
        ReconfigVmTask::NAME => answer::<ReconfigVmTask>(node, |m| {
            let vm = vm(world)?;
            let work = Work::Reconfigure { vm, spec: Box::new(m.spec) };
            order::<ReconfigVmTask>(world, call, "VirtualMachine.reconfigure", vm, times.reconfigure, work)
        }),
        CustomizeVmTask::NAME => answer::<CustomizeVmTask>(node, |m| {
            let vm = vm(world)?;
            let work = Work::Customize { vm, spec: Box::new(m.spec) };
            order::<CustomizeVmTask>(world, call, "VirtualMachine.customize", vm, times.reconfigure, work)
        }),
        RenameTask::NAME => answer::<RenameTask>(node, |m| {
            let entity = existing(world, &call.this)?;
            let work = Work::Rename { entity, name: m.new_name };
            order::<RenameTask>(world, call, "ManagedEntity.rename", entity, times.reconfigure, work)
        }),
        DestroyTask::NAME => answer::<DestroyTask>(node, |_| {
            let entity = existing(world, &call.this)?;
            order::<DestroyTask>(
                world,
                call,
                "VirtualMachine.destroy",
                entity,
                times.destroy,
                Work::Destroy { entity },
            )
        }),
        CreateSnapshotTask::NAME => answer::<CreateSnapshotTask>(node, |m| {
            let vm = vm(world)?;
            let work = Work::Snapshot { vm, name: m.name, description: m.description.unwrap_or_default() };
            order::<CreateSnapshotTask>(
                world,
                call,
                "VirtualMachine.createSnapshot",
                vm,
                times.snapshot,
                work,
            )
        }),
        RemoveSnapshotTask::NAME => answer::<RemoveSnapshotTask>(node, |m| {
            let snapshot = this_of(world, call, Kind::VirtualMachineSnapshot)?;
            let work = Work::RemoveSnapshot { snapshot, with_children: m.remove_children };
            let vm = world.snapshots.get(&snapshot).copied().ok_or_else(|| Refusal::gone(&call.this))?;
            order::<RemoveSnapshotTask>(
                world,
                call,
                "VirtualMachine.removeSnapshot",
                vm,
                times.snapshot,
                work,
            )
        }),
        RemoveAllSnapshotsTask::NAME => answer::<RemoveAllSnapshotsTask>(node, |_| {
            let vm = vm(world)?;
            let work = Work::RemoveAllSnapshots { vm };
            order::<RemoveAllSnapshotsTask>(
                world,
                call,
                "VirtualMachine.removeAllSnapshots",
                vm,
                times.snapshot,
                work,
            )
        }),
        RevertToSnapshotTask::NAME => answer::<RevertToSnapshotTask>(node, |_| {
            let snapshot = this_of(world, call, Kind::VirtualMachineSnapshot)?;
            let vm = world.snapshots.get(&snapshot).copied().ok_or_else(|| Refusal::gone(&call.this))?;
            let work = Work::Revert { snapshot };
            order::<RevertToSnapshotTask>(
                world,
                call,
                "VirtualMachine.revertToSnapshot",
                vm,
                times.snapshot,
                work,
            )
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
            let power = machine::vm_of(world, vm)?.power.clone();
            if power != PowerState::Off {
                return Err(Refusal::power_state(&PowerState::Off, &power));
            }
            machine::unregister(world, vm);
            Ok(())
        }),
        _ => return Tried::Not(node),
    })
}

fn order<M: Method>(
    world: &mut World,
    call: &Call,
    description: &'static str,
    entity: Id,
    duration: Span,
    work: Work,
) -> Result<MoRef, Refusal> {
    let title = Title { name: M::NAME, description };
    Ok(task::start(world, title, entity, &call.user, duration, work).reference())
}

fn ask_guest(world: &mut World, call: &Call, again: bool) -> Result<(), Refusal> {
    let id = this_of(world, call, Kind::VirtualMachine)?;
    let vm = machine::vm_of(world, id)?;
    if vm.power != PowerState::On {
        let requested = if again { PowerState::On } else { PowerState::Off };
        return Err(Refusal::power_state(&requested, &vm.power));
    }
    if vm.guest.tools != Tools::Running {
        return Err(Refusal::new(
            "ToolsUnavailable",
            "Cannot complete operation because VMware Tools is not running in this virtual machine.",
        ));
    }
    let placed = event::placed(world, id);
    let user = call.user.clone();
    if again {
        event::record(world, "VmGuestRebootEvent", id, &user, format!("Guest OS reboot for {placed}"));
        guests::restart(world, id);
    } else {
        event::record(world, "VmGuestShutdownEvent", id, &user, format!("Guest OS shut down for {placed}"));
        guests::shut_down(world, id);
    }
    Ok(())
}

/// Each VM gets a task of its own; this one only says which.
fn power_on_many(world: &mut World, call: &Call, vms: &[MoRef]) -> Result<MoRef, Refusal> {
    let datacenter = this_of(world, call, Kind::Datacenter)?;
    let mut attempted = Vec::new();
    for reference in vms {
        let vm = existing(world, reference)?;
        let work = Work::PowerOn { vm, host: None };
        let power = world.settings.durations.power;
        let task = order::<PowerOnVmTask>(world, call, "VirtualMachine.powerOn", vm, power, work)?;
        attempted.push((reference.clone(), task));
    }
    let work = Work::Report { attempted };
    order::<PowerOnMultiVmTask>(world, call, "Datacenter.powerOnVm", datacenter, Span::ZERO, work)
}
