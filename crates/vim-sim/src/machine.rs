//! What can be done to VMs. Each operation begins (it is checked, and what it needs is taken) and finishes; between
//! the two it takes its time.

mod clone;
mod compute;
mod config;
mod create;
mod customize;
mod destroy;
mod devices;
mod host;
mod moving;
mod power;
mod snapshot;
mod storage;

use std::collections::BTreeSet;

use jiff::SignedDuration;
use rookery_vim::MoRef;
use rookery_vim::objects::PowerState;
use rookery_vim::specs::{
    CustomizationSpec, VirtualMachineCloneSpec, VirtualMachineConfigSpec as ConfigSpec,
};

use crate::files::{FileWork, Place};
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::settings::Durations;
use crate::span::Span;
use crate::store::Vm;
use crate::task::Done;
use crate::world::World;
use crate::{event, files};
pub(crate) use compute::{choose_host, count, move_idle, move_running};
pub(crate) use create::{Blueprint, being_created, blank, complete, created};
pub(crate) use destroy::{remove_with_files, unregister};
pub(crate) use devices::{make_disk, next_mac};
pub(crate) use power::{guest_starts, guest_stops, power_off_now, switch_on};
pub(crate) use snapshot::{owner as owner_of_snapshot, take as take_snapshot};
pub(crate) use storage::release_layers;

#[derive(Debug)]
pub(crate) enum Work {
    PowerOn { vm: Id, host: Option<Id> },
    PowerOff { vm: Id },
    Reset { vm: Id },
    Suspend { vm: Id },
    Create { folder: Id, spec: Box<ConfigSpec>, pool: Id, host: Option<Id>, vm: Option<Id> },
    Clone { source: Id, folder: Id, name: String, spec: Box<VirtualMachineCloneSpec>, vm: Option<Id> },
    Reconfigure { vm: Id, spec: Box<ConfigSpec> },
    Customize { vm: Id, spec: Box<CustomizationSpec> },
    Rename { entity: Id, name: String },
    Snapshot { vm: Id, name: String, description: String },
    RemoveSnapshot { snapshot: Id, vm: Id, with_children: bool },
    RemoveAllSnapshots { vm: Id },
    Revert { snapshot: Id, vm: Id },
    Destroy { entity: Id },
    Files(Box<FileWork>),
    Move { target: Id, moved: Vec<Id> },
    Disconnect { host: Id },
    Reconnect { host: Id },
    Report { attempted: Vec<(MoRef, MoRef)> },
}

impl Work {
    /// The VM that nobody else may work on meanwhile.
    fn subject(&self) -> Option<Id> {
        match self {
            Self::PowerOn { vm, .. }
            | Self::PowerOff { vm }
            | Self::Reset { vm }
            | Self::Suspend { vm }
            | Self::Reconfigure { vm, .. }
            | Self::Customize { vm, .. }
            | Self::Snapshot { vm, .. }
            | Self::RemoveSnapshot { vm, .. }
            | Self::RemoveAllSnapshots { vm }
            | Self::Revert { vm, .. } => Some(*vm),
            Self::Rename { entity, .. } | Self::Destroy { entity } => {
                Some(*entity).filter(|id| id.kind == Kind::VirtualMachine)
            }
            Self::Create { vm, .. } | Self::Clone { vm, .. } => *vm,
            Self::Files(_)
            | Self::Move { .. }
            | Self::Disconnect { .. }
            | Self::Reconnect { .. }
            | Self::Report { .. } => None,
        }
    }

    /// What tasks call it, and how long it usually takes.
    pub(crate) fn title(&self, durations: &Durations) -> (&'static str, Span) {
        match self {
            Self::PowerOn { .. } => ("VirtualMachine.powerOn", durations.power),
            Self::PowerOff { .. } => ("VirtualMachine.powerOff", durations.power),
            Self::Reset { .. } => ("VirtualMachine.reset", durations.power),
            Self::Suspend { .. } => ("VirtualMachine.suspend", durations.power),
            Self::Create { .. } => ("Folder.createVm", durations.create),
            Self::Clone { .. } => ("VirtualMachine.clone", durations.clone),
            Self::Reconfigure { .. } => ("VirtualMachine.reconfigure", durations.reconfigure),
            Self::Customize { .. } => ("VirtualMachine.customize", durations.reconfigure),
            Self::Rename { .. } => ("ManagedEntity.rename", durations.reconfigure),
            Self::Snapshot { .. } => ("VirtualMachine.createSnapshot", durations.snapshot),
            Self::RemoveSnapshot { .. } => ("VirtualMachine.removeSnapshot", durations.snapshot),
            Self::RemoveAllSnapshots { .. } => ("VirtualMachine.removeAllSnapshots", durations.snapshot),
            Self::Revert { .. } => ("VirtualMachine.revertToSnapshot", durations.snapshot),
            Self::Destroy { entity } if entity.kind == Kind::VirtualMachine => {
                ("VirtualMachine.destroy", durations.destroy)
            }
            Self::Destroy { .. } => ("ManagedEntity.destroy", durations.destroy),
            Self::Files(work) => (work.description(), durations.file),
            Self::Move { .. } => ("Folder.moveInto", durations.reconfigure),
            Self::Disconnect { .. } => ("HostSystem.disconnect", durations.reconfigure),
            Self::Reconnect { .. } => ("HostSystem.reconnect", durations.reconfigure),
            Self::Report { .. } => ("Datacenter.powerOnVm", Span::ZERO),
        }
    }
}

