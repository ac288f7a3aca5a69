//! What an idle client costs a vCenter of ten thousand VMs. Everything runs in this process, on time that is not real.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{connect_over, options};
use rookery_vim::objects::PowerState;
use rookery_vim_client::{
    Change, CloneOrder, Dial, Dialing, DiskMove, GuestSetup, Kind, Places, PowerChange, Stream, Vm,
};
use rookery_vim_sim::server::{Blobs, Running};
use rookery_vim_sim::{Body, Clock, Control, Counts, Model, Settings};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);
const VMS: usize = 10_000;

/// Streams into a simulator in this process.
#[derive(Debug)]
struct InProcess(Running);

impl Dial for InProcess {
    fn dial(&self) -> Dialing {
        let stream: Box<dyn Stream> = Box::new(self.0.pipe());
        Box::pin(async move { Ok(stream) })
    }
}

/// By method: how many requests were made so far, whether answered or not, and the bytes of the answers.
async fn counted(running: &Running) -> BTreeMap<String, (u64, u64)> {
    let reply = running.control(Control::Inspect).await.expect("it runs");
    let Body::Text(text) = reply.body else { panic!("it answers with text") };
    let seen: Value = serde_json::from_str(&text).expect("JSON");
    let methods = seen["requests"].as_object().expect("methods").clone();
    let number = |counts: &Value, name: &str| counts[name].as_u64().unwrap_or_default();
    let requests = |counts: &Value| {
        ["answered", "refused", "cut", "gone", "waiting"].iter().map(|name| number(counts, name)).sum()
    };
    methods
        .iter()
        .map(|(name, counts)| (name.clone(), (requests(counts), number(counts, "bytes-sent"))))
        .collect()
}

fn total(counts: &BTreeMap<String, (u64, u64)>) -> u64 {
    counts.values().map(|(requests, _)| requests).sum()
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_nothing_costs_six_requests_a_minute_and_a_change_its_own_bytes() {
    let clock = rookery_daemon::Clock::simulated(jiff::Timestamp::UNIX_EPOCH);
    let model = Model::uniform(Counts { vms: VMS, clusters: 0, ..Counts::default() });
    let world = model.build(Settings::default(), clock.now()).expect("a world");
    let folder = tempfile::tempdir().expect("a folder");
    let blobs = Blobs::in_folder(&folder.path().join("blobs")).expect("a folder");
    let supervisor = Supervisor::new();
    let running = Running::start(world, Clock::wall(clock), blobs, &supervisor);
    let dial = || Arc::new(InProcess(running.clone()));

    let watcher = connect_over(options("http://simulated"), dial()).await.expect("it logs in");
    let loaded = watcher.inventory.complete().await.expect("it loads");
    assert_eq!(loaded.vms().count(), VMS);

    let before = counted(&running).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let after = counted(&running).await;
    let requests = total(&after) - total(&before);
    eprintln!("{VMS} VMs, an hour of nothing: {requests} requests");
    assert!((1..=6 * 60).contains(&requests), "{requests} requests in an hour");

    let other = connect_over(options("http://simulated"), dial()).await.expect("it logs in");
    let vm = loaded.vms().next().expect("a VM").id.clone();
    other.machines.power(&vm, PowerChange::Off, PATIENCE).await.expect("off");
    let off = |vm: &Vm| (vm.power == Some(PowerState::Off)).then_some(());
    watcher.inventory.wait_for(&vm, PATIENCE, off).await.expect("the change arrives");

    // The other one has loaded everything by now; from here on only what changes may be told.
    other.inventory.complete().await.expect("it loads");
    let places = Places::load(&other.client).await.expect("they load");
    let root = other.client.content().root_folder.clone();
    let find = |kind, name: &str| places.find(kind, Some(name), &root).expect(name).id.clone();
    let order = CloneOrder {
        source: vm,
        name: "chick".to_owned(),
        folder: find(Kind::Folder, "/DC0/vm"),
        pool: find(Kind::Pool, "/DC0/host/DC0_H0/Resources"),
        host: None,
        datastore: None,
        disks: DiskMove::Auto,
        network: None,
        card_class: None,
        first_disk_kb: None,
        change: Change::default(),
        guest: GuestSetup::AsIs,
        power_on: false,
    };
    let before = counted(&running).await["WaitForUpdatesEx"].1;
    let chick = other.machines.clone_vm(&order, PATIENCE, None).await.expect("cloned");
    watcher.inventory.appears(&chick, PATIENCE).await.expect("it appears");
    other.machines.destroy(&chick, PATIENCE).await.expect("destroyed");
    watcher.inventory.until(|now| now.get(&chick).is_none()).await.expect("it goes");
    let bytes = counted(&running).await["WaitForUpdatesEx"].1 - before;
    eprintln!("a VM came and went among {VMS}: {bytes} bytes of updates for two watchers and their tasks");
    assert!(bytes < 64 << 10, "{bytes} bytes");
    watcher.close().await;
    other.close().await;
    supervisor.shutdown(PATIENCE).await.expect("all ends");
}
