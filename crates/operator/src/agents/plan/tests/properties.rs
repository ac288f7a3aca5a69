//! What is true of every plan for every world.

use proptest::prelude::*;

use super::worlds::any_world;
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_agent_machine_has_one_vm_at_most(world in any_world()) {
        let plan = world.plan();
        let mut given = BTreeSet::new();
        for action in &plan.actions {
            let Some(machine) = served(action) else { continue };
            prop_assert!(given.insert(machine.clone()), "{machine} gets two");
            prop_assert!(world.seen.agent_machines.get(machine).is_some_and(AgentMachine::waits));
            let own = |request: &Request| request.purpose == Purpose::AgentMachine(machine.clone());
            prop_assert!(!world.seen.requests.values().any(own), "{machine} has one");
        }
        let created = |action: &Action| {
            if let Action::Create { request, .. } = action { Some(request.clone()) } else { None }
        };
        let names: Vec<_> = plan.actions.iter().filter_map(created).collect();
        prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        prop_assert!(names.iter().all(|name| !world.seen.requests.contains_key(name)));
    }

    #[test]
    fn nothing_that_is_not_ours_is_touched(world in any_world()) {
        let plan = world.plan();
        let matches = find_matches(&world.seen, &world.want);
        for action in &plan.actions {
            match action {
                Action::DestroyVm { request, .. } | Action::Renew { request, .. } => {
                    let seen = &world.seen.requests[request].seen;
                    let is_ours = matches!(seen, Seen::Present(Vm { mark: Mark::Ours, .. }));
                    prop_assert!(is_ours, "{request}: {seen:?}");
                    prop_assert!(world.want.cleanup == CleanupPolicy::Delete);
                }
                Action::Patch(AgentPatch { agent, .. }) | Action::DeleteAgent { agent, .. } => {
                    prop_assert!(matches.has(agent), "{agent} is in no VM of ours");
                }
                Action::Create { .. } | Action::Assign { .. } | Action::Pin { .. } | Action::Unpin { .. }
                | Action::DeleteRequest { .. } | Action::Finish { .. } | Action::FinishPool => {}
            }
        }
        for (name, agent) in &world.seen.agents {
            let approved = plan.actions.iter().any(|action| matches!(action, Action::Patch(patch) if patch.agent == *name && patch.approve));
            let told_by = world.seen.requests.keys().filter_map(|request| matches.of(request)).find(|found| found.agent == *name);
            prop_assert!(!approved || told_by.is_some_and(|found| found.proof.is_identity()), "{agent:?}");
        }
    }

    #[test]
    fn no_vm_in_which_a_node_may_run_is_deleted(world in any_world()) {
        let plan = world.plan();
        let matches = find_matches(&world.seen, &world.want);
        for action in &plan.actions {
            let Some(name) = loses_vm(action).filter(|_| world.want.cleanup == CleanupPolicy::Delete) else { continue };
            let agent = matches.of(name).map(|found| &world.seen.agents[&found.agent]);
            prop_assert!(agent.is_none_or(|agent| !agent.is_bound()), "{name}");
            let request = &world.seen.requests[name];
            let machine = request.stored.machine.as_ref().filter(|machine| machine.uid.is_some());
            let served = matches!(request.stored.phase, Some(Phase::Bound | Phase::Released | Phase::Orphaned));
            let there = machine.is_some_and(|machine| {
                world.seen.machines.get(&machine.name).is_some_and(|found| Some(&found.uid) == machine.uid.as_ref())
            });
            prop_assert!(!(served && there), "{name}: its Machine exists");
        }
        for action in &plan.actions {
            if let Action::DeleteAgent { agent, .. } = action {
                prop_assert!(!world.seen.agents[agent].is_bound());
            }
        }
    }

    #[test]
    fn no_limit_is_passed(world in any_world()) {
        let created = world.plan().actions.iter().filter(|action| matches!(action, Action::Create { .. })).count();
        if let Some(max) = world.want.max_vms {
            prop_assert!(created == 0 || world.seen.requests.len() + created <= max as usize);
        }
    }

    #[test]
    fn whoever_waits_is_served_or_told_why(world in any_world()) {
        let plan = world.plan();
        for (name, machine) in world.seen.agent_machines.iter().filter(|(_, machine)| machine.waits()) {
            let told = plan.why_machine(name.as_str()).is_some();
            let served = plan.actions.iter().any(|action| served(action) == Some(name));
            let bound = world.seen.agents.values().any(|agent| agent.bound_to.as_deref().is_some_and(|to| [name.as_str(), machine.uid.as_str()].contains(&to)));
            let own = world.seen.requests.values().any(|request| request.purpose == Purpose::AgentMachine(name.clone()));
            let deleted = world.want.standing == Standing::Deleted;
            prop_assert!(told || served || bound || own || deleted || machine.agent.is_some(), "{name}");
        }
    }

    #[test]
    fn the_same_world_makes_the_same_plan_and_another_seed_other_names_alone(world in any_world()) {
        prop_assert_eq!(world.plan(), world.plan());
        let kinds = |plan: &Plan| plan.told().iter().map(|told| told.split(" in ").next().map(|first| first.split("-spare-").next().map(str::to_owned))).collect::<Vec<_>>();
        let other = world.clone().with(|world| world.seed += 1);
        prop_assert_eq!(kinds(&world.plan()), kinds(&other.plan()));
    }

    /// Maps have an order of their own; what names look like and where objects stand in it decides nothing but ties.
    #[test]
    fn the_order_in_which_agents_are_told_does_not_matter(world in any_world(), salt in "[a-z]{3}") {
        let mut renamed = world.clone();
        let rename = |name: &AgentName| AgentName::new(&name.as_str().chars().rev().chain(salt.chars()).collect::<String>());
        renamed.seen.agents = world.seen.agents.iter().map(|(name, agent)| (rename(name), agent.clone())).collect();
        for machine in renamed.seen.agent_machines.values_mut() {
            machine.agent = machine.agent.as_ref().map(&rename);
        }
        for request in renamed.seen.requests.values_mut() {
            request.stored.agent = request.stored.agent.as_ref().map(&rename);
        }
        let (one, other) = (world.plan(), renamed.plan());
        prop_assert_eq!(one.counts, other.counts);
        prop_assert_eq!(one.actions.len(), other.actions.len());
        let phases = |plan: &Plan| plan.vms.iter().map(|(name, vm)| (name.clone(), vm.phase.clone(), vm.reason.clone())).collect::<Vec<_>>();
        prop_assert_eq!(phases(&one), phases(&other));
    }

    #[test]
    fn a_world_in_which_everything_succeeds_comes_to_rest(world in any_world()) {
        let last = world.settled();
        let plan = last.plan();
        let bound: BTreeSet<_> = last.seen.agents.values().filter_map(|agent| agent.bound_to.clone()).collect();
        let is_bound = |name: &AgentMachineName, machine: &AgentMachine| {
            bound.contains(name.as_str()) || bound.contains(machine.uid.as_str())
        };
        let waiting = last.seen.agent_machines.iter().filter(|(name, machine)| machine.waits() && !is_bound(name, machine));
        for (name, machine) in waiting {
            prop_assert!(plan.why_machine(name.as_str()).is_some() || last.want.standing == Standing::Deleted, "{name} {machine:?} {:?}", plan);
        }
        let mut purposes = BTreeSet::new();
        let live = last.seen.requests.values().filter(|request| !request.deleting);
        let own = live.filter_map(|request| match &request.purpose {
            Purpose::AgentMachine(machine) => Some(machine),
            Purpose::Spare => None,
        });
        for machine in own {
            prop_assert!(purposes.insert(machine.clone()), "{machine} has two");
        }
    }
}

/// The AgentMachine that an action serves.
fn served(action: &Action) -> Option<&AgentMachineName> {
    if let Action::Create { purpose: Purpose::AgentMachine(machine), .. }
    | Action::Assign { agent_machine: machine, .. } = action
    {
        return Some(machine);
    }
    None
}

/// The request whose VM an action destroys, now or later.
fn loses_vm(action: &Action) -> Option<&RequestName> {
    if let Action::DestroyVm { request, .. }
    | Action::Renew { request, .. }
    | Action::DeleteRequest { request, .. } = action
    {
        return Some(request);
    }
    None
}
