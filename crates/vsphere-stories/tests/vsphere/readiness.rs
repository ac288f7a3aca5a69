use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_fleet_vsphere::readiness::{ExpectedAddress, Readiness, ReadinessError, Stage, TimeOuts};
use rookery_kit::{Connected, Exchange, Govc, Proxy, Vcsim, VcsimOptions, connect, eventually};
use rookery_vim::methods::ReconfigVmTask;
use rookery_vim::objects::PowerState;
use rookery_vim::specs::{OptionValue, VirtualMachineConfigSpec};
use rookery_vim::{MoRef, Node};
use rookery_vim_client::{GuestUser, Guests, Vm};

/// Only ends a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(60);
const NAME: &str = "DC0_H0_VM0";

fn readiness(ours: &Connected, each: Duration) -> Readiness {
    let time_outs = TimeOuts { operations: each, address: each, command: each };
    let guests = Guests::new(ours.client.clone());
    Readiness::new(ours.client.clone(), guests, ours.inventory.clone(), time_outs)
}

async fn first_vm(ours: &Connected) -> MoRef {
    let snapshot = ours.inventory.complete().await.expect("it loads");
    snapshot.named(NAME).next().expect("it is there").id.clone()
}

/// Sets a property of a VM by vcsim's back door. A value of another type than the property's ends vcsim.
async fn set(ours: &Connected, vm: &MoRef, property: &str, value: Node) {
    let setting = OptionValue { key: format!("SET.{property}"), value };
    let spec =
        VirtualMachineConfigSpec { extra_config: vec![setting], ..VirtualMachineConfigSpec::default() };
    ours.client.call(&ReconfigVmTask { this: vm.clone(), spec }).await.expect("it is set");
}

pub(super) async fn set_operations_ready(ours: &Connected, vm: &MoRef, ready: bool) {
    set(ours, vm, "guest.guestOperationsReady", Node::leaf("value", "boolean", ready.to_string())).await;
}

/// Cards, each with its device and addresses.
pub(super) async fn set_cards(ours: &Connected, vm: &MoRef, cards: &[(i32, &[&str])]) {
    let text = |name: &str, text: &str| Node { text: text.to_owned(), ..Node::new(name) };
    let card = |(device, addresses): &(i32, &[&str])| {
        let mut members: Vec<Node> = addresses.iter().map(|ip| text("ipAddress", ip)).collect();
        members.extend([text("connected", "true"), text("deviceConfigId", &device.to_string())]);
        Node { children: members, ..Node::new("GuestNicInfo") }
    };
    let cards = cards.iter().map(card).collect();
    let value = Node { xsi_type: Some("ArrayOfGuestNicInfo".into()), children: cards, ..Node::new("value") };
    set(ours, vm, "guest.net", value).await;
}

async fn shown(ours: &Connected, vm: &MoRef, condition: impl Fn(&Vm) -> bool) {
    ours.inventory.wait_for(vm, PATIENCE, |row| condition(row).then_some(())).await.expect("it is shown");
}

/// Whether an answer to a poll had a value for the property.
fn told(proxy: &Proxy, property: &str) -> bool {
    let value = format!("<name>{property}</name><op>assign</op><val");
    let answers = proxy.exchanges().into_iter().filter_map(|exchange| exchange.answer);
    answers.into_iter().any(|answer| String::from_utf8_lossy(&answer).contains(&value))
}

