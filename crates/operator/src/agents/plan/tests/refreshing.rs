use super::*;

#[expect(clippy::needless_pass_by_value, reason = "calls read better")]
/// How the VM `w-a` of a bound node stands after a change.
fn check(change: impl FnOnce(&mut World), phase: Phase, reason: VmReason) -> Plan {
    let mut world = empty();
    world.add_node("w-a", 1);
    change(&mut world);
    let plan = world.plan();
    let status = plan.status("w-a");
    assert_eq!((&status.phase, &status.reason), (&phase, &reason));
    plan
}

fn stored(world: &mut World, phase: Phase, reason: VmReason) {
    let stored = &mut world.request("w-a").stored;
    (stored.phase, stored.reason) = (Some(phase), Some(reason));
}

fn unbound(world: &mut World) {
    let agent = world.agent("agent-w-a");
    (agent.bound_to, agent.cluster) = (None, None);
}

fn machine_leaves(world: &mut World) {
    world.seen.machines.get_mut(&MachineName::new("w-a")).expect("a Machine").deleting = true;
}

#[test]
fn what_is_as_before_keeps_its_time_and_what_is_not_gets_a_new_one() {
    let plan = check(|_| {}, Phase::Bound, VmReason::AgentBound);
    assert_eq!(plan.status("w-a").since, at("11:30:00"));
    let plan = check(unbound, Phase::Released, VmReason::AgentReleased);
    assert_eq!(plan.status("w-a").since, at("12:00:00"));
}

#[test]
fn a_machine_that_is_deleted_is_followed_to_its_end() {
    let deleting = || VmReason::MachineDeleting;
    let plan = check(machine_leaves, Phase::Released, deleting());
    let machine = plan.status("w-a").machine.as_ref().and_then(|machine| machine.uid.clone());
    assert_eq!(machine, Some(uid("m-w-a")));
    check(
        |world| {
            machine_leaves(world);
            unbound(world);
        },
        Phase::Released,
        deleting(),
    );
    // Not seen any more, but nobody has asked for it.
    let gone = |world: &mut World| {
        stored(world, Phase::Released, VmReason::MachineDeleting);
        world.seen.machines.clear();
        unbound(world);
    };
    let plan = check(gone, Phase::Released, deleting());
    assert_eq!(plan.ask, [Object::Machine(MachineName::new("w-a"), Some(uid("m-w-a")))].into());
    assert_eq!(plan.told(), [""; 0]);
    let plan = check(
        |world| {
            gone(world);
            world.forget("w-a");
            confirm(world);
        },
        Phase::Released,
        VmReason::MachineDeleted,
    );
    assert_eq!(plan.told(), ["delete w-a MachineDeleted"]);
}

fn confirm(world: &mut World) {
    world.seen.confirmed_gone.insert(Object::Machine(MachineName::new("w-a"), Some(uid("m-w-a"))));
}

#[test]
fn a_machine_that_was_never_seen_deleting_deletes_nothing() {
    let plan = check(
        |world| {
            unbound(world);
            world.forget("w-a");
            confirm(world);
        },
        Phase::Released,
        VmReason::AgentReleased,
    );
    assert_eq!(plan.told(), [""; 0]);
}

/// That a VM is to go stays so whatever its Agent does meanwhile; while that is bound the VM waits.
#[test]
fn that_a_machine_was_deleted_is_not_forgotten() {
    let plan = check(
        |world| {
            stored(world, Phase::Released, VmReason::MachineDeleted);
            world.seen.machines.clear();
        },
        Phase::Released,
        VmReason::MachineDeleted,
    );
    assert_eq!(plan.told(), [""; 0]);
    assert_eq!(plan.why_request("w-a"), Some(&WaitReason::AgentBound { agent: AgentName::new("agent-w-a") }));
}

/// Another operator stored a name alone: that nobody has that name proves nothing.
#[test]
fn a_stored_machine_without_uid_is_resolved_anew() {
    let forget_uid = |world: &mut World, name: &str| {
        world.request("w-a").stored.machine = Some(MachineRef { name: MachineName::new(name), uid: None });
        unbound(world);
    };
    for name in ["w-a", "am-w-a"] {
        let plan = check(|world| forget_uid(world, name), Phase::Released, VmReason::AgentReleased);
        let machine = plan.status("w-a").machine.clone().expect("a Machine");
        assert_eq!((machine.name.as_str(), machine.uid), ("w-a", Some(uid("m-w-a"))), "{name}");
    }
    for reason in [VmReason::MachineDeleting, VmReason::MachineDeleted] {
        let plan = check(
            |world| {
                forget_uid(world, "w-a");
                stored(world, Phase::Released, reason);
                world.forget("w-a");
            },
            Phase::Released,
            VmReason::AgentReleased,
        );
        assert_eq!(plan.told(), [""; 0]);
    }
}

