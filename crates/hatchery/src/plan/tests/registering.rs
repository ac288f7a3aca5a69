//! Which V1 models are registered, and what becomes of their templates.

use crate::plan::capacity::Shortage;

use super::*;

fn check(machines: impl IntoIterator<Item = Machine>, model: V1Model) -> Plan {
    world(machines).with(|world| world.models = Some(vec![model])).plan()
}

fn needed(name: &str) -> V1Model {
    V1Model { need_registration: true, ..model(name) }
}

#[test]
fn a_template_is_made_where_there_is_none_or_an_old_one_of_ours() {
    let image = id("debian");
    let made = |plan: Plan| plan.registrations().into_iter().map(|one| (one.remake, one.template)).next();
    let fresh = Some((Some(Remake { image: image.clone(), replaces: None, left: None }), None));
    assert_eq!(made(check([], model("buster"))), fresh, "without a template nobody can use the model");
    let replaced =
        Some((Some(Remake { image: image.clone(), replaces: Some(id("buster")), left: None }), None));
    let old = V1Model { user_last_modified: Some(at("01:00:00")), ..model("buster") };
    assert_eq!(made(check([template_of(&old, OWNER.name())], model("buster"))), replaced);
    assert_eq!(made(check([template_of(&model("buster"), OWNER.name())], needed("buster"))), replaced);
}

#[test]
fn a_template_that_is_as_it_should_be_is_cloned() {
    let current = || template_of(&model("buster"), OWNER.name());
    assert!(check([current()], model("buster")).registrations().is_empty());
    let again = V1Model { check_registration: true, ..model("buster") };
    let [registration] = &check([current()], again).registrations()[..] else { panic!("one registration") };
    assert_eq!((&registration.remake, &registration.template), (&None, &Some(id("buster"))));
}

// The making went all the way to the replacing of the old template, which was refused then, and left a template in the
// making behind that kept the model from ever being registered.
#[test]
fn a_template_of_another_hatchery_is_used_and_never_replaced() {
    let theirs = || template_of(&model("buster"), "theirs");
    let [registration] = &check([theirs()], needed("buster")).registrations()[..] else { panic!("one") };
    assert_eq!((&registration.remake, &registration.template), (&None, &Some(id("buster"))));
    let old = V1Model { user_last_modified: Some(at("01:00:00")), ..model("buster") };
    let plan = check([template_of(&old, "theirs")], needed("buster"));
    assert!(plan.registrations().is_empty());
    let [(of, why)] = plan.not_made.as_slice() else { panic!("{plan:?}") };
    assert_eq!(of, "g/buster");
    let said = "the template \"buster\" is older than the model \"g/buster\" and was made by the hatchery \"theirs\": \
                `rookery hatchery adopt g/buster` sets it aside, and a new one is made";
    assert_eq!(why.to_string(), format!("not registered: {said}"));
}

// After a crash between the making of a template and its renaming the model was never registered again.
#[test]
fn a_template_that_only_lacks_its_name_is_used_and_an_old_one_makes_room() {
    let left = |model: &V1Model| {
        let finished = Machine { name: "buster-tmp".to_owned(), ..template_of(model, OWNER.name()) };
        let plan = check([Machine { id: id("buster-tmp"), ..finished }], needed("buster"));
        plan.registrations().into_iter().map(|one| one.remake.and_then(|remake| remake.left)).next()
    };
    assert_eq!(left(&model("buster")), Some(Some(Left::Finished(id("buster-tmp")))));
    let old = V1Model { user_last_modified: Some(at("01:00:00")), ..model("buster") };
    assert_eq!(left(&old), Some(Some(Left::InTheWay(id("buster-tmp")))));
    let theirs = Machine { name: "buster-tmp".to_owned(), ..template_of(&model("buster"), "theirs") };
    assert!(check([Machine { id: id("buster-tmp"), ..theirs }], needed("buster")).registrations().is_empty());
}

#[test]
fn a_name_that_is_taken_is_left_alone_and_said() {
    let other = V1Model { group: Group { name: "h".to_owned(), ..Group::default() }, ..model("buster") };
    let twin = Machine { id: MachineId::new("vm-2"), ..template_of(&model("buster"), OWNER.name()) };
    for machines in [
        vec![vm("buster")],
        vec![template("buster")],
        vec![template_of(&other, OWNER.name())],
        vec![template_of(&model("buster"), OWNER.name()), twin],
    ] {
        let plan = check(machines, needed("buster"));
        assert!(plan.registrations().is_empty(), "{plan:?}");
        assert!(plan.not_made.iter().any(|(model, _)| model == "g/buster"), "{plan:?}");
    }
}

// The model was never registered, its jobs waited for a template that nobody made, and nobody was told.
#[test]
fn whoever_has_the_temporary_name_of_a_template_is_named() {
    let of_other = marked("buster-tmp", |mark| mark.hatchery_name = "theirs".to_owned());
    let unknown = Machine { recognised: Notes::Unknown.into(), ..vm("buster-tmp") };
    for (machine, told) in [
        (vm("buster-tmp"), Some("a machine that is not this hatchery's is called \"buster-tmp\"")),
        (of_other, Some("\"buster-tmp\" is a machine of the hatchery \"theirs\"")),
        (unknown, None),
    ] {
        let plan = check([machine], needed("buster"));
        assert!(plan.registrations().is_empty(), "{plan:?}");
        let why = plan.not_made.first().map(|(_, why)| why.to_string());
        assert!(
            told.map_or(why.is_none(), |told| why.as_ref().is_some_and(|why| why.contains(told))),
            "{why:?}"
        );
    }
    let mut resting = world([vm("buster-tmp")]).with(|world| world.models = Some(vec![needed("buster")]));
    resting.due = false;
    assert_eq!(resting.plan().stuck().count(), 1, "it is told between two looks, too");
    let asking = world([vm("buster-tmp")]).with(|world| {
        (world.models, world.room_is_asked) = (Some(vec![needed("a"), needed("buster")]), true);
    });
    assert_eq!(asking.plan().stuck().count(), 1, "and while another one waits for room");
    let current = template_of(&model("buster"), OWNER.name());
    let again = V1Model { check_registration: true, ..model("buster") };
    let plan = check([current, vm("buster-tmp")], again);
    assert_eq!(plan.registrations().len(), 1, "a template that is there needs no other name");
}

