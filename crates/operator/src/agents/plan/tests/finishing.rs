use super::*;

fn leaving(change: impl FnOnce(&mut World)) -> Plan {
    let mut world = empty();
    world.add_free("old", 1);
    world.forget("old");
    world.request("old").deleting = true;
    change(&mut world);
    world.plan()
}

#[test]
fn the_vm_goes_first_then_its_agent_then_the_request() {
    assert_eq!(leaving(|_| {}).told(), ["destroy old"]);
    let gone = |world: &mut World| world.request("old").seen = Seen::Absent;
    assert_eq!(leaving(gone).told(), ["delete agent agent-old"]);
    assert_eq!(
        leaving(|world| {
            gone(world);
            world.seen.agents.clear();
        })
        .told(),
        ["finish old"]
    );
    assert_eq!(
        leaving(|world| {
            gone(world);
            world.agent("agent-old").deleting = true;
        })
        .told(),
        ["finish old"]
    );
    let bound = |world: &mut World| world.agent("agent-old").bound_to = Some("somebody".to_owned());
    assert_eq!(
        leaving(|world| {
            gone(world);
            bound(world);
        })
        .told(),
        ["finish old"]
    );
}

#[test]
fn an_agent_is_deleted_only_if_the_hardware_told_whose_it_is() {
    let plan = leaving(|world| {
        world.request("old").seen = Seen::Absent;
        let agent = world.agent("agent-old");
        (agent.serial, agent.macs) = (None, BTreeSet::new());
    });
    assert_eq!(plan.told(), ["finish old"]);
}

#[test]
fn what_vcenter_has_not_told_is_neither_destroyed_nor_forgotten() {
    let plan = leaving(|world| world.request("old").seen = Seen::Unknown);
    assert_eq!(plan.told(), [""; 0]);
    assert_eq!(plan.why_request("old"), Some(&WaitReason::InventoryIncomplete));
}

#[test]
fn a_vm_without_our_mark_is_left_alone() {
    let plan = leaving(|world| {
        world.request("old").seen = Seen::Present(Vm { identity: identity(1), mark: Mark::Other });
    });
    assert_eq!(plan.told(), ["finish old"]);
}

#[test]
fn a_vm_in_which_a_node_runs_waits_although_somebody_deletes_its_request() {
    let mut world = empty();
    world.add_node("w-a", 1);
    world.request("w-a").deleting = true;
    assert_eq!(world.plan().told(), [""; 0]);
    assert_eq!(
        world.plan().why_request("w-a"),
        Some(&WaitReason::AgentBound { agent: AgentName::new("agent-w-a") })
    );
    world.want.bound_vms = BoundVms::Destroyed;
    assert_eq!(world.plan().told(), ["destroy w-a"]);
}

/// A node, a free VM, one on its way whose AgentMachine waits, and one that never appeared.
fn deleted_pool() -> World {
    let mut world = empty();
    world.want.standing = Standing::Deleted;
    world.add_node("node", 1);
    world.add_free("free", 2);
    for (name, number, phase, reason) in [
        ("new", 3, Phase::Provisioning, VmReason::AgentNotDiscovered),
        ("silent", 4, Phase::Orphaned, VmReason::AgentDiscoveryExpired),
    ] {
        world.add_machine(name, AgentMachine { pinned: Some(name.to_owned()), ..waiting(name) });
        world.add_request(name, request(name, number, phase, reason));
    }
    world
}

#[test]
fn a_deleted_pool_lets_go_of_all_but_nodes() {
    let plan = deleted_pool().plan();
    let expected = [
        "unpin new",
        "unpin silent",
        "delete free PoolDeleted",
        "delete new PoolDeleted",
        "delete silent PoolDeleted",
    ];
    assert_eq!(plan.told(), expected);
    assert_eq!(plan.verdict, Verdict::BoundVms([RequestName::new("node")].into()));
    let all = deleted_pool().with(|world| world.want.bound_vms = BoundVms::Destroyed).plan();
    assert!(all.told().contains(&"delete node PoolDeleted".to_owned()));
    assert_eq!(all.verdict, Verdict::Reconciled);
}

#[test]
fn a_deleted_pool_that_retains_keeps_all_vms() {
    let mut world = deleted_pool();
    world.want.cleanup = CleanupPolicy::Retain;
    assert_eq!(world.plan().told().iter().filter(|told| told.starts_with("delete")).count(), 4);
    world.seen.requests.values_mut().for_each(|request| request.deleting = true);
    let finished = ["unpin new", "unpin silent", "finish free", "finish new", "finish node", "finish silent"];
    assert_eq!(world.plan().told(), finished);
}

#[test]
fn a_pool_goes_after_its_last_request() {
    let mut world = deleted_pool();
    world.seen.requests.clear();
    assert_eq!(world.plan().told(), ["unpin new", "unpin silent", "finish the pool"]);
}
