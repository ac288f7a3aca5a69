//! Clones.

use jiff::SignedDuration;
use rookery_vim::specs::VirtualMachineCloneSpec;

use super::create::{self, Blueprint};
use super::{compute, config, customize, destroy, devices, power, storage, vm_mut, vm_of};
use crate::id::Id;
use crate::refusal::{self, Refusal};
use crate::store::{Device, Disk, Guest, Layer, Tools, Vm, What};
use crate::world::World;
use crate::{event, rules};

/// What a disk that only holds changes takes.
const DELTA: i64 = 16 << 20;

/// How the disks of a clone are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disks {
    /// Each a child of the source's, as that was at the snapshot.
    Children,
    /// Only the newest file of each is copied, if what is below can be seen from where the copy goes.
    Newest,
    /// Full copies.
    Copies,
}

/// Checks what is asked for and makes a VM that is not complete yet; also how long the copying takes.
pub(super) fn begin(
    world: &mut World,
    user: &str,
    source: Id,
    folder: Id,
    name: &str,
    spec: &VirtualMachineCloneSpec,
) -> Result<(Id, SignedDuration), Refusal> {
    let origin = vm_of(world, source)?;
    if !origin.complete {
        return Err(Refusal::invalid_state());
    }
    create::check_folder(world, folder)?;
    config::check_new_name(world, folder, name)?;
    let pool = match &spec.location.pool {
        Some(reference) => Some(Id::of(reference).ok_or_else(|| Refusal::gone(reference))?),
        None => origin.pool,
    };
    let pool = pool.ok_or_else(|| Refusal::invalid_argument("spec.location.pool"))?;
    create::check_pool(world, pool, "spec.location.pool")?;
    let disks = disks(origin, spec)?;
    let datastore = match &spec.location.datastore {
        Some(reference) => Id::of(reference)
            .filter(|id| world.store.datastores.contains_key(id))
            .ok_or_else(|| Refusal::gone(reference))?,
        None => origin.datastore,
    };
    let host = host(world, origin, spec, pool)?;
    if let Some(config) = &spec.config {
        config::check_numbers(config)?;
    }
    if let Some(customization) = &spec.customization {
        let cards = cards_after(vm_of(world, source)?, spec);
        customize::check_cards(customization, cards)?;
    }
    let id =
        create::blank(world, &Blueprint { folder, name: name.to_owned(), pool: Some(pool), host, datastore });
    let template = vm_of(world, source)?.template;
    let (class, verb) =
        if template { ("VmBeingDeployedEvent", "Deploying") } else { ("VmBeingClonedEvent", "Cloning") };
    let message = format!("{verb} {} to {name}", event::placed(world, source));
    let extra = if template {
        vec![event::argument(world, "srcTemplate", "vm", source)]
    } else {
        vec![
            event::argument(world, "destFolder", "folder", folder),
            refusal::text("destName", name),
            event::argument(world, "destHost", "host", host),
        ]
    };
    event::record_with(world, class, source, user, message, extra);
    match copy_disks(world, id, source, datastore, disks, spec) {
        Ok(copied) => Ok((id, copying(world, copied))),
        Err(refusal) => Err(failed(world, user, id, source, refusal)),
    }
}

/// Removes a clone that cannot be, and says why.
fn failed(world: &mut World, user: &str, id: Id, source: Id, refusal: Refusal) -> Refusal {
    destroy::remove_with_files(world, id);
    let failure = |vm| format!("Failed to clone {vm}: {}", refusal.message);
    event::record_placed(world, "VmCloneFailedEvent", source, user, failure);
    refusal
}

/// Where the clone is to run: as asked, or beside its source where that host is of the pool's cluster and usable.
fn host(world: &World, origin: &Vm, spec: &VirtualMachineCloneSpec, pool: Id) -> Result<Id, Refusal> {
    if let Some(reference) = &spec.location.host {
        let host = Id::of(reference).ok_or_else(|| Refusal::gone(reference))?;
        return compute::host_for(world, pool, host, "spec.location.host");
    }
    let beside = origin.host.filter(|host| !spec.power_on && compute::is_usable(world, pool, *host));
    beside.map_or_else(|| compute::choose_host(world, pool), Ok)
}

