//! Power, and what a guest is asked to do about it.

use rookery_vim::methods::{
    Method as _, PowerOffVmTask, PowerOnMultiVmTask, PowerOnVmTask, RebootGuest, ResetVmTask, ShutdownGuest,
    SuspendVmTask,
};
use rookery_vim::objects::PowerState;
use rookery_vim::{MoRef, Node};

use super::{Dispatch, existing, order, this_of};
use crate::id::Kind;
use crate::machine::{self, Work};
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::store::Tools;
use crate::world::World;
use crate::{event, guests};

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    let vm = |world: &World| this_of(world, call, Kind::VirtualMachine);
    Dispatch::Handled(match call.method.as_str() {
        PowerOnVmTask::NAME => answer::<PowerOnVmTask>(node, |m| {
            let vm = vm(world)?;
            let host = m.host.as_ref().map(|host| existing(world, host)).transpose()?;
            Ok(order::<PowerOnVmTask>(world, call, vm, Work::PowerOn { vm, host }))
        }),
        PowerOffVmTask::NAME => answer::<PowerOffVmTask>(node, |_| {
            let vm = vm(world)?;
            Ok(order::<PowerOffVmTask>(world, call, vm, Work::PowerOff { vm }))
        }),
        ResetVmTask::NAME => answer::<ResetVmTask>(node, |_| {
            let vm = vm(world)?;
            Ok(order::<ResetVmTask>(world, call, vm, Work::Reset { vm }))
        }),
        SuspendVmTask::NAME => answer::<SuspendVmTask>(node, |_| {
            let vm = vm(world)?;
            Ok(order::<SuspendVmTask>(world, call, vm, Work::Suspend { vm }))
        }),
        PowerOnMultiVmTask::NAME => answer::<PowerOnMultiVmTask>(node, |m| power_on_many(world, call, &m.vm)),
        ShutdownGuest::NAME => answer::<ShutdownGuest>(node, |_| ask_guest(world, call, false)),
        RebootGuest::NAME => answer::<RebootGuest>(node, |_| ask_guest(world, call, true)),
        _ => return Dispatch::Unknown(node),
    })
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
        let task = order::<PowerOnVmTask>(world, call, vm, Work::PowerOn { vm, host: None });
        attempted.push((reference.clone(), task));
    }
    Ok(order::<PowerOnMultiVmTask>(world, call, datacenter, Work::Report { attempted }))
}
