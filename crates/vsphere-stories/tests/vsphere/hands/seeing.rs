use jiff::Timestamp;
use rookery_fleet::Recognised;
use rookery_fleet::{Hardware, Power, Role};
use rookery_fleet_vsphere::{Site, SiteError, SiteNames};
use rookery_hatchery::machine::Observer;
use rookery_hatchery::mark;
use rookery_kit::{Govc, Vcsim, VcsimOptions, connect};
use rookery_vim::objects::PowerState;
use rookery_vim_client::{NetworkBacking, Vm};

use super::{OWNER, POOLED, World, names, pooled};

#[tokio::test]
async fn a_site_is_what_the_settings_name_or_else_the_only_one() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let (site, placement) = (&world.site, &world.site.placement);
    for (id, path) in [
        (&site.datacenter, "/DC0"),
        (&placement.folder, "/DC0/vm"),
        (&placement.pool, "/DC0/host/DC0_H0/Resources"),
        (placement.datastore.as_ref().expect("the only one"), "/DC0/datastore/LocalDS_0"),
    ] {
        assert_eq!(world.govc.run(&["ls", "-L", &id.to_string()]).await.trim(), path);
    }
    let network = placement.network.as_ref().expect("the one that was named");
    assert!(matches!(network, NetworkBacking::Standard { name, .. } if name == "VM Network"), "{network:?}");
    let room = world.hands.pool_room(&placement.pool).await.expect("an answer").expect("the pool is shown");
    let shown = world.govc.property(&placement.pool.to_string(), "runtime.cpu.maxUsage").await;
    assert_eq!(room.cpu.max_usage.expect("a number").0.to_string(), shown);
    world.ours.close().await;
}

#[tokio::test]
async fn all_that_is_unclear_about_a_site_is_told_at_once_with_its_settings() {
    let options = VcsimOptions::default().with("-tls=false").with("-dc=2").with("-ds=2").with("-cluster=2");
    let vcsim = Vcsim::start(options).await;
    let ours = connect(vcsim.address()).await;
    let find = async |names: SiteNames| match Site::find(&ours.client, &names).await {
        Err(error @ SiteError::Unclear(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let told = find(SiteNames { folder: Some("nests".to_owned()), network: None, ..names() }).await;
    for part in [
        "folder: there is no folder \"nests\"",
        "resourcePool: name a resource pool",
        "/DC0/host/DC0_C0/Resources, /DC0/host/DC0_C1/Resources",
        "datastoreString: name a datastore",
        "/DC0/datastore/LocalDS_0, /DC0/datastore/LocalDS_1",
        "networkString: name a network",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let elsewhere = SiteNames { datacenter: "DC7".to_owned(), network: Some("wire".to_owned()), ..names() };
    let told = find(elsewhere).await;
    assert!(told.contains("datacenterString: there is no datacenter \"DC7\""), "{told}");
    assert!(told.contains("networkString: there is no network \"wire\""), "{told}");
    assert!(!told.contains("resourcePool"), "without its datacenter nothing can be said of it: {told}");
    ours.close().await;
}

#[tokio::test]
async fn the_view_shows_what_the_inventory_does_and_when_it_changed() {
    let vcsim = Vcsim::start(VcsimOptions::plain(3)).await;
    // vcsim does not tell of new notes.
    let notes = pooled().write();
    Govc::new(&vcsim).run(&["vm.change", "-vm", "DC0_H0_VM1", "-annotation", &notes]).await;
    let world = World::over(vcsim).await;
    let mut observer = Observer::new(world.ours.inventory.clone(), mark::recogniser());
    let at = |second| Timestamp::from_second(second).expect("a moment");
    let (changing, other) = (world.named("DC0_H0_VM1"), world.named("DC0_H0_VM2"));
    let before = observer.view(at(1));
    assert!(before.complete && before.machines.len() == 3);
    let seen = before.machines.get(&changing).expect("it is there");
    assert_eq!((seen.role, seen.power), (Role::Vm, Some(Power::On)));
    assert_eq!(seen.mark_of(&OWNER).expect("a mark").worker_name, POOLED);
    assert_eq!(before.machines.get(&other).map(|other| &other.recognised), Some(&Recognised::nobody()));
    let size = |path: &'static str| world.property(&changing, path);
    let (cpus, memory) = (size("config.hardware.numCPU").await, size("config.hardware.memoryMB").await);
    let cpus = cpus.parse().expect("a number");
    assert_eq!(seen.hardware, Hardware::new(cpus, memory.parse().expect("a number")));
    assert_eq!(seen.incarnation.as_deref(), Some(size("config.instanceUuid").await.as_str()));

    world.govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    let id = rookery_vim::MoRef::new("VirtualMachine", changing.as_str());
    let off = |row: &Vm| (row.power == Some(PowerState::Off)).then_some(());
    world.ours.inventory.wait_for(&id, std::time::Duration::from_secs(60), off).await.expect("it is shown");
    let after = observer.view(at(2));
    assert_eq!(after.machines.get(&changing).map(|changed| changed.power), Some(Some(Power::Off)));
    let [one, same] = [&before, &after].map(|view| view.machines.get(&other).expect("it is there"));
    assert!(std::sync::Arc::ptr_eq(one, same));
    assert_eq!((observer.changed_at(&changing), observer.changed_at(&other)), (Some(at(2)), Some(at(1))));
    world.ours.close().await;
}