impl From<FileWork> for Work {
    fn from(work: FileWork) -> Self {
        Self::Files(Box::new(work))
    }
}

/// Checks an operation and takes what it needs; also how much longer than usual it takes.
pub(crate) fn begin(
    world: &mut World,
    task: Id,
    user: &str,
    mut work: Work,
) -> Result<(Work, SignedDuration), Refusal> {
    reachable(world, &work)?;
    if let Some(vm) = work.subject() {
        let busy = vm_of(world, vm)?.busy;
        if let Some(other) = busy.filter(|other| *other != task) {
            return Err(in_progress(other));
        }
    }
    let mut more = SignedDuration::ZERO;
    match &mut work {
        Work::PowerOn { vm, host } => power::begin_on(world, *vm, *host, user)?,
        Work::PowerOff { vm } => power::expect_not(world, *vm, &PowerState::Off)?,
        Work::Reset { vm } | Work::Suspend { vm } => power::expect_on(world, *vm, &PowerState::Suspended)?,
        Work::Create { folder, spec, pool, host, vm } => {
            *vm = Some(create::begin(world, user, *folder, spec, *pool, *host)?);
        }
        Work::Clone { source, folder, name, spec, vm } => {
            let (made, longer) = clone::begin(world, user, *source, *folder, name, spec)?;
            *vm = Some(made);
            more = longer;
        }
        Work::Reconfigure { vm, spec } => config::check(world, *vm, spec)?,
        Work::Customize { vm, spec } => customize::check(world, *vm, spec)?,
        Work::Rename { entity, name } => config::check_name(world, *entity, name)?,
        Work::Destroy { entity } => destroy::check(world, *entity)?,
        Work::Snapshot { vm, .. } | Work::RemoveAllSnapshots { vm } => drop(vm_of(world, *vm)?),
        Work::RemoveSnapshot { snapshot, .. } | Work::Revert { snapshot, .. } => {
            snapshot::owner(world, *snapshot)?;
        }
        Work::Files(work) => files::check(world, work)?,
        Work::Move { target, moved } => moving::check(world, *target, moved)?,
        Work::Disconnect { host } => host::check(world, *host, false)?,
        Work::Reconnect { host } => host::check(world, *host, true)?,
        Work::Report { .. } => {}
    }
    if let Some(vm) = work.subject().and_then(|vm| world.store.vms.get_mut(&vm)) {
        vm.busy = Some(task);
    }
    Ok((work, more))
}

/// Something else works on it.
fn in_progress(task: Id) -> Refusal {
    Refusal::new("TaskInProgress", "The operation is not allowed in the current state.")
        .about("task", &task.reference())
}

/// Does what was begun.
pub(crate) fn finish(world: &mut World, task: Id, user: &str, work: Work) -> Result<Done, Refusal> {
    release(world, task, &work);
    match work {
        Work::PowerOn { vm, .. } => power::finish_on(world, vm, user)?,
        Work::PowerOff { vm } => power::off(world, vm, user)?,
        Work::Reset { vm } => power::reset(world, vm, user)?,
        Work::Suspend { vm } => power::suspend(world, vm, user)?,
        Work::Create { vm, spec, .. } => {
            let Some(vm) = vm else { return Ok(Done::Nothing) };
            return create::finish(world, user, vm, &spec).map(Done::Object);
        }
        Work::Clone { vm, source, spec, .. } => {
            let Some(vm) = vm else { return Ok(Done::Nothing) };
            return clone::finish(world, user, vm, source, &spec).map(Done::Object);
        }
        Work::Reconfigure { vm, spec } => config::apply(world, user, vm, &spec)?,
        Work::Customize { vm, spec } => customize::apply(world, vm, &spec)?,
        Work::Rename { entity, name } => config::rename(world, user, entity, &name)?,
        Work::Snapshot { vm, name, description } => {
            return snapshot::take(world, user, vm, &name, &description).map(Done::Object);
        }
        Work::RemoveSnapshot { snapshot, with_children, .. } => {
            snapshot::remove(world, snapshot, with_children)?;
        }
        Work::RemoveAllSnapshots { vm } => snapshot::remove_all(world, vm)?,
        Work::Revert { snapshot, .. } => snapshot::revert(world, user, snapshot)?,
        Work::Destroy { entity } => destroy::destroy(world, user, entity)?,
        Work::Files(work) => return files::run(world, *work),
        Work::Move { target, moved } => moving::apply(world, target, &moved)?,
        Work::Disconnect { host } => host::link(world, host, user, false)?,
        Work::Reconnect { host } => host::link(world, host, user, true)?,
        Work::Report { attempted } => return Ok(Done::Value(power::report(&attempted))),
    }
    Ok(Done::Nothing)
}