fn copying(world: &mut World, bytes: i64) -> SignedDuration {
    let per_gib = world.settings.durations.copy_per_gib.draw(&mut world.random);
    // In steps of a MiB, so that nothing overflows.
    let mib = i32::try_from(bytes >> 20).unwrap_or(i32::MAX);
    per_gib / 1024 * mib
}

fn disks(origin: &Vm, spec: &VirtualMachineCloneSpec) -> Result<Disks, Refusal> {
    match spec.location.disk_move_type.as_deref() {
        Some("createNewChildDiskBacking") => {
            let given = spec.snapshot.as_ref().and_then(Id::of);
            let known = given.is_some_and(|id| origin.snapshots.iter().any(|s| s.id == id));
            let deep = origin.disks().any(|disk| disk.layers.len() > 1);
            match (&spec.snapshot, known) {
                (Some(_), true) => Ok(Disks::Children),
                (Some(reference), false) => Err(Refusal::gone(reference)),
                (None, _) if deep => Ok(Disks::Children),
                (None, _) => Err(Refusal::invalid_argument("spec.location.diskMoveType")),
            }
        }
        Some("moveChildMostDiskBacking") => Ok(Disks::Newest),
        None
        | Some(
            "moveAllDiskBackingsAndDisallowSharing"
            | "moveAllDiskBackingsAndAllowSharing"
            | "moveAllDiskBackingsAndConsolidate",
        ) => Ok(Disks::Copies),
        Some(_) => Err(Refusal::invalid_argument("spec.location.diskMoveType")),
    }
}

/// What the clone is made from: the devices of the snapshot, where one is named, since a snapshot keeps them all.
fn source_devices<'v>(origin: &'v Vm, spec: &VirtualMachineCloneSpec) -> &'v [Device] {
    let named = spec.snapshot.as_ref().and_then(Id::of);
    let snapshot = named.and_then(|id| origin.snapshots.iter().find(|s| s.id == id));
    snapshot.map_or(&origin.devices, |snapshot| &snapshot.hardware.devices)
}

/// How many cards the clone will have.
fn cards_after(origin: &Vm, spec: &VirtualMachineCloneSpec) -> usize {
    let changes = spec.location.device_change.iter();
    let changes = changes.chain(spec.config.iter().flat_map(|config| &config.device_change));
    let changes = changes.filter(|change| change.device.xsi_type.as_deref().is_some_and(devices::is_card));
    let cards = source_devices(origin, spec).iter().filter(|device| matches!(device.what, What::Card(_)));
    changes.fold(cards.count(), |cards, change| match change.operation.as_deref() {
        Some("add") => cards + 1,
        Some("remove") => cards.saturating_sub(1),
        _ => cards,
    })
}

/// Gives the clone its devices; the bytes that had to be copied for them.
fn copy_disks(
    world: &mut World,
    id: Id,
    source: Id,
    datastore: Id,
    how: Disks,
    spec: &VirtualMachineCloneSpec,
) -> Result<i64, Refusal> {
    let origin = vm_of(world, source)?;
    let mut devices = source_devices(origin, spec).to_vec();
    let mut copied = 0;
    for device in &mut devices {
        match &mut device.what {
            What::Disk(disk) => copied += copy_disk(world, id, disk, datastore, how)?,
            What::Card(card) if !card.manual => card.mac = devices::next_mac(world),
            What::Card(_) | What::Controller(_) | What::Cdrom(_) | What::Other(_) => {}
        }
        // What was taken for one disk is given back with the VM if the next one fails.
        if matches!(device.what, What::Disk(_)) {
            vm_mut(world, id)?.devices.push(device.clone());
        }
    }
    vm_mut(world, id)?.devices = devices;
    Ok(copied)
}

