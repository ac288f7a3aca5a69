use std::io::Write as _;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Exchange, Govc, Proxy, Vcsim, VcsimOptions, connect, tool};
use rookery_vim::MoRef;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{Snapshot, Vm, WaitError};

/// Only ends a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(60);

fn names(snapshot: &Snapshot) -> Vec<String> {
    let mut names: Vec<_> = snapshot.vms().map(|vm| vm.name.clone()).collect();
    names.sort();
    names
}

fn id_of(snapshot: &Snapshot, name: &str) -> MoRef {
    snapshot.named(name).next().unwrap_or_else(|| panic!("no VM {name}")).id.clone()
}

#[tokio::test]
async fn the_inventory_shows_what_govc_shows() {
    let vcsim = Vcsim::start(VcsimOptions::tls(4)).await;
    let govc = Govc::new(&vcsim);
    // Not `println!`, which is kept back while a story passes: every run says what it ran against.
    let peer = format!("{} serves as:\n{}", tool("vcsim").display(), govc.run(&["about"]).await);
    std::io::stderr().write_all(peer.as_bytes()).expect("it can be told");
    let vm = "/DC0/vm/DC0_H0_VM1";
    govc.run(&["vm.power", "-off", vm]).await;
    govc.run(&["vm.change", "-vm", vm, "-annotation", "{\"a\": \"<&>\"}\nline two", "-c", "3", "-m", "512"])
        .await;

    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let theirs = govc.json(&["vm.info", "/DC0/vm/*"]).await;
    let theirs = theirs["virtualMachines"].as_array().expect("a list");
    assert_eq!(snapshot.vms().len(), theirs.len());
    for theirs in theirs {
        let id = theirs["self"]["value"].as_str().expect("an id");
        let ours = snapshot.get(&MoRef::new("VirtualMachine", id)).expect("we have it, too");
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        assert_eq!(Some(ours.name.clone()), text(&theirs["name"]));
        assert_eq!(ours.power.as_ref().map(PowerState::as_str), theirs["runtime"]["powerState"].as_str());
        let config = &theirs["config"];
        let annotation = ours.config.annotation.clone().filter(|a| !a.is_empty());
        assert_eq!(annotation, text(&config["annotation"]));
        assert_eq!(ours.config.uuid, text(&config["uuid"]));
        assert_eq!(ours.config.instance_uuid, text(&config["instanceUuid"]));
        assert_eq!(ours.config.template, config["template"].as_bool());
        assert_eq!(ours.config.cpus.map(i64::from), config["hardware"]["numCPU"].as_i64());
        assert_eq!(ours.config.memory_mb.map(i64::from), config["hardware"]["memoryMB"].as_i64());
        assert_eq!(ours.host.as_ref().map(MoRef::id), theirs["runtime"]["host"]["value"].as_str());
        assert!(ours.unreadable.is_empty(), "{ours:?}");
    }
    let changed = snapshot.named("DC0_H0_VM1").next().expect("it is there");
    assert_eq!(changed.config.annotation.as_deref(), Some("{\"a\": \"<&>\"}\nline two"));
    ours.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn five_hundred_vms_are_loaded_in_pages_and_followed() {
    let vcsim = Vcsim::start(VcsimOptions::plain(500)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let listing = govc.run(&["find", "/DC0/vm", "-type", "m"]).await;
    let mut theirs: Vec<_> = listing.lines().map(|l| l.trim_start_matches("/DC0/vm/").to_owned()).collect();
    theirs.sort();
    assert_eq!(theirs.len(), 500);
    assert_eq!(names(&snapshot), theirs);

    let last = id_of(&snapshot, "DC0_H0_VM499");
    govc.run(&["vm.power", "-off", "DC0_H0_VM499"]).await;
    let off = |vm: &Vm| (vm.power == Some(PowerState::Off)).then_some(());
    ours.inventory.wait_for(&last, PATIENCE, off).await.expect("the change arrives");
    assert_eq!(ours.inventory.snapshot().vms().len(), 500);
    ours.close().await;
}

#[tokio::test]
async fn vms_that_appear_and_go_are_seen_without_listing_again() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    ours.inventory.complete().await.expect("it loads");

    govc.run(&["vm.clone", "-vm", "DC0_H0_VM0", "-on=false", "newcomer"]).await;
    let with = ours.inventory.until(|s| s.named("newcomer").next().is_some()).await.expect("it appears");
    let newcomer = id_of(&with, "newcomer");
    govc.run(&["vm.destroy", "newcomer"]).await;
    // vcsim sometimes sends all others anew instead of saying that one left.
    let gone = ours.inventory.wait_for(&newcomer, PATIENCE, |_| None::<()>).await;
    assert!(matches!(gone, Err(WaitError::Gone { .. })), "{gone:?}");
    assert_eq!(ours.inventory.snapshot().vms().len(), 2);

    let never = MoRef::new("VirtualMachine", "vm-never");
    let waited = ours.inventory.appears(&never, Duration::from_millis(50)).await;
    assert!(matches!(waited, Err(WaitError::TimedOut { last: None, .. })), "not yet is not gone: {waited:?}");
    ours.close().await;
    let views = proxy.exchanges().iter().filter(|e| e.method == "CreateContainerView").count();
    assert_eq!(views, 1, "one watch served it all");
}

#[tokio::test]
async fn a_change_of_one_vm_moves_bytes_for_that_vm_only() {
    let vcsim = Vcsim::start(VcsimOptions::plain(50)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let loaded = proxy.exchanges().len();
    let vm = id_of(&snapshot, "DC0_H0_VM7");

    // Of the changes that a reconfigure can make, vcsim announces only those of the guest.
    govc.run(&["vm.change", "-vm", "DC0_H0_VM7", "-e", "SET.guest.ipAddress=192.0.2.7"]).await;
    let addressed = |vm: &Vm| (vm.guest.ip.as_deref() == Some("192.0.2.7")).then_some(());
    ours.inventory.wait_for(&vm, PATIENCE, addressed).await.expect("the address arrives");
    govc.run(&["vm.power", "-off", "DC0_H0_VM7"]).await;
    let off = |vm: &Vm| (vm.power == Some(PowerState::Off)).then_some(());
    ours.inventory.wait_for(&vm, PATIENCE, off).await.expect("the power state arrives");
    ours.close().await;

    let answers: Vec<Exchange> = proxy.exchanges().split_off(loaded);
    let updates = answers.iter().filter(|e| e.method == "WaitForUpdatesEx").filter_map(|e| e.answer.clone());
    let text: String = updates.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    let about: Vec<_> = text
        .match_indices("<obj type=\"VirtualMachine\">")
        .map(|(at, m)| {
            let rest = &text[at + m.len()..];
            rest[..rest.find('<').expect("an end")].to_owned()
        })
        .collect();
    assert!(!about.is_empty() && about.iter().all(|id| id == vm.id()), "updates were about {about:?}");
    println!("{} bytes in {} objects for two changes of one VM among 50", text.len(), about.len());
}

#[tokio::test]
async fn names_are_read_and_written_as_people_write_them() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let vm = id_of(&snapshot, "DC0_H0_VM0");
    // What the server stores is what a vCenter stores: the slash, the backslash and the percent sign escaped.
    for (name, stored) in [
        ("with spaces  inside", "with spaces  inside"),
        ("a/b\\c", "a%2fb%5cc"),
        ("100% sure", "100%25 sure"),
        ("%2f is not a slash", "%252f is not a slash"),
        ("Ünïcødé 雛 🐣", "Ünïcødé 雛 🐣"),
        ("<angle> & \"quote\" 'tick'", "<angle> & \"quote\" 'tick'"),
    ] {
        ours.machines.rename(&vm, name, PATIENCE).await.expect(name);
        let renamed = |vm: &Vm| (vm.name == name).then_some(());
        ours.inventory.wait_for(&vm, PATIENCE, renamed).await.expect(name);
        assert_eq!(govc.property(&format!("VirtualMachine:{}", vm.id()), "name").await, stored);
    }
    ours.close().await;
}
