use std::collections::BTreeMap;

use super::*;

/// `property value` or `property/member.of.it value`, one a line; a dash is an unset value.
fn object(kind: &str, lines: &str) -> ObjectContent {
    let property = |line: &str| {
        let (path, value) = line.split_once(' ').expect("a path and a value");
        let (name, members) = path.split_once('/').unwrap_or((path, ""));
        let value = Node::leaf("val", "string", if value == "-" { "" } else { value });
        let wrap = |inner: Node, member: &str| {
            let mut outer = Node::new("val");
            outer.children.push(Node { name: member.into(), ..inner });
            outer
        };
        let val = members.rsplit('.').filter(|member| !member.is_empty()).fold(value, wrap);
        DynamicProperty { name: name.to_owned(), val }
    };
    let prop_set = lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(property).collect();
    ObjectContent { obj: MoRef::new(kind, "it"), prop_set, missing_set: Vec::new() }
}

fn only<T: Clone>(of: &BTreeMap<MoRef, T>) -> T {
    of.values().next().expect("one object").clone()
}

fn pool(lines: &str) -> PoolCapacity {
    only(&decode(vec![object("ResourcePool", lines)]).pools)
}

fn cluster(lines: &str) -> ClusterCapacity {
    only(&decode(vec![object("ClusterComputeResource", lines)]).clusters)
}

fn datastore(lines: &str) -> DatastoreCapacity {
    only(&decode(vec![object("Datastore", lines)]).datastores)
}

#[test]
fn a_pool_counts_memory_in_megabytes_and_in_bytes() {
    let pool = pool(
        "config.cpuAllocation/reservation 4121
         config.memoryAllocation/reservation 961
         runtime.cpu/maxUsage 4121
         runtime.memory/maxUsage 1007681536",
    );
    assert_eq!(pool.cpu.reservation, Some(Mhz(4121)));
    assert_eq!(pool.cpu.max_usage, Some(Mhz(4121)));
    assert_eq!(pool.memory.reservation, Some(Bytes(961 << 20)));
    assert_eq!(pool.memory.max_usage, Some(Bytes(961 << 20)));
}

#[test]
fn no_limit_is_told_apart_from_a_limit_that_is_not_known() {
    let limit = |value: &str| pool(&format!("config.memoryAllocation/limit {value}")).memory.limit;
    assert_eq!(limit("-1"), Some(Limit::Unlimited));
    assert_eq!(limit("0"), Some(Limit::AtMost(Bytes(0))));
    assert_eq!(limit("2048"), Some(Limit::AtMost(Bytes(2 << 30))));
    for unknown in ["-", "-2", "much", "18446744073709551615"] {
        assert_eq!(limit(unknown), None, "{unknown}");
    }
    assert_eq!(pool("config.cpuAllocation/limit -1").cpu.limit, Some(Limit::Unlimited));
    assert_eq!(pool("owner x").cpu, Share::default());
}

#[test]
fn effective_memory_is_read_in_the_unit_that_makes_sense() {
    let total = 256 << 30;
    for (given, total, expected) in [
        // A vCenter: megabytes, a little below the total.
        (250_000, total, Some(250_000 << 20)),
        (total >> 20, total, Some(total)),
        // A simulator: bytes.
        (total, total, Some(total)),
        (total / 2, total, Some(total / 2)),
        (0, total, Some(0)),
        (0, 0, Some(0)),
        // More than there is in either unit.
        (total + 1, total, None),
        (u64::MAX, total, None),
    ] {
        let lines = format!("summary/totalMemory {total}\n summary/effectiveMemory {given}");
        assert_eq!(cluster(&lines).effective_memory, expected.map(Bytes), "{given} of {total}");
    }
    assert_eq!(cluster("summary/effectiveMemory 250000").effective_memory, None, "no total to compare with");
}

#[test]
fn a_demand_that_was_never_filled_in_is_not_known() {
    let demand = |capacity: u64, total: u64| {
        cluster(&format!(
            "summary/totalCpu {total}
             summary/usageSummary.totalCpuCapacityMhz {capacity}
             summary/usageSummary.cpuDemandMhz 700
             summary/usageSummary.memDemandMB 3
             summary/usageSummary.totalVmCount 9"
        ))
        .demand
    };
    assert_eq!(demand(0, 4588), None);
    assert!(demand(0, 0).is_some(), "a cluster without hosts");
    let known = demand(4000, 4588).expect("it is filled in");
    assert_eq!((known.cpu, known.memory, known.vms), (Some(Mhz(700)), Some(Bytes(3 << 20)), Some(9)));
    assert_eq!(known.vms_off, None);
    assert_eq!(cluster("summary/totalCpu 4588").demand, None, "a host that stands alone");
}

#[test]
fn a_host_that_is_not_heard_says_nothing_of_its_use() {
    let host = |lines: &str| only(&decode(vec![object("HostSystem", lines)]).hosts);
    let known = host(
        "summary.hardware.cpuMhz 2294
         summary.hardware.numCpuCores 2
         summary.hardware.memorySize 4294430720
         summary.quickStats.overallMemoryUsage 1404
         runtime.connectionState connected
         runtime.inMaintenanceMode false",
    );
    assert_eq!((known.cpu, known.core_cpu), (Some(Mhz(4588)), Some(Mhz(2294))));
    assert_eq!((known.memory, known.memory_used), (Some(Bytes(4_294_430_720)), Some(Bytes(1404 << 20))));
    assert_eq!((known.connection, known.in_maintenance), (Some(HostConnection::Connected), Some(false)));
    let lost = host("runtime.connectionState notResponding\n summary.quickStats.overallCpuUsage -");
    assert_eq!(lost.connection, Some(HostConnection::NotResponding));
    assert_eq!((lost.cpu, lost.cpu_used, lost.in_maintenance), (None, None, None));
    let new = host("runtime.connectionState halfThere").connection;
    assert_eq!(new, Some(HostConnection::Other("halfThere".to_owned())));
}

#[test]
fn the_space_of_a_datastore_out_of_reach_is_not_known() {
    let lines = "summary/capacity 100\n summary/freeSpace 40\n summary/maintenanceMode normal";
    let known = datastore(&format!("{lines}\n summary/accessible true"));
    assert_eq!((known.capacity, known.free, known.uncommitted), (Some(Bytes(100)), Some(Bytes(40)), None));
    assert_eq!((known.accessible, known.in_maintenance), (Some(true), Some(false)));
    let lost = datastore(&format!("{lines}\n summary/accessible false"));
    assert_eq!((lost.capacity, lost.free, lost.accessible), (None, None, Some(false)));
    let leaving = datastore("summary/maintenanceMode enteringMaintenance");
    assert_eq!((leaving.in_maintenance, leaving.accessible), (Some(true), None));
}

#[test]
fn each_object_is_filed_by_its_class_and_strangers_are_left_out() {
    let kinds = ["VirtualApp", "ComputeResource", "StoragePod", "VirtualMachine"];
    let found = decode(kinds.map(|kind| object(kind, "")).into());
    assert_eq!(found.pools.len(), 1);
    assert_eq!(found.clusters.len(), 1);
    assert_eq!(found.datastores.len(), 1);
    assert_eq!(only(&found.datastores), DatastoreCapacity::default(), "nothing known, nothing made up");
    assert!(found.hosts.is_empty());
}
