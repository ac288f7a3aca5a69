//! Incidents: failures of hosts, datastores, guests and the vCenter, caused by a rule or over the control API.

mod guest;
mod host;
mod restart;
mod storage;

use std::net::IpAddr;

use rookery_sim::glob;
use serde::{Deserialize, Serialize};

use crate::id::{Id, Kind};
use crate::methods;
use crate::span::Span;
use crate::world::World;
pub(crate) use host::touch as touch_host;

/// An incident. Objects are named by reference or by name; `*` and `?` stand for other characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Incident {
    ExpireSessions,
    /// The vCenter starts again: sessions, collectors, views, waits and queued tasks are lost, and what hosts already
    /// work on is done without anybody knowing. Connections are cut; until it is up everything is answered with 503.
    Restart {
        /// How long it is down.
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
        /// Whether they go into it.
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
        /// Whether the tools run.
        #[serde(default)]
        tools: Option<bool>,
        /// Whether guest operations are possible.
        #[serde(default)]
        operations: Option<bool>,
        /// The addresses of its first network card.
        #[serde(default)]
        addresses: Option<Vec<IpAddr>>,
        #[serde(default)]
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
            restart::restart(world, *down);
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
            each(world, Kind::Datastore, datastore, |world, id| storage::free(world, id, *bytes))
        }
        Incident::DatastoreAccessible { datastore, accessible } => {
            each(world, Kind::Datastore, datastore, |world, id| storage::reach(world, id, *accessible))
        }
        Incident::SetGuest { vm, tools, operations, addresses, host_name } => {
            let shown = guest::Shown {
                tools: *tools,
                operations: *operations,
                addresses: addresses.as_deref(),
                host_name: host_name.as_deref(),
            };
            each(world, Kind::VirtualMachine, vm, |world, id| guest::show(world, id, &shown))
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
