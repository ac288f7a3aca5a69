use super::*;

/// What becomes of the VM `old`, which nobody has needed for long.
fn check(change: impl FnOnce(&mut World), expected: &[&str]) -> Plan {
    let mut world = empty();
    world.add_free("old", 1);
    world.forget("old");
    world.idle(&["old"]);
    change(&mut world);
    let plan = world.plan();
    assert_eq!(plan.told(), expected);
    plan
}

fn stored(world: &mut World, phase: Phase, reason: VmReason) {
    let stored = &mut world.request("old").stored;
    (stored.phase, stored.reason) = (Some(phase), Some(reason));
}

fn without_agent(world: &mut World) {
    world.seen.agents.clear();
}

#[test]
fn what_nobody_needs_goes() {
    check(|_| {}, &["delete old Surplus"]);
    check(
        |world| {
            without_agent(world);
            stored(world, Phase::Provisioning, VmReason::AgentNotDiscovered);
        },
        &["delete old Orphan"],
    );
    check(
        |world| {
            without_agent(world);
            stored(world, Phase::Orphaned, VmReason::AgentMissing);
        },
        &["delete old Orphan"],
    );
    check(|world| stored(world, Phase::Released, VmReason::AgentReleased), &["delete old Orphan"]);
}

#[test]
fn it_goes_after_a_grace_that_begins_when_it_is_not_needed() {
    let plan = check(|world| world.seen.carried = Carried::default(), &[]);
    assert_eq!(plan.why_request("old"), Some(&WaitReason::Grace { until: at("12:10:00") }));
    assert_eq!(plan.carried.idle_since, [(RequestName::new("old"), at("12:00:00"))].into());
}

#[test]
fn nothing_of_it_goes_while_there_is_demand() {
    let unready = AgentMachine { ready: Ready::No, ..waiting("w-a") };
    let plan = check(|world| world.add_machine("w-a", unready), &[]);
    assert_eq!(plan.why_request("old"), Some(&WaitReason::Demand));
    assert_eq!(plan.carried, Carried::default(), "the grace begins anew");
}

#[test]
fn nothing_goes_under_retain() {
    let retain = |world: &mut World| world.want.cleanup = CleanupPolicy::Retain;
    check(retain, &[]);
    check(
        |world| {
            retain(world);
            world.request("old").deleting = true;
        },
        &["finish old"],
    );
    check(
        |world| {
            retain(world);
            stored(world, Phase::Released, VmReason::MachineDeleted);
            let machine = MachineRef { name: MachineName::new("old"), uid: Some(uid("m-old")) };
            world.request("old").stored.machine = Some(machine);
        },
        &[],
    );
}

#[test]
fn spares_stay_the_free_before_those_on_their_way() {
    let mut world = empty();
    world.want.spares.number = 1;
    world.add_free("old", 1);
    world.add_free("older", 2);
    for name in ["old", "older"] {
        world.forget(name);
    }
    world.add_request(
        "spare",
        Request {
            purpose: Purpose::Spare,
            ..request("spare", 3, Phase::Provisioning, VmReason::AgentNotDiscovered)
        },
    );
    world.idle(&["old", "older", "spare"]);
    assert_eq!(world.plan().told(), ["delete older Surplus", "delete spare Orphan"]);
}

#[test]
fn what_was_not_asked_for_is_not_gone() {
    for phase in [Phase::Available, Phase::Provisioning, Phase::Released, Phase::Orphaned] {
        let plan = check(
            |world| {
                stored(world, phase.clone(), VmReason::AgentMissing);
                if matches!(phase, Phase::Provisioning | Phase::Orphaned) {
                    without_agent(world);
                }
                world.seen.confirmed_gone.clear();
            },
            &[],
        );
        let asked = Object::AgentMachine(AgentMachineName::new("old"));
        assert!(plan.ask.contains(&asked), "{phase}: {:?}", plan.ask);
        assert_eq!(plan.why_request("old"), Some(&WaitReason::Asking { object: asked }));
    }
}

/// Whatever happens to labels, references and Agents: where a Machine is, a node may be.
#[test]
fn a_vm_whose_machine_is_there_stays() {
    for change in [
        |world: &mut World| world.want.infra_env = InfraEnvName::new("other"),
        |world: &mut World| world.want.hosted_cluster = "other".to_owned(),
        |world: &mut World| world.want.labels = [("customer".to_owned(), "other".to_owned())].into(),
        without_agent,
    ] {
        let mut world = empty();
        world.add_node("w-a", 1);
        world.idle(&["w-a"]);
        change(&mut world);
        assert_eq!(world.plan().told(), [""; 0]);
        // Even if its AgentMachine has vanished.
        let name = AgentMachineName::new("w-a");
        world.seen.agent_machines.remove(&name);
        world.seen.confirmed_gone.insert(Object::AgentMachine(name));
        assert_eq!(world.plan().told(), [""; 0]);
    }
}

#[test]
fn a_vm_whose_machine_was_deleted_goes_at_once_even_while_others_wait() {
    let mut world = empty();
    world.add_node("w-a", 1);
    world.add_machine("w-b", AgentMachine { pinned: Some("w-b".to_owned()), ..waiting("w-b") });
    world.add_request("w-b", request("w-b", 2, Phase::Provisioning, VmReason::AgentNotDiscovered));
    let stored = &mut world.request("w-a").stored;
    (stored.phase, stored.reason) = (Some(Phase::Released), Some(VmReason::MachineDeleting));
    world.forget("w-a");
    let agent = world.agent("agent-w-a");
    (agent.bound_to, agent.cluster) = (None, None);
    assert_eq!(world.plan().told(), ["delete w-a MachineDeleted"]);
}

/// The AgentMachine took another Agent: the VM that was made for it is free, but its Machine is none of this VM's.
#[test]
fn a_vm_whose_agent_machine_was_served_elsewhere_is_surplus() {
    let mut world = empty();
    world.add_free("w-a", 1);
    world.add_machine(
        "w-a",
        AgentMachine { ready: Ready::Yes, agent: Some(AgentName::new("other")), ..waiting("w-a") },
    );
    world.idle(&["w-a"]);
    assert_eq!(world.plan().told(), ["delete w-a Surplus"]);
}
