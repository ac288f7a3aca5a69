//! Folders, datacenters and networks.

use super::Members;
use crate::id::{Id, Kind};
use crate::privileges::{self, seen};
use crate::world::World;

/// What every entity has.
pub(super) fn entity(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let store = &world.store;
    m.text("name", store.name(id));
    m.maybe_reference("parent", store.parent(id));
    m.one_of("overallStatus", "ManagedEntityStatus", "green");
    m.one_of("configStatus", "ManagedEntityStatus", "green");
    m.values("effectiveRole", privileges::own_roles(world, id));
    m.references("recentTask", world.tasks.about(id));
    m.flag("alarmActionsEnabled", true);
    m.without(&[
        "customValue",
        "value",
        "availableField",
        "triggeredAlarmState",
        "declaredAlarmState",
        "disabledMethod",
        "configIssue",
        "tag",
    ]);
    m.values("permission", privileges::permissions_on(world, id, false));
}

pub(super) fn folder(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(folder) = world.store.folders.get(&id) else { return };
    m.texts("childType", folder.holds.iter().copied());
    m.references("childEntity", seen(world, folder.children.iter().copied()));
    m.unset("namespace");
}

pub(super) fn datacenter(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(datacenter) = world.store.datacenters.get(&id) else { return };
    m.reference("vmFolder", datacenter.vm_folder);
    m.reference("hostFolder", datacenter.host_folder);
    m.reference("datastoreFolder", datacenter.datastore_folder);
    m.reference("networkFolder", datacenter.network_folder);
    m.references("datastore", seen(world, datacenter.datastores.iter().copied()));
    m.references("network", seen(world, datacenter.networks.iter().copied()));
    m.object("configuration", "DatacenterConfigInfo", |_| {});
}

pub(super) fn network(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(network) = world.store.networks.get(&id) else { return };
    let name = world.store.name(id);
    m.object("summary", "NetworkSummary", |m| {
        m.reference("network", id);
        m.text("name", name);
        m.flag("accessible", true);
        m.text("ipPoolName", "");
    });
    m.references("host", seen(world, network.hosts.iter().copied()));
    m.references("vm", seen(world, network.vms.iter().copied()));
    if id.kind == Kind::DistributedVirtualPortgroup {
        m.text("key", &id.text());
        m.object("config", "DVPortgroupConfigInfo", |m| {
            m.text("key", &id.text());
            m.text("name", name);
            m.int("numPorts", 128);
            m.maybe_reference("distributedVirtualSwitch", network.switch);
            m.text("type", "earlyBinding");
            m.text("configVersion", "1");
            m.flag("autoExpand", true);
        });
        m.unset("portKeys");
    }
}

pub(super) fn switch(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(switch) = world.store.switches.get(&id) else { return };
    m.text("uuid", &switch.uuid);
    m.references("portgroup", seen(world, switch.portgroups.iter().copied()));
    m.object("summary", "DVSSummary", |m| {
        m.text("name", world.store.name(id));
        m.text("uuid", &switch.uuid);
        m.int("numPorts", 128);
    });
    m.without(&["capability", "config", "networkResourcePool", "runtime"]);
}
