use super::*;

#[test]
fn a_plan_is_told_as_the_peer_tells_it_and_what_waits_says_why() {
    let mut world = empty();
    let noop = told(&world.plan());
    assert_eq!(noop.len(), 1);
    assert_eq!(
        (noop[0].action.as_str(), noop[0].reason.as_str()),
        ("Noop", "Agent capacity satisfies current AgentMachine demand")
    );
    world.want.max_vms = Some(1);
    world.add_machine("w-a", waiting("w-a"));
    world.add_machine("w-b", waiting("w-b"));
    let lines: Vec<_> = told(&world.plan())
        .iter()
        .map(|one| format!("{} {} {}", one.action, one.name.as_deref().unwrap_or("-"), one.reason))
        .collect();
    let expected = [
        "DemandDeficit - 2 AgentMachines are waiting for suitable Agents, with 0 available Agents and 0 owned provisioning VMs",
        "CreateVM w-a the AgentMachine w-a waits; in here",
        "Wait w-a the VM of w-a has not appeared as an Agent yet",
        "Wait w-b 1 of 1 VMs are in use (spec.maxVMs)",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_long_plan_is_cut_and_says_so() {
    let mut world = empty();
    for number in 0..500 {
        let name = format!("w-{number}");
        world.add_machine(&name, waiting(&name));
    }
    let told = told(&world.plan());
    assert_eq!(told.len(), 101);
    assert_eq!(told[100].reason, "and 901 more");
}