#[tokio::test]
async fn the_stages_are_waited_for_on_the_inventory_without_a_call() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    vcsim.silence_guest(NAME).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let (ours, other) = (connect(proxy.address()).await, connect(vcsim.address()).await);
    let vm = first_vm(&ours).await;
    let loaded = proxy.exchanges().len();
    let waiting = readiness(&ours, PATIENCE);

    let operations = waiting.operations(&vm);
    tokio::pin!(operations);
    set_operations_ready(&other, &vm, false).await;
    tokio::select! {
        biased;
        early = &mut operations => panic!("it is not ready: {early:?}"),
        () = shown(&ours, &vm, |row| row.guest.operations_ready == Some(false)) => {}
    }
    set_operations_ready(&other, &vm, true).await;
    operations.await.expect("it is ready");

    let wanted = "192.0.2.17".parse().expect("an address");
    let (fixed, dhcp) = (ExpectedAddress::Exactly(wanted), ExpectedAddress::AnyIpv4);
    let addresses = async { tokio::join!(waiting.address(&vm, fixed), waiting.address(&vm, dhcp)) };
    tokio::pin!(addresses);
    set_cards(&other, &vm, &[(-1, &["172.17.0.1", "192.0.2.17"]), (4000, &["169.254.9.9"])]).await;
    tokio::select! {
        biased;
        early = &mut addresses => panic!("these addresses do not count: {early:?}"),
        () = shown(&ours, &vm, |row| row.guest.nics.len() == 2) => {}
    }
    set_cards(&other, &vm, &[(4000, &["fe80::1", "192.0.2.17"])]).await;
    let (fixed, dhcp) = addresses.await;
    assert_eq!((fixed.expect("its own address"), dhcp.expect("any address")), (wanted, wanted));

    let asked: Vec<_> = proxy.exchanges().split_off(loaded).into_iter().map(|e| e.method).collect();
    assert!(!asked.is_empty() && asked.iter().all(|method| method == "WaitForUpdatesEx"), "{asked:?}");
    ours.close().await;
    other.close().await;
}

#[tokio::test]
async fn the_address_of_a_customization_is_found() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-autostart=false")).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let vm = first_vm(&ours).await;
    let settings = ["-ip", "192.0.2.17", "-netmask", "255.255.255.0", "-gateway", "192.0.2.1"];
    govc.run(&[&["vm.customize", "-vm", NAME, "-type", "Linux"], &settings[..]].concat()).await;
    govc.run(&["vm.power", "-on", NAME]).await;
    let wanted = "192.0.2.17".parse().expect("an address");
    let waiting = readiness(&ours, PATIENCE);
    let found = waiting.address(&vm, ExpectedAddress::Exactly(wanted)).await.expect("it has the address");
    assert_eq!(found, wanted);
    assert_eq!(govc.run(&["vm.ip", NAME]).await.trim(), found.to_string());
    ours.close().await;
}

#[tokio::test]
async fn each_stage_that_takes_too_long_says_what_was_seen() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    vcsim.silence_guest(NAME).await;
    let ours = connect(vcsim.address()).await;
    let vm = first_vm(&ours).await;
    let hasty = readiness(&ours, Duration::from_millis(100));

    let error = hasty.operations(&vm).await.expect_err("vcsim never sets it by itself");
    assert!(matches!(error, ReadinessError::NoOperations { .. }), "{error:?}");
    assert_eq!((error.at().stage, &error.at().vm), (Stage::Operations, &vm));
    let text = error.to_string();
    assert!(text.contains(NAME) && text.contains(vm.id()) && text.contains("guestToolsNotRunning"), "{text}");

    set_operations_ready(&ours, &vm, true).await;
    set_cards(&ours, &vm, &[(4000, &["192.0.2.18"])]).await;
    shown(&ours, &vm, |row| row.guest.nics.iter().any(|nic| !nic.ips.is_empty())).await;
    let wanted = ExpectedAddress::Exactly("192.0.2.17".parse().expect("an address"));
    let error = hasty.address(&vm, wanted).await.expect_err("it has another");
    assert!(matches!(error, ReadinessError::NoAddress { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("the address 192.0.2.17") && text.contains("addresses 192.0.2.18"), "{text}");
    ours.close().await;
}

#[tokio::test]
async fn a_vm_that_goes_off_or_asks_a_question_fails_the_wait_at_once() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    vcsim.silence_guest(NAME).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let vm = first_vm(&ours).await;
    let waiting = readiness(&ours, PATIENCE);

    let (off, _) = tokio::join!(waiting.operations(&vm), govc.run(&["vm.power", "-off", NAME]));
    assert!(matches!(off, Err(ReadinessError::NotRunning { power: PowerState::Off, .. })), "{off:?}");
    let off = waiting.address(&vm, ExpectedAddress::AnyIpv4).await;
    assert!(matches!(off, Err(ReadinessError::NotRunning { power: PowerState::Off, .. })), "{off:?}");

    govc.run(&["vm.power", "-on", NAME]).await;
    let text = |(name, text): (&str, &str)| Node { text: text.to_owned(), ..Node::new(name) };
    let question = Node {
        xsi_type: Some("VirtualMachineQuestionInfo".into()),
        children: [("id", "1"), ("text", "Was it moved or copied?")].map(text).into(),
        ..Node::new("value")
    };
    let asking = set(&ours, &vm, "runtime.question", question);
    let (asked, ()) = tokio::join!(waiting.operations(&vm), asking);
    match asked {
        Err(ReadinessError::Question { question, .. }) => assert_eq!(question, "Was it moved or copied?"),
        other => panic!("{other:?}"),
    }
    ours.close().await;
}

