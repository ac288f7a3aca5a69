use super::*;

/// A VM whose AgentMachine waits, and its Agent has appeared.
fn appeared() -> World {
    let mut world = empty();
    world.add_machine("w-a", AgentMachine { pinned: Some("w-a".to_owned()), ..waiting("w-a") });
    world.add_request("w-a", request("w-a", 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
    world.add_agent("a", fresh(1));
    world
}

#[test]
fn an_agent_gets_all_that_it_lacks_in_one_patch() {
    let plan = appeared().plan();
    let labels = [(ROLE_LABEL, "worker"), (AGENT_MACHINE_LABEL, "w-a")];
    let expected = AgentPatch {
        agent: AgentName::new("a"),
        resource_version: "1".to_owned(),
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        role: Some("worker".to_owned()),
        hostname: Some("w-a".to_owned()),
        approve: true,
    };
    assert_eq!(plan.actions, [Action::Patch(expected)]);
    assert_eq!(plan.status("w-a").phase, Phase::Available);
}

#[test]
fn a_prepared_agent_is_left_alone() {
    let world = appeared().with(|world| world.add_agent("a", prepared(1, "w-a")));
    assert_eq!(world.plan().actions, []);
}

#[test]
fn a_host_name_of_the_guests_own_is_corrected() {
    let mut world = appeared();
    world.add_agent("a", prepared(1, "w-a"));
    world.agent("a").hostname = Some("localhost".to_owned());
    world.agent("a").labels.insert(AGENT_MACHINE_LABEL.to_owned(), "localhost".to_owned());
    let plan = world.plan();
    let patch = plan.patch("a").expect("a patch");
    assert_eq!(patch.hostname.as_deref(), Some("w-a"));
    assert_eq!(patch.labels.get(AGENT_MACHINE_LABEL).map(String::as_str), Some("w-a"));
}

#[test]
fn a_host_name_alone_approves_nobody_unless_the_pool_says_so() {
    let mut world = appeared();
    let request = world.request("w-a");
    (request.seen, request.stored.identity) = (Seen::Unknown, Identity::default());
    world.agent("a").observed_hostname = Some("w-a".to_owned());
    let plan = world.plan();
    assert!(!plan.patch("a").expect("a patch").approve);
    assert_eq!(plan.why_machine("w-a"), Some(&WaitReason::NotApproved { agent: AgentName::new("a") }));
    world.want.approval = Approval::AlsoByHostname;
    assert!(world.plan().patch("a").expect("a patch").approve);
    assert_eq!(world.plan().why_machine("w-a"), None);
}

#[test]
fn an_agent_that_others_approve_is_patched_once() {
    let mut world = appeared();
    world.want.approval = Approval::Never;
    assert!(!world.plan().patch("a").expect("a patch").approve);
    world.add_agent("a", Agent { approved: false, ..prepared(1, "w-a") });
    let plan = world.plan();
    assert_eq!(plan.actions, []);
    assert_eq!(plan.why_machine("w-a"), Some(&WaitReason::ApprovedByOthers { agent: AgentName::new("a") }));
}

#[test]
fn a_bound_a_released_and_a_leaving_agent_are_not_patched() {
    let changes: [fn(&mut World); 3] = [
        |world| world.agent("a").bound_to = Some("w-a".to_owned()),
        |world| world.agent("a").deleting = true,
        |world| world.request("w-a").stored.phase = Some(Phase::Released),
    ];
    for change in changes {
        let world = appeared().with(change);
        assert_eq!(world.plan().patch("a"), None);
    }
}

#[test]
fn an_agent_is_prepared_without_demand_and_a_spare_gets_no_selection() {
    let mut world = appeared();
    world.want.spares.number = 1;
    world.seen.agent_machines.clear();
    world.request("w-a").purpose = Purpose::Spare;
    let plan = world.plan();
    let patch = plan.patch("a").expect("a patch");
    assert!(patch.approve && !patch.labels.contains_key(AGENT_MACHINE_LABEL));
}
