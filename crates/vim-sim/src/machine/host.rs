//! Disconnecting and reconnecting hosts. Their VMs run on meanwhile, but cannot be changed.

use crate::id::Id;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{event, incident};

/// Whether a host can be connected again, or else disconnected.
pub(super) fn check(world: &World, id: Id, connect: bool) -> Result<(), Refusal> {
    let host = world.store.hosts.get(&id).ok_or_else(|| Refusal::gone(&id.reference()))?;
    if host.connected == connect {
        return Err(Refusal::invalid_state());
    }
    if connect && !host.disconnected_by_user {
        return Err(Refusal::new("NoHost", "Unable to communicate with the remote host.")
            .with("name", world.store.name(id)));
    }
    Ok(())
}

pub(super) fn link(world: &mut World, id: Id, user: &str, connect: bool) -> Result<(), Refusal> {
    check(world, id, connect)?;
    if let Some(host) = world.store.hosts.get_mut(&id) {
        host.connected = connect;
        host.disconnected_by_user = !connect;
    }
    incident::touch_host(world, id);
    let (class, done) = if connect {
        ("HostConnectedEvent", "Connected to")
    } else {
        ("HostDisconnectedEvent", "Disconnected from")
    };
    let datacenter = world.store.datacenter_of(id).map(|dc| world.store.name(dc)).unwrap_or_default();
    let message = format!("{done} {} in {datacenter}", world.store.name(id));
    event::record(world, class, id, user, message);
    Ok(())
}
