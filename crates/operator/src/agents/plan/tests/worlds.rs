//! Random worlds: a few AgentMachines in any state, with VMs and Agents that fit them or do not.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// One of a few AgentMachines, with what is made for it and what appeared in that.
type Member = (Option<AgentMachine>, Option<Machine>, Option<Request>, Option<Agent>);

fn any_member(number: u8) -> impl Strategy<Value = Member> {
    (
        any_machine(number),
        any::<bool>(),
        option::weighted(0.7, any_request(number)),
        option::weighted(0.6, any_agent(number)),
    )
        .prop_map(move |(machine, deleting, request, agent)| {
            let cluster_machine =
                machine.as_ref().map(|_| Machine { uid: uid(&format!("m-{}", name_of(number))), deleting });
            (machine, cluster_machine, request, agent)
        })
}

fn name_of(number: u8) -> String {
    format!("w-{}", char::from(b'a' + number))
}

fn any_machine(number: u8) -> impl Strategy<Value = Option<AgentMachine>> {
    let ready = select(vec![Ready::Yes, Ready::No, Ready::NoSuitableAgents, Ready::NoSuitableAgents]);
    let pinned = option::of(Just(name_of(number)));
    option::weighted(0.8, (ready, pinned, proptest::bool::weighted(0.1), 0..60u32)).prop_map(move |told| {
        let (ready, pinned, deleting, minute) = told?;
        let name = name_of(number);
        let agent = (ready == Ready::Yes).then(|| AgentName::new(&format!("agent-{name}")));
        Some(AgentMachine {
            ready,
            pinned,
            deleting,
            agent,
            created: at(&format!("11:{minute:02}:00")),
            ..waiting(&name)
        })
    })
}

fn any_request(number: u8) -> impl Strategy<Value = Request> {
    let phases: Vec<_> = Phase::all().collect();
    let reasons: Vec<_> = VmReason::all().collect();
    let seen = prop_oneof![
        1 => Just(Seen::Unknown),
        1 => Just(Seen::Absent),
        1 => Just(Seen::Present(Vm { identity: identity(number), mark: Mark::Other })),
        5 => Just(Seen::Present(Vm { identity: identity(number), mark: Mark::Ours })),
    ];
    let machine = option::of(proptest::bool::weighted(0.7));
    let minutes = option::of(0..60u32);
    (
        select(phases),
        select(reasons),
        seen,
        machine,
        minutes,
        proptest::bool::weighted(0.15),
        proptest::bool::weighted(0.2),
        0..4u32,
        any::<bool>(),
    )
        .prop_map(
            move |(phase, reason, seen, machine, minute, deleting, spare, failures, create_failed)| {
                let name = name_of(number);
                let mut request = request(&name, number, phase, reason);
                request.seen = seen;
                request.deleting = deleting;
                request.create_failed = create_failed;
                request.discovery = DiscoveryFailures { count: failures, last: None, generation: Some(3) };
                request.stored.powered_on_at = minute.map(|minute| at(&format!("11:{minute:02}:00")));
                let machine = machine.map(|knows| MachineRef {
                    name: MachineName::new(&name),
                    uid: knows.then(|| uid(&format!("m-{name}"))),
                });
                if spare {
                    request.purpose = Purpose::Spare;
                } else {
                    request.stored.machine = machine;
                }
                request
            },
        )
}

/// In that VM, in somebody else's, or nowhere known.
fn any_agent(number: u8) -> impl Strategy<Value = Agent> {
    let name = name_of(number);
    let serial =
        prop_oneof![5 => Just(Some(uuid(number))), 2 => Just(Some(uuid(100 + number))), 1 => Just(None)];
    let hostname = option::of(select(vec![name.clone(), "localhost".to_owned()]));
    let bound = option::weighted(0.4, select(vec![name.clone(), format!("am-{name}"), "w-z".to_owned()]));
    (serial, hostname, bound, any::<bool>(), proptest::bool::weighted(0.1), proptest::bool::weighted(0.8))
        .prop_map(move |(serial, hostname, bound_to, approved, deleting, labelled)| {
            let mut agent = if labelled { prepared(number, &name) } else { fresh(number) };
            agent.macs = if serial == Some(uuid(number)) { agent.macs } else { [mac(100 + number)].into() };
            agent.cluster = bound_to.as_ref().map(|_| "demo".to_owned());
            Agent { deleting, approved, hostname, bound_to, serial, ..agent }
        })
}

pub(super) fn any_world() -> impl Strategy<Value = World> {
    let members = (0..6u8).map(any_member).collect::<Vec<_>>();
    let policy = prop_oneof![4 => Just(CleanupPolicy::Delete), 1 => Just(CleanupPolicy::Retain)];
    let standing = prop_oneof![5 => Just(Standing::Live), 1 => Just(Standing::Deleted)];
    let confirmed = vec((0..6u8, any::<bool>()), 0..6);
    let idle = vec(0..6u8, 0..6);
    (members, policy, standing, 0..3u32, option::weighted(0.3, 1..8u32), confirmed, idle).prop_map(
        |(members, policy, standing, spares, max, confirmed, idle)| {
            let mut world = empty();
            (world.want.cleanup, world.want.standing) = (policy, standing);
            (world.want.spares.number, world.want.max_vms) = (spares, max);
            for (number, (machine, cluster_machine, request, agent)) in (0u8..).zip(members) {
                let name = name_of(number);
                if let Some(machine) = machine {
                    world.seen.agent_machines.insert(AgentMachineName::new(&name), machine);
                }
                if let Some(machine) = cluster_machine {
                    world.seen.machines.insert(MachineName::new(&name), machine);
                }
                if let Some(request) = request {
                    world.add_request(&name, request);
                }
                if let Some(agent) = agent {
                    world.add_agent(&format!("agent-{name}"), agent);
                }
            }
            for (number, known) in confirmed {
                let name = name_of(number);
                let uid = known.then(|| uid(&format!("m-{name}")));
                let objects = [
                    Object::AgentMachine(AgentMachineName::new(&name)),
                    Object::Machine(MachineName::new(&name), uid),
                ];
                let gone: Vec<_> = objects.into_iter().filter(|object| world.is_gone(object)).collect();
                world.seen.confirmed_gone.extend(gone);
            }
            let idle: Vec<_> = idle.into_iter().map(name_of).collect();
            world.idle(&idle.iter().map(String::as_str).collect::<Vec<_>>());
            world
        },
    )
}
