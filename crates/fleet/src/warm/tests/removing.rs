use std::time::Duration;

use super::*;

fn from(name: &str, kind: &str, incarnation: &str, created: Option<&str>) -> Machine<Mark> {
    let machine = marked(name, |mark| {
        mark.pooled = true;
        mark.kind = kind.to_owned();
        mark.origin = incarnation.to_owned();
    });
    Machine { created: created.map(at), ..machine }
}

fn labels(removed: Vec<(String, &'static str)>) -> Vec<String> {
    removed.into_iter().map(|(id, why)| format!("{} {why}", id.trim_start_matches("vm-pool-a-"))).collect()
}

#[test]
fn too_many_go_half_made_ones_first_then_outdated_ones_then_the_newest() {
    let machines = || {
        [
            from("pool-a-new", "a", "one", Some("11:00:00")),
            from("pool-a-old", "a", "one", Some("01:00:00")),
            from("pool-a-stale", "a", "zero", Some("01:00:00")),
            on(from("pool-a-half", "a", "one", Some("01:00:00"))),
        ]
    };
    let order = ["half", "stale", "new", "old"];
    for number in 0..=4_u32 {
        let mut world = world(machines(), vec![wish("a", number)]);
        world.refresh_budget = 0;
        let expected: Vec<_> =
            order.iter().take(4 - number as usize).map(|name| format!("{name} excess")).collect();
        assert_eq!(labels(world.removes()), expected, "{number}");
    }
}

// A machine that had just been made or claimed was too much for a moment, and another one went.
#[test]
fn nobody_goes_for_one_that_the_inventory_has_not_confirmed_and_nobody_counts_who_is_gone() {
    let names = ["pool-a-a", "pool-a-b", "pool-a-c"];
    let machines = || names.map(|name| from(name, "a", "one", Some("01:00:00")));
    let mut world = world(machines(), vec![wish("a", 1)]);
    assert_eq!(world.removes().len(), 2);
    let all = world.view.clone();
    for (unconfirmed, removed) in [(&names[2..], 1), (&names[1..], 0), (&names[..], 0)] {
        world.view = unsettled(&all, unconfirmed.iter().map(|name| id(name)));
        let gone = world.removes();
        assert_eq!(gone.len(), removed, "{unconfirmed:?}");
        assert!(gone.iter().all(|(id, _)| !unconfirmed.iter().any(|name| id.ends_with(name))), "{gone:?}");
    }
    world.view = unsettled(&all, names.map(id));
    world.view.overlaid.values_mut().for_each(|overlaid| overlaid.is_gone = true);
    let plan = world.plan();
    assert_eq!((plan.counts[0].ready, plan.make.len()), (0, 1), "{plan:?}");
}

#[test]
fn a_kind_that_nobody_wishes_for_any_more_takes_its_machines_with_it() {
    let machines = [
        warm("pool-a-a", "a", ""),
        warm("pool-a-b", "gone", ""),
        warm("pool-a-c", "a", "large"),
        warm("pool-b-d", "a", ""),
        warm("pool-e", "a", ""),
    ];
    let world = world(machines, vec![wish("a", 1)]);
    let removed: Vec<_> = world.removes().into_iter().map(|(id, _)| id).collect();
    assert_eq!(removed, ["vm-pool-a-b", "vm-pool-a-c", "vm-pool-b-d", "vm-pool-e"]);
}

#[test]
fn nobody_is_removed_who_is_in_use_held_or_not_ours() {
    let held = |until| {
        move |mark: &mut Mark| {
            mark.pooled = true;
            mark.held_until = Some(at(until));
        }
    };
    let mut world = world(
        [
            warm("pool-a-claimed", "gone", ""),
            warm("pool-a-making", "gone", ""),
            warm("pool-a-dying", "gone", ""),
            warm("brave-curie", "gone", ""),
            marked("pool-a-theirs", |mark| mark.owner = "theirs".to_owned()),
            Machine { role: Role::Template, ..warm("pool-a-template", "gone", "") },
            Machine { power: None, ..warm("pool-a-dark", "gone", "") },
            untold(vm("pool-a-unknown")),
            marked("pool-a-held", held("12:00:01")),
            marked("pool-a-unheld", held("12:00:00")),
        ],
        vec![],
    );
    world.busy.push(id("pool-a-claimed"));
    world.condemned.push(id("pool-a-dying"));
    world.making.push(making("pool-a-making", "gone"));
    assert_eq!(labels(world.removes()), ["unheld hold_ended"]);
}

#[test]
fn a_changed_template_replaces_its_machines_a_few_at_a_time_and_only_when_all_are_ready() {
    let machines = || {
        [
            from("pool-a-a", "a", "zero", Some("03:00:00")),
            from("pool-a-b", "a", "zero", Some("02:00:00")),
            from("pool-a-c", "a", "one", Some("01:00:00")),
            from("pool-a-d", "a", "", Some("01:00:00")),
        ]
    };
    let base = || world(machines(), vec![wish("a", 4)]);
    assert_eq!(labels(base().removes()), ["b stale"]);
    assert_eq!(labels(World { refresh_budget: 5, ..base() }.removes()), ["b stale", "a stale"]);
    assert!(World { refresh_budget: 0, ..base() }.removes().is_empty());
    assert!(World { wishes: vec![wish("a", 5)], ..base() }.removes().is_empty());

    let mut unsteady = base();
    unsteady.view =
        view(machines().map(|machine| if machine.name.ends_with('c') { on(machine) } else { machine }));
    assert!(unsteady.removes().is_empty());
    let mut resting = base();
    resting.wishes[0].rests_until = Some(at("12:05:00"));
    assert!(resting.removes().is_empty());
    let mut missing = base();
    missing.wishes[0].template = TemplateState::Missing;
    assert!(missing.removes().is_empty());
}

#[test]
fn a_changed_revision_of_the_template_s_source_makes_its_machines_stale_too() {
    let state = |incarnation: Option<&str>, revision: Option<&str>| Origin {
        incarnation: incarnation.map(str::to_owned),
        revision: revision.map(str::to_owned),
    };
    for (now, then, stale) in [
        (state(None, Some("2")), state(None, Some("1")), true),
        (state(None, Some("2")), state(None, Some("2")), false),
        (state(Some("a"), Some("2")), state(Some("a"), Some("1")), true),
        (state(Some("a"), None), state(None, Some("1")), false),
        (state(Some("a"), Some("1")), state(Some(""), Some("")), false),
    ] {
        assert_eq!(now.is_stale(&then), stale, "{now:?} {then:?}");
    }
}

#[test]
fn an_old_machine_is_replaced_if_there_is_a_greatest_age() {
    let machines = || {
        [
            from("pool-a-a", "a", "one", Some("11:00:00")),
            from("pool-a-b", "a", "one", Some("10:59:59")),
            from("pool-a-c", "a", "one", None),
        ]
    };
    let aged = |max_age| World { max_age, refresh_budget: 3, ..world(machines(), vec![wish("a", 3)]) };
    assert_eq!(labels(aged(Some(SignedDuration::from_hours(1))).removes()), ["b too_old"]);
    assert!(aged(Some(SignedDuration::ZERO)).removes().is_empty());
    assert!(aged(None).removes().is_empty());
}

#[test]
fn nothing_is_removed_by_half_knowledge_and_nothing_is_made_while_machines_are_missing() {
    let base = || world([warm("pool-a-x", "gone", "")], vec![wish("a", 1)]);
    assert_eq!((base().removes().len(), base().plan().make.len()), (1, 1));

    let mut world = base();
    world.view.complete = false;
    assert_eq!(world.waits(), [(0, 1, "incomplete")]);
    assert!(world.removes().is_empty() && world.makes().is_empty());

    for stop in [
        Stop::Outdated { age: Duration::from_secs(120) },
        Stop::SkewUnknown,
        Stop::NoEvidence { of: "nodes" },
    ] {
        let world = World { stop: Some(stop), ..base() };
        assert!(world.removes().is_empty());
        assert_eq!(world.plan().stopped, Some(stop));
        assert_eq!(world.makes(), "a");
    }
}

#[test]
fn ages_and_holds_count_from_when_the_supplier_s_clock_was_set() {
    let old = Machine { created: Some(at("01:00:00")), ..warm("pool-a-x", "a", "") };
    let held = marked("pool-a-y", |mark| {
        (mark.pooled, mark.held_until) = (true, Some(at("11:00:00")));
    });
    let max_age = Some(SignedDuration::from_hours(1));
    let mut world = World { max_age, ..world([old, held], vec![wish("a", 1)]) };
    assert_eq!(labels(world.removes()), ["y hold_ended", "x too_old"]);
    let machines = world.view.clone();
    world.reckoning.restart(&machines, &OWNER, times, at("11:59:00"), SignedDuration::from_hours(3));
    assert!(world.removes().is_empty());
}

#[test]
fn a_warm_machine_on_a_host_that_cannot_be_reached_is_neither_removed_nor_replaced() {
    let lost = Machine { reachable: false, ..warm("pool-a-x", "a", "") };
    assert_eq!(world([], vec![wish("a", 1)]).makes(), "a");
    let world = world([lost], vec![wish("a", 1)]);
    assert!(world.removes().is_empty() && world.makes().is_empty());
    assert_eq!(world.waits(), [(0, 1, "unknown")]);
}

#[test]
fn a_warm_machine_that_was_moved_or_may_be_a_copy_is_replaced_as_often_as_machines_are_wished_for() {
    let moved = |name: &str| Machine { is_outside: true, ..warm(name, "a", "") };
    let once = world([moved("pool-a-x")], vec![wish("a", 1)]);
    assert!(once.removes().is_empty(), "it is left alone");
    assert_eq!(once.makes(), "a");
    let twice = world([moved("pool-a-x"), moved("pool-a-y")], vec![wish("a", 1)]);
    assert_eq!(twice.makes(), "", "whoever moves them all would be made new ones for ever");
    assert_eq!(world([moved("pool-a-x"), moved("pool-a-y")], vec![wish("a", 2)]).makes(), "a a");
    let unreachable = Machine { reachable: false, ..moved("pool-a-x") };
    assert_eq!(world([unreachable], vec![wish("a", 1)]).makes(), "", "where it is was told long ago");
}

#[test]
fn a_machine_goes_whose_flavor_was_given_a_larger_disk_unless_its_disk_is_not_known() {
    use crate::disks::{DiskSizes, KB_PER_GB};
    let roomy = Flavor { disk_gb: Some(40), ..crate::flavor::tests::flavor("roomy", 2, 4096) };
    let wishes = vec![flavored("a", "roomy", 1)];
    let check = |first_kb: Option<u64>, expected: &[&str]| {
        let mut world = world([warm("pool-a-x", "a", "roomy")], wishes.clone());
        world.flavors = Flavors::new([roomy.clone()]).expect("flavors");
        let sizes = first_kb.map(|kb| DiskSizes { all_kb: kb, first_kb: Some(kb) });
        world.disks = sizes.map(|sizes| (id("pool-a-x"), sizes)).into_iter().collect();
        assert_eq!(labels(world.removes()), expected, "{first_kb:?}");
    };
    check(Some(40 * KB_PER_GB), &[]);
    check(Some(20 * KB_PER_GB), &["x small_disk"]);
    check(None, &[]);
}
