//! What can be done to VMs, snapshots and hosts.

use rookery_vim::methods::{self as vim, Method as _};
use rookery_vim::objects::PowerState;

use super::{Methods, existing, existing_if_any, this_of};
use crate::id::{Id, Kind};
use crate::machine::{self, Work};
use crate::refusal::Refusal;
use crate::soap::Call;
use crate::store::Tools;
use crate::world::World;
use crate::{event, guests, task};

pub(super) fn add(all: &mut Methods) {
    all.order(|world, call, m: vim::CreateVmTask| {
        let folder = this_of(world, call, Kind::Folder)?;
        let pool = existing(world, &m.pool)?;
        let host = existing_if_any(world, m.host.as_ref())?;
        Ok((folder, Work::Create { folder, spec: Box::new(m.config), pool, host, vm: None }))
    });
    all.order(|world, call, m: vim::CloneVmTask| {
        let (source, folder) = (vm(world, call)?, existing(world, &m.folder)?);
        Ok((source, Work::Clone { source, folder, name: m.name, spec: Box::new(m.spec), vm: None }))
    });
    all.order_for_vm(|vm, m: vim::ReconfigVmTask| Work::Reconfigure { vm, spec: Box::new(m.spec) });
    all.order_for_vm(|vm, m: vim::CustomizeVmTask| Work::Customize { vm, spec: Box::new(m.spec) });
    all.order(|world, call, m: vim::RenameTask| {
        let entity = existing(world, &call.this)?;
        Ok((entity, Work::Rename { entity, name: m.new_name }))
    });
    all.order(|world, call, _: vim::DestroyTask| {
        let entity = existing(world, &call.this)?;
        Ok((entity, Work::Destroy { entity }))
    });
    all.answer(|world, call, _: vim::MarkAsTemplate| {
        let vm = vm(world, call)?;
        machine::mark(world, &call.user, vm, true, None)
    });
    all.answer(|world, call, m: vim::MarkAsVirtualMachine| {
        let (vm, pool) = (vm(world, call)?, existing(world, &m.pool)?);
        machine::mark(world, &call.user, vm, false, Some(pool))
    });
    all.answer(|world, call, _: vim::UnregisterVm| {
        let vm = vm(world, call)?;
        machine::unregister(world, vm)
    });
    add_power(all);
    add_snapshots(all);
    all.order(|world, call, _: vim::DisconnectHostTask| {
        let host = this_of(world, call, Kind::HostSystem)?;
        Ok((host, Work::Disconnect { host }))
    });
    all.order(|world, call, _: vim::ReconnectHostTask| {
        let host = this_of(world, call, Kind::HostSystem)?;
        Ok((host, Work::Reconnect { host }))
    });
}

fn vm(world: &World, call: &Call) -> Result<Id, Refusal> {
    this_of(world, call, Kind::VirtualMachine)
}

fn add_power(all: &mut Methods) {
    all.order(|world, call, m: vim::PowerOnVmTask| {
        let (vm, host) = (vm(world, call)?, existing_if_any(world, m.host.as_ref())?);
        Ok((vm, Work::PowerOn { vm, host }))
    });
    all.order_for_vm(|vm, _: vim::PowerOffVmTask| Work::PowerOff { vm });
    all.order_for_vm(|vm, _: vim::ResetVmTask| Work::Reset { vm });
    all.order_for_vm(|vm, _: vim::SuspendVmTask| Work::Suspend { vm });
    // Each VM gets a task of its own; this one only says which.
    all.order(|world, call, m: vim::PowerOnMultiVmTask| {
        let datacenter = this_of(world, call, Kind::Datacenter)?;
        let mut attempted = Vec::new();
        for reference in m.vm {
            let vm = existing(world, &reference)?;
            let work = Work::PowerOn { vm, host: None };
            let task = task::start(world, vim::PowerOnVmTask::NAME, vm, &call.user, work);
            attempted.push((reference, task.reference()));
        }
        Ok((datacenter, Work::Report { attempted }))
    });
    all.answer(|world, call, _: vim::ShutdownGuest| {
        let id = ask_guest(world, call, &PowerState::Off, "VmGuestShutdownEvent", "Guest OS shut down for")?;
        guests::shut_down(world, id);
        Ok(())
    });
    all.answer(|world, call, _: vim::RebootGuest| {
        let id = ask_guest(world, call, &PowerState::On, "VmGuestRebootEvent", "Guest OS reboot for")?;
        guests::restart(world, id);
        Ok(())
    });
}

/// The VM whose guest can be asked to go down, of which there is an event then.
fn ask_guest(
    world: &mut World,
    call: &Call,
    requested: &PowerState,
    class: &'static str,
    words: &str,
) -> Result<Id, Refusal> {
    let id = vm(world, call)?;
    let vm = machine::vm_of(world, id)?;
    if vm.power != PowerState::On {
        return Err(Refusal::power_state(requested, &vm.power));
    }
    if vm.guest.tools != Tools::Running {
        return Err(Refusal::new(
            "ToolsUnavailable",
            "Cannot complete operation because VMware Tools is not running in this virtual machine.",
        ));
    }
    event::record_placed(world, class, id, &call.user, |vm| format!("{words} {vm}"));
    Ok(id)
}

fn add_snapshots(all: &mut Methods) {
    all.order_for_vm(|vm, m: vim::CreateSnapshotTask| Work::Snapshot {
        vm,
        name: m.name,
        description: m.description.unwrap_or_default(),
    });
    all.order(|world, call, m: vim::RemoveSnapshotTask| {
        let (snapshot, vm) = snapshot(world, call)?;
        Ok((vm, Work::RemoveSnapshot { snapshot, vm, with_children: m.remove_children }))
    });
    all.order_for_vm(|vm, _: vim::RemoveAllSnapshotsTask| Work::RemoveAllSnapshots { vm });
    all.order(|world, call, _: vim::RevertToSnapshotTask| {
        let (snapshot, vm) = snapshot(world, call)?;
        Ok((vm, Work::Revert { snapshot, vm }))
    });
}

/// The snapshot that a call was made on, and the VM that it is of.
fn snapshot(world: &World, call: &Call) -> Result<(Id, Id), Refusal> {
    let snapshot = this_of(world, call, Kind::VirtualMachineSnapshot)?;
    Ok((snapshot, machine::owner_of_snapshot(world, snapshot)?))
}