#[test]
fn what_is_not_known_yet_is_not_replaced() {
    let unknown = Machine { recognised: Notes::Unknown.into(), ..template("buster") };
    assert!(check([unknown], needed("buster")).registrations().is_empty());
    let blind = |change: &dyn Fn(&mut World)| {
        let world = world([]).with(|world| world.models = Some(vec![needed("buster")]));
        world.with(change).plan().registrations().len()
    };
    assert_eq!(blind(&|_| {}), 1);
    assert_eq!(blind(&|world| world.view.complete = false), 0);
    assert_eq!(blind(&|world| world.listing = None), 0);
    assert_eq!(blind(&|world| world.room_is_asked = true), 0);
    assert_eq!(blind(&|world| world.draining = true), 0);
    assert_eq!(blind(&|world| world.due = false), 0, "it is not time to look");
    assert_eq!(blind(&|world| world.models = None), 0);
    assert_eq!(blind(&|world| world.registering = None), 0, "-1 turns registrations off");
}

#[test]
fn a_model_that_failed_often_is_left_alone() {
    let failed = |nb_spawn_err| check([], V1Model { nb_spawn_err, ..needed("buster") }).registrations().len();
    assert_eq!((failed(5), failed(6)), (1, 0));
}

#[test]
fn a_model_that_somebody_registers_is_not_registered_again() {
    let registering = |change: &dyn Fn(&mut World)| {
        let world = world([]).with(|world| world.models = Some(vec![needed("buster")]));
        world.with(change).plan().registrations().len()
    };
    let register = actions::register("g/buster");
    assert_eq!(registering(&|world| world.fly(acting("register-a", register.clone()))), 0);
    let of = |path: &str| {
        marked("any-name", |mark| {
            (mark.register_only, mark.worker_model_path) = (true, path.to_owned());
        })
    };
    let beside = |machine: Machine| move |world: &mut World| world.view = view([template("debian"), machine]);
    assert_eq!(registering(&|world| beside(of("g/buster"))(world)), 0, "marks tell, not names");
    assert_eq!(registering(&|world| beside(of("h/buster"))(world)), 1);
    assert_eq!(registering(&|world| beside(vm("buster-tmp"))(world)), 0);
    let booked = |world: &mut World| world.booked.insert("g/buster".to_owned(), (), at("12:01:00"));
    assert_eq!(registering(&booked), 0, "another hatchery was faster");
}

#[test]
fn so_many_are_registered_at_once_and_the_most_urgent_first() {
    let check_only = V1Model { check_registration: true, ..model("b-check") };
    let both = V1Model { check_registration: true, ..needed("c-both") };
    let models = || vec![model("a-missing"), check_only.clone(), both.clone(), needed("d-need")];
    let order = |most: u32| -> Vec<String> {
        let world = world([template_of(&model("b-check"), OWNER.name())]).with(|world| {
            (world.models, world.registering) = (Some(models()), Some(most));
        });
        world.plan().registrations().iter().map(|one| one.model.name.clone()).collect()
    };
    assert_eq!(order(9), ["c-both", "d-need", "b-check", "a-missing"]);
    assert_eq!(order(2), ["c-both", "d-need"]);
    let running = world([]).with(|world| {
        (world.models, world.registering) = (Some(vec![needed("buster")]), Some(1));
        world.fly(acting("register-a", actions::register("g/other")));
    });
    let plan = running.plan();
    assert!(plan.registrations().is_empty());
    let full = Shortage::Registering { used: 1, max: 1 };
    assert_eq!(plan.not_made, [("g/buster".to_owned(), NotMade::Registration(WaitReason::Shortage(full)))]);
}

#[test]
fn a_model_without_an_image_to_clone_or_one_that_rests_is_said_to_wait() {
    let mut lost = needed("buster");
    lost.model_virtual_machine.image = "nowhere".to_owned();
    let plan = check([], lost);
    assert!(
        plan.registrations().is_empty() && plan.not_made[0].1.to_string().contains("nowhere"),
        "{plan:?}"
    );
    let resting = world([]).with(|world| {
        world.models = Some(vec![needed("buster")]);
        world.setbacks.insert((ModelKind::V1, "g/buster".to_owned()), rests_until("12:10:00"));
    });
    assert!(resting.plan().registrations().is_empty());
}

#[test]
fn models_of_other_kinds_are_none_of_our_business() {
    let docker = V1Model { kind: "docker".to_owned(), ..needed("buster") };
    let plan = check([], docker);
    assert!(plan.registrations().is_empty() && plan.not_made.is_empty());
}

#[test]
fn a_registration_has_an_address_of_its_own() {
    let plan = world([])
        .with(|world| {
            world.models = Some(vec![needed("a"), needed("b"), needed("c")]);
            (world.registering, world.networks) = (Some(9), network("10.0.0.0/30"));
        })
        .plan();
    let last = |one: &Registration| one.address.as_ref().map(|assigned| assigned.ip.octets()[3]);
    assert_eq!(plan.registrations().iter().map(last).collect::<Vec<_>>(), [Some(2), Some(3)]);
    assert_eq!(plan.not_made.len(), 1);
}
