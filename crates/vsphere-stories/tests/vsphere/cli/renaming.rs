//! `rookery vm rename`.

use rookery_kit::{Govc, Vcsim, VcsimOptions, rookery};

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
