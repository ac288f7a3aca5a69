//! Resource pools.

use super::Members;
use crate::id::Id;
use crate::privileges::seen;
use crate::store::Pool;
use crate::world::World;

pub(super) fn pool(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(pool) = world.store.pools.get(&id) else { return };
    let name = world.store.name(id);
    m.object("summary", "ResourcePoolSummary", |m| {
        m.text("name", name);
        m.object("config", "ResourceConfigSpec", |m| config(id, pool, m));
        m.object("runtime", "ResourcePoolRuntimeInfo", |m| runtime(world, id, pool, m));
        m.count("configuredMemoryMB", pool.used_memory_mb);
    });
    m.object("runtime", "ResourcePoolRuntimeInfo", |m| runtime(world, id, pool, m));
    m.maybe_reference("owner", world.store.owner_of_pool(id));
    m.references("resourcePool", seen(world, pool.children.iter().copied()));
    m.references("vm", seen(world, pool.vms.iter().copied()));
    m.object("config", "ResourceConfigSpec", |m| config(id, pool, m));
    m.without(&["childConfiguration", "namespace"]);
}

fn config(id: Id, pool: &Pool, m: &mut Members<'_, '_>) {
    m.reference("entity", id);
    m.text("changeVersion", "1");
    m.object("cpuAllocation", "ResourceAllocationInfo", |m| {
        allocation(pool.cpu_reservation, pool.cpu_limit, m);
    });
    m.object("memoryAllocation", "ResourceAllocationInfo", |m| {
        allocation(pool.memory_reservation_mb, pool.memory_limit_mb, m);
    });
}

fn allocation(reservation: i64, limit: Option<i64>, m: &mut Members<'_, '_>) {
    m.long("reservation", reservation);
    m.flag("expandableReservation", true);
    m.long("limit", limit.unwrap_or(-1));
    m.object("shares", "SharesInfo", |m| {
        m.int("shares", 4000);
        m.one_of("level", "SharesLevel", "normal");
    });
}

fn runtime(world: &World, id: Id, pool: &Pool, m: &mut Members<'_, '_>) {
    let (cpu, memory) = ceiling(world, id);
    m.object("memory", "ResourcePoolResourceUsage", |m| usage(pool.used_memory_mb << 20, memory << 20, m));
    m.object("cpu", "ResourcePoolResourceUsage", |m| usage(pool.used_cpu_mhz, cpu, m));
    m.one_of("overallStatus", "ManagedEntityStatus", "green");
}

fn usage(used: i64, most: i64, m: &mut Members<'_, '_>) {
    let left = (most - used).max(0);
    m.long("reservationUsed", used);
    m.long("reservationUsedForVm", used);
    m.long("unreservedForPool", left);
    m.long("unreservedForVm", left);
    m.long("overallUsage", used);
    m.long("maxUsage", most);
}

/// MHz and MB that a pool can have at most: its own limits, those around it, or what the hosts have.
fn ceiling(world: &World, id: Id) -> (i64, i64) {
    let store = &world.store;
    let hosts = store.owner_of_pool(id).and_then(|owner| store.computes.get(&owner)).map(|c| &c.hosts);
    let hosts =
        || hosts.into_iter().flatten().filter_map(|host| store.hosts.get(host)).filter(|h| h.connected);
    let cpu: i64 = hosts().map(|host| i64::from(host.cores) * i64::from(host.cpu_mhz)).sum();
    let memory: i64 = hosts().map(|host| host.memory_bytes >> 20).sum();
    let pools = || std::iter::once(id).chain(store.ancestors(id)).filter_map(|id| store.pools.get(&id));
    let cpu = pools().filter_map(|pool| pool.cpu_limit).fold(cpu, i64::min);
    (cpu, pools().filter_map(|pool| pool.memory_limit_mb).fold(memory, i64::min))
}