/// Gives back what an operation took that will not be finished.
pub(crate) fn abandon(world: &mut World, task: Id, work: &Work) {
    release(world, task, work);
    if let Work::Create { vm: Some(vm), .. } | Work::Clone { vm: Some(vm), .. } = work {
        destroy::remove_with_files(world, *vm);
    } else if let Work::PowerOn { vm, .. } = work {
        power::abandon_on(world, *vm);
    }
}

/// The VMs that an operation works with.
fn involved(world: &World, work: &Work) -> Vec<Id> {
    let other = if let Work::Clone { source, .. } = work {
        Some(*source)
    } else if let Work::RemoveSnapshot { snapshot, .. } | Work::Revert { snapshot, .. } = work {
        world.snapshots.get(snapshot).copied()
    } else {
        None
    };
    work.subject().into_iter().chain(other).collect()
}

/// Whether the hosts and datastores of an operation can be reached.
pub(crate) fn reachable(world: &World, work: &Work) -> Result<(), Refusal> {
    let store = &world.store;
    for vm in involved(world, work).iter().filter_map(|vm| store.vms.get(vm)) {
        if vm.host.and_then(|host| store.hosts.get(&host)).is_some_and(|host| !host.connected) {
            return Err(Refusal::host_not_connected());
        }
        let lost = |id: &Id| store.datastores.get(id).is_some_and(|datastore| !datastore.accessible);
        if let Some(lost) = vm.datastores().into_iter().find(lost) {
            return Err(Refusal::inaccessible_datastore(lost, store.name(lost)));
        }
    }
    Ok(())
}

/// The hosts and datastores that an operation keeps busy.
pub(crate) fn places(world: &World, work: &Work) -> BTreeSet<Id> {
    let vms = involved(world, work);
    let vms = vms.iter().filter_map(|vm| world.store.vms.get(vm));
    let mut places: BTreeSet<Id> = vms.flat_map(|vm| vm.datastores().into_iter().chain(vm.host)).collect();
    if let Work::Clone { spec, .. } = work {
        places.extend(spec.location.datastore.as_ref().and_then(Id::of));
        places.extend(spec.location.host.as_ref().and_then(Id::of));
    } else if let Work::Create { host, spec, .. } = work {
        places.extend(*host);
        let path = spec.files.as_ref().and_then(|files| files.vm_path_name.as_deref());
        places.extend(path.and_then(|path| Place::find(world, path)).map(|place| place.datastore));
    } else if let Work::Files(work) = work {
        places.extend(work.datastores());
    }
    places
}

fn release(world: &mut World, task: Id, work: &Work) {
    if let Some(vm) = work.subject().and_then(|vm| world.store.vms.get_mut(&vm))
        && vm.busy == Some(task)
    {
        vm.busy = None;
    }
}

/// A VM that exists.
pub(crate) fn vm_of(world: &World, id: Id) -> Result<&Vm, Refusal> {
    world.store.vms.get(&id).ok_or_else(|| Refusal::gone(&id.reference()))
}

pub(crate) fn vm_mut(world: &mut World, id: Id) -> Result<&mut Vm, Refusal> {
    world.store.vms.get_mut(&id).ok_or_else(|| Refusal::gone(&id.reference()))
}

fn expect_off(vm: &Vm) -> Result<(), Refusal> {
    if vm.power == PowerState::Off { Ok(()) } else { Err(Refusal::power_state(&PowerState::Off, &vm.power)) }
}

/// Makes a VM a template, or a template a VM again.
pub(crate) fn mark(
    world: &mut World,
    user: &str,
    id: Id,
    template: bool,
    pool: Option<Id>,
) -> Result<(), Refusal> {
    let vm = vm_of(world, id)?;
    expect_off(vm)?;
    if let Some(task) = vm.busy {
        return Err(in_progress(task));
    }
    if vm.template == template {
        return Err(Refusal::invalid_state());
    }
    if let Some(pool) = pool {
        create::check_pool(world, pool, "pool")?;
    }
    if template {
        compute::leave_pool(world, id);
    }
    let vm = vm_of(world, id)?;
    if let Some(pool) = pool {
        let beside = vm.host.filter(|host| compute::is_usable(world, pool, *host));
        let host = beside.map_or_else(|| compute::choose_host(world, pool), Ok)?;
        compute::join_pool(world, id, pool);
        compute::join_host(world, id, host);
    }
    vm_mut(world, id)?.template = template;
    let touched = ["config.template", "summary.config.template", "resourcePool"];
    world.store.touch(id, &touched);
    // vCenter records a reconfiguration for the former; the latter is a registration.
    let (class, done) =
        if template { ("VmReconfiguredEvent", "Reconfigured") } else { ("VmRegisteredEvent", "Registered") };
    event::record_placed(world, class, id, user, |vm| format!("{done} {vm}"));
    Ok(())
}
