//! Programs in guests: what is typed is what arrives, and who is refused is told why.

use proptest::collection::vec;
use proptest::prelude::*;
use rookery_vim::fault::Class;
use rookery_vim::guest::{GuestAuthentication, GuestProgram, GuestProgramSpec, NamePasswordAuthentication};
use rookery_vim::methods::{Method, StartProgramInGuest};
use rookery_vim::{Fault, FaultKind, Hidden, MoRef, Node, envelope, unwritable};

use crate::content;

/// The guest takes the arguments apart itself, so that each byte of them has a meaning.
#[test]
fn the_arguments_of_a_program_arrive_byte_for_byte() {
    let script =
        "#!/bin/sh\r\n\techo \"it's $HOME\" 'a&b' <in >out 2>&1 && cat <<'EOF'\n  größe ✓ ]]>\n\nEOF\n ";
    for arguments in [
        "",
        " ",
        "-n ;",
        &format!("-n ;{script}"),
        script,
        "\r",
        "\n",
        "\t",
        "&amp;",
        "&#13;",
        "\u{85}\u{2028}",
    ] {
        let (written, read) = there_and_back(arguments, &["A=b c".to_owned(), "B=<&>\r\n".to_owned()]);
        assert_eq!(read.arguments.as_bytes(), arguments.as_bytes(), "{written}");
        assert_eq!(read.env_variables, ["A=b c", "B=<&>\r\n"], "{written}");
    }
}

proptest! {
    #[test]
    fn any_text_that_can_be_written_arrives_as_it_is(
        arguments in any::<String>(),
        environment in vec(any::<String>(), 0..4),
    ) {
        prop_assume!(unwritable(&arguments).is_none());
        prop_assume!(environment.iter().all(|text| unwritable(text).is_none()));
        let (_, read) = there_and_back(&arguments, &environment);
        prop_assert_eq!((read.arguments, read.env_variables), (arguments, environment));
    }
}

#[test]
fn what_cannot_be_written_is_found() {
    for (text, found) in [
        ("a\u{0}b", Some('\u{0}')),
        ("\u{1b}[0m\u{7}", Some('\u{1b}')),
        ("\u{fffe}", Some('\u{fffe}')),
        ("\u{ffff}", Some('\u{ffff}')),
        ("tab\t, line\n, return\r, delete\u{7f}, größe, \u{fffd}", None),
    ] {
        assert_eq!(unwritable(text), found, "{text:?}");
    }
}

#[test]
fn refusals_of_guests_are_told_apart() {
    for (name, kind, class) in [
        ("InvalidGuestLogin", FaultKind::InvalidGuestLogin, Class::Credentials),
        ("GuestPermissionDenied", FaultKind::GuestPermissionDenied, Class::Permission),
        ("GuestProcessNotFound", FaultKind::GuestProcessNotFound, Class::NotFound),
        ("TooManyGuestLogons", FaultKind::TooManyGuestLogons, Class::Transient),
        ("GuestOperationsUnavailable", FaultKind::GuestOperationsUnavailable, Class::Transient),
        ("GuestComponentsOutOfDate", FaultKind::GuestComponentsOutOfDate, Class::Final),
        ("OperationDisabledByGuest", FaultKind::OperationDisabledByGuest, Class::Final),
        ("OperationNotSupportedByGuest", FaultKind::OperationNotSupportedByGuest, Class::Final),
    ] {
        let fault = Fault::new(Some(Node::leaf("fault", name, "")), String::new());
        assert_eq!((fault.kind(), fault.kind().class()), (kind, class), "{name}");
    }
}

fn there_and_back(arguments: &str, environment: &[String]) -> (String, GuestProgramSpec) {
    let call = StartProgramInGuest {
        this: MoRef::new("GuestProcessManager", "guestOperationsProcessManager"),
        vm: MoRef::new("VirtualMachine", "vm-7"),
        auth: GuestAuthentication::NamePasswordAuthentication(NamePasswordAuthentication {
            interactive_session: false,
            username: "worker".into(),
            password: Hidden("<secret>".into()),
        }),
        spec: GuestProgram::GuestProgramSpec(GuestProgramSpec {
            program_path: "/bin/echo".into(),
            arguments: arguments.into(),
            working_directory: None,
            env_variables: environment.to_vec(),
        }),
    };
    let written = envelope::call(&call, None).expect("XML carries it");
    let read = StartProgramInGuest::read(content(written.as_bytes())).expect("it is a call");
    let GuestProgram::GuestProgramSpec(spec) = read.spec else { panic!("another class: {written}") };
    (written, spec)
}
