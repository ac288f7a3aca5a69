use super::*;
use crate::samples::{Notes, OWNER, any_machine, marked, vm, warm, worker};
use proptest::prelude::*;

#[test]
fn name_and_mark_tell_together_what_a_machine_is() {
    let template = |machine: Machine| Machine { role: Role::Template, ..machine };
    for (machine, expected) in [
        (template(vm("debian12")), Standing::Template),
        (template(warm("provision-v2-a", "debian12", "")), Standing::Template),
        (marked("deb", |mark| mark.model = true), Standing::Template),
        (vm("web"), Standing::Foreign),
        (marked("brave-curie", |mark| mark.hatchery_name = "theirs".to_owned()), Standing::Foreign),
        (marked("brave-curie", |mark| mark.hatchery_name = String::new()), Standing::Foreign),
        (Machine { recognised: Notes::Unknown.into(), ..vm("provision-v2-a") }, Standing::Unknown),
        (Machine { role: Role::Unknown, ..warm("provision-v2-a", "debian12", "") }, Standing::Unknown),
        (warm("provision-v2-a", "debian12", ""), Standing::Pooled),
        (warm("brave-curie", "debian12", ""), Standing::Worker),
        (marked("provision-v2-a", |mark| mark.job_id = "7".to_owned()), Standing::HalfClaimed),
        (worker("brave-curie", "08:00:00"), Standing::Worker),
        (marked("register-curie", |_| {}), Standing::Registering),
        (marked("brave-curie", |mark| mark.register_only = true), Standing::Registering),
    ] {
        assert_eq!(standing(&machine, &OWNER), expected, "{machine:?}");
    }
}

#[test]
fn only_the_unfinished_template_of_a_model_is_one_in_the_making() {
    for (name, path, expected) in [
        ("deb-tmp", "group/deb", Standing::TemplateInMaking),
        ("deb-tmp", "group/deb-tmp", Standing::Template),
        ("deb-tmp-tmp", "group/deb-tmp", Standing::TemplateInMaking),
        ("-tmp", "", Standing::Template),
    ] {
        let machine = marked(name, |mark| {
            mark.model = true;
            mark.worker_model_path = path.to_owned();
        });
        assert_eq!(standing(&machine, &OWNER), expected, "{name} {path}");
        // Without its name it is no template yet, whatever vSphere says.
        assert_eq!(standing(&Machine { role: Role::Template, ..machine }, &OWNER), expected, "{name} {path}");
    }
}

#[test]
fn a_copy_is_nobodys_and_what_may_be_one_or_was_moved_is_left_alone() {
    let warm = marked("provision-v2-a", |mark| mark.provisioning = true);
    let noted = |notes: fn(Box<Mark>) -> Notes| Machine {
        recognised: notes(Box::new(warm.mark().expect("a mark").clone())).into(),
        ..warm.clone()
    };
    let unfinished = marked("deb-tmp", |mark| {
        (mark.model, mark.worker_model_path) = (true, "group/deb".to_owned());
    });
    for (machine, expected) in [
        (warm.clone(), Standing::Pooled),
        (noted(Notes::Copied), Standing::Foreign),
        (noted(Notes::Disputed), Standing::Unknown),
        (Machine { is_outside: true, ..warm.clone() }, Standing::Unknown),
        (Machine { is_outside: true, role: Role::Template, ..unfinished }, Standing::Template),
    ] {
        assert_eq!(standing(&machine, &OWNER), expected, "{machine:?}");
    }
}

proptest! {
    #[test]
    fn nothing_is_ours_without_our_mark(machine in any_machine()) {
        let standing = standing(&machine, &OWNER);
        let ours = !matches!(standing, Standing::Template | Standing::Foreign | Standing::Unknown);
        prop_assert!(!ours || machine.mark_of(&OWNER).is_some());
    }

    #[test]
    fn an_owner_without_a_name_owns_nothing(machine in any_machine()) {
        let standing = standing(&machine, &crate::mark::owner(""));
        prop_assert!(matches!(standing, Standing::Template | Standing::Foreign | Standing::Unknown));
    }
}
