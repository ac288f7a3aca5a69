//! VMs that the Go hatchery has left, as they were captured from a real one.

use rookery_cds_sim::Status;
use rookery_hatchery_stories::Lab;
use rookery_kit::eventually;
use serde_json::Value;

use super::nest::{Nest, Shown, held};
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
async fn load(nest: &Nest, vm: &Value) -> String {
    let name = vm["name"].as_str().expect("a name").to_owned();
    let notes = notes(vm);
    let govc = &nest.govc;
    govc.run(&["vm.clone", "-vm", "debian12", "-on=false", &name]).await;
    let settings = ["-e", "RUN.container=box", "-e", "RUN.mountdmi=false"];
    govc.run(&[&["vm.change", "-vm", &name, "-annotation", &notes], &settings[..]].concat()).await;
    nest.make_ready(&name).await;
    if vm["power"] == "poweredOn" {
        govc.run(&["vm.power", "-on", &name]).await;
    }
    name
}

async fn named(nest: &Nest, name: &str) -> Option<Shown> {
    nest.vms().await.into_values().find(|vm| vm.name() == name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_machine_of_the_go_hatchery_is_claimed_with_its_address() {
    let addresses = ADDRESSES.replace("192.0.2.16/29", "10.99.0.0/29").replace("192.0.2.", "10.99.0.");
    let nest = Nest::start(&addresses, WARM).await;
    let warm = load(&nest, &captured("provision-v2-", "poweredOff")).await;
    let before = named(&nest, &warm).await.expect("it is loaded");
    // It was set up when it first started.
    let address = ["-ip", "10.99.0.1", "-netmask", "255.255.255.0"];
    nest.govc.run(&[&["vm.customize", "-vm", &warm, "-type", "Linux"], &address[..]].concat()).await;
    nest.govc.run(&["vm.power", "-on", &warm]).await;
    nest.govc.run(&["vm.power", "-off", &warm]).await;
    assert_eq!(named(&nest, &warm).await.map(|vm| vm.mark()), Some(before.mark()), "its notes are kept");
    let scene = nest.lab.hatch().await;
    let job = nest.v2_job(&held("taken-over"), None).await;
    let vm = nest.at_work(&job).await;
    assert_eq!(vm.text("config.uuid"), before.text("config.uuid"), "it was taken, not cloned");
    let (mark, was) = (vm.mark(), before.mark());
    assert_eq!((&mark["ip_address"], &mark["created"]), (&was["ip_address"], &was["created"]), "{mark}");
    nest.let_go(&vm);
    let ended = nest.lab.ended(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    assert_eq!(ended.logs.lines().collect::<Vec<_>>(), ["taken-over", vm.text("config.uuid")]);
    nest.swept(1).await;
    scene.stop().await;
    nest.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_worker_of_the_go_hatchery_is_removed_and_its_template_stays() {
    let nest = Nest::start("", "").await;
    let before = nest.vms().await;
    let ended = load(&nest, &captured("mystifying", "poweredOff")).await;
    let notes = captured("debian12", "poweredOff")["annotation"].as_str().expect("notes").to_owned();
    nest.govc.run(&["vm.change", "-vm", "rocky9", "-annotation", &notes]).await;
    let template = named(&nest, "rocky9").await.expect("it is there");
    let scene = nest.lab.hatch().await;
    eventually("the ended worker is gone", async || named(&nest, &ended).await.is_none()).await;
    assert_eq!(named(&nest, "rocky9").await, Some(template));
    let mut after = nest.vms().await;
    after.retain(|_, vm| vm.name() != "rocky9");
    assert!(after.iter().all(|(id, vm)| before.get(id) == Some(vm)), "{after:#?}");
    scene.stop().await;
    nest.close().await;
}
