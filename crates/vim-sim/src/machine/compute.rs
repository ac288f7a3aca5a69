//! Compute capacity: which host and pools a VM runs in, and what it takes of them. A running VM takes all memory and
//! CPUs that it is configured with.

use rookery_vim::objects::PowerState;

use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::world::World;

/// What a running VM takes, and of whom.
struct Share {
    cpus: i64,
    cpu_mhz: i64,
    memory_mb: i64,
    host: Option<Id>,
    /// Its pool and the pools around that, all of which count it.
    pools: Vec<Id>,
}

fn share(world: &World, vm: Id) -> Option<Share> {
    let store = &world.store;
    let vm = store.vms.get(&vm)?;
    let cpus = i64::from(vm.cpus);
    let around = vm.pool.into_iter().flat_map(|pool| std::iter::once(pool).chain(store.ancestors(pool)));
    let host = vm.host.and_then(|host| store.hosts.get(&host));
    Some(Share {
        cpus,
        cpu_mhz: host.map_or(0, |host| cpus * i64::from(host.cpu_mhz)),
        memory_mb: vm.memory_mb,
        host: vm.host,
        pools: around.filter(|id| id.kind == Kind::ResourcePool).collect(),
    })
}

/// Reserves capacity on the host and in the pools of a VM; refuses if either is short of it.
pub(super) fn reserve(world: &mut World, vm: Id) -> Result<(), Refusal> {
    let Some(share) = share(world, vm) else { return Ok(()) };
    if let Some(host) = share.host.and_then(|host| world.store.hosts.get(&host)) {
        let left = (host.memory_bytes >> 20) - host.used_memory_mb;
        if share.memory_mb > left {
            return Err(short_of_memory(left, share.memory_mb));
        }
    }
    for pool in share.pools.iter().filter_map(|id| world.store.pools.get(id)) {
        let left = pool.memory_limit_mb.map(|limit| limit - pool.used_memory_mb);
        if let Some(left) = left.filter(|left| share.memory_mb > *left) {
            return Err(short_of_memory(left, share.memory_mb));
        }
        let left = pool.cpu_limit.map(|limit| limit - pool.used_cpu_mhz);
        if let Some(left) = left.filter(|left| share.cpu_mhz > *left) {
            return Err(Refusal::new(
                "InsufficientCpuResourcesFault",
                "The available CPU resources in the parent resource pool are insufficient for the operation.",
            )
            .with("unreserved", left.to_string())
            .with("requested", share.cpu_mhz.to_string()));
        }
    }
    change(world, &share, 1);
    Ok(())
}

/// Counts a VM that runs already, even beyond the capacity.
pub(crate) fn count(world: &mut World, vm: Id) {
    if let Some(share) = share(world, vm) {
        change(world, &share, 1);
    }
}

pub(super) fn release(world: &mut World, vm: Id) {
    if let Some(share) = share(world, vm) {
        change(world, &share, -1);
    }
}

fn change(world: &mut World, share: &Share, sign: i64) {
    if let Some(id) = share.host
        && let Some(host) = world.store.hosts.get_mut(&id)
    {
        host.used_cpus += sign * share.cpus;
        host.used_memory_mb += sign * share.memory_mb;
        world.store.log.touch(id, "summary.quickStats");
    }
    for id in &share.pools {
        if let Some(pool) = world.store.pools.get_mut(id) {
            pool.used_memory_mb += sign * share.memory_mb;
            pool.used_cpu_mhz += sign * share.cpu_mhz;
            world.store.touch(*id, &["runtime", "summary"]);
        }
    }
}

fn short_of_memory(left: i64, wanted: i64) -> Refusal {
    Refusal::new(
        "InsufficientMemoryResourcesFault",
        "The available Memory resources in the parent resource pool are insufficient for the operation.",
    )
    .with("unreserved", (left << 20).to_string())
    .with("requested", (wanted << 20).to_string())
}

