//! VMs and their snapshots.

use rookery_vim::objects::PowerState;

use super::{Members, guest, hardware, networks_of};
use crate::id::Id;
use crate::privileges::seen;
use crate::store::{Snapshot, Vm};
use crate::world::{World, uuid_text};

pub(super) fn vm(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(vm) = world.store.vms.get(&id) else { return };
    if vm.complete {
        m.object("config", "VirtualMachineConfigInfo", |m| hardware::config(world, id, vm, m));
    } else {
        m.unset("config");
    }
    m.object("summary", "VirtualMachineSummary", |m| summary(world, id, vm, m));
    m.object("runtime", "VirtualMachineRuntimeInfo", |m| runtime(world, vm, m));
    if vm.complete {
        m.object("guest", "GuestInfo", |m| guest::info(world, vm, m));
    } else {
        m.unset("guest");
    }
    m.maybe_reference("resourcePool", vm.pool);
    m.references("datastore", seen(world, vm.datastores()));
    m.references("network", seen(world, networks_of(vm)));
    m.one_of("guestHeartbeatStatus", "ManagedEntityStatus", heartbeat(vm));
    if vm.snapshots.is_empty() {
        m.unset("snapshot");
    } else {
        m.object("snapshot", "VirtualMachineSnapshotInfo", |m| {
            m.maybe_reference("currentSnapshot", vm.current_snapshot);
            let roots = vm.snapshots.iter().filter(|s| s.parent.is_none());
            m.items("rootSnapshotList", "VirtualMachineSnapshotTree", roots, |m, root| tree(id, vm, root, m));
        });
    }
    m.references("rootSnapshot", vm.snapshots.iter().filter(|s| s.parent.is_none()).map(|s| s.id));
    m.object("storage", "VirtualMachineStorageInfo", |m| {
        m.time("timestamp", vm.changed);
    });
    m.object("capability", "VirtualMachineCapability", |m| {
        m.flag("snapshotOperationsSupported", true);
        m.flag("multipleSnapshotsSupported", true);
        m.flag("snapshotConfigSupported", true);
        m.flag("poweredOffSnapshotsSupported", true);
        m.flag("memorySnapshotsSupported", true);
        m.flag("revertToSnapshotSupported", true);
        m.flag("quiescedSnapshotsSupported", true);
    });
    m.object("resourceConfig", "ResourceConfigSpec", |m| {
        m.reference("entity", id);
        m.text("changeVersion", "1");
        m.object("cpuAllocation", "ResourceAllocationInfo", |m| hardware::allocation(4000, m));
        m.object("memoryAllocation", "ResourceAllocationInfo", |m| hardware::allocation(10_240, m));
    });
    m.without(&["parentVApp", "layout", "layoutEx", "environmentBrowser"]);
}

fn heartbeat(vm: &Vm) -> &'static str {
    if vm.guest.operations_ready { "green" } else { "gray" }
}

fn tree(id: Id, vm: &Vm, snapshot: &Snapshot, m: &mut Members<'_, '_>) {
    m.reference("snapshot", snapshot.id);
    m.reference("vm", id);
    m.text("name", &snapshot.name);
    m.text("description", &snapshot.description);
    m.count("id", snapshot.id.number);
    m.time("createTime", snapshot.created);
    m.value("state", if snapshot.powered_on { &PowerState::On } else { &PowerState::Off });
    m.flag("quiesced", false);
    m.flag("replaySupported", false);
    let children = vm.snapshots.iter().filter(|s| s.parent == Some(snapshot.id));
    m.items("childSnapshotList", "VirtualMachineSnapshotTree", children, |m, child| tree(id, vm, child, m));
}

