use std::collections::BTreeMap;

use super::super::tests::lost;
use super::*;
use crate::doctor::check::State;
use crate::doctor::privileges::{NEEDS, On};

fn asked(on: On, answer: Answer) -> Vec<Check> {
    checks(&[ObjectPrivileges { on: vec![on], object: "/DC0/vm".to_owned(), answer }])
}

fn told(on: On, granted: impl Fn(&str) -> Option<bool>) -> Vec<Check> {
    let answers = needs_on(&[on])
        .into_iter()
        .filter_map(|need| Some((need.privilege.to_owned(), granted(need.privilege)?)));
    asked(on, Answer::Told(answers.collect::<BTreeMap<_, _>>()))
}

#[test]
fn each_missing_privilege_is_told_by_its_name_with_what_needs_it() {
    for need in NEEDS {
        let checks = told(need.on, |privilege| Some(privilege != need.privilege));
        let bad: Vec<_> = checks.iter().filter(|check| check.state != State::Ok).collect();
        let [one] = bad.as_slice() else { panic!("{bad:?}") };
        assert_eq!(one.title(), format!("{} on /DC0/vm", need.privilege));
        assert!(one.seen.contains(need.purpose), "{one:?}");
        let expected = match need.weight {
            Weight::Needed => State::Problem,
            Weight::Useful => State::Warning,
        };
        assert_eq!(one.state, expected);
    }
}

#[test]
fn what_nobody_spoke_for_is_unknown_and_never_fine() {
    let checks = told(On::Folder, |_| None);
    assert!(!checks.is_empty() && checks.iter().all(|check| check.state == State::Warning), "{checks:?}");
    for answer in [Answer::Unsupported, Answer::Failed(lost())] {
        let checks = asked(On::Pool, answer);
        assert!(matches!(checks.as_slice(), [one] if one.state == State::Warning), "{checks:?}");
        assert!(checks.iter().all(|check| check.seen.starts_with("unknown")), "{checks:?}");
    }
    let checks = asked(On::Pool, Answer::NoObject);
    assert!(matches!(checks.as_slice(), [one] if one.state == State::Skipped), "{checks:?}");
}
