//! Thousands of AgentMachines: a plan takes time in proportion to their number.

use std::time::{Duration, Instant};

use super::*;

/// A third of them with nodes, a third with VMs on their way, a third with nothing yet; and strangers' Agents.
fn crowd(number: u32) -> World {
    let mut world = empty();
    for one in 0..number {
        let name = format!("w-{one:05}");
        let bytes = one.to_be_bytes();
        let unique = |identity: &mut Identity| {
            let mut uuid = [7; 16];
            uuid[..4].copy_from_slice(&bytes);
            identity.uuid = Some(BiosUuid::from_bytes(uuid));
            identity.macs = [Mac::from_bytes([0, 0x50, bytes[0], bytes[1], bytes[2], bytes[3]])].into();
        };
        let mut known = Identity::default();
        unique(&mut known);
        match one % 3 {
            0 => world.add_node(&name, 1),
            1 => {
                world.add_machine(&name, waiting(&name));
                world
                    .add_request(&name, request(&name, 1, Phase::Provisioning, VmReason::AgentNotDiscovered));
            }
            _ => world.add_machine(&name, waiting(&name)),
        }
        if one % 3 < 2 {
            let vm = world.request(&name);
            (vm.stored.identity, vm.seen) =
                (known.clone(), Seen::Present(Vm { identity: known.clone(), mark: Mark::Ours }));
        }
        let agent = if one % 3 == 0 { format!("agent-{name}") } else { format!("stranger-{name}") };
        if one % 3 != 0 {
            world.add_agent(&agent, fresh(9));
            unique(&mut known);
            known.uuid = known.uuid.map(BiosUuid::swapped);
        }
        let found = world.agent(&agent);
        (found.serial, found.macs) = (known.uuid, if one % 3 == 0 { known.macs } else { BTreeSet::new() });
        found.hostname = Some(format!("host-{one}"));
    }
    world
}

fn fastest(world: &World) -> Duration {
    let once = || {
        let begun = Instant::now();
        let plan = world.plan();
        assert!(!plan.actions.is_empty());
        begun.elapsed()
    };
    (0..3).map(|_| once()).min().expect("a time")
}

#[test]
fn a_plan_for_thousands_takes_time_in_proportion_to_their_number() {
    let (few, many) = (crowd(200), crowd(20_000));
    let creates = many.plan().actions.iter().filter(|action| matches!(action, Action::Create { .. })).count();
    assert_eq!(creates, 6666);
    let ratio = fastest(&many).as_secs_f64() / fastest(&few).as_secs_f64();
    // A hundred times as many take some hundred times as long: what does not fit into a cache is slower to look up, and
    // other tests run beside this one. A step that looked at each for each would take ten thousand times as long.
    assert!(ratio < 3000.0, "{ratio:.1}");
}
