use std::time::Duration;

use super::*;

fn from(name: &str, model: &str, incarnation: &str, created: Option<&str>) -> Machine {
    let machine = marked(name, |mark| {
        mark.provisioning = true;
        mark.vmware_model_path = model.to_owned();
        mark.template_incarnation = incarnation.to_owned();
    });
    Machine { created: created.map(at), ..machine }
}

fn labels(removed: Vec<(String, &'static str)>) -> Vec<String> {
    removed
        .into_iter()
        .map(|(id, why)| format!("{} {why}", id.trim_start_matches("vm-provision-v2-")))
        .collect()
}

#[test]
fn too_many_go_half_made_ones_first_then_outdated_ones_then_the_newest() {
    let machines = || {
        [
            from("provision-v2-new", "a", "one", Some("11:00:00")),
            from("provision-v2-old", "a", "one", Some("01:00:00")),
            from("provision-v2-stale", "a", "zero", Some("01:00:00")),
            on(from("provision-v2-half", "a", "one", Some("01:00:00"))),
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
    let names = ["provision-v2-a", "provision-v2-b", "provision-v2-c"];
    let machines = || names.map(|name| from(name, "a", "one", Some("01:00:00")));
    let mut world = world(machines(), vec![wish("a", 1)]);
    assert_eq!(world.removes().len(), 2);
    let all = world.view.clone();
    for (unconfirmed, removed) in [(&names[2..], 1), (&names[1..], 0), (&names[..], 0)] {
        world.view = unsettled(&all, unconfirmed);
        let gone = world.removes();
        assert_eq!(gone.len(), removed, "{unconfirmed:?}");
        assert!(gone.iter().all(|(id, _)| !unconfirmed.iter().any(|name| id.ends_with(name))), "{gone:?}");
    }
    world.view = unsettled(&all, &names);
    world.view.overlaid.values_mut().for_each(|overlaid| overlaid.is_gone = true);
    let plan = world.plan();
    assert_eq!((plan.counts[0].ready, plan.make.len()), (0, 1), "{plan:?}");
}

#[test]
fn a_removed_model_takes_its_machines_with_it() {
    let machines = [
        warm("provision-v2-a", "a", ""),
        warm("provision-v2-b", "gone", ""),
        warm("provision-v2-c", "a", "large"),
        warm("provision-v1-d", "a", ""),
        warm("provision-e", "a", ""),
    ];
    let world = world(machines, vec![wish("a", 1)]);
    let removed: Vec<_> = world.removes().into_iter().map(|(id, _)| id).collect();
    assert_eq!(removed, ["vm-provision-e", "vm-provision-v1-d", "vm-provision-v2-b", "vm-provision-v2-c"]);
}

#[test]
fn nobody_is_removed_who_is_in_use_held_or_not_ours() {
    let held = |until| {
        move |mark: &mut crate::Mark| {
            mark.provisioning = true;
            mark.hold_until = Some(at(until));
        }
    };
    let mut world = world(
        [
            warm("provision-v2-claimed", "gone", ""),
            warm("provision-v2-making", "gone", ""),
            warm("provision-v2-dying", "gone", ""),
            warm("brave-curie", "gone", ""),
            marked("provision-v2-theirs", |mark| mark.hatchery_name = "theirs".to_owned()),
            Machine { role: Role::Template, ..warm("provision-v2-template", "gone", "") },
            Machine { power: None, ..warm("provision-v2-dark", "gone", "") },
            Machine { notes: Notes::Unknown, ..vm("provision-v2-unknown") },
            marked("provision-v2-held", held("12:00:01")),
            marked("provision-v2-unheld", held("12:00:00")),
        ],
        vec![],
    );
    world.busy.push(id("provision-v2-claimed"));
    world.doomed.push(id("provision-v2-dying"));
    world.making.push(making("provision-v2-making", "gone"));
    assert_eq!(labels(world.removes()), ["unheld hold_ended"]);
}

#[test]
fn a_changed_template_replaces_its_machines_a_few_at_a_time_and_only_when_all_are_ready() {
    let machines = || {
        [
            from("provision-v2-a", "a", "zero", Some("03:00:00")),
            from("provision-v2-b", "a", "zero", Some("02:00:00")),
            from("provision-v2-c", "a", "one", Some("01:00:00")),
            from("provision-v2-d", "a", "", Some("01:00:00")),
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
    resting.resting.insert((Line::V2, "a".to_owned()), at("12:05:00"));
    assert!(resting.removes().is_empty());
    let mut missing = base();
    missing.wishes[0].template = TemplateState::Missing;
    assert!(missing.removes().is_empty());
}

#[test]
fn a_changed_model_of_the_first_line_replaces_its_machines_too() {
    let machine = marked("provision-v1-a", |mark| {
        mark.provisioning = true;
        mark.worker_model_path = "group/a".to_owned();
        mark.worker_model_last_modified = "1718000000".to_owned();
    });
    let origin = Origin { incarnation: None, last_modified: Some("1718000001".to_owned()) };
    let template = TemplateState::Ready { id: id("a"), origin, hardware: None };
    let wish = Wish { line: Line::V1, template, ..wish("group/a", 1) };
    assert_eq!(world([machine], vec![wish]).removes(), [("vm-provision-v1-a".to_owned(), "stale")]);
}

#[test]
fn an_old_machine_is_replaced_if_there_is_a_greatest_age() {
    let machines = || {
        [
            from("provision-v2-a", "a", "one", Some("11:00:00")),
            from("provision-v2-b", "a", "one", Some("10:59:59")),
            from("provision-v2-c", "a", "one", None),
        ]
    };
    let aged = |max_age| World { max_age, refresh_budget: 3, ..world(machines(), vec![wish("a", 3)]) };
    assert_eq!(labels(aged(Some(SignedDuration::from_hours(1))).removes()), ["b too_old"]);
    assert!(aged(Some(SignedDuration::ZERO)).removes().is_empty());
    assert!(aged(None).removes().is_empty());
}

#[test]
fn nothing_is_removed_by_half_knowledge_and_nothing_is_made_while_machines_are_missing() {
    let base = || world([warm("provision-v2-x", "gone", "")], vec![wish("a", 1)]);
    assert_eq!((base().removes().len(), base().plan().make.len()), (1, 1));

    let mut world = base();
    world.view.complete = false;
    assert_eq!(world.waits(), [(0, 1, "incomplete")]);
    assert!(world.removes().is_empty() && world.makes().is_empty());

    for stop in [Stop::Outdated { age: Duration::from_secs(120) }, Stop::SkewUnknown, Stop::NoListing] {
        let world = World { stop: Some(stop), ..base() };
        assert!(world.removes().is_empty());
        assert_eq!(world.plan().stopped, Some(stop));
        assert_eq!(world.makes(), "a");
    }
}

#[test]
fn ages_and_holds_count_from_when_the_supplier_s_clock_was_set() {
    let old = Machine { created: Some(at("01:00:00")), ..warm("provision-v2-x", "a", "") };
    let held = marked("provision-v2-y", |mark| {
        (mark.provisioning, mark.hold_until) = (true, Some(at("11:00:00")));
    });
    let max_age = Some(SignedDuration::from_hours(1));
    let mut world = World { max_age, ..world([old, held], vec![wish("a", 1)]) };
    assert_eq!(labels(world.removes()), ["y hold_ended", "x too_old"]);
    let machines = world.view.clone();
    world.reckoning.restart(&machines, OWNER, at("11:59:00"), SignedDuration::from_hours(3));
    assert!(world.removes().is_empty());
}

#[test]
fn a_warm_machine_on_a_host_that_cannot_be_reached_is_neither_removed_nor_replaced() {
    let lost = Machine { reachable: false, ..warm("provision-v2-x", "a", "") };
    assert_eq!(world([], vec![wish("a", 1)]).makes(), "a");
    let world = world([lost], vec![wish("a", 1)]);
    assert!(world.removes().is_empty() && world.makes().is_empty());
    assert_eq!(world.waits(), [(0, 1, "unknown")]);
}

#[test]
fn a_warm_machine_that_was_moved_or_may_be_a_copy_is_replaced_as_often_as_machines_are_wished_for() {
    let moved = |name: &str| Machine { is_outside: true, ..warm(name, "a", "") };
    let once = world([moved("provision-v2-x")], vec![wish("a", 1)]);
    assert!(once.removes().is_empty(), "it is left alone");
    assert_eq!(once.makes(), "a");
    let twice = world([moved("provision-v2-x"), moved("provision-v2-y")], vec![wish("a", 1)]);
    assert_eq!(twice.makes(), "", "whoever moves them all would be made new ones for ever");
    assert_eq!(world([moved("provision-v2-x"), moved("provision-v2-y")], vec![wish("a", 2)]).makes(), "a a");
    let unreachable = Machine { reachable: false, ..moved("provision-v2-x") };
    assert_eq!(world([unreachable], vec![wish("a", 1)]).makes(), "", "where it is was told long ago");
}

#[test]
fn a_machine_goes_whose_flavor_was_given_a_larger_disk_unless_its_disk_is_not_known() {
    use crate::disks::{DiskSizes, KB_PER_GB};
    let roomy = Flavor { disk_gb: 40, ..crate::flavor::tests::flavor("roomy", 2, 4096) };
    let wishes = vec![Wish { flavor: Some("roomy".to_owned()), ..wish("a", 1) }];
    let check = |first_kb: Option<u64>, expected: &[&str]| {
        let mut world = world([warm("provision-v2-x", "a", "roomy")], wishes.clone());
        world.flavors = Flavors::new([roomy.clone()]).expect("flavors");
        let sizes = first_kb.map(|kb| DiskSizes { all_kb: kb, first_kb: Some(kb) });
        world.disks = sizes.map(|sizes| (id("provision-v2-x"), sizes)).into_iter().collect();
        assert_eq!(labels(world.removes()), expected, "{first_kb:?}");
    };
    check(Some(40 * KB_PER_GB), &[]);
    check(Some(20 * KB_PER_GB), &["x small_disk"]);
    check(None, &[]);
}
