//! Disconnecting and reconnecting hosts. Their VMs run on meanwhile, but cannot be changed.

use crate::id::Id;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{event, incident};

pub(super) fn check_connected(world: &World, id: Id) -> Result<(), Refusal> {
    let host = world.store.hosts.get(&id).ok_or_else(|| Refusal::gone(&id.reference()))?;
    if host.connected { Ok(()) } else { Err(Refusal::invalid_state()) }
}

pub(super) fn check_disconnected(world: &World, id: Id) -> Result<(), Refusal> {
    let host = world.store.hosts.get(&id).ok_or_else(|| Refusal::gone(&id.reference()))?;
    match (host.connected, host.disconnected_by_user) {
        (true, _) => Err(Refusal::invalid_state()),
        (false, true) => Ok(()),
        (false, false) => Err(Refusal::new("NoHost", "Unable to communicate with the remote host.")
            .with("name", world.store.name(id))),
    }
}

pub(super) fn disconnect(world: &mut World, id: Id, user: &str) -> Result<(), Refusal> {
    check_connected(world, id)?;
    link(world, id, false);
    let message = format!("Disconnected from {}", placed(world, id));
    event::record(world, "HostDisconnectedEvent", id, user, message);
    Ok(())
}

pub(super) fn reconnect(world: &mut World, id: Id, user: &str) -> Result<(), Refusal> {
    check_disconnected(world, id)?;
    link(world, id, true);
    event::record(world, "HostConnectedEvent", id, user, format!("Connected to {}", placed(world, id)));
    Ok(())
}

fn link(world: &mut World, id: Id, connected: bool) {
    if let Some(host) = world.store.hosts.get_mut(&id) {
        host.connected = connected;
        host.disconnected_by_user = !connected;
    }
    incident::touch_host(world, id);
}

/// `esx1 in DC0`.
fn placed(world: &World, id: Id) -> String {
    let datacenter = world.store.datacenter_of(id).map(|dc| world.store.name(dc)).unwrap_or_default();
    format!("{} in {datacenter}", world.store.name(id))
}
