//! Datastore clusters, wherever a datastore can be named.

use std::time::Duration;

use rookery_kit::{Connected, Govc, Vcsim, VcsimOptions, connect, on_our_simulator};
use rookery_vim::MoRef;
use rookery_vim_client::{
    Change, CloneError, CloneOrder, CreateError, CreateOrder, DiskMove, Firmware, GuestSetup, Kind, NewDisk,
    PlacementError, Places, PowerChange, ScsiController,
};

const PATIENCE: Duration = Duration::from_secs(60);
const POD: &str = "/DC0/datastore/DC0_POD0";

/// Three datastores, the last two of them in a cluster, and little room on the first of these.
async fn world() -> (Vcsim, Govc, Connected) {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-ds=3").with("-pod=1")).await;
    let govc = Govc::new(&vcsim);
    govc.run(&["object.mv", "/DC0/datastore/LocalDS_1", "/DC0/datastore/LocalDS_2", POD]).await;
    let big = ["vm.create", "-on=false", "-ds=LocalDS_1", "-disk=500GB", "-net=VM Network", "big"];
    govc.run(&big).await;
    let ours = connect(vcsim.address()).await;
    (vcsim, govc, ours)
}

struct Where {
    folder: MoRef,
    pool: MoRef,
    pod: MoRef,
}

async fn places(ours: &Connected) -> Where {
    let places = Places::load(&ours.client).await.expect("they load");
    let root = ours.client.content().root_folder.clone();
    let find = |kind, name: &str| places.find(kind, Some(name), &root).expect(name).id.clone();
    Where {
        folder: find(Kind::Folder, "/DC0/vm"),
        pool: find(Kind::Pool, "/DC0/host/DC0_H0/Resources"),
        pod: find(Kind::Datastore, POD),
    }
}

async fn clone_order(ours: &Connected, name: &str) -> CloneOrder {
    let Where { folder, pool, pod } = places(ours).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let source = snapshot.named("DC0_H0_VM0").next().expect("it is there").id.clone();
    CloneOrder {
        source,
        name: name.to_owned(),
        folder,
        pool,
        host: None,
        datastore: Some(pod),
        disks: DiskMove::Auto,
        network: None,
        card_class: None,
        first_disk_kb: None,
        change: Change::default(),
        guest: GuestSetup::AsIs,
        power_on: false,
    }
}

async fn create_order(ours: &Connected, name: &str, disks: Vec<NewDisk>) -> CreateOrder {
    let Where { folder, pool, pod } = places(ours).await;
    CreateOrder {
        name: name.to_owned(),
        folder,
        pool,
        host: None,
        datastore: pod,
        guest_id: "otherLinux64Guest".to_owned(),
        firmware: Firmware::Bios,
        cpus: 1,
        cores_per_socket: None,
        memory_mb: 64,
        annotation: None,
        extra_config: Vec::new(),
        bios_uuid: None,
        instance_uuid: None,
        scsi: Some(ScsiController::LsiLogic),
        disks,
        cards: Vec::new(),
        cdrom: None,
        boot: Vec::new(),
    }
}

/// The one datastore that all files of a VM are on.
async fn home(govc: &Govc, vm: &MoRef) -> String {
    let datastores = govc.property(&vm.to_string(), "datastore").await;
    assert!(!datastores.contains(','), "{datastores}");
    govc.property(&datastores, "name").await
}

#[tokio::test]
async fn in_a_datastore_cluster_a_new_vm_goes_where_vcenter_recommends_or_else_to_the_most_room() {
    let (_vcsim, govc, ours) = world().await;
    // vcsim recommends the first member for each disk, and nothing for a VM without any; others the most room. govc
    // goes by the recommendation, too.
    let witness = ["-on=false", "-datastore-cluster", POD, "-disk=1GB", "-net=VM Network", "witness"];
    govc.run(&[&["vm.create"], &witness[..]].concat()).await;
    let advised = govc.run(&["find", "-i", "/", "-type", "m", "-name", "witness"]).await;
    let (kind, id) = advised.trim().split_once(':').expect("a reference");
    let advised = home(&govc, &MoRef::new(kind, id)).await;
    let disks = vec![NewDisk { size_kb: 1 << 20, thin: true }];
    let order = create_order(&ours, "advised", disks).await;
    let vm = ours.machines.create_vm(&order, PATIENCE, None).await.expect("made");
    assert_eq!(home(&govc, &vm).await, advised);
    assert!(on_our_simulator() || advised == "LocalDS_1", "vcsim's advice is not what has the most room");
    let order = create_order(&ours, "alone", Vec::new()).await;
    let vm = ours.machines.create_vm(&order, PATIENCE, None).await.expect("made");
    assert_eq!(home(&govc, &vm).await, "LocalDS_2");
    ours.close().await;
}

#[tokio::test]
async fn in_a_datastore_cluster_a_clone_goes_to_the_most_room_unless_it_can_stay_with_its_parent() {
    let (_vcsim, govc, ours) = world().await;
    // vcsim recommends nothing for a clone, and the source is elsewhere.
    let order = clone_order(&ours, "copy").await;
    let copy = ours.machines.clone_vm(&order, PATIENCE, None).await.expect("cloned");
    assert_eq!(home(&govc, &copy).await, "LocalDS_2");

    // A source with a snapshot in the cluster keeps its children beside it, however little room there is.
    let named = ["-on=false", "-ds=LocalDS_1", "-disk=1GB", "-net=VM Network", "parent"];
    govc.run(&[&["vm.create"], &named[..]].concat()).await;
    govc.run(&["snapshot.create", "-vm", "parent", "base"]).await;
    let id = govc.run(&["find", "-i", "/", "-type", "m", "-name", "parent"]).await;
    let (kind, id) = id.trim().split_once(':').expect("a reference");
    let linked = CloneOrder { source: MoRef::new(kind, id), name: "child".to_owned(), ..order.clone() };
    let child = ours.machines.clone_vm(&linked, PATIENCE, None).await.expect("cloned");
    assert_eq!(home(&govc, &child).await, "LocalDS_1");
    let full = CloneOrder { disks: DiskMove::ChildMost, name: "full".to_owned(), ..linked };
    let full = ours.machines.clone_vm(&full, PATIENCE, None).await.expect("cloned");
    assert_eq!(home(&govc, &full).await, "LocalDS_2");
    ours.machines.power(&child, PowerChange::On, PATIENCE).await.expect("it starts");
    ours.close().await;
}

#[tokio::test]
async fn a_datastore_cluster_without_datastores_is_refused_and_nothing_is_made() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-pod=1")).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let order = create_order(&ours, "homeless", Vec::new()).await;
    let error = ours.machines.create_vm(&order, PATIENCE, None).await.expect_err("there is no room");
    assert!(
        matches!(&error, CreateError::NoPlace { source: PlacementError::NoneUsable { .. }, .. }),
        "{error:?}"
    );
    let order = clone_order(&ours, "homeless").await;
    let error = ours.machines.clone_vm(&order, PATIENCE, None).await.expect_err("there is no room");
    assert!(matches!(&error, CloneError::NoPlace { .. }), "{error:?}");
    let left = govc.run(&["find", "/", "-type", "m"]).await;
    assert_eq!(left.lines().count(), 1, "{left}");
    ours.close().await;
}