fn copy_disk(world: &mut World, id: Id, disk: &mut Disk, datastore: Id, how: Disks) -> Result<i64, Refusal> {
    let store_name = world.store.name(datastore).to_owned();
    let stem = vm_of(world, id)?.path.strip_suffix(".vmx").unwrap_or_default().to_owned();
    let file = storage::free_name(world, &format!("[{store_name}] {stem}"));
    let below = disk.layers.as_slice();
    let reachable = disk.datastore == datastore;
    let flat = storage::bytes(disk.capacity_kb, disk.thin);
    let (bytes, copied, parents) = match how {
        Disks::Children if reachable => (DELTA, 0, below.to_vec()),
        Disks::Children => return Err(Refusal::invalid_argument("spec.location.datastore")),
        Disks::Newest if reachable && below.len() > 1 => {
            let newest = below.first().map_or(DELTA, |layer| layer.bytes);
            (newest, newest, below.get(1..).unwrap_or_default().to_vec())
        }
        Disks::Newest | Disks::Copies => (flat, flat, Vec::new()),
    };
    storage::reserve(world, datastore, bytes)?;
    disk.layers = std::iter::once(Layer { file, bytes }).chain(parents).collect();
    storage::retain_layers(world, &disk.layers);
    disk.datastore = datastore;
    disk.uuid = world.uuid();
    Ok(copied)
}

pub(super) fn finish(
    world: &mut World,
    user: &str,
    id: Id,
    source: Id,
    spec: &VirtualMachineCloneSpec,
) -> Result<Id, Refusal> {
    if let Err(refusal) = configure(world, id, source, spec) {
        return Err(failed(world, user, id, source, refusal));
    }
    create::complete(world, id);
    let (name, template) =
        (world.store.name(source).to_owned(), vm_of(world, source).is_ok_and(|vm| vm.template));
    create::assigned(world, user, id);
    let placed = event::placed(world, id);
    let (class, message, member) = if template {
        ("VmDeployedEvent", format!("Template {name} deployed to {placed}"), "srcTemplate")
    } else {
        ("VmClonedEvent", format!("{name} cloned to {placed}"), "sourceVm")
    };
    let extra = vec![event::argument(world, member, "vm", source)];
    event::record_with(world, class, id, user, message, extra);
    if let Some(customization) = &spec.customization {
        customize::apply(world, id, customization)?;
    }
    if spec.template {
        super::mark(world, user, id, true, None)?;
    }
    if spec.power_on {
        // The clone stays, whatever comes of this.
        rules::apply_to_work(world, "PowerOnVM_Task", id)?;
        power::begin_on(world, id, None, user)?;
        power::finish_on(world, id, user)?;
    }
    Ok(id)
}

fn configure(world: &mut World, id: Id, source: Id, spec: &VirtualMachineCloneSpec) -> Result<(), Refusal> {
    let origin = vm_of(world, source)?;
    let (hardware, tools_after_power_on) = (origin.hardware(), origin.tools_after_power_on);
    let mut guest = Guest::off(origin.guest.tools != Tools::NotInstalled);
    guest.fixed.clone_from(&origin.guest.fixed);
    let mut vm = vm_of(world, id)?.clone();
    let devices = std::mem::take(&mut vm.devices);
    vm.restore(hardware);
    vm.devices = devices;
    vm.tools_after_power_on = tools_after_power_on;
    vm.guest = Box::new(guest);
    let changed = devices::apply(world, &mut vm, &spec.location.device_change).and_then(|_| {
        spec.config.as_ref().map_or(Ok(Vec::new()), |config| config::write(world, &mut vm, id, config))
    });
    // Even if it failed: what it has by now must be let go with it.
    *vm_mut(world, id)? = vm;
    crate::guests::inherit(world, source, id);
    changed.map(drop)
}
