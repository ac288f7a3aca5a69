//! The configuration of a VM.

use rookery_vim::Wire as _;

use super::{Members, device, guest, item};
use crate::id::Id;
use crate::store::{Tools, Vm};
use crate::world::{World, uuid_text};

pub(super) fn config(world: &World, id: Id, vm: &Vm, m: &mut Members<'_, '_>) {
    let store = world.store.name(vm.datastore);
    m.text("changeVersion", &vm.version.to_string());
    m.time("modified", vm.changed);
    m.text("name", world.store.name(id));
    m.text("guestFullName", guest::full_name(&vm.guest_id));
    m.text("version", "vmx-19");
    m.text("uuid", &uuid_text(vm.uuid));
    m.time("createDate", vm.created);
    m.text("instanceUuid", &uuid_text(vm.instance_uuid));
    m.flag("template", vm.template);
    m.text("guestId", &vm.guest_id);
    m.text("alternateGuestName", "");
    m.text("annotation", &vm.annotation);
    m.object("files", "VirtualMachineFileInfo", |m| {
        let folder = vm.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        m.text("vmPathName", &format!("[{store}] {}", vm.path));
        m.text("snapshotDirectory", &format!("[{store}] {folder}/"));
        m.text("suspendDirectory", &format!("[{store}] {folder}/"));
        m.text("logDirectory", &format!("[{store}] {folder}/"));
    });
    m.object("tools", "ToolsConfigInfo", |m| tools(vm, m));
    m.object("flags", "VirtualMachineFlagInfo", |m| {
        m.flag("disableAcceleration", false);
        m.flag("enableLogging", true);
        m.flag("useToe", false);
        m.flag("runWithDebugInfo", false);
    });
    m.object("hardware", "VirtualHardware", |m| hardware(world, vm, m));
    m.object("cpuAllocation", "ResourceAllocationInfo", |m| allocation(1000 * vm.cpus, m));
    m.object("memoryAllocation", "ResourceAllocationInfo", |m| {
        allocation(i32::try_from(vm.memory_mb * 10).unwrap_or(i32::MAX), m);
    });
    m.flag("memoryHotAddEnabled", false);
    m.flag("cpuHotAddEnabled", false);
    m.flag("cpuHotRemoveEnabled", false);
    m.objects("extraConfig", "OptionValue", &vm.extra_config, |out, element, (key, value)| {
        item(out, element, Some("OptionValue"), |m| {
            m.text("key", key);
            m.node("value", value);
        });
    });
    m.items("datastoreUrl", "VirtualMachineConfigInfoDatastoreUrlPair", vm.datastores(), |m, id| {
        m.text("name", world.store.name(id));
        m.text("url", world.store.datastores.get(&id).map_or("", |d| &d.url));
    });
    m.text("swapPlacement", "inherit");
    m.object("bootOptions", "VirtualMachineBootOptions", |m| boot(vm, m));
    m.flag("vAssertsEnabled", false);
    m.flag("changeTrackingEnabled", false);
    m.text("firmware", &vm.firmware);
    m.int("maxMksConnections", 40);
    m.flag("guestAutoLockEnabled", true);
    m.unset("managedBy");
    m.flag("nestedHVEnabled", false);
}

fn tools(vm: &Vm, m: &mut Members<'_, '_>) {
    m.int("toolsVersion", if vm.guest.tools == Tools::NotInstalled { 0 } else { guest::TOOLS_VERSION });
    m.flag("afterPowerOn", vm.tools_after_power_on);
    m.flag("afterResume", true);
    m.flag("beforeGuestStandby", true);
    m.flag("beforeGuestShutdown", true);
    m.text("toolsUpgradePolicy", "manual");
    m.maybe_text("pendingCustomization", vm.customization.as_ref().map(|_| "/tmp/imgcust"));
    m.flag("syncTimeWithHost", false);
}

fn hardware(world: &World, vm: &Vm, m: &mut Members<'_, '_>) {
    m.int("numCPU", vm.cpus);
    m.int("numCoresPerSocket", vm.cores_per_socket);
    m.count("memoryMB", vm.memory_mb);
    m.flag("virtualICH7MPresent", false);
    m.flag("virtualSMCPresent", false);
    m.objects("device", "VirtualDevice", device::all(vm), |out, element, device| {
        device.write(world, vm, out, element);
    });
}

fn boot(vm: &Vm, m: &mut Members<'_, '_>) {
    m.long("bootDelay", 0);
    m.flag("enterBIOSSetup", false);
    m.flag("efiSecureBootEnabled", vm.boot.secure);
    m.flag("bootRetryEnabled", false);
    m.long("bootRetryDelay", 10_000);
    m.objects(
        "bootOrder",
        "VirtualMachineBootOptionsBootableDevice",
        &vm.boot.order,
        |out, element, device| device.write(out, element, true),
    );
}

pub(super) fn allocation(shares: i32, m: &mut Members<'_, '_>) {
    m.long("reservation", 0);
    m.flag("expandableReservation", false);
    m.long("limit", -1);
    m.object("shares", "SharesInfo", |m| {
        m.int("shares", shares);
        m.one_of("level", "SharesLevel", "normal");
    });
}