/// The host of a cluster that has most memory left, of those that can run anything.
pub(crate) fn choose_host(world: &World, pool: Id) -> Result<Id, Refusal> {
    let store = &world.store;
    let compute = store.owner_of_pool(pool).and_then(|owner| store.computes.get(&owner));
    let hosts = compute.into_iter().flat_map(|compute| &compute.hosts);
    let usable = hosts.filter_map(|id| store.hosts.get(id).map(|host| (*id, host)));
    let usable = usable.filter(|(_, host)| host.connected && !host.in_maintenance);
    // Of equals the first: the order of references is the order in which hosts were made.
    let best = usable
        .max_by_key(|(id, host)| ((host.memory_bytes >> 20) - host.used_memory_mb, std::cmp::Reverse(*id)));
    best.map(|(id, _)| id)
        .ok_or_else(|| Refusal::new("NoCompatibleHost", "No host is compatible with the virtual machine."))
}

/// Moves a running VM to another host of its cluster, if one has the capacity.
pub(crate) fn move_running(world: &mut World, vm: Id) -> bool {
    let Some((Some(from), Some(pool))) = world.store.vms.get(&vm).map(|vm| (vm.host, vm.pool)) else {
        return false;
    };
    let Some(to) = choose_host(world, pool).ok().filter(|to| *to != from) else { return false };
    release(world, vm);
    join_host(world, vm, to);
    let moved = reserve(world, vm).is_ok();
    if !moved {
        join_host(world, vm, from);
        // It had this capacity a moment ago.
        reserve(world, vm).ok();
    }
    moved
}

/// Moves a VM that does not run to another host of its cluster, if there is one.
pub(crate) fn move_idle(world: &mut World, vm: Id) {
    let pool = world.store.vms.get(&vm).and_then(|vm| vm.pool);
    if let Some(to) = pool.and_then(|pool| choose_host(world, pool).ok()) {
        join_host(world, vm, to);
    }
}

/// Whether a host is of a pool's cluster and can run anything.
pub(super) fn is_usable(world: &World, pool: Id, host: Id) -> bool {
    world.store.parent(host) == world.store.owner_of_pool(pool)
        && world.store.hosts.get(&host).is_some_and(|host| host.connected && !host.in_maintenance)
}

/// Checks that a requested host is in the pool's cluster; the fault names the parameter.
pub(super) fn host_for(world: &World, pool: Id, host: Id, parameter: &str) -> Result<Id, Refusal> {
    if !world.store.exists(host) {
        return Err(Refusal::gone(&host.reference()));
    }
    let of_cluster =
        world.store.hosts.contains_key(&host) && world.store.parent(host) == world.store.owner_of_pool(pool);
    if of_cluster { Ok(host) } else { Err(Refusal::invalid_argument(parameter)) }
}

/// Makes a VM run on a host from now on.
pub(super) fn join_host(world: &mut World, vm: Id, host: Id) {
    leave_host(world, vm);
    if let Some(found) = world.store.vms.get_mut(&vm) {
        found.host = Some(host);
    }
    world.store.list_vm(host, vm, true);
    world.store.touch(vm, &["runtime.host", "summary.runtime.host"]);
}

pub(super) fn leave_host(world: &mut World, vm: Id) {
    let Some(host) = world.store.vms.get_mut(&vm).and_then(|vm| vm.host.take()) else { return };
    world.store.list_vm(host, vm, false);
}

pub(super) fn join_pool(world: &mut World, vm: Id, pool: Id) {
    leave_pool(world, vm);
    if let Some(found) = world.store.vms.get_mut(&vm) {
        found.pool = Some(pool);
    }
    world.store.list_vm(pool, vm, true);
    world.store.log.touch(vm, "resourcePool");
}

pub(super) fn leave_pool(world: &mut World, vm: Id) {
    let Some(pool) = world.store.vms.get_mut(&vm).and_then(|vm| vm.pool.take()) else { return };
    world.store.list_vm(pool, vm, false);
}

pub(super) fn is_running(world: &World, vm: Id) -> bool {
    world.store.vms.get(&vm).is_some_and(|vm| vm.power == PowerState::On)
}
