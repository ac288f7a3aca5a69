//! Guests: how they start, what they show of themselves, and what runs in them.

mod files;
mod programs;
mod rules;
mod shell;
mod transfer;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use rookery_sim::{RequestId, glob};
use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::io::{Effect, Notice, Reply};
use crate::methods::{FileCall, file_answer};
use crate::rules as vcenter_rules;
use crate::settings::Login;
use crate::store::{Guest, Tools, Vm, What};
use crate::world::{Timer, World};
use crate::{event, machine};
pub use files::{Attributes, Content, FileAnswer, FileJob, FileKind, FileOp, FileSeen, FileTrouble};
pub(crate) use files::{clean, perform};
pub use programs::Start;
pub(crate) use programs::{
    Process, asked_for_power, end, end_all, environment, exited, finish, list, start, terminate,
};
pub use rules::ProgramRule;
pub(crate) use transfer::{Transfer, What as TransferWhat, offer, serve as serve_file};
use tree::Tree;

/// What a guest does to its own machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestPower {
    Off,
    Reboot,
}

/// What guests are doing.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    /// Those that were told who they are at their last start, and have not said that they know.
    pub(crate) customizing: BTreeSet<Id>,
    pub(crate) processes: BTreeMap<Id, Vec<Process>>,
    pub(crate) last_pid: i64,
    trees: BTreeMap<Id, Tree>,
    /// Transfers that were offered, with their tokens.
    transfers: BTreeMap<u64, (String, Transfer)>,
    last_transfer: u64,
    /// Requests that wait for file operations of the shell.
    pending: BTreeMap<RequestId, PendingReply>,
}

/// The reply that waits for the shell's answer about a file.
#[derive(Debug)]
pub(crate) enum PendingReply {
    Call(FileCall),
    /// Over HTTP; with what was uploaded, which then is no longer needed.
    Transfer(Option<u64>),
}

/// How far a guest has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Tools,
    Operations,
    Addresses,
    /// VMware Tools stop.
    ToolsLost,
    Down,
}

const SHOWN: [&str; 4] = ["guest", "summary.guest", "guestHeartbeatStatus", "summary.quickStats"];

impl Guests {
    /// Remembers what to do when the shell has done what a call asks.
    pub(crate) fn wait_for_file(&mut self, request: RequestId, call: FileCall) {
        self.pending.insert(request, PendingReply::Call(call));
    }

    /// The client no longer waits for this answer.
    pub(crate) fn forget_request(&mut self, request: RequestId) {
        if let Some(PendingReply::Call(_)) = self.pending.get(&request) {
            self.pending.remove(&request);
        }
    }
}

/// A VM is no more.
pub(crate) fn forget(world: &mut World, vm: Id) {
    world.guests.customizing.remove(&vm);
    world.guests.processes.remove(&vm);
    for blob in world.guests.trees.remove(&vm).map(Tree::clear).unwrap_or_default() {
        world.effect(Effect::Discard(blob));
    }
    if world.settings.allow_local_exec {
        world.effect(Effect::Erase(vm));
    }
}

/// A clone begins with the files of what it was made from, and with its users.
pub(crate) fn inherit(world: &mut World, from: Id, to: Id) {
    if let Some(tree) = world.guests.trees.get(&from).cloned() {
        world.guests.trees.insert(to, tree);
    }
    let login = own_login(world, from).cloned();
    if let Some(vm) = world.store.vms.get_mut(&to) {
        vm.guest.login = login;
    }
}

/// The user and password of a guest; anybody's if none is named.
pub(crate) fn login(world: &World, vm: Id) -> Option<&Login> {
    own_login(world, vm).or(world.settings.guest_login.as_ref())
}

/// What is said of this guest, and not of all.
fn own_login(world: &World, vm: Id) -> Option<&Login> {
    let name = world.store.name(vm);
    let named = world.settings.guest_logins.iter().find(|(pattern, _)| glob::matches(pattern, name));
    named.map(|(_, login)| login).or_else(|| world.store.vms.get(&vm)?.guest.login.as_ref())
}

/// Where a user lives.
pub(crate) fn home(user: &str) -> String {
    if user == "root" { "/root".to_owned() } else { format!("/home/{}", user.replace(['/', '\0'], "_")) }
}

/// The shell has done something to a file.
pub(crate) fn file_done(world: &mut World, request: RequestId, result: Result<FileAnswer, FileTrouble>) {
    let result = result.map_err(Into::into);
    let reply: Reply = match world.guests.pending.remove(&request) {
        None => return,
        Some(PendingReply::Call(call)) => file_answer(world, call, result),
        Some(PendingReply::Transfer(uploaded)) => {
            if let Some(blob) = uploaded {
                world.effect(Effect::Discard(blob));
            }
            transfer::reply(result)
        }
    };
    world.reply(request, reply);
}

/// Sends a notice that a VM starts, with what is in its CD drive.
pub(crate) fn announce_boot(world: &mut World, id: Id) {
    let Some(vm) = world.store.vms.get(&id) else { return };
    let iso = vm.devices.iter().find_map(|device| {
        let What::Cdrom(drive) = &device.what else { return None };
        drive.iso.clone().filter(|_| drive.connected || drive.start_connected)
    });
    let name = world.store.name(id).to_owned();
    world.effect(Effect::Notice(Notice::Booted { vm: id, name, iso }));
}

/// A guest does something to its own machine.
fn power(world: &mut World, id: Id, what: GuestPower) {
    match what {
        GuestPower::Off => shut_down(world, id),
        GuestPower::Reboot => restart(world, id),
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
    let plan = vcenter_rules::plan(world, id);
    let after = plan.later + world.settings.guests.tools.draw(&mut world.random);
    if !plan.no_tools {
        world.after(after, Timer::Guest(id, run, Stage::Tools));
    }
    if plan == vcenter_rules::Plan::default() {
        world.rules.guests.remove(&id);
    } else {
        world.rules.guests.insert(id, plan);
    }
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
            world.after(after, Timer::Guest(id, run, Stage::Operations));
            if let Some(after) = plan.loses_tools {
                world.after(after, Timer::Guest(id, run, Stage::ToolsLost));
            }
        }
        Stage::Operations => {
            vm.guest.operations_ready = !plan.no_operations && vm.guest.tools == Tools::Running;
            let after = times.addresses.draw(&mut world.random);
            world.after(after, Timer::Guest(id, run, Stage::Addresses));
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
    vm.guest.login = before.login;
    end_all(world, id);
    world.rules.guests.remove(&id);
    world.store.touch(id, &SHOWN);
    if world.settings.allow_local_exec {
        world.effect(Effect::StopAll(id));
    }
}

/// Asks the guest to shut down.
pub(crate) fn shut_down(world: &mut World, id: Id) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    vm.guest.state = "shuttingDown";
    let run = vm.run;
    let after = world.settings.guests.shutdown.draw(&mut world.random);
    world.store.touch(id, &SHOWN);
    world.after(after, Timer::Guest(id, run, Stage::Down));
}

/// Asks the guest to start again.
pub(crate) fn restart(world: &mut World, id: Id) {
    halt(world, id);
    boot(world, id);
    announce_boot(world, id);
}

#[cfg(test)]
mod tests;
