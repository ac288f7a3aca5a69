//! What the client asks of a vCenter at most, counted by the vCenter.

use std::time::Duration;

use futures_util::future::join_all;
use rookery_kit::{Govc, Program, Sim, connect};
use rookery_vim_client::{Ceilings, Change, CloneOrder, DiskMove, GuestSetup, Kind, Places, PowerChange};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(300);

/// What the simulator has counted.
async fn inspected(control: &str) -> Value {
    let outcome = Program::new(&["sim", "vcenter", "ctl", "--control-file", control, "inspect"]).run().await;
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

#[tokio::test]
async fn two_hundred_clones_at_once_keep_the_governors_ceilings() {
    let folder = tempfile::tempdir().expect("a folder");
    let control = folder.path().join("control.json");
    let control = control.to_str().expect("text");
    let sim =
        Sim::start(&["--clusters", "0", "--vms", "1", "--clone-time", "40ms", "--control-file", control])
            .await;
    let ours = connect(sim.address()).await;
    let source = ours.inventory.complete().await.expect("it loads").vms().next().expect("a VM").id.clone();
    ours.machines.power(&source, PowerChange::Off, PATIENCE).await.expect("off");
    let places = Places::load(&ours.client).await.expect("they load");
    let root = ours.client.content().root_folder.clone();
    let find = |kind, name: &str| places.find(kind, Some(name), &root).expect(name).id.clone();
    let order = |number: usize| CloneOrder {
        source: source.clone(),
        name: format!("chick-{number}"),
        folder: find(Kind::Folder, "/DC0/vm"),
        pool: find(Kind::Pool, "/DC0/host/DC0_H0/Resources"),
        host: None,
        datastore: Some(find(Kind::Datastore, "LocalDS_0")),
        disks: DiskMove::Auto,
        network: None,
        card_class: None,
        first_disk_kb: None,
        change: Change { annotation: Some(format!("chick {number}")), ..Change::default() },
        guest: GuestSetup::AsIs,
        power_on: true,
    };
    let orders: Vec<CloneOrder> = (0..200).map(order).collect();
    let cloned = join_all(orders.iter().map(|order| ours.machines.clone_vm(order, PATIENCE, None))).await;
    for outcome in cloned {
        outcome.expect("cloned");
    }

    let seen = inspected(control).await;
    let most = seen["most-tasks-at-once"]["CloneVM_Task"].as_u64().expect("a number");
    let ceiling = Ceilings::default().per_datastore;
    eprintln!("200 clones at once ran {most} at a time; the ceiling is {ceiling}");
    assert_eq!(
        usize::try_from(most).expect("small"),
        ceiling,
        "never more, and never fewer without need: {seen}"
    );
    assert_eq!(seen["requests"]["CloneVM_Task"]["answered"], 200, "{seen}");

    let listing = Govc::at(&sim.address().replace("://", "://user:pass@"))
        .run(&["find", "/DC0/vm", "-type", "m", "-name", "chick-*", "-runtime.powerState", "poweredOn"])
        .await;
    assert_eq!(listing.lines().count(), 200);
    ours.close().await;
    assert_eq!(inspected(control).await["sessions"], serde_json::json!([]));
}
