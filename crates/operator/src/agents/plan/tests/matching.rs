use super::*;

/// The proof by which the Agent of one VM is known, if it is.
fn check(vm: impl FnOnce(&mut Request), agent: impl FnOnce(&mut Agent), expected: Option<Proof>) {
    let mut world = empty();
    world.add_request("w-a", request("w-a", 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
    world.add_agent("a", fresh(9));
    vm(world.request("w-a"));
    agent(world.agent("a"));
    let found = find_matches(&world.seen, &world.want);
    assert_eq!(found.of(&RequestName::new("w-a")).map(|found| found.proof), expected);
    assert_eq!(found.has(&AgentName::new("a")), expected.is_some());
}

fn nameless(request: &mut Request) {
    (request.seen, request.stored.identity) = (Seen::Unknown, Identity::default());
}

#[test]
fn a_uuid_is_told_by_the_serial_number_or_by_the_name_in_either_order() {
    check(|_| {}, |agent| agent.serial = Some(uuid(1)), Some(Proof::Uuid));
    check(|_| {}, |agent| (agent.serial, agent.named) = (None, Some(uuid(1))), Some(Proof::Uuid));
    check(|_| {}, |agent| (agent.serial, agent.named) = (None, Some(uuid(1).swapped())), Some(Proof::Uuid));
    // A serial number has one order only.
    check(|_| {}, |agent| agent.serial = Some(uuid(1).swapped()), None);
}

#[test]
fn any_address_of_both_sides_is_enough() {
    check(|_| {}, |agent| agent.macs = [mac(8), mac(1)].into(), Some(Proof::Mac));
    check(|_| {}, |agent| (agent.serial, agent.macs) = (None, [mac(1)].into()), Some(Proof::Mac));
}

#[test]
fn a_host_name_counts_only_where_nothing_speaks_against_it() {
    let named = |agent: &mut Agent| agent.observed_hostname = Some("w-a".to_owned());
    check(|_| {}, named, None);
    check(nameless, named, Some(Proof::Hostname));
    check(nameless, |agent| agent.hostname = Some("w-a".to_owned()), Some(Proof::Hostname));
    check(
        |_| {},
        |agent| {
            named(agent);
            (agent.serial, agent.macs) = (None, BTreeSet::new());
        },
        Some(Proof::Hostname),
    );
    check(
        nameless,
        |agent| {
            named(agent);
            agent.labels.clear();
        },
        None,
    );
}

#[test]
fn a_host_name_of_two_agents_is_nobodys() {
    let mut world = empty();
    world.add_request("w-a", request("w-a", 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
    nameless(world.request("w-a"));
    for (name, number) in [("a", 8), ("b", 9)] {
        world.add_agent(name, Agent { hostname: Some("w-a".to_owned()), ..fresh(number) });
    }
    assert_eq!(find_matches(&world.seen, &world.want), Matches::default());
}

#[test]
fn an_agent_that_was_known_stays_known_while_nothing_speaks_against_it() {
    let known = |request: &mut Request| request.stored.agent = Some(AgentName::new("a"));
    check(known, |_| {}, None);
    check(known, |agent| (agent.serial, agent.macs) = (None, BTreeSet::new()), Some(Proof::Reference));
}

#[test]
fn the_infra_env_and_the_cluster_have_to_be_right_always_and_the_labels_not() {
    let ours = |agent: &mut Agent| agent.serial = Some(uuid(1));
    check(
        |_| {},
        |agent| {
            ours(agent);
            agent.infra_envs = [InfraEnvName::new("other")].into();
        },
        None,
    );
    check(
        |_| {},
        |agent| {
            ours(agent);
            agent.cluster = Some("other".to_owned());
        },
        None,
    );
    check(
        |_| {},
        |agent| {
            ours(agent);
            agent.cluster = Some("demo".to_owned());
        },
        Some(Proof::Uuid),
    );
    check(
        |_| {},
        |agent| {
            ours(agent);
            agent.labels.clear();
        },
        Some(Proof::Uuid),
    );
}

#[test]
fn an_agent_of_another_pools_vm_is_not_ours() {
    let mut world = empty();
    world.add_free("w-a", 1);
    world.seen.claimed_elsewhere.insert(AgentName::new("agent-w-a"));
    assert_eq!(find_matches(&world.seen, &world.want), Matches::default());
}

#[test]
fn the_better_proof_wins_and_a_bound_agent_before_a_free_one() {
    let mut world = empty();
    world.add_request("w-a", request("w-a", 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
    world.add_agent("by-mac", Agent { serial: None, ..fresh(1) });
    world.add_agent("by-serial", Agent { macs: BTreeSet::new(), ..fresh(1) });
    let found = |world: &World| find_matches(&world.seen, &world.want).of(&RequestName::new("w-a")).cloned();
    assert_eq!(found(&world).map(|found| found.agent), Some(AgentName::new("by-serial")));
    world.add_agent("zz-bound", Agent { bound_to: Some("w-a".to_owned()), ..fresh(1) });
    assert_eq!(found(&world).map(|found| found.agent), Some(AgentName::new("zz-bound")));
}

/// Agents without a VM of ours are counted if they have the labels, and nothing else becomes of them.
#[test]
fn a_strangers_agent_counts_and_is_left_alone() {
    let mut world = empty();
    world.add_machine("w-a", waiting("w-a"));
    world.add_agent("stranger", Agent { hostname: Some("w-a".to_owned()), ..fresh(9) });
    world.add_agent("other", Agent { labels: BTreeMap::new(), ..fresh(8) });
    let plan = world.plan();
    assert_eq!(plan.told(), ["create w-a in here", "pin w-a"]);
    assert_eq!((plan.counts.matching, plan.counts.available, plan.counts.deficit), (1, 1, 1));
}

#[test]
fn a_discriminator_tells_pools_apart() {
    use rookery_crds::agents::names::DISCRIMINATOR_LABEL;
    let count = |pools: Option<&str>, agents: Option<&str>| {
        let mut world = empty();
        let label = |value: &str| (DISCRIMINATOR_LABEL.to_owned(), value.to_owned());
        world.want.labels.extend(pools.map(label));
        world.add_agent("a", fresh(9));
        world.agent("a").labels.extend(agents.map(label));
        world.plan().counts.matching
    };
    assert_eq!(count(None, None), 1);
    assert_eq!(count(None, Some("other")), 0);
    assert_eq!(count(Some("ours"), Some("ours")), 1);
    assert_eq!(count(Some("ours"), Some("other")), 0);
    assert_eq!(count(Some("ours"), None), 0, "it is in no VM of ours");
}
