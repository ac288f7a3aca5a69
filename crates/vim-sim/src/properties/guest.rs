//! What a guest shows of itself.

use super::{Members, device};
use crate::store::{Tools, Vm};
use crate::world::World;

/// What installed tools say that they are.
pub(super) const TOOLS_VERSION: i32 = 11_365;

pub(super) fn info(world: &World, vm: &Vm, m: &mut Members<'_, '_>) {
    let guest = &vm.guest;
    shown(vm, m, "toolsStatus", |m, name| {
        m.one_of(name, "VirtualMachineToolsStatus", tools_status(guest.tools));
    });
    shown(vm, m, "toolsVersionStatus", |m, name| m.text(name, version_status(guest.tools)));
    shown(vm, m, "toolsVersionStatus2", |m, name| m.text(name, version_status(guest.tools)));
    shown(vm, m, "toolsRunningStatus", |m, name| m.text(name, running_status(guest.tools)));
    let version = if guest.tools == Tools::NotInstalled { 0 } else { TOOLS_VERSION };
    shown(vm, m, "toolsVersion", |m, name| m.text(name, &version.to_string()));
    let running = guest.tools == Tools::Running;
    shown(vm, m, "guestId", |m, name| m.maybe_text(name, running.then_some(vm.guest_id.as_str())));
    shown(vm, m, "guestFamily", |m, name| m.maybe_text(name, running.then(|| family(&vm.guest_id))));
    shown(vm, m, "guestFullName", |m, name| m.maybe_text(name, running.then(|| full_name(&vm.guest_id))));
    shown(vm, m, "hostName", |m, name| m.maybe_text(name, guest.host_name.as_deref()));
    let first = guest.addresses.iter().flat_map(|(_, ips)| ips).next().map(ToString::to_string);
    shown(vm, m, "ipAddress", |m, name| m.maybe_text(name, first.as_deref()));
    shown(vm, m, "net", |m, name| cards(world, vm, name, m));
    shown(vm, m, "guestState", |m, name| m.text(name, guest.state));
    shown(vm, m, "guestOperationsReady", |m, name| m.flag(name, guest.operations_ready));
    shown(vm, m, "interactiveGuestOperationsReady", |m, name| m.flag(name, false));
    m.flag("guestStateChangeSupported", guest.operations_ready);
    m.text("hwVersion", "vmx-19");
    m.without(&["ipStack", "disk", "screen", "appHeartbeatStatus", "guestKernelCrashed", "appState"]);
    m.without(&["generationInfo", "customizationInfo", "toolsInstallType"]);
}

/// A member, or what an operator of the simulator set in its place.
fn shown(
    vm: &Vm,
    m: &mut Members<'_, '_>,
    name: &'static str,
    write: impl FnOnce(&mut Members<'_, '_>, &'static str),
) {
    if vm.guest.overrides.is_empty() {
        return write(m, name);
    }
    match vm.guest.overrides.get(&format!("guest.{name}")) {
        Some(value) => m.node(name, value),
        None => write(m, name),
    }
}

pub(super) fn summary(vm: &Vm, m: &mut Members<'_, '_>) {
    let guest = &vm.guest;
    let running = guest.tools == Tools::Running;
    m.maybe_text("guestId", running.then_some(vm.guest_id.as_str()));
    m.maybe_text("guestFullName", running.then(|| full_name(&vm.guest_id)));
    shown(vm, m, "toolsStatus", |m, name| {
        m.one_of(name, "VirtualMachineToolsStatus", tools_status(guest.tools));
    });
    m.text("toolsVersionStatus", version_status(guest.tools));
    m.text("toolsVersionStatus2", version_status(guest.tools));
    shown(vm, m, "toolsRunningStatus", |m, name| m.text(name, running_status(guest.tools)));
    shown(vm, m, "hostName", |m, name| m.maybe_text(name, guest.host_name.as_deref()));
    let first = guest.addresses.iter().flat_map(|(_, ips)| ips).next().map(ToString::to_string);
    shown(vm, m, "ipAddress", |m, name| m.maybe_text(name, first.as_deref()));
}

fn cards(world: &World, vm: &Vm, name: &'static str, m: &mut Members<'_, '_>) {
    let running = vm.guest.tools == Tools::Running;
    let cards = vm.cards().filter(|_| running);
    m.items(name, "GuestNicInfo", cards, |m, (device, card)| {
        m.maybe_text("network", card.network().map(|network| world.store.name(network)));
        let ips = || {
            let own = vm.guest.addresses.iter().filter(|(key, _)| *key == device.key);
            own.flat_map(|(_, ips)| ips).map(|ip| (ip, ip.to_string()))
        };
        let texts: Vec<String> = ips().map(|(_, text)| text).collect();
        m.texts("ipAddress", texts.iter().map(String::as_str));
        m.text("macAddress", &device::mac_text(card.mac));
        m.flag("connected", card.connected);
        m.int("deviceConfigId", device.key);
        m.object("ipConfig", "NetIpConfigInfo", |m| {
            m.items("ipAddress", "NetIpConfigInfoIpAddress", ips(), |m, (ip, text)| {
                let mut told = vm.guest.fixed.iter().flat_map(|told| told.cards.iter().flatten());
                let told = told.find(|fixed| fixed.ip == *ip);
                m.text("ipAddress", &text);
                m.int("prefixLength", told.map_or(world.settings.guests.dhcp.1, |fixed| fixed.prefix).into());
                m.text("origin", if told.is_some() { "manual" } else { "dhcp" });
                m.text("state", "preferred");
            });
        });
    });
}

fn tools_status(tools: Tools) -> &'static str {
    match tools {
        Tools::NotInstalled => "toolsNotInstalled",
        Tools::NotRunning => "toolsNotRunning",
        Tools::Running => "toolsOk",
    }
}

fn version_status(tools: Tools) -> &'static str {
    match tools {
        Tools::NotInstalled => "guestToolsNotInstalled",
        Tools::NotRunning | Tools::Running => "guestToolsUnmanaged",
    }
}

fn running_status(tools: Tools) -> &'static str {
    match tools {
        Tools::NotInstalled | Tools::NotRunning => "guestToolsNotRunning",
        Tools::Running => "guestToolsRunning",
    }
}

fn family(guest_id: &str) -> &'static str {
    if guest_id.starts_with("win") { "windowsGuest" } else { "linuxGuest" }
}

/// What people call a guest.
pub(super) fn full_name(guest_id: &str) -> &'static str {
    match guest_id {
        "ubuntu64Guest" => "Ubuntu Linux (64-bit)",
        "debian10_64Guest" | "debian11_64Guest" | "debian12_64Guest" => "Debian GNU/Linux (64-bit)",
        "rhel8_64Guest" => "Red Hat Enterprise Linux 8 (64-bit)",
        "rhel9_64Guest" => "Red Hat Enterprise Linux 9 (64-bit)",
        "otherLinux64Guest" => "Other Linux (64-bit)",
        "other3xLinux64Guest" => "Other 3.x or later Linux (64-bit)",
        "coreos64Guest" => "CoreOS Linux (64-bit)",
        _ => "Other (32-bit)",
    }
}
