//! Templates of other hatcheries: what somebody may take over, and what becomes of it.

use super::*;
use crate::plan::templates::{Taken, V1Template, v1_template};
use crate::plan::{Adoption, WhyApart, adoptable, retired_name};

fn older(name: &str) -> V1Model {
    V1Model { user_last_modified: Some(at("01:00:00")), ..model(name) }
}

#[test]
fn only_an_older_template_of_another_hatchery_can_be_adopted() {
    let check = |machines: Vec<Machine>, expected: Result<&str, &str>| {
        let (view, models) = (view(machines.clone()), [model("buster")]);
        let found = adoptable(&view, &OWNER, Some(&models), "g/buster");
        match (&found, expected) {
            (Ok(adoption), Ok(from)) => assert_eq!(adoption.from, from, "{machines:?}"),
            (Err(why), Err(words)) => assert!(why.to_string().contains(words), "{why}"),
            _ => panic!("{found:?}"),
        }
    };
    let other = V1Model { group: Group { name: "h".to_owned(), ..Group::default() }, ..older("buster") };
    let twin = Machine { id: MachineId::new("vm-2"), ..template_of(&older("buster"), "theirs") };
    check(vec![template_of(&older("buster"), "theirs")], Ok("theirs"));
    check(vec![template_of(&older("buster"), OWNER.name())], Err("is of this hatchery"));
    check(vec![template_of(&model("buster"), "theirs")], Err("is used as it is"));
    check(vec![template_of(&other, "theirs")], Err("is the template of the model \"h/buster\""));
    check(vec![template_of(&older("buster"), "theirs"), twin], Err("2 machines are named"));
    check(vec![vm("buster")], Err("rename the machine or the model"));
    check(vec![Machine { recognised: Notes::Unknown.into(), ..template("buster") }], Err("does not show"));
    check(vec![], Err("has no template"));

    let theirs = view([template_of(&older("buster"), "theirs")]);
    let models = [model("buster")];
    let adoption = Adoption {
        template: id("buster"),
        name: "buster".to_owned(),
        model: "g/buster".to_owned(),
        from: "theirs".to_owned(),
    };
    assert_eq!(adoption.aside(), retired_name("buster", &id("buster")));
    assert_eq!(adoptable(&theirs, &OWNER, Some(&models), "g/buster"), Ok(adoption));
    let none =
        |view: &View, models: Option<&[V1Model]>, path: &str| adoptable(view, &OWNER, models, path).is_err();
    assert!(none(&theirs, Some(&models), "g/other"));
    assert!(none(&theirs, None, "g/buster"));
    assert!(none(&View { complete: false, ..theirs }, Some(&models), "g/buster"), "there may be another one");
}

#[test]
fn a_template_that_is_left_alone_is_used_while_it_is_current_and_never_replaced() {
    let copied = |template: Machine| {
        let mark = Box::new(template.mark().expect("a mark").clone());
        Machine { recognised: Notes::Copied(mark).into(), ..template }
    };
    let moved = |template: Machine| Machine { is_outside: true, ..template };
    let found = |template: Machine| v1_template(&view([template]), &OWNER, &model("buster"));
    for template in [template_of(&model("buster"), OWNER.name()), template_of(&model("buster"), "theirs")] {
        let current = V1Template::Current(id("buster"));
        assert_eq!(found(copied(template.clone())), current, "it can be cloned as well as its original");
        assert_eq!(found(moved(template)), current);
    }
    let old = || template_of(&older("buster"), OWNER.name());
    assert_eq!(found(old()), V1Template::Outdated(id("buster")));
    for (template, why) in [(copied(old()), WhyApart::Copy), (moved(old()), WhyApart::Outside)] {
        assert_eq!(found(template), V1Template::Taken(Taken::LeftAlone { why }));
    }
}

#[test]
fn a_template_that_was_set_aside_goes_only_with_our_mark_a_successor_and_nothing_on_it() {
    let aside = |owner: &str| {
        let old = template_of(&older("buster"), owner);
        Machine { id: id("old"), name: retired_name("buster", &id("old")), ..old }
    };
    let heir = || template_of(&model("buster"), OWNER.name());
    let check = |machines: Vec<Machine>, goes: bool| {
        let plan = world(machines.clone()).with(|world| world.models = Some(vec![model("buster")])).plan();
        assert_eq!(plan.retired() == [id("old")], goes, "{machines:?}");
        assert!(goes || plan.retired().is_empty());
    };
    let adopted = Machine { incarnation: Some("first".to_owned()), ..aside(OWNER.name()) };
    let on_it = marked("brave-curie", |mark| mark.template_incarnation = "first".to_owned());
    check(vec![adopted.clone(), heir()], true);
    check(vec![adopted.clone()], false);
    check(vec![adopted, heir(), on_it], false);
    // The other hatchery sets its own aside by the same name.
    check(vec![aside("theirs"), heir()], false);
}
