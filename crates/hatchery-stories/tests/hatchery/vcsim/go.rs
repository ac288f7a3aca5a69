//! VMs that the Go hatchery has left, as they were captured from a real one.

use rookery_cds_sim::Status;
use rookery_hatchery_stories::Lab;
use rookery_kit::eventually;
use serde_json::Value;

use super::setup::{Shown, VcsimSetup, held};
use super::{ADDRESSES, WARM};

/// What was captured: the same worker twice, once while it ran and once when it had ended.
const CAPTURED: &str = include_str!("../fixtures/go-vms.json");

/// A VM of the capture with this name and power.
fn captured(prefix: &str, power: &str) -> Value {
    let all: Vec<Value> = serde_json::from_str(CAPTURED).expect("JSON");
    let fits =
        |vm: &Value| vm["name"].as_str().is_some_and(|name| name.starts_with(prefix)) && vm["power"] == power;
    all.into_iter().find(fits).expect("it was captured")
}

/// Notes of the capture. The name of the hatchery is another, and they are half an hour old: a VM that is much younger than
/// its notes is a copy.
fn notes(vm: &Value) -> String {
    let minutes_ago = |minutes: i64| {
        let then = rookery_daemon::Clock::system().now() - jiff::SignedDuration::from_mins(minutes);
        then.strftime("%Y-%m-%dT%H:%M:").to_string()
    };
    let notes = vm["annotation"].as_str().expect("notes").replace("rig-vsphere", Lab::NAME);
    notes.replace("2026-11-15T08:15:", &minutes_ago(30)).replace("2026-11-15T08:16:", &minutes_ago(29))
}

/// Puts a VM of the capture into the vCenter; its name.
async fn load(setup: &VcsimSetup, vm: &Value) -> String {
    let name = vm["name"].as_str().expect("a name").to_owned();
    let notes = notes(vm);
    let govc = &setup.govc;
    govc.run(&["vm.clone", "-vm", "debian12", "-on=false", &name]).await;
    let settings = ["-e", "RUN.container=box", "-e", "RUN.mountdmi=false"];
    govc.run(&[&["vm.change", "-vm", &name, "-annotation", &notes], &settings[..]].concat()).await;
    setup.make_ready(&name).await;
    if vm["power"] == "poweredOn" {
        govc.run(&["vm.power", "-on", &name]).await;
    }
    name
}

async fn named(setup: &VcsimSetup, name: &str) -> Option<Shown> {
    setup.vms().await.into_values().find(|vm| vm.name() == name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_machine_of_the_go_hatchery_is_claimed_with_its_address() {
    let addresses = ADDRESSES.replace("192.0.2.16/29", "10.99.0.0/29").replace("192.0.2.", "10.99.0.");
    let setup = VcsimSetup::start(&addresses, WARM).await;
    let warm = load(&setup, &captured("provision-v2-", "poweredOff")).await;
    let before = named(&setup, &warm).await.expect("it is loaded");
    // It was set up when it first started.
    let address = ["-ip", "10.99.0.1", "-netmask", "255.255.255.0"];
    setup.govc.run(&[&["vm.customize", "-vm", &warm, "-type", "Linux"], &address[..]].concat()).await;
    setup.govc.run(&["vm.power", "-on", &warm]).await;
    setup.govc.run(&["vm.power", "-off", &warm]).await;
    assert_eq!(named(&setup, &warm).await.map(|vm| vm.mark()), Some(before.mark()), "its notes are kept");
    let scene = setup.lab.hatch().await;
    let job = setup.v2_job(&held("taken-over"), None).await;
    let vm = setup.at_work(&job).await;
    assert_eq!(vm.text("config.uuid"), before.text("config.uuid"), "it was taken, not cloned");
    let (mark, was) = (vm.mark(), before.mark());
    assert_eq!((&mark["ip_address"], &mark["created"]), (&was["ip_address"], &was["created"]), "{mark}");
    setup.let_job_end(&vm);
    let ended = setup.lab.ended(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    assert_eq!(ended.logs.lines().collect::<Vec<_>>(), ["taken-over", vm.text("config.uuid")]);
    setup.swept(1).await;
    scene.stop().await;
    setup.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_worker_of_the_go_hatchery_is_removed_and_its_template_stays() {
    let setup = VcsimSetup::start("", "").await;
    let before = setup.vms().await;
    let ended = load(&setup, &captured("mystifying", "poweredOff")).await;
    let notes = captured("debian12", "poweredOff")["annotation"].as_str().expect("notes").to_owned();
    setup.govc.run(&["vm.change", "-vm", "rocky9", "-annotation", &notes]).await;
    let template = named(&setup, "rocky9").await.expect("it is there");
    let scene = setup.lab.hatch().await;
    eventually("the ended worker is gone", async || named(&setup, &ended).await.is_none()).await;
    assert_eq!(named(&setup, "rocky9").await, Some(template));
    let mut after = setup.vms().await;
    after.retain(|_, vm| vm.name() != "rocky9");
    assert!(after.iter().all(|(id, vm)| before.get(id) == Some(vm)), "{after:#?}");
    scene.stop().await;
    setup.close().await;
}