#[test]
fn an_agent_that_vanishes_leaves_an_orphan_and_takes_it_back_when_it_returns() {
    let plan = check(|world| world.seen.agents.clear(), Phase::Orphaned, VmReason::AgentMissing);
    let status = plan.status("w-a");
    assert_eq!((&status.agent, status.machine.is_some()), (&None, true), "the Machine is not forgotten");
    check(|world| stored(world, Phase::Orphaned, VmReason::AgentMissing), Phase::Bound, VmReason::AgentBound);
    let back = |world: &mut World| {
        stored(world, Phase::Orphaned, VmReason::AgentMissing);
        unbound(world);
    };
    check(back, Phase::Released, VmReason::AgentReleased);
    let never_bound = |world: &mut World| {
        back(world);
        world.request("w-a").stored.machine = None;
    };
    check(never_bound, Phase::Available, VmReason::AgentAvailable);
}

#[test]
fn a_vm_that_is_gone_is_made_again_only_if_no_node_ran_in_it() {
    let vanish = |world: &mut World| world.request("w-a").seen = Seen::Absent;
    check(vanish, Phase::Orphaned, VmReason::VmMissing);
    check(
        |world| {
            vanish(world);
            world.seen.agents.clear();
        },
        Phase::Orphaned,
        VmReason::VmMissing,
    );
    let plan = check(
        |world| {
            vanish(world);
            unbound(world);
            stored(world, Phase::Available, VmReason::AgentAvailable);
            world.request("w-a").stored.machine = None;
            *world.machine("w-a") = AgentMachine { pinned: Some("w-a".to_owned()), ..waiting("w-a") };
        },
        Phase::Provisioning,
        VmReason::VmCreatePending,
    );
    assert_eq!(plan.told(), ["delete agent agent-w-a"], "nobody may be bound to what does not run");
}

#[test]
fn a_vm_that_never_appears_is_made_anew_three_times() {
    let check = |failures: u32, started: &str, expected: &[&str]| {
        let mut world = empty();
        world.add_machine("w-a", AgentMachine { pinned: Some("w-a".to_owned()), ..waiting("w-a") });
        world.add_request("w-a", request("w-a", 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
        let silent = world.request("w-a");
        silent.stored.powered_on_at = Some(at(started));
        silent.discovery = DiscoveryFailures { count: failures, last: None, generation: Some(3) };
        let plan = world.plan();
        assert_eq!(plan.told(), expected, "{failures} {started}");
        plan
    };
    check(0, "11:31:00", &[]);
    check(0, "11:30:00", &["renew w-a 1"]);
    check(1, "11:30:00", &[]);
    check(1, "11:20:00", &["renew w-a 2"]);
    check(2, "11:10:00", &["renew w-a 3"]);
    let plan = check(3, "11:00:00", &[]);
    assert_eq!(plan.verdict, Verdict::DiscoveryFailed([RequestName::new("w-a")].into()));
    assert_eq!(
        plan.why_machine("w-a"),
        Some(&WaitReason::DiscoveryFailed { request: RequestName::new("w-a") })
    );
    assert_eq!(plan.status("w-a").reason, VmReason::AgentDiscoveryExpired);
}

#[test]
fn a_vm_is_made_anew_only_under_the_policy_with_our_mark_and_begins_anew_with_another_pool() {
    let silent = || {
        let mut world = empty();
        world.add_machine("w-a", AgentMachine { pinned: Some("w-a".to_owned()), ..waiting("w-a") });
        world.add_request("w-a", request("w-a", 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
        world.request("w-a").stored.powered_on_at = Some(at("10:00:00"));
        world.request("w-a").discovery = DiscoveryFailures { count: 3, last: None, generation: Some(2) };
        world
    };
    assert_eq!(silent().plan().told(), ["renew w-a 1"], "the pool has changed since");
    assert_eq!(silent().with(|world| world.want.cleanup = CleanupPolicy::Retain).plan().told(), [""; 0]);
    let strange = Seen::Present(Vm { identity: identity(1), mark: Mark::Other });
    for seen in [strange, Seen::Unknown] {
        assert_eq!(silent().with(|world| world.request("w-a").seen = seen).plan().told(), [""; 0]);
    }
    let unknown = silent().with(|world| world.request("w-a").stored.powered_on_at = None);
    assert_eq!(unknown.plan().told(), [""; 0], "nobody knows since when");
}
