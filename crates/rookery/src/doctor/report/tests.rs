use super::*;
use crate::doctor::check::Finding;

fn checks() -> Vec<Check> {
    let check = Check::new;
    let granted = || Finding::ok("granted, for cloning");
    vec![
        check(Group::Connection, "login", None, Finding::ok("as me")),
        check(
            Group::Places,
            "datastore",
            Some("fa\x1bst"),
            Finding::problem("there is none", "there are: /a"),
        ),
        check(Group::Templates, "template", Some("ubuntu"), Finding::ok("/DC0/vm/ubuntu")),
        check(Group::Templates, "snapshot", Some("ubuntu"), Finding::warning("there is none", "take one")),
        check(Group::Privileges, "A.B", Some("/DC0"), granted()),
        check(Group::Privileges, "A.C", Some("/DC0"), granted()),
        check(Group::Privileges, "A.D", Some("/DC0"), Finding::problem("missing", "add it")),
        check(Group::Privileges, "A.B", Some("/DC1"), granted()),
        check(Group::Privileges, "privileges", Some("x"), Finding::skipped("not checked")),
    ]
}

#[test]
fn every_check_is_a_line_and_granted_privileges_are_counted() {
    insta::assert_snapshot!(lines(&checks(), Paint::Plain), @r"
    ok       login: as me
    PROBLEM  datastore fa\u{1b}st: there is none
               there are: /a
    ok       template ubuntu: /DC0/vm/ubuntu
    warning  template ubuntu, snapshot: there is none
               take one
    ok       2 privileges on /DC0: granted
    PROBLEM  A.D on /DC0: missing
               add it
    ok       1 privilege on /DC1: granted
    skipped  privileges on x: not checked
    2 problems, 1 warning, 5 fine, 1 not checked
    ");
}

#[test]
fn a_terminal_gets_marks() {
    let text = lines(&checks()[..4], Paint::Colours).replace('\x1b', "^");
    insta::assert_snapshot!(text, @r"
    ^[32m✓^[0m login: as me
    ^[31m✗^[0m datastore fa\u{1b}st: there is none
        there are: /a
    ^[32m✓^[0m template ubuntu: /DC0/vm/ubuntu
    ^[33m!^[0m template ubuntu, snapshot: there is none
        take one
    1 problem, 1 warning, 2 fine, 0 not checked
    ");
}

#[test]
fn programs_get_every_check() {
    let json = serde_json::to_value(checks()).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 9);
    let expected = serde_json::json!({
        "group": "privileges", "check": "A.D", "about": "/DC0", "state": "problem", "seen": "missing", "advice": "add it"
    });
    assert_eq!(json[6], expected);
}
