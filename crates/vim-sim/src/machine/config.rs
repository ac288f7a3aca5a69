//! Names and configuration.

use rookery_vim::Node;
use rookery_vim::specs::{BootableDevice as Boot, VirtualMachineConfigSpec};

use super::{devices, storage, vm_mut, vm_of};
use crate::event;
use crate::id::{Id, Kind};
use crate::refusal::{self, Refusal};
use crate::store::Vm;
use crate::world::{World, parse_uuid};

/// A name that an entity may have beside others.
pub(super) fn check_new_name(world: &World, parent: Id, name: &str) -> Result<(), Refusal> {
    // Escaped characters count once.
    let length = name.replace("%2f", "/").replace("%5c", "/").replace("%25", "/").chars().count();
    if name.is_empty() || length > 80 {
        return Err(Refusal::invalid_name(name));
    }
    match world.store.child(parent, name) {
        Some(other) => Err(Refusal::duplicate_name(name, other)),
        None => Ok(()),
    }
}

pub(super) fn check_name(world: &World, entity: Id, name: &str) -> Result<(), Refusal> {
    if !world.store.exists(entity) {
        return Err(Refusal::gone(&entity.reference()));
    }
    if world.store.name(entity) == name {
        return Ok(());
    }
    match world.store.parent(entity) {
        Some(parent) => check_new_name(world, parent, name),
        None => Err(Refusal::not_supported()),
    }
}

pub(super) fn rename(world: &mut World, user: &str, entity: Id, name: &str) -> Result<(), Refusal> {
    check_name(world, entity, name)?;
    let old = world.store.name(entity).to_owned();
    if old == name {
        return Ok(());
    }
    world.store.rename(entity, name);
    renamed_around(world, entity, &old);
    if entity.kind == Kind::VirtualMachine {
        let placed = event::placed(world, entity);
        let message = placed.replacen(name, &format!("Renamed {old} to {name}"), 1);
        let extra = vec![refusal::text("oldName", &old), refusal::text("newName", name)];
        event::record_with(world, "VmRenamedEvent", entity, user, message, extra);
    }
    Ok(())
}

/// VMs show the names of their networks and datastores.
fn renamed_around(world: &mut World, entity: Id, old: &str) {
    let network = world.store.networks.get(&entity).map(|network| &network.vms);
    let datastore = world.store.datastores.get(&entity).map(|datastore| &datastore.vms);
    let vms: Vec<Id> = network.or(datastore).into_iter().flatten().copied().collect();
    if entity.kind == Kind::Datastore {
        storage::rename(world, entity, old);
    }
    for vm in vms {
        world.store.touch(vm, &["config", "summary.config", "guest.net"]);
    }
}

/// Whether a VM may be changed so.
pub(super) fn check(world: &World, id: Id, spec: &VirtualMachineConfigSpec) -> Result<(), Refusal> {
    let vm = vm_of(world, id)?;
    if let Some(version) = &spec.change_version
        && *version != vm.version.to_string()
    {
        return Err(Refusal::new("ConcurrentAccess", "The object has been changed since it was read."));
    }
    if let Some(name) = &spec.name {
        check_name(world, id, name)?;
    }
    let resized =
        spec.cpus.is_some_and(|c| c != vm.cpus) || spec.memory_mb.is_some_and(|m| m != vm.memory_mb);
    if resized {
        super::expect_off(vm)?;
    }
    check_numbers(spec)
}

/// Numbers that a VM can have.
pub(super) fn check_numbers(spec: &VirtualMachineConfigSpec) -> Result<(), Refusal> {
    if spec.cpus.is_some_and(|cpus| !(1..=768).contains(&cpus)) {
        return Err(Refusal::invalid_argument("configSpec.numCPUs"));
    }
    if spec.memory_mb.is_some_and(|mb| !(4..=25_165_824).contains(&mb)) {
        return Err(Refusal::invalid_argument("configSpec.memoryMB"));
    }
    for (uuid, name) in [(&spec.uuid, "configSpec.uuid"), (&spec.instance_uuid, "configSpec.instanceUuid")] {
        if uuid.as_ref().is_some_and(|uuid| parse_uuid(uuid).is_none()) {
            return Err(Refusal::invalid_argument(name));
        }
    }
    Ok(())
}

pub(super) fn apply(
    world: &mut World,
    user: &str,
    id: Id,
    spec: &VirtualMachineConfigSpec,
) -> Result<(), Refusal> {
    check(world, id, spec)?;
    let mut vm = vm_of(world, id)?.clone();
    let changed = write(world, &mut vm, id, spec)?;
    let before = std::mem::replace(vm_mut(world, id)?, vm);
    devices::plug_in(world, id, &before);
    world.store.touch(id, &changed);
    for option in &spec.extra_config {
        if let Some(path) = option.key.strip_prefix("SET.") {
            apply_guest_override(world, id, path, option.value.clone());
        }
    }
    if let Some(name) = &spec.name {
        rename(world, user, id, name)?;
    }
    event::record_placed(world, "VmReconfiguredEvent", id, user, |vm| format!("Reconfigured {vm}"));
    Ok(())
}

