use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::samples::any_view;

/// Does all that a plan asks for, perfectly and at once. What it makes can be told from all that was made before.
fn apply(world: &mut World, plan: &Plan, pass: usize) {
    for (id, _) in &plan.remove {
        world.view.machines.remove(id);
    }
    let change = |world: &mut World, id: &MachineId, change: &dyn Fn(&mut Machine<Mark>)| {
        if let Some(mut machine) = world.view.machines.remove(id) {
            change(Arc::make_mut(&mut machine));
            world.view.machines.insert(machine);
        }
    };
    for id in &plan.finish {
        change(world, id, &|machine| {
            machine.power = Some(Power::Off);
            machine.awaits_setup = false;
        });
    }
    for id in &plan.give_back {
        change(world, id, &|machine| {
            if let Some(mark) = &mut machine.recognised.mark {
                mark.pooled = true;
            }
        });
    }
    for make in &plan.make {
        let TemplateState::Ready { origin, .. } = &world.wishes[make.wish].template else {
            panic!("made from nothing");
        };
        let kind = &world.wishes[make.wish].key.kind;
        let (kind, flavor) = kind.split_once(' ').unwrap_or((kind, ""));
        let mut machine = marked(&make.name, |mark| {
            (mark.kind, mark.flavor, mark.pooled) = (kind.to_owned(), flavor.to_owned(), true);
            mark.origin = origin.incarnation.clone().unwrap_or_default();
            mark.ip = make.address.as_ref().map(|given| given.ip);
        });
        machine.id = MachineId::new(format!("made-{pass}-{}", make.name));
        world.view.machines.insert(Arc::new(machine));
    }
}

fn idle(plan: &Plan) -> bool {
    plan.make.is_empty() && plan.finish.is_empty() && plan.give_back.is_empty() && plan.remove.is_empty()
}

fn any_wishes() -> impl Strategy<Value = Vec<PoolTarget>> {
    let family = prop_oneof![Just(POOL_A), Just(POOL_B)];
    let wish = (family, "deb|suse", "|small|large|", 0..5u32).prop_map(|(family, kind, flavor, number)| {
        PoolTarget {
            key: key(family, &kind, &flavor),
            flavor: Some(flavor).filter(|flavor| !flavor.is_empty()),
            ..wish(&kind, number)
        }
    });
    proptest::collection::vec(wish, 0..5)
}

fn any_world() -> impl Strategy<Value = World> {
    let knobs = (1..6usize, 0..4usize, proptest::option::of(1..9i64), any::<bool>());
    (any_view(40), any_wishes(), knobs).prop_map(
        |(view, wishes, (pool_size, refresh_budget, hours, given))| {
            let network = Network {
                ranges: vec!["10.0.0.0/25".parse().expect("a block")],
                prefix: 24,
                gateway: Some(Ipv4Addr::new(10, 0, 0, 1)),
                dns: Vec::new(),
            };
            World {
                view,
                pool_size: Some(pool_size),
                refresh_budget,
                max_age: hours.map(SignedDuration::from_hours),
                flavors: crate::flavor::tests::three(),
                networks: if given { vec![network] } else { Vec::new() },
                ..world([], wishes)
            }
        },
    )
}

proptest! {
    #[test]
    fn perfect_passes_reach_every_wish_and_then_rest(mut world in any_world()) {
        let is_unknown = |machine: &&Machine<Mark>| machine.is_unknown() || !machine.reachable || machine.is_set_apart();
        let unknown = world.view.iter().filter(|machine| machine.role != Role::Template).filter(is_unknown);
        let unknown: u32 = unknown.map(|_| 1).sum();
        let mut passes = 0;
        let last = loop {
            let plan = world.plan();
            prop_assert!(world.pool_size.is_none_or(|size| plan.make.len() + plan.finish.len() <= size));
            if idle(&plan) {
                break plan;
            }
            passes += 1;
            prop_assert!(passes < 200, "{plan:?}");
            apply(&mut world, &plan, passes);
        };
        let wished: u32 = world.wishes.iter().map(|wish| wish.number).sum();
        let have: u32 = last.counts.iter().map(|count| count.ready + count.starting).sum();
        prop_assert!(have <= wished || last.counts.iter().any(|count| count.starting > 0), "{have} of {wished}");
        prop_assert!(have + unknown >= wished, "{have} of {wished}");
        prop_assert!(last.waiting.iter().all(|waiting| waiting.why.as_str() == "unknown"));
    }

    #[test]
    fn only_our_own_warm_machines_are_touched(world in any_world(), busy in 0..1000u32) {
        let busy = MachineId::new(format!("vm-{busy}"));
        let world = World { busy: vec![busy.clone()], ..world };
        let plan = world.plan();
        prop_assert_eq!(&plan, &world.plan());
        let touched = plan.remove.iter().map(|(id, _)| id).chain(&plan.finish).chain(&plan.give_back);
        let mut distinct = BTreeSet::new();
        for id in touched {
            let machine = world.view.machines.get(id).expect("a machine");
            let mark = machine.mark_of(&OWNER).expect("our mark");
            prop_assert_eq!(machine.role, Role::Vm);
            prop_assert!(machine.name.starts_with("pool-") && !mark.protected && *id != busy);
            prop_assert!(mark.held_until.is_none_or(|until| until <= at(NOW)));
            prop_assert!(distinct.insert(id), "{id} twice");
        }
    }

    #[test]
    fn no_name_and_no_address_is_given_twice(world in any_world()) {
        let plan = world.plan();
        let mut names: BTreeSet<_> = world.view.iter().map(|machine| machine.name.clone()).collect();
        let mut addresses = address::seen(&world.view);
        for make in &plan.make {
            prop_assert!(names.insert(make.name.clone()));
            prop_assert!(make.address.as_ref().is_none_or(|given| addresses.insert(given.ip)));
            prop_assert_eq!(make.address.is_none(), world.networks.is_empty());
        }
    }
}