#[tokio::test]
async fn a_vm_that_vanishes_fails_the_wait_at_once() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    vcsim.silence_guest(NAME).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let (ours, other) = (connect(proxy.address()).await, connect(vcsim.address()).await);
    let vm = first_vm(&ours).await;
    let waiting = readiness(&ours, PATIENCE);

    // With a poll held back, the next one tells both that it went off and that it was removed: only the latter is seen.
    proxy.hold_answers("WaitForUpdatesEx");
    let vanishing = async {
        set_operations_ready(&other, &vm, false).await;
        eventually("the poll is answered", async || told(&proxy, "guest.guestOperationsReady")).await;
        govc.run(&["vm.destroy", NAME]).await;
        proxy.release_answers("WaitForUpdatesEx");
    };
    let (gone, ()) = tokio::join!(waiting.operations(&vm), vanishing);
    assert!(matches!(gone, Err(ReadinessError::Gone { .. })), "{gone:?}");
    let text = gone.map_or_else(|error| error.to_string(), |()| String::new());
    assert!(text.contains(NAME), "what is gone still has its name: {text}");
    let gone = waiting.operations(&vm).await;
    assert!(matches!(gone, Err(ReadinessError::Gone { .. })), "{gone:?}");
    ours.close().await;
    other.close().await;
}

#[tokio::test]
async fn an_inventory_that_lags_behind_a_start_or_a_clone_fails_no_wait() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-autostart=false")).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let (ours, other) = (connect(proxy.address()).await, connect(vcsim.address()).await);
    let vm = first_vm(&ours).await;
    let waiting = readiness(&ours, PATIENCE);
    let off = waiting.operations(&vm).await;
    assert!(matches!(off, Err(ReadinessError::NotRunning { power: PowerState::Off, .. })), "{off:?}");

    proxy.hold_answers("WaitForUpdatesEx");
    govc.run(&["vm.power", "-on", NAME]).await;
    govc.run(&["vm.clone", "-vm", NAME, "-on=true", "newcomer"]).await;
    let found = govc.run(&["find", "-i", "/DC0/vm", "-type", "m", "-name", "newcomer"]).await;
    let newcomer = found.trim().strip_prefix("VirtualMachine:").expect("its reference");
    let newcomer = MoRef::new("VirtualMachine", newcomer);
    assert!(ours.inventory.snapshot().get(&newcomer).is_none(), "the inventory does not know it yet");

    let hasty = readiness(&ours, Duration::from_millis(300));
    for vm in [&vm, &newcomer] {
        let slow = hasty.operations(vm).await;
        assert!(matches!(slow, Err(ReadinessError::NoOperations { .. })), "nothing is against it: {slow:?}");
    }
    let ready = async { tokio::join!(waiting.operations(&vm), waiting.operations(&newcomer)) };
    let (ready, ()) = tokio::join!(ready, async {
        set_operations_ready(&other, &vm, true).await;
        set_operations_ready(&other, &newcomer, true).await;
        proxy.release_answers("WaitForUpdatesEx");
    });
    ready.0.expect("it was started");
    ready.1.expect("it was cloned");
    ours.close().await;
    other.close().await;
}

#[tokio::test]
async fn an_off_that_is_over_when_the_inventory_tells_it_fails_no_wait() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    vcsim.silence_guest(NAME).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let (ours, other) = (connect(proxy.address()).await, connect(vcsim.address()).await);
    let vm = first_vm(&ours).await;
    let waiting = readiness(&ours, PATIENCE);

    let waits = |e: &Exchange| e.method == "WaitForUpdatesEx" && e.answer.is_none();
    let (ready, ()) = tokio::join!(waiting.operations(&vm), async {
        eventually("a poll waits", async || proxy.exchanges().iter().any(waits)).await;
        proxy.hold_answers("WaitForUpdatesEx");
        govc.run(&["vm.power", "-off", NAME]).await;
        eventually("it is told", async || !proxy.exchanges().iter().any(waits)).await;
        govc.run(&["vm.power", "-on", NAME]).await;
        proxy.release_answers("WaitForUpdatesEx");
        set_operations_ready(&other, &vm, true).await;
    });
    ready.expect("it runs again");
    ours.close().await;
    other.close().await;
}

