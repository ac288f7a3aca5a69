//! Incidents: failures of hosts, datastores, guests and the vCenter, caused by a rule or over the control API.

mod host;

use std::net::IpAddr;

use rookery_sim::glob;
use serde::{Deserialize, Serialize};

use crate::id::{Id, Kind};
use crate::io::{self, Effect};
use crate::span::Span;
use crate::store::Tools;
use crate::world::{Timer, World};
use crate::{files, methods, task};
pub(crate) use host::touch as touch_host;

/// An incident. Objects are named by reference or by name; `*` and `?` stand for other characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Incident {
    ExpireSessions,
    /// The vCenter starts again: sessions, collectors, views, waits and queued tasks are lost, and what hosts already
    /// work on is done without anybody knowing. Connections are cut; until it is up everything is answered with 503.
    Restart {
        #[serde(default)]
        down: Span,
    },
    HostDown {
        host: String,
        /// Whether its running VMs are started on other hosts of the cluster. Those that are not, or do not fit,
        /// keep their last known power state, and are off when their host is back.
        #[serde(default)]
        restart_vms: bool,
    },
    HostUp {
        host: String,
    },
    /// Hosts go into maintenance, and their VMs to other hosts of the cluster if they fit; or come back.
    HostMaintenance {
        host: String,
        on: bool,
    },
    /// Datastores have this much free space, or what VMs and files leave if that is less.
    DatastoreFree {
        datastore: String,
        /// 0 makes it full.
        bytes: u64,
    },
    /// Datastores cannot be reached, or can be again. What runs goes on; nothing new can be done with their VMs.
    DatastoreAccessible {
        datastore: String,
        accessible: bool,
    },
    /// Guests report something else until they start again.
    SetGuest {
        vm: String,
        tools: Option<bool>,
        operations: Option<bool>,
        /// The addresses of its first network card.
        addresses: Option<Vec<IpAddr>>,
        host_name: Option<String>,
    },
}

/// The inventory has no such object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {class} called `{name}`")]
pub struct NoSuchObject {
    class: &'static str,
    name: String,
}

/// Applies an incident; returns how many objects it concerned.
pub(crate) fn apply(world: &mut World, incident: &Incident) -> Result<usize, NoSuchObject> {
    match incident {
        Incident::ExpireSessions => {
            let sessions = world.sessions.ids();
            for session in &sessions {
                methods::end_session(world, *session);
            }
            Ok(sessions.len())
        }
        Incident::Restart { down } => {
            restart(world, *down);
            Ok(1)
        }
        Incident::HostDown { host, restart_vms } => {
            each(world, Kind::HostSystem, host, |world, id| host::down(world, id, *restart_vms))
        }
        Incident::HostUp { host } => each(world, Kind::HostSystem, host, host::up),
        Incident::HostMaintenance { host, on } => {
            each(world, Kind::HostSystem, host, |world, id| host::maintenance(world, id, *on))
        }
        Incident::DatastoreFree { datastore, bytes } => {
            each(world, Kind::Datastore, datastore, |world, id| free(world, id, *bytes))
        }
        Incident::DatastoreAccessible { datastore, accessible } => {
            each(world, Kind::Datastore, datastore, |world, id| reach(world, id, *accessible))
        }
        Incident::SetGuest { vm, tools, operations, addresses, host_name } => {
            each(world, Kind::VirtualMachine, vm, |world, id| {
                let Some(vm) = world.store.vms.get_mut(&id) else { return };
                if let Some(running) = *tools {
                    vm.guest.tools = if running { Tools::Running } else { Tools::NotRunning };
                    // Without tools there are no guest operations.
                    vm.guest.operations_ready &= running;
                }
                vm.guest.operations_ready = operations.unwrap_or(vm.guest.operations_ready);
                if let Some(addresses) = addresses {
                    let card = vm.cards().next().map(|(device, _)| device.key);
                    vm.guest.addresses = card.map(|key| (key, addresses.clone())).into_iter().collect();
                }
                if host_name.is_some() {
                    vm.guest.host_name.clone_from(host_name);
                }
                world.store.touch(id, &["guest", "summary.guest"]);
            })
        }
    }
}

fn each(
    world: &mut World,
    kind: Kind,
    name: &str,
    mut act: impl FnMut(&mut World, Id),
) -> Result<usize, NoSuchObject> {
    let named = |id: &Id| glob::matches(name, &id.text()) || glob::matches(name, world.store.name(*id));
    let found: Vec<Id> = world.store.entities_of(kind).filter(named).collect();
    if found.is_empty() {
        return Err(NoSuchObject { class: kind.class(), name: name.to_owned() });
    }
    for id in &found {
        act(world, *id);
    }
    Ok(found.len())
}

/// The vCenter starts again.
fn restart(world: &mut World, down: Span) {
    // Waiting clients are cut off, not told that their session has ended.
    for session in world.sessions.ids() {
        for request in world.collectors.remove_session(session) {
            world.reply(request, io::cut());
        }
        world.sessions.end(session);
    }
    world.views.clear();
    world.events.collectors.clear();
    world.tasks.collectors.clear();
    files::cut_uploads(world);
    world.cut_delayed();
    task::lose_unfinished(world);
    world.effect(Effect::CutConnections);
    let down = down.draw(&mut world.random);
    world.up_at = world.now.saturating_add(down).unwrap_or(world.now);
    world.at(world.up_at, Timer::Wake);
}

fn free(world: &mut World, id: Id, bytes: u64) {
    let Some(datastore) = world.store.datastores.get_mut(&id) else { return };
    let wanted = i64::try_from(bytes).unwrap_or(i64::MAX);
    datastore.foreign = (datastore.capacity - datastore.used).saturating_sub(wanted).max(0);
    world.store.touch(id, &["summary.freeSpace", "info.freeSpace"]);
}

fn reach(world: &mut World, id: Id, accessible: bool) {
    let Some(datastore) = world.store.datastores.get_mut(&id) else { return };
    datastore.accessible = accessible;
    let vms: Vec<Id> = datastore.vms.iter().copied().collect();
    world.store.touch(id, &["summary.accessible", "host"]);
    for vm in vms {
        world.store.touch(vm, &["runtime.connectionState", "summary.runtime"]);
    }
}
