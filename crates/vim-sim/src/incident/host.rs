//! Hosts fail and come back.

use rookery_vim::objects::PowerState;

use crate::id::Id;
use crate::world::World;
use crate::{event, guests, machine};

const HOST: [&str; 3] = ["runtime", "summary.runtime", "summary.overallStatus"];
const COMPUTE: [&str; 1] = ["summary"];
const VM: [&str; 2] = ["runtime.connectionState", "summary.runtime"];

pub(super) fn down(world: &mut World, id: Id, restart_vms: bool) {
    let Some(host) = world.store.hosts.get_mut(&id) else { return };
    if !host.connected {
        return;
    }
    host.connected = false;
    touch(world, id);
    for vm in vms(world, id) {
        let Some(found) = world.store.vms.get(&vm) else { continue };
        if found.power != PowerState::On {
            // A VM whose task has reserved capacity here stays, and the task fails.
            if restart_vms && found.busy.is_none() {
                machine::move_idle(world, vm);
            }
            continue;
        }
        guests::halt(world, vm);
        if restart_vms && machine::move_running(world, vm) {
            let message = |vm| format!("Virtual machine {vm} was restarted since its host failed");
            event::record_placed(world, "VmRestartedOnAlternateHostEvent", vm, "", message);
            machine::guest_starts(world, vm);
        }
    }
}

pub(super) fn up(world: &mut World, id: Id) {
    let now = world.now;
    let Some(host) = world.store.hosts.get_mut(&id) else { return };
    if host.connected || host.disconnected_by_user {
        return;
    }
    host.connected = true;
    host.boot_time = now;
    touch(world, id);
    for vm in vms(world, id) {
        if world.store.vms.get(&vm).is_some_and(|vm| vm.power == PowerState::On) {
            machine::power_off_now(world, vm, "");
        }
    }
}

pub(super) fn maintenance(world: &mut World, id: Id, on: bool) {
    let Some(host) = world.store.hosts.get_mut(&id) else { return };
    if host.in_maintenance == on {
        return;
    }
    host.in_maintenance = on;
    touch(world, id);
    if !on {
        return;
    }
    for vm in vms(world, id) {
        let running = world.store.vms.get(&vm).is_some_and(|vm| vm.power == PowerState::On);
        if running && machine::move_running(world, vm) {
            event::record_placed(world, "VmMigratedEvent", vm, "", |vm| format!("Migrated {vm}"));
        }
    }
}

fn vms(world: &World, host: Id) -> Vec<Id> {
    world.store.hosts.get(&host).map(|host| host.vms.iter().copied().collect()).unwrap_or_default()
}

/// Marks the properties of the host, its cluster and its VMs as changed.
pub(crate) fn touch(world: &mut World, id: Id) {
    world.store.touch(id, &HOST);
    if let Some(compute) = world.store.parent(id) {
        world.store.touch(compute, &COMPUTE);
    }
    for vm in vms(world, id) {
        world.store.touch(vm, &VM);
    }
}