#[tokio::test]
async fn a_wait_that_the_end_of_the_program_interrupts_blames_no_vm() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    vcsim.silence_guest(NAME).await;
    let ours = connect(vcsim.address()).await;
    let vm = first_vm(&ours).await;
    let waiting = readiness(&ours, PATIENCE);
    let (stopped, ()) = tokio::join!(waiting.operations(&vm), ours.clone().close());
    assert!(matches!(stopped, Err(ReadinessError::Stopped { .. })), "{stopped:?}");
}

/// A VM with a guest, and a user of it.
async fn with_guest() -> (Vcsim, Govc, GuestUser) {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with_guests()).await;
    let govc = Govc::new(&vcsim);
    govc.give_guest(NAME).await;
    (vcsim, govc, GuestUser { name: "worker".to_owned(), password: "nest".into() })
}

/// How many probes have ended in the guest, as govc lists them; all of them well.
async fn probes(govc: &Govc) -> usize {
    let listed = govc.json(&["guest.ps", "-vm", NAME, "-l", "worker:nest"]).await;
    let processes = listed["processInfo"].as_array().cloned().unwrap_or_default();
    let probes = processes.iter().filter(|process| process["cmdLine"].to_string().contains(";env"));
    let ended: Vec<_> = probes.filter(|process| process["endTime"].is_string()).collect();
    // vcsim leaves a code of 0 out.
    assert!(ended.iter().all(|process| process["exitCode"].as_i64().unwrap_or(0) == 0), "{ended:?}");
    ended.len()
}

#[tokio::test]
async fn a_command_in_the_guest_is_the_last_proof() {
    let (vcsim, govc, user) = with_guest().await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let vm = first_vm(&ours).await;
    let waiting = readiness(&ours, PATIENCE);
    waiting.command(&vm, &user).await.expect("it runs");
    assert_eq!(probes(&govc).await, 1);

    // Whether it ran is not known, and a second one does no harm.
    proxy.lose("StartProgramInGuest");
    waiting.command(&vm, &user).await.expect("it runs, at last");
    eventually("both have ended", async || probes(&govc).await == 3).await;

    govc.run(&["vm.power", "-off", NAME]).await;
    let off = waiting.command(&vm, &user).await;
    assert!(matches!(off, Err(ReadinessError::NotRunning { power: PowerState::Off, .. })), "{off:?}");
    assert_eq!(off.map_err(|error| error.at().stage), Err(Stage::Command));
    ours.close().await;
}

#[tokio::test]
async fn a_vm_is_ready_after_all_stages_and_not_before() {
    let (vcsim, govc, user) = with_guest().await;
    let (ours, other) = (connect(vcsim.address()).await, connect(vcsim.address()).await);
    let vm = first_vm(&ours).await;
    let waiting = readiness(&ours, PATIENCE);
    let wanted = "192.0.2.17".parse().expect("an address");
    let ready = waiting.wait(&vm, ExpectedAddress::Exactly(wanted), &user);
    tokio::pin!(ready);

    set_operations_ready(&other, &vm, true).await;
    tokio::select! {
        biased;
        early = &mut ready => panic!("it has no address: {early:?}"),
        () = shown(&ours, &vm, |row| row.guest.operations_ready == Some(true)) => {}
    }
    set_cards(&other, &vm, &[(4000, &["192.0.2.18"])]).await;
    let other_address = |row: &Vm| row.guest.nics.iter().any(|nic| nic.ips == ["192.0.2.18"]);
    tokio::select! {
        biased;
        early = &mut ready => panic!("it has another address: {early:?}"),
        () = shown(&ours, &vm, other_address) => {}
    }
    assert_eq!(probes(&govc).await, 0, "nothing is run before the address is there");
    set_cards(&other, &vm, &[(4000, &["192.0.2.17"])]).await;
    assert_eq!(ready.await.expect("it is ready"), wanted);
    assert_eq!(probes(&govc).await, 1);
    ours.close().await;
    other.close().await;
}
