//! Power.

use rookery_vim::objects::PowerState;
use rookery_vim::{MoRef, Writer};

use super::{compute, customize, vm_mut, vm_of};
use crate::id::Id;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{event, guests};

const CHANGED: [&str; 6] = [
    "runtime.powerState",
    "runtime.bootTime",
    "runtime.cleanPowerOff",
    "summary.runtime",
    "summary.quickStats",
    "guestHeartbeatStatus",
];

pub(super) fn expect_not(world: &World, id: Id, unwanted: &PowerState) -> Result<(), Refusal> {
    let vm = vm_of(world, id)?;
    if vm.power == *unwanted { Err(Refusal::power_state(unwanted, &vm.power)) } else { Ok(()) }
}

pub(super) fn expect_on(world: &World, id: Id, requested: &PowerState) -> Result<(), Refusal> {
    let vm = vm_of(world, id)?;
    if vm.power == PowerState::On { Ok(()) } else { Err(Refusal::power_state(requested, &vm.power)) }
}

pub(super) fn begin_on(world: &mut World, id: Id, host: Option<Id>, user: &str) -> Result<(), Refusal> {
    let vm = vm_of(world, id)?;
    if vm.template {
        return Err(Refusal::not_supported());
    }
    if vm.power == PowerState::On {
        return Err(Refusal::power_state(&PowerState::On, &vm.power));
    }
    let Some(pool) = vm.pool else { return Err(Refusal::not_supported()) };
    let asked = host.map(|host| compute::host_for(world, pool, host, "host")).transpose()?;
    let target = match asked.or(vm.host).filter(|host| compute::is_usable(world, pool, *host)) {
        Some(host) => host,
        None => compute::choose_host(world, pool)?,
    };
    if vm.host != Some(target) {
        compute::join_host(world, id, target);
    }
    if let Err(refusal) = take_or_move(world, id, pool, target) {
        let failure = |vm| format!("Failed to power on {vm}. {}", refusal.message);
        event::record_placed(world, "VmFailedToPowerOnEvent", id, user, failure);
        return Err(refusal);
    }
    event::record_placed(world, "VmStartingEvent", id, user, |vm| format!("{vm} is starting"));
    Ok(())
}

/// Reserves capacity on the VM's host, or else on the host of its cluster that has most.
fn take_or_move(world: &mut World, id: Id, pool: Id, host: Id) -> Result<(), Refusal> {
    let Err(refusal) = compute::reserve(world, id) else { return Ok(()) };
    let other = compute::choose_host(world, pool)?;
    if other == host {
        return Err(refusal);
    }
    compute::join_host(world, id, other);
    compute::reserve(world, id)
}

pub(super) fn finish_on(world: &mut World, id: Id, user: &str) -> Result<(), Refusal> {
    let now = world.now;
    let resumed = vm_of(world, id)?.power == PowerState::Suspended;
    let vm = vm_mut(world, id)?;
    vm.power = PowerState::On;
    if !resumed {
        vm.booted = Some(now);
    }
    world.store.touch(id, &CHANGED);
    event::record_placed(world, "VmPoweredOnEvent", id, user, |vm| format!("{vm} is powered on"));
    customize::at_power_on(world, id, user);
    guests::boot(world, id);
    if !resumed {
        guests::announce_boot(world, id);
    }
    Ok(())
}

pub(super) fn off(world: &mut World, id: Id, user: &str) -> Result<(), Refusal> {
    expect_not(world, id, &PowerState::Off)?;
    event::record_placed(world, "VmStoppingEvent", id, user, |vm| format!("{vm} is stopping"));
    power_off_now(world, id, user);
    Ok(())
}

/// Takes the power from a VM, whatever it does.
pub(crate) fn power_off_now(world: &mut World, id: Id, user: &str) {
    if compute::is_running(world, id) {
        compute::release(world, id);
    }
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    vm.power = PowerState::Off;
    vm.booted = None;
    world.store.touch(id, &CHANGED);
    guests::halt(world, id);
    event::record_placed(world, "VmPoweredOffEvent", id, user, |vm| format!("{vm} is powered off"));
}

/// The guest of a VM has stopped by itself.
pub(crate) fn guest_stops(world: &mut World, id: Id) {
    if compute::is_running(world, id) {
        power_off_now(world, id, "");
    }
}

pub(super) fn reset(world: &mut World, id: Id, user: &str) -> Result<(), Refusal> {
    expect_on(world, id, &PowerState::On)?;
    event::record_placed(world, "VmResettingEvent", id, user, |vm| format!("{vm} is reset"));
    let now = world.now;
    vm_mut(world, id)?.booted = Some(now);
    guests::restart(world, id);
    world.store.touch(id, &CHANGED);
    Ok(())
}

pub(super) fn suspend(world: &mut World, id: Id, user: &str) -> Result<(), Refusal> {
    expect_on(world, id, &PowerState::Suspended)?;
    compute::release(world, id);
    vm_mut(world, id)?.power = PowerState::Suspended;
    world.store.touch(id, &CHANGED);
    guests::halt(world, id);
    event::record_placed(world, "VmSuspendedEvent", id, user, |vm| format!("{vm} is suspended"));
    Ok(())
}

/// A VM that was started elsewhere boots.
pub(crate) fn guest_starts(world: &mut World, id: Id) {
    let now = world.now;
    if let Some(vm) = world.store.vms.get_mut(&id) {
        vm.booted = Some(now);
    }
    world.store.touch(id, &CHANGED);
    guests::boot(world, id);
}

/// Gives back what powering on took before it came to its end.
pub(super) fn abandon_on(world: &mut World, id: Id) {
    if !compute::is_running(world, id) {
        compute::release(world, id);
    }
}

/// A VM of the model is on from the beginning.
pub(crate) fn switch_on(world: &mut World, id: Id) -> Result<(), Refusal> {
    begin_on(world, id, None, "")?;
    finish_on(world, id, "")
}

/// Which task powers on which VM: all that the task for many VMs has to say.
pub(super) fn report(attempted: &[(MoRef, MoRef)]) -> String {
    let mut out = Writer::new();
    out.open("result", Some("ClusterPowerOnVmResult"));
    for (vm, task) in attempted {
        out.open("attempted", None);
        out.reference("vm", None, vm);
        out.reference("task", None, task);
        out.close("attempted");
    }
    out.close("result");
    out.into_string()
}
