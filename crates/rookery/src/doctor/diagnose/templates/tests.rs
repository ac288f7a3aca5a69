use super::super::tests::{datastore, id, template};
use super::*;
use crate::doctor::check::State;

#[test]
fn any_trace_of_tools_will_do_and_none_is_a_problem() {
    let check =
        |version: Option<i64>, version_status: Option<&str>, status: Option<&str>, expected: State| {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let told = Tools { version, version_status: text(version_status), status: text(status) };
            assert_eq!(tools(&told).state, expected, "{told:?}");
        };
    check(Some(11_333), None, None, State::Ok);
    check(Some(0), Some("guestToolsUnmanaged"), None, State::Ok);
    check(Some(0), None, Some("toolsNotRunning"), State::Ok);
    check(None, Some("guestToolsCurrent"), Some("toolsNotInstalled"), State::Ok);
    check(Some(1), Some("guestToolsTooOld"), None, State::Warning);
    check(Some(0), None, None, State::Problem);
    check(None, Some("guestToolsNotInstalled"), None, State::Problem);
    check(Some(0), Some("guestToolsNotInstalled"), Some("toolsNotInstalled"), State::Problem);
    check(None, None, None, State::Warning);
}

#[test]
fn a_source_should_be_a_template_or_off() {
    let check = |marked: Option<bool>, power: Option<&str>, expected: State| {
        let template = Template { marked, power: power.map(str::to_owned), ..template() };
        assert_eq!(found(&template, "ubuntu").state, expected, "{template:?}");
    };
    check(Some(true), Some("poweredOff"), State::Ok);
    check(Some(true), None, State::Ok);
    check(Some(false), Some("poweredOff"), State::Ok);
    check(Some(false), Some("poweredOn"), State::Warning);
    check(Some(false), Some("suspended"), State::Warning);
    check(Some(false), None, State::Warning);
    check(None, Some("poweredOff"), State::Warning);
}

#[test]
fn a_missing_snapshot_is_told_with_the_command_that_takes_one() {
    let judge = |marked: Option<bool>, present: Option<bool>, name: &str| {
        snapshot(&Template { marked, snapshot: present, ..template() }, name)
    };
    assert_eq!(judge(Some(true), Some(true), "ubuntu").state, State::Ok);
    let none = judge(Some(false), Some(false), "ubuntu");
    assert_eq!(
        (none.state, none.advice.as_deref()),
        (State::Warning, Some("`rookery vm snapshot take ubuntu base`"))
    );
    // A name that a shell would take apart is not put into a command.
    let none = judge(Some(false), Some(false), "my; rm -rf /");
    assert_eq!(none.advice.as_deref(), Some("`rookery vm snapshot take vm-1 base`"));
    // vCenter takes none of a template.
    assert!(judge(Some(true), Some(false), "ubuntu").advice.unwrap().starts_with("make it a VM again"));
    let unknown = judge(Some(true), None, "ubuntu");
    assert_eq!(unknown.state, State::Warning);
    assert!(unknown.seen.contains("does not tell"));
}

#[test]
fn linked_clones_want_the_disks_where_the_clones_go() {
    let far = Datastore {
        members: Some(vec![id("Datastore", "ds-9")]),
        path: "/DC0/datastore/far".to_owned(),
        ..datastore()
    };
    assert_eq!(disks(&template(), None).state, State::Ok);
    assert_eq!(disks(&template(), Some(&datastore())).seen, "1 on fast");
    let apart = disks(&template(), Some(&far));
    assert_eq!(apart.state, State::Warning);
    assert!(apart.seen.contains("not on /DC0/datastore/far"), "{apart:?}");
    let none = Template { disks: Some(0), datastores: Some(Vec::new()), ..template() };
    assert_eq!(disks(&none, None).state, State::Warning);
    let unknown = Template { disks: None, ..template() };
    assert_eq!(disks(&unknown, None).state, State::Warning);
}

#[test]
fn clones_want_a_network_card() {
    let of = |classes: Option<Vec<String>>| {
        let finding = cards(&Template { cards: classes, ..template() });
        (finding.state, finding.seen)
    };
    let two = vec!["VirtualVmxnet3".to_owned(), "VirtualE1000".to_owned()];
    assert_eq!(of(Some(two)), (State::Ok, "2: VirtualVmxnet3, VirtualE1000".to_owned()));
    assert_eq!(of(Some(Vec::new())).0, State::Warning);
    assert_eq!(of(None).0, State::Warning);
}
