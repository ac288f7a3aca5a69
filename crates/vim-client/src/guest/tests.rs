//! What is refused before anything is sent, and what a list of processes says.

use super::*;

fn program(arguments: &str, environment: &[(&str, &str)]) -> Program {
    Program {
        path: "/bin/sh".to_owned(),
        arguments: arguments.to_owned(),
        environment: environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        directory: None,
    }
}

#[test]
fn a_program_is_sent_as_it_is_or_not_at_all() {
    let script = "-n ;#!/bin/sh\r\n\techo \"größe\" <in >out & ";
    let spec = program(script, &[("A", "b=c\r\n"), ("EMPTY", "")]).spec().expect("it can be written");
    assert_eq!(spec.arguments, script);
    assert_eq!(spec.env_variables, ["A=b=c\r\n", "EMPTY="]);

    let check = |program: Program, expected: &str| {
        let error = program.spec().expect_err("it would arrive changed");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.may_have_happened() && !error.is_transient());
    };
    check(program("a\u{0}b", &[]), "the arguments cannot be sent to the guest as given");
    check(program("", &[("A", "\u{1b}[0m")]), "the environment cannot be sent");
    check(program("", &[("A=B", "c")]), "\"A=B\" is not a name for a variable");
    check(program("", &[("", "c")]), "\"\" is not a name for a variable");
}

#[test]
fn secrets_are_not_shown() {
    let user = GuestUser { name: "worker".to_owned(), password: "hunter2".into() };
    let shown =
        format!("{user:?} {:?} {:?}", user.authentication(), program("--token t0ken", &[("A", "v4lue")]));
    for secret in ["hunter2", "t0ken", "v4lue"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let bad = GuestUser { name: "worker".to_owned(), password: "hunter2\u{1}".into() };
    let error = bad.authentication().expect_err("it cannot be written");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn an_end_without_a_code_is_a_success() {
    let process = |pid, ended: bool, exit_code| GuestProcessInfo {
        name: "sh".to_owned(),
        pid,
        owner: "worker".to_owned(),
        cmd_line: String::new(),
        start_time: jiff::Timestamp::UNIX_EPOCH,
        end_time: ended.then_some(jiff::Timestamp::UNIX_EPOCH),
        exit_code,
    };
    let listed = [
        process(1, true, None),
        process(2, true, Some(7)),
        process(3, false, None),
        process(4, false, Some(0)),
    ];
    let expected =
        [Progress::Ended(0), Progress::Ended(7), Progress::Running, Progress::Running, Progress::Unlisted];
    for (pid, expected) in (1..).zip(expected) {
        assert_eq!(progress(&listed, pid), expected, "process {pid}");
    }
}
