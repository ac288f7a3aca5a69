use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_stories::{Connected, Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim::MoRef;
use rookery_vim_client::{
    Change, CloneError, CloneOrder, DiskMove, FixedAddress, GuestSetup, Kind, Places, PowerChange,
    network_backing,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A template with a snapshot, and an order that uses everything.
async fn prepared(ours: &Connected, name: &str) -> CloneOrder {
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let vm = snapshot.named("DC0_H0_VM0").next().expect("it is there").id.clone();
    ours.machines.power(&vm, PowerChange::Off, PATIENCE).await.expect("off");
    ours.machines.snapshot(&vm, "base", PATIENCE).await.expect("a snapshot");
    ours.machines.mark_as_template(&vm).await.expect("a template");

    let places = Places::load(&ours.client).await.expect("they load");
    let root = ours.client.content().root_folder.clone();
    let find = |kind, name: &str| places.find(kind, Some(name), &root).expect(name).id.clone();
    CloneOrder {
        source: vm,
        name: name.to_owned(),
        folder: find(Kind::Folder, "/DC0/vm"),
        pool: find(Kind::Pool, "/DC0/host/DC0_H0/Resources"),
        host: None,
        datastore: Some(find(Kind::Datastore, "LocalDS_0")),
        disks: DiskMove::Auto,
        network: Some(
            network_backing(&ours.client, &find(Kind::Network, "DC0_DVPG0")).await.expect("a network"),
        ),
        card_class: None,
        change: Change {
            annotation: Some("{\"hatchery_name\": \"h1\"}".to_owned()),
            cpus: Some(3),
            memory_mb: Some(512),
            extra_config: vec![("guestinfo.nest".to_owned(), "twigs".to_owned())],
            ..Change::default()
        },
        guest: GuestSetup::Linux {
            address: Some(FixedAddress {
                ip: "192.0.2.17".to_owned(),
                mask: "255.255.255.0".to_owned(),
                gateway: Some("192.0.2.1".to_owned()),
            }),
            dns: vec!["192.0.2.53".to_owned()],
            domain: "example.com".to_owned(),
        },
        power_on: true,
    }
}

#[tokio::test]
async fn a_clone_is_what_was_ordered() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let order = prepared(&ours, "nest 1").await;
    let vm = ours.machines.clone_vm(&order, PATIENCE, None).await.expect("cloned");
    let object = format!("VirtualMachine:{}", vm.id());
    for (path, expected) in [
        ("name", "nest 1"),
        ("runtime.powerState", "poweredOn"),
        ("config.template", "false"),
        ("config.annotation", "{\"hatchery_name\": \"h1\"}"),
        ("config.hardware.numCPU", "3"),
        ("config.hardware.memoryMB", "512"),
        ("guest.ipAddress", "192.0.2.17"),
    ] {
        assert_eq!(govc.property(&object, path).await, expected, "{path}");
    }
    let devices = govc.json(&["device.info", "-vm", "nest 1", "ethernet-*"]).await.to_string();
    assert!(devices.contains("portgroupKey") && devices.contains("dvportgroup"), "{devices}");

    let error = ours.machines.clone_vm(&order, PATIENCE, None).await.expect_err("the name is taken");
    assert!(matches!(error, CloneError::NameTaken { .. }), "{error:?}");
    let ghost = CloneOrder { source: MoRef::new("VirtualMachine", "vm-ghost"), ..order };
    let error = ours.machines.clone_vm(&ghost, PATIENCE, None).await.expect_err("there is no source");
    assert!(matches!(error, CloneError::Source { .. }), "{error:?}");
    ours.close().await;
}

#[tokio::test]
async fn a_clone_is_put_on_the_host_and_datastore_that_were_named() {
    let vcsim = Vcsim::start(VcsimOptions::default().with("-tls=false").with("-host=2").with("-ds=2")).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let places = Places::load(&ours.client).await.expect("they load");
    let root = ours.client.content().root_folder.clone();
    let find = |kind, name: &str| places.find(kind, Some(name), &root).expect(name).id.clone();
    let snapshot = ours.inventory.complete().await.expect("it loads");
    for (number, host) in ["DC0_C0_H0", "DC0_C0_H1"].into_iter().enumerate() {
        let (name, datastore) = (format!("nest-{number}"), format!("LocalDS_{number}"));
        let order = CloneOrder {
            source: snapshot.named("DC0_C0_RP0_VM0").next().expect("it is there").id.clone(),
            name: name.clone(),
            folder: find(Kind::Folder, "/DC0/vm"),
            pool: find(Kind::Pool, "/DC0/host/DC0_C0/Resources"),
            host: Some(find(Kind::Host, host)),
            datastore: Some(find(Kind::Datastore, &datastore)),
            disks: DiskMove::ChildMost,
            network: None,
            card_class: None,
            change: Change::default(),
            guest: GuestSetup::AsIs,
            power_on: false,
        };
        ours.machines.clone_vm(&order, PATIENCE, None).await.expect("cloned");
        let path = format!("/DC0/vm/{name}");
        let running = govc.property(&path, "runtime.host").await;
        assert_eq!(running, find(Kind::Host, host).to_string());
        assert_eq!(govc.property(&path, "runtime.powerState").await, "poweredOff");
        let file = govc.property(&path, "config.files.vmPathName").await;
        assert!(file.starts_with(&format!("[{datastore}] ")), "{file}");
    }
    ours.close().await;
}

#[tokio::test]
async fn an_operation_whose_answer_was_lost_is_not_done_twice() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let machines = &ours.machines;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let vm = snapshot.named("DC0_H0_VM1").next().expect("it is there").id.clone();

    // Each operation loses its first answer and says that it may have happened; its repeat is content.
    proxy.lose("PowerOffVM_Task");
    let lost = machines.power(&vm, PowerChange::Off, PATIENCE).await.expect_err("lost");
    assert!(lost.may_have_happened());
    machines.power(&vm, PowerChange::Off, PATIENCE).await.expect("it is off");

    proxy.lose("Rename_Task");
    machines.rename(&vm, "renamed", PATIENCE).await.expect_err("lost");
    machines.rename(&vm, "renamed", PATIENCE).await.expect("it has the name");

    proxy.lose("CreateSnapshot_Task");
    machines.snapshot(&vm, "base", PATIENCE).await.expect_err("lost");
    machines.snapshot(&vm, "base", PATIENCE).await.expect("it is there");
    let tree = govc.run(&["snapshot.tree", "-vm", "renamed"]).await;
    assert_eq!(tree.matches("base").count(), 1, "{tree}");

    let change = Change { cpus: Some(2), ..Change::default() };
    proxy.lose("ReconfigVM_Task");
    machines.reconfigure(&vm, change.clone(), PATIENCE).await.expect_err("lost");
    machines.reconfigure(&vm, change, PATIENCE).await.expect("reconfigured");

    proxy.lose("MarkAsTemplate");
    machines.mark_as_template(&vm).await.expect_err("lost");
    machines.mark_as_template(&vm).await.expect("it is one");

    // A clone is looked for at once: its name is known.
    let order = prepared(&ours, "nest 2").await;
    proxy.lose("CloneVM_Task");
    let clone = machines.clone_vm(&order, PATIENCE, None).await.expect("found again");
    let object = format!("VirtualMachine:{}", clone.id());
    assert_eq!(govc.property(&object, "name").await, "nest 2");
    assert_eq!(govc.property(&object, "runtime.powerState").await, "poweredOn");
    assert_eq!(govc.property(&object, "config.annotation").await, "{\"hatchery_name\": \"h1\"}");
    let asked = proxy.exchanges().iter().filter(|e| e.method == "CloneVM_Task").count();
    assert_eq!(asked, 1);

    proxy.lose("Destroy_Task");
    machines.destroy(&vm, PATIENCE).await.expect_err("lost");
    machines.destroy(&vm, PATIENCE).await.expect("it is gone");
    let left = govc.run(&["find", "/", "-type", "m"]).await;
    assert_eq!(left.lines().count(), 2, "the template and its clone: {left}");
    ours.close().await;
}