/// Writes a specification into a VM; the properties that changed.
pub(super) fn write(
    world: &mut World,
    vm: &mut Vm,
    id: Id,
    spec: &VirtualMachineConfigSpec,
) -> Result<Vec<&'static str>, Refusal> {
    // First, since nothing else can fail.
    let keys = devices::apply(world, vm, &spec.device_change)?;
    let mut changed = vec!["config.changeVersion", "config.modified", "storage", "summary.storage"];
    vm.version += 1;
    vm.changed = world.now;
    if let Some(annotation) = &spec.annotation {
        vm.annotation.clone_from(annotation);
        changed.extend(["config.annotation", "summary.config.annotation"]);
    }
    if let Some(cpus) = spec.cpus {
        vm.cpus = cpus;
        changed.extend(["config.hardware.numCPU", "summary.config.numCpu"]);
    }
    if let Some(cores) = spec.cores_per_socket {
        vm.cores_per_socket = cores;
        changed.push("config.hardware.numCoresPerSocket");
    }
    if let Some(memory) = spec.memory_mb {
        vm.memory_mb = memory;
        changed.extend(["config.hardware.memoryMB", "summary.config.memorySizeMB"]);
    }
    if let Some(guest_id) = &spec.guest_id {
        vm.guest_id.clone_from(guest_id);
        changed.extend(["config.guestId", "config.guestFullName", "summary.config"]);
    }
    if spec.uuid.is_some() || spec.instance_uuid.is_some() {
        identify(world, vm, id, spec);
        changed.extend(["config.uuid", "config.instanceUuid", "summary.config"]);
    }
    if let Some(tools) = &spec.tools
        && let Some(after) = tools.after_power_on
    {
        vm.tools_after_power_on = after;
        changed.push("config.tools");
    }
    if let Some(firmware) = &spec.firmware {
        vm.firmware.clone_from(firmware);
        changed.push("config.firmware");
    }
    for option in &spec.extra_config {
        if option.value.is_empty() {
            vm.extra_config.remove(&option.key);
        } else if !option.key.starts_with("SET.") {
            vm.extra_config.insert(option.key.clone(), option.value.clone());
        }
        changed.push("config.extraConfig");
    }
    if !spec.device_change.is_empty() {
        changed.extend(["config.hardware.device", "network", "datastore", "summary.config", "guest.net"]);
    }
    if let Some(boot) = &spec.boot_options {
        vm.boot.secure = boot.efi_secure_boot_enabled.unwrap_or(vm.boot.secure);
        if !boot.boot_order.is_empty() {
            vm.boot.order = boot.boot_order.iter().cloned().map(|device| settled(device, &keys)).collect();
        }
        changed.push("config.bootOptions");
    }
    Ok(changed)
}

/// Gives a VM other UUIDs. Those of the hardware are the client's affair; instances stay apart.
fn identify(world: &mut World, vm: &mut Vm, id: Id, spec: &VirtualMachineConfigSpec) {
    for own in [vm.uuid, vm.instance_uuid] {
        world.store.uuids.remove(&(own, id));
    }
    if let Some(uuid) = spec.uuid.as_deref().and_then(parse_uuid) {
        vm.uuid = uuid;
    }
    if let Some(uuid) = spec.instance_uuid.as_deref().and_then(parse_uuid) {
        let is_taken = world.store.vms.iter().any(|(other, vm)| *other != id && vm.instance_uuid == uuid);
        vm.instance_uuid = if is_taken { world.uuid() } else { uuid };
    }
    for own in [vm.uuid, vm.instance_uuid] {
        world.store.uuids.insert((own, id));
    }
}

/// A boot device with its final key.
fn settled(mut device: Boot, keys: &devices::Keys) -> Boot {
    let key = match &mut device {
        Boot::VirtualMachineBootOptionsBootableDiskDevice(disk) => &mut disk.device_key,
        Boot::VirtualMachineBootOptionsBootableEthernetDevice(card) => &mut card.device_key,
        Boot::VirtualMachineBootOptionsBootableCdromDevice(_) | Boot::Other(_) => return device,
    };
    *key = keys.get(key).copied().unwrap_or(*key);
    device
}

/// Sets what the guest of a VM shows, whatever it does: the property at that path is this value from now on.
fn apply_guest_override(world: &mut World, id: Id, path: &str, value: Node) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    if value.is_empty() {
        vm.guest.overrides.remove(path);
    } else {
        vm.guest.overrides.insert(path.to_owned(), value);
    }
    world.store.touch(id, &["guest", "summary.guest", "runtime.question", "summary.runtime"]);
}