fn summary(world: &World, id: Id, vm: &Vm, m: &mut Members<'_, '_>) {
    m.reference("vm", id);
    m.object("runtime", "VirtualMachineRuntimeInfo", |m| runtime(world, vm, m));
    if vm.complete {
        m.object("guest", "VirtualMachineGuestSummary", |m| guest::summary(vm, m));
    } else {
        m.unset("guest");
    }
    m.object("config", "VirtualMachineConfigSummary", |m| {
        m.text("name", world.store.name(id));
        m.flag("template", vm.template);
        m.text("vmPathName", &format!("[{}] {}", world.store.name(vm.datastore), vm.path));
        m.count("memorySizeMB", vm.memory_mb);
        m.int("cpuReservation", 0);
        m.int("memoryReservation", 0);
        m.int("numCpu", vm.cpus);
        m.count("numEthernetCards", vm.cards().count());
        m.count("numVirtualDisks", vm.disks().count());
        m.text("uuid", &uuid_text(vm.uuid));
        m.text("instanceUuid", &uuid_text(vm.instance_uuid));
        m.text("guestId", &vm.guest_id);
        m.text("guestFullName", guest::full_name(&vm.guest_id));
        m.text("annotation", &vm.annotation);
    });
    m.object("storage", "VirtualMachineStorageSummary", |m| {
        let committed: i64 = vm.disks().filter_map(|disk| disk.layers.first()).map(|layer| layer.bytes).sum();
        let all: i64 = vm.disks().map(|disk| disk.capacity_kb * 1024).sum();
        m.long("committed", committed);
        m.long("uncommitted", (all - committed).max(0));
        m.long("unshared", committed);
        m.time("timestamp", vm.changed);
    });
    m.object("quickStats", "VirtualMachineQuickStats", |m| {
        m.int("overallCpuUsage", if vm.is_on() { 100 * vm.cpus } else { 0 });
        m.int("guestMemoryUsage", if vm.is_on() { i32::try_from(vm.memory_mb / 4).unwrap_or(0) } else { 0 });
        m.int("hostMemoryUsage", if vm.is_on() { i32::try_from(vm.memory_mb / 2).unwrap_or(0) } else { 0 });
        m.one_of("guestHeartbeatStatus", "ManagedEntityStatus", heartbeat(vm));
        let up = vm.booted.map_or(0, |booted| world.now.duration_since(booted).as_secs());
        m.count("uptimeSeconds", up);
    });
    m.one_of("overallStatus", "ManagedEntityStatus", "green");
}

fn runtime(world: &World, vm: &Vm, m: &mut Members<'_, '_>) {
    m.maybe_reference("host", vm.host);
    m.one_of("connectionState", "VirtualMachineConnectionState", connection(world, vm));
    m.value("powerState", &vm.power);
    m.one_of("faultToleranceState", "VirtualMachineFaultToleranceState", "notConfigured");
    m.flag("toolsInstallerMounted", false);
    m.maybe("bootTime", vm.booted, Members::time);
    m.long("suspendInterval", 0);
    m.maybe("question", vm.guest.overrides.get("runtime.question"), Members::node);
    m.int("numMksConnections", 0);
    m.one_of("recordReplayState", "VirtualMachineRecordReplayState", "inactive");
    m.flag("onlineStandby", false);
    m.flag("consolidationNeeded", false);
    m.without(&["device", "suspendTime", "memoryOverhead", "maxCpuUsage", "maxMemoryUsage", "cleanPowerOff"]);
    m.unset("minRequiredEVCModeKey");
}

fn connection(world: &World, vm: &Vm) -> &'static str {
    let store = &world.store;
    let host = vm.host.and_then(|host| store.hosts.get(&host));
    if host.is_some_and(|host| !host.connected) {
        "disconnected"
    } else if vm.datastores().iter().any(|id| store.datastores.get(id).is_some_and(|d| !d.accessible)) {
        "inaccessible"
    } else {
        "connected"
    }
}

pub(super) fn snapshot(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let owner = world.snapshots.get(&id).and_then(|vm| world.store.vms.get_key_value(vm));
    let Some((vm_id, vm)) = owner else { return };
    m.reference("vm", *vm_id);
    let mut then = vm.clone();
    if let Some(snapshot) = vm.snapshots.iter().find(|snapshot| snapshot.id == id) {
        then.restore(snapshot.hardware.clone());
    }
    m.object("config", "VirtualMachineConfigInfo", |m| hardware::config(world, *vm_id, &then, m));
    m.references("childSnapshot", vm.snapshots.iter().filter(|s| s.parent == Some(id)).map(|s| s.id));
}
