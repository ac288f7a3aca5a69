//! Guests: how they start, what they show of themselves, and what runs in them.

mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use jiff::Timestamp;

use crate::event;
use crate::id::Id;
use crate::io::{Reply, Request};
use crate::machine;
use crate::rules;
use crate::store::{Guest, Tools, Vm};
use crate::world::{Timer, World};
pub use programs::Start;
pub(crate) use programs::{Process, exited, list, start, terminate};

/// What guests are doing.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    /// Those that were told who they are at their last start, and have not said that they know.
    pub(crate) customizing: BTreeSet<Id>,
    pub(crate) processes: BTreeMap<Id, Vec<Process>>,
    pub(crate) last_pid: i64,
}

/// How far a guest has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Tools,
    Operations,
    Addresses,
    /// Its tools stop.
    ToolsLost,
    /// It shuts down.
    Down,
}

const SHOWN: [&str; 2] = ["guest", "summary.guest"];

impl Guests {
    pub(crate) fn forget(&mut self, vm: Id) {
        self.customizing.remove(&vm);
        self.processes.remove(&vm);
    }
}

/// The guest of a VM that was powered on begins to start.
pub(crate) fn boot(world: &mut World, id: Id) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    vm.run += 1;
    if vm.guest.tools == Tools::NotInstalled {
        return;
    }
    let run = vm.run;
    let plan = rules::plan(world, id);
    let after = plan.later + world.settings.guests.tools.draw(&mut world.random);
    if !plan.no_tools {
        later(world, id, run, after, Stage::Tools);
    }
    if plan == rules::Plan::default() {
        world.rules.guests.remove(&id);
    } else {
        world.rules.guests.insert(id, plan);
    }
}

fn later(world: &mut World, id: Id, run: u64, after: jiff::SignedDuration, stage: Stage) {
    let when: Timestamp = world.now.saturating_add(after).unwrap_or(world.now);
    world.at(when, Timer::Guest(id, run, stage));
}

/// A guest has come to a stage, if it is still the same run.
pub(crate) fn advance(world: &mut World, id: Id, run: u64, stage: Stage) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    if vm.run != run || !vm.is_on() {
        return;
    }
    let times = world.settings.guests.clone();
    let plan = world.rules.guests.get(&id).cloned().unwrap_or_default();
    match stage {
        Stage::Tools => {
            vm.guest.tools = Tools::Running;
            vm.guest.state = "running";
            let after = times.operations.draw(&mut world.random);
            later(world, id, run, after, Stage::Operations);
            if let Some(after) = plan.loses_tools {
                later(world, id, run, after, Stage::ToolsLost);
            }
        }
        Stage::Operations => {
            vm.guest.operations_ready = !plan.no_operations && vm.guest.tools == Tools::Running;
            let after = times.addresses.draw(&mut world.random);
            later(world, id, run, after, Stage::Addresses);
        }
        Stage::Addresses => {
            // Who has no tools tells nothing.
            if vm.guest.tools != Tools::Running {
                return;
            }
            settle(vm, times.dhcp);
            if plan.no_address {
                vm.guest.addresses.clear();
            }
            if let (Some(wrong), Some((_, addresses))) = (plan.wrong_address, vm.guest.addresses.first_mut())
            {
                *addresses = vec![wrong];
            }
            if vm.guest.host_name.is_none() {
                let name = world.store.name(id).to_owned();
                if let Some(vm) = world.store.vms.get_mut(&id) {
                    vm.guest.host_name = Some(name);
                }
            }
            customized(world, id);
        }
        Stage::ToolsLost => {
            vm.guest.tools = Tools::NotRunning;
            vm.guest.operations_ready = false;
        }
        Stage::Down => {
            machine::guest_stops(world, id);
            return;
        }
    }
    world.store.touch(id, &SHOWN);
}

/// Cards get their addresses: as told, or from DHCP.
fn settle(vm: &mut Vm, dhcp: (Ipv4Addr, u8)) {
    let told = vm.guest.fixed.clone();
    let mut addresses = Vec::new();
    for (nth, (device, card)) in vm.cards().enumerate() {
        let fixed = told.as_ref().and_then(|told| told.cards.get(nth)?.as_ref());
        let ip = fixed.map_or_else(|| IpAddr::V4(leased(card.mac, dhcp)), |fixed| fixed.ip);
        if card.connected {
            addresses.push((device.key, vec![ip]));
        }
    }
    vm.guest.addresses = addresses;
    vm.guest.host_name = told.map(|told| told.host_name.clone());
}

/// The address that a card always gets: the low bits of its MAC within the network.
fn leased(mac: [u8; 6], (network, prefix): (Ipv4Addr, u8)) -> Ipv4Addr {
    let low = u32::from_be_bytes([0, mac[3], mac[4], mac[5]]);
    let hosts = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
    Ipv4Addr::from_bits((network.to_bits() & !hosts) | (low & hosts).max(1))
}

fn customized(world: &mut World, id: Id) {
    if world.guests.customizing.remove(&id) {
        let name = world.store.name(id).to_owned();
        let message = format!(
            "Customization of VM {name} succeeded. Customization log located at /var/log in the guest OS."
        );
        event::record(world, "CustomizationSucceeded", id, "", message);
    }
}

/// The guest of a VM is no more: the power is gone, or it starts again.
pub(crate) fn halt(world: &mut World, id: Id) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    vm.run += 1;
    let fresh = Guest::off(vm.guest.tools != Tools::NotInstalled);
    let before = std::mem::replace(&mut *vm.guest, fresh);
    vm.guest.fixed = before.fixed;
    vm.guest.overrides = before.overrides;
    world.guests.processes.remove(&id);
    world.rules.guests.remove(&id);
    world.store.touch(id, &SHOWN);
}

/// Asks the guest to shut down.
pub(crate) fn shut_down(world: &mut World, id: Id) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    vm.guest.state = "shuttingDown";
    let run = vm.run;
    let after = world.settings.guests.shutdown.draw(&mut world.random);
    world.store.touch(id, &SHOWN);
    later(world, id, run, after, Stage::Down);
}

/// Asks the guest to start again.
pub(crate) fn restart(world: &mut World, id: Id) {
    halt(world, id);
    boot(world, id);
}

/// Files of guests over HTTP.
pub(crate) fn serve_file(_world: &mut World, _request: &Request) -> Reply {
    Reply::plain(404, "there is no such file")
}
