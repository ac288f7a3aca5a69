//! What a guest reports, set by an incident.

use std::net::IpAddr;

use crate::id::Id;
use crate::store::Tools;
use crate::world::World;

/// What the guest is to report; what is none stays.
pub(super) struct Shown<'a> {
    pub(super) tools: Option<bool>,
    pub(super) operations: Option<bool>,
    pub(super) addresses: Option<&'a [IpAddr]>,
    pub(super) host_name: Option<&'a str>,
}

pub(super) fn show(world: &mut World, id: Id, shown: &Shown<'_>) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    if let Some(running) = shown.tools {
        vm.guest.tools = if running { Tools::Running } else { Tools::NotRunning };
        // Without tools there are no guest operations.
        vm.guest.operations_ready &= running;
    }
    if let Some(ready) = shown.operations {
        vm.guest.operations_ready = ready;
    }
    if let Some(addresses) = shown.addresses {
        let card = vm.cards().next().map(|(device, _)| device.key);
        vm.guest.addresses = card.map(|key| (key, addresses.to_vec())).into_iter().collect();
    }
    if let Some(name) = shown.host_name {
        vm.guest.host_name = Some(name.to_owned());
    }
    world.store.touch(id, &["guest", "summary.guest"]);
}
