use rookery_fleet::capacity::PoolRoom;

use super::*;

#[test]
fn each_that_waits_gets_a_vm_of_its_own_and_is_pinned_to_it() {
    let mut world = empty();
    world.add_machine("w-a", waiting("w-a"));
    world.add_machine("w-b", AgentMachine { created: at("10:00:00"), ..waiting("w-b") });
    let plan = world.plan();
    assert_eq!(plan.told(), ["create w-b in here", "pin w-b", "create w-a in here", "pin w-a"]);
    assert_eq!((plan.counts.waiting, plan.counts.deficit), (2, 2));
}

#[test]
fn whoever_is_ready_deleting_or_waits_for_something_else_gets_none() {
    for change in [
        |machine: &mut AgentMachine| machine.ready = Ready::Yes,
        |machine: &mut AgentMachine| machine.ready = Ready::No,
        |machine: &mut AgentMachine| machine.deleting = true,
    ] {
        let mut world = empty();
        world.add_machine("w-a", waiting("w-a"));
        change(world.machine("w-a"));
        assert_eq!(world.plan().told(), [""; 0]);
    }
}

#[test]
fn a_vm_on_its_way_is_not_made_twice_and_counts_against_the_deficit() {
    let mut world = empty();
    for name in ["w-a", "w-b"] {
        world.add_machine(name, AgentMachine { pinned: Some(name.to_owned()), ..waiting(name) });
    }
    world.add_request("w-a", request("w-a", 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
    let plan = world.plan();
    assert_eq!(plan.told(), ["create w-b in here"]);
    assert_eq!(plan.why_machine("w-a"), Some(&WaitReason::BeingMade { request: RequestName::new("w-a") }));
    assert_eq!((plan.counts.provisioning, plan.counts.deficit), (1, 1));
    world.request("w-a").create_failed = true;
    let plan = world.plan();
    assert_eq!(plan.why_machine("w-a"), Some(&WaitReason::CreateFailed { request: RequestName::new("w-a") }));
    assert_eq!((plan.counts.provisioning, plan.counts.deficit), (0, 2));
}

#[test]
fn a_name_that_somebody_else_has_is_avoided() {
    let mut world = empty();
    world.add_machine("w-a", waiting("w-a"));
    world.seen.other_requests.insert(RequestName::new("w-a"));
    let plan = world.plan();
    let Action::Create { request, vm, .. } = &plan.actions[0] else { panic!("{plan:?}") };
    assert_eq!((request.as_str(), vm.as_str()), ("w-a-workers-3df76014ad", "w-a"));
    world.seen.other_requests.insert(request.clone());
    let plan = world.plan();
    assert_eq!(plan.why_machine("w-a"), Some(&WaitReason::NameTaken { request: request.clone() }));
    assert_eq!(plan.told(), [""; 0]);
}

#[test]
fn a_free_vm_is_given_to_whoever_waits_spares_first() {
    let mut world = empty();
    world.add_machine("w-a", waiting("w-a"));
    world.add_free("gone", 1);
    world.add_free("spare", 2);
    world.request("spare").purpose = Purpose::Spare;
    world.agent("agent-spare").labels.remove(AGENT_MACHINE_LABEL);
    let plan = world.plan();
    assert_eq!(plan.told()[..2], ["assign spare to w-a", "pin w-a"]);
    let patch = plan.patch("agent-spare").expect("a patch");
    assert_eq!(patch.labels, [(AGENT_MACHINE_LABEL.to_owned(), "w-a".to_owned())].into());
    assert_eq!((&patch.hostname, &patch.role, patch.approve), (&None, &None, false));
    world.seen.requests.remove(&RequestName::new("spare"));
    assert_eq!(world.plan().told()[..2], ["assign gone to w-a", "pin w-a"]);
    assert_eq!(world.plan().counts.deficit, 0);
}

/// What is released, not approved, bound, or meant for somebody else is not free.
#[test]
fn a_vm_that_is_not_free_is_given_to_nobody() {
    let changes: [fn(&mut World); 6] = [
        |world| {
            let stored = &mut world.request("gone").stored;
            (stored.phase, stored.reason) = (Some(Phase::Released), Some(VmReason::AgentReleased));
        },
        |world| world.agent("agent-gone").approved = false,
        |world| world.agent("agent-gone").bound_to = Some("somebody".to_owned()),
        |world| world.agent("agent-gone").deleting = true,
        |world| world.request("gone").deleting = true,
        |world| {
            let pinned = AgentMachine { pinned: Some("gone".to_owned()), ready: Ready::No, ..waiting("w-b") };
            world.add_machine("w-b", pinned);
        },
    ];
    for change in changes {
        let mut world = empty();
        world.add_machine("w-a", waiting("w-a"));
        world.add_free("gone", 1);
        change(&mut world);
        assert!(world.plan().told().contains(&"create w-a in here".to_owned()), "{:?}", world.plan());
    }
}

#[test]
fn what_is_bound_already_is_only_waited_for() {
    let mut world = empty();
    for bound_to in ["w-a", "am-w-a"] {
        world.add_machine("w-a", waiting("w-a"));
        world.add_free("w-a", 1);
        world.agent("agent-w-a").bound_to = Some(bound_to.to_owned());
        let plan = world.plan();
        assert_eq!(plan.told(), [""; 0], "{bound_to}");
        assert_eq!(plan.counts.deficit, 0);
        let machine = plan.status("w-a").machine.clone().expect("a Machine");
        assert_eq!((machine.name.as_str(), machine.uid), ("w-a", Some(uid("m-w-a"))));
    }
}

#[test]
fn two_pools_for_one_node_pool_make_nothing() {
    let mut world = empty();
    world.add_machine("w-a", waiting("w-a"));
    world.want.spares.number = 1;
    world.seen.rivals.insert(PoolName::new("other"));
    let plan = world.plan();
    assert_eq!(plan.told(), [""; 0]);
    assert_eq!(plan.verdict, Verdict::ConflictingPools([PoolName::new("other")].into()));
    assert!(matches!(plan.why_machine("w-a"), Some(WaitReason::ConflictingPools { .. })));
}

#[test]
fn spare_vms_are_made_when_everybody_is_served_and_no_more_than_there_may_be() {
    let mut world = empty();
    world.want.spares = Spares { number: 2, prefix: "p".repeat(60) };
    world.want.max_vms = Some(2);
    world.add_machine("w-a", waiting("w-a"));
    let plan = world.plan();
    assert_eq!(plan.told()[..2], ["create w-a in here", "pin w-a"]);
    let Some(Action::Create { vm, purpose: Purpose::Spare, .. }) = plan.actions.get(2) else {
        panic!("{plan:?}")
    };
    assert_eq!(vm.as_str().len(), 63);
    assert!(vm.as_str().starts_with(&format!("{}-spare-", "p".repeat(51))), "{vm}");
    assert_eq!(plan.why(&Subject::Spare), Some(&WaitReason::TooManyVms { used: 2, max: 2 }));
    assert_eq!(plan.actions.len(), 3);
}

#[test]
fn vms_are_spread_over_places_with_room() {
    let mut world = empty();
    world.want.places = ["a", "b", "c"].map(PlaceName::new).into();
    let room =
        |megabytes: i64| PoolRoom { memory_unreserved_bytes: Some(megabytes << 20), ..PoolRoom::default() };
    world.seen.rooms.insert(PlaceName::new("a"), room(20_000));
    world.seen.rooms.insert(PlaceName::new("b"), room(40_000));
    for name in ["w-a", "w-b", "w-c"] {
        world.add_machine(name, AgentMachine { pinned: Some(name.to_owned()), ..waiting(name) });
    }
    assert_eq!(world.plan().told(), ["create w-a in a", "create w-b in b", "create w-c in c"]);
    world.want.places.pop();
    world.add_machine("w-d", waiting("w-d"));
    let plan = world.plan();
    assert_eq!(plan.told(), ["create w-a in a", "create w-b in b", "create w-c in b"]);
    let why = plan.why_machine("w-d").expect("a reason").to_string();
    assert_eq!(why, "3616 MB of memory are left in the resource pool, 16384 MB are needed");
}

#[test]
fn a_new_vm_waits_for_the_former_one_of_its_name_to_be_gone() {
    let mut world = empty();
    world.add_machine("w-a", waiting("w-a"));
    let leaving = request("w-a", 1, Phase::Released, VmReason::MachineDeleted);
    world.add_request("w-a", Request { deleting: true, seen: Seen::Unknown, ..leaving });
    let plan = world.plan();
    assert_eq!(plan.told(), [""; 0]);
    assert_eq!(plan.why_machine("w-a"), Some(&WaitReason::BeingDeleted { request: RequestName::new("w-a") }));
}
