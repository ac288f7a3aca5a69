//! Creating VMs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rookery_vim::objects::PowerState;
use rookery_vim::specs::VirtualMachineConfigSpec;

use super::{compute, config, destroy, devices, vm_mut, vm_of};
use crate::event;
use crate::files::Place;
use crate::id::{Id, Kind};
use crate::properties::mac_text;
use crate::refusal::{self, Refusal};
use crate::store::{Boot, Guest, Vm};
use crate::world::{World, uuid_text};

/// What must be known of a VM before anything else.
#[derive(Debug, Clone)]
pub(crate) struct Blueprint {
    pub(crate) folder: Id,
    pub(crate) name: String,
    pub(crate) pool: Option<Id>,
    pub(crate) host: Id,
    pub(crate) datastore: Id,
}

/// Checks what is asked for, and makes a VM that is not complete yet.
pub(super) fn begin(
    world: &mut World,
    user: &str,
    folder: Id,
    spec: &VirtualMachineConfigSpec,
    pool: Id,
    host: Option<Id>,
) -> Result<Id, Refusal> {
    let name = spec.name.clone().ok_or_else(|| Refusal::invalid_argument("config.name"))?;
    let files = spec.files.as_ref().and_then(|files| files.vm_path_name.as_deref()).unwrap_or_default();
    check_folder(world, folder)?;
    config::check_new_name(world, folder, &name)?;
    config::check_numbers(spec)?;
    check_pool(world, pool, "pool")?;
    let place = Place::find(world, files).ok_or_else(|| {
        Refusal::new("InvalidDatastore", format!("The datastore of '{files}' does not exist."))
    })?;
    let host = match host {
        Some(host) => compute::host_for(world, pool, host, "host")?,
        None => compute::choose_host(world, pool)?,
    };
    let datastore = place.datastore;
    let id = blank(world, &Blueprint { folder, name, pool: Some(pool), host, datastore });
    being_created(world, user, id);
    Ok(id)
}

pub(crate) fn being_created(world: &mut World, user: &str, id: Id) {
    event::record_placed(world, "VmBeingCreatedEvent", id, user, |vm| format!("Creating {vm}"));
}

pub(super) fn check_folder(world: &World, folder: Id) -> Result<(), Refusal> {
    match world.store.folders.get(&folder) {
        Some(found) if found.holds.contains(&"VirtualMachine") => Ok(()),
        Some(_) => Err(Refusal::not_supported()),
        None => Err(Refusal::gone(&folder.reference())),
    }
}

pub(super) fn check_pool(world: &World, pool: Id, name: &str) -> Result<(), Refusal> {
    if pool.kind != Kind::ResourcePool {
        return Err(Refusal::invalid_argument(name));
    }
    if world.store.pools.contains_key(&pool) { Ok(()) } else { Err(Refusal::gone(&pool.reference())) }
}

/// A VM that has a name and a folder, but no readable configuration.
pub(crate) fn blank(world: &mut World, plan: &Blueprint) -> Id {
    let id = world.store.next_id(Kind::VirtualMachine);
    let (uuid, instance_uuid) = (world.uuid(), world.uuid());
    let now: Timestamp = world.now;
    let home = new_home(world, plan);
    let vm = Vm {
        complete: false,
        template: false,
        pool: None,
        host: None,
        datastore: plan.datastore,
        path: format!("{home}/{home}.vmx"),
        uuid,
        instance_uuid,
        guest_id: "otherGuest".to_owned(),
        annotation: String::new(),
        cpus: 1,
        cores_per_socket: 1,
        memory_mb: 32,
        firmware: "bios".to_owned(),
        boot: Boot::default(),
        devices: Vec::new(),
        extra_config: BTreeMap::new(),
        tools_after_power_on: true,
        created: now,
        changed: now,
        version: 1,
        power: PowerState::Off,
        booted: None,
        snapshots: Vec::new(),
        current_snapshot: None,
        customization: None,
        guest: Box::new(Guest::off(world.settings.guests.tools_installed)),
        busy: None,
        run: 0,
    };
    world.store.homes.insert((plan.datastore, home));
    world.store.vms.insert(id, vm);
    world.store.uuids.insert((uuid, id));
    world.store.uuids.insert((instance_uuid, id));
    world.store.file(id, &plan.name, Some(plan.folder));
    compute::join_host(world, id, plan.host);
    if let Some(pool) = plan.pool {
        compute::join_pool(world, id, pool);
    }
    id
}

/// The folder of a new VM: called like the VM, and numbered if there is such a folder.
fn new_home(world: &World, plan: &Blueprint) -> String {
    let name = plan.name.replace("%2f", "-").replace("%5c", "-").replace("%25", "-");
    let taken = |home: &String| world.store.homes.contains(&(plan.datastore, home.clone()));
    let mut homes = std::iter::once(name.clone()).chain((1..u32::MAX).map(|nth| format!("{name}_{nth}")));
    homes.find(|home| !taken(home)).unwrap_or(name)
}

pub(super) fn finish(
    world: &mut World,
    user: &str,
    id: Id,
    spec: &VirtualMachineConfigSpec,
) -> Result<Id, Refusal> {
    let mut vm = vm_of(world, id)?.clone();
    let written = config::write(world, &mut vm, id, spec);
    *vm_mut(world, id)? = vm;
    if let Err(refusal) = written {
        destroy::remove_with_files(world, id);
        return Err(refusal);
    }
    complete(world, id);
    assigned(world, user, id);
    created(world, user, id);
    Ok(id)
}

pub(crate) fn created(world: &mut World, user: &str, id: Id) {
    event::record_placed(world, "VmCreatedEvent", id, user, |vm| format!("Created virtual machine {vm}"));
}

/// From now on everything about a VM can be read.
pub(crate) fn complete(world: &mut World, id: Id) {
    if let Some(vm) = world.store.vms.get_mut(&id) {
        vm.complete = true;
    }
    devices::plug_in_all(world, id);
    world
        .store
        .touch(id, &["config", "summary", "guest", "runtime", "datastore", "network", "storage", "layoutEx"]);
}

/// Records what the server gave a new VM.
pub(super) fn assigned(world: &mut World, user: &str, id: Id) {
    let Some(vm) = world.store.vms.get(&id) else { return };
    let (uuid, instance) = (uuid_text(vm.uuid), uuid_text(vm.instance_uuid));
    let cards: Vec<(String, String)> =
        vm.cards().map(|(device, card)| (device.class.clone(), mac_text(card.mac))).collect();
    let placed = event::placed(world, id);
    let message = format!("Assigned new instance UUID ({instance}) to {placed}");
    let extra = vec![refusal::text("instanceUuid", &instance)];
    event::record_with(world, "VmInstanceUuidAssignedEvent", id, user, message, extra);
    let message = format!("Assigned new BIOS UUID ({uuid}) to {placed}");
    event::record_with(world, "VmUuidAssignedEvent", id, user, message, vec![refusal::text("uuid", &uuid)]);
    for (class, mac) in cards {
        let message = format!("New MAC address ({mac}) assigned to adapter {class} for {placed}");
        let extra = vec![refusal::text("adapter", &class), refusal::text("mac", &mac)];
        event::record_with(world, "VmMacAssignedEvent", id, user, message, extra);
    }
}
