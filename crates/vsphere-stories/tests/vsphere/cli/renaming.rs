//! `rookery vm rename`.

use rookery_kit::{Govc, Program, Vcsim, VcsimOptions, rookery};

use super::{id_of, printed, refused};

#[tokio::test]
async fn any_name_is_stored_as_a_vcenter_stores_it() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let govc = Govc::new(&vcsim);
    let id = id_of(&govc, "DC0_H0_VM0").await;
    let mut old = "DC0_H0_VM0";
    for (new, stored) in [
        ("with spaces  inside", "with spaces  inside"),
        ("a/b\\c", "a%2fb%5cc"),
        ("100% sure", "100%25 sure"),
        ("%2f is not a slash", "%252f is not a slash"),
        ("Ünïcødé 雛 🐣", "Ünïcødé 雛 🐣"),
        ("<angle> & \"quote\" 'tick'", "<angle> & \"quote\" 'tick'"),
        ("-dash", "-dash"),
        ("DC0_H0_VM0", "DC0_H0_VM0"),
    ] {
        let told = printed(rookery(&vcsim, &["vm", "rename", "--", old, new]).await);
        assert_eq!(told, format!("{old}: renamed to {new}\n"));
        assert_eq!(govc.property(&format!("VirtualMachine:{id}"), "name").await, stored);
        old = new;
    }
    let told = printed(rookery(&vcsim, &["vm", "rename", &id, "DC0_H0_VM0"]).await);
    assert_eq!(told, "DC0_H0_VM0: has this name already\n");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

/// `rename X $'a\x01b'` once named it `ab`, and then waited for a name that nothing could have.
#[tokio::test]
async fn a_control_character_is_refused_wherever_it_would_be_sent() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let govc = Govc::new(&vcsim);
    let before = govc.vms(&["name"]).await;
    let vm = "DC0_H0_VM0";
    for (arguments, place) in [
        (&["rename", vm, "a\u{1}b"][..], "NEW: \"a\\u{1}b\" contains the control character U+0001"),
        (&["rename", vm, "a\nb"], "NEW: \"a\\nb\" contains the control character U+000A"),
        // A name of blanks was taken, and then nobody could see it.
        (&["rename", vm, "   "], "NEW: \"   \" is blank"),
        (&["clone", vm, "a\u{7}"], "NAME: "),
        (&["clone", vm, "a", "--annotation", "\u{1b}[31m"], "--annotation: "),
        (&["clone", vm, "a", "--set", "k=\u{1}"], "--set: "),
        (&["clone", vm, "a", "--folder", "\u{1}"], "--folder: "),
        (&["create", "a\tb"], "NAME: "),
        (&["create", "a", "--annotation", "\u{1}"], "--annotation: "),
        (&["snapshot", "take", vm, "\u{1}"], "SNAPSHOT: "),
    ] {
        refused(rookery(&vcsim, &[&["vm"], arguments].concat()).await, 2, &[place]);
    }
    assert_eq!(govc.vms(&["name"]).await, before);

    // What is no argument of a command is refused before it is sent, too.
    let asked = Program::against(&vcsim, &["vm", "ls"]).with("GOVC_USERNAME", "us\u{1}er");
    refused(
        asked.run().await,
        2,
        &["Login was not sent: the value of userName contains a control character"],
    );

    let notes = "two\nlines\tand a tab";
    printed(rookery(&vcsim, &["vm", "create", "nest", "--annotation", notes]).await);
    let id = id_of(&govc, "nest").await;
    // Not as a table: there govc makes blanks of tabs.
    assert_eq!(govc.vms(&["config.annotation"]).await[&id]["config.annotation"], notes);
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused_and_nothing_changes() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2).with("-dc=2")).await;
    let govc = Govc::new(&vcsim);
    let before = govc.vms(&["name"]).await;
    let holder = id_of(&govc, "DC0_H0_VM1").await;
    let taken = format!("\"DC0_H0_VM0\" cannot be renamed: the name \"DC0_H0_VM1\" is taken by {holder}");
    refused(rookery(&vcsim, &["vm", "rename", "DC0_H0_VM0", "DC0_H0_VM1"]).await, 1, &[&taken]);
    refused(rookery(&vcsim, &["vm", "rename", "nobody", "x"]).await, 7, &["there is no VM \"nobody\""]);
    refused(rookery(&vcsim, &["vm", "rename", "DC0_H0_VM0", ""]).await, 2, &["<NEW>"]);
    assert_eq!(govc.vms(&["name"]).await, before);

    // Another datacenter is another place.
    let id = id_of(&govc, "DC1_H0_VM0").await;
    printed(rookery(&vcsim, &["vm", "rename", "DC1_H0_VM0", "DC0_H0_VM1"]).await);
    assert_eq!(govc.property(&format!("VirtualMachine:{id}"), "name").await, "DC0_H0_VM1");
}
