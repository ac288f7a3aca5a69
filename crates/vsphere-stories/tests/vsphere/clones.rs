use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Connected, Govc, Proxy, Vcsim, VcsimOptions, connect, only_on_vcsim};
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
        first_disk_kb: None,
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
            first_disk_kb: None,
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
    for (method, change, state) in [
        ("PowerOffVM_Task", PowerChange::Off, "poweredOff"),
        ("PowerOnVM_Task", PowerChange::On, "poweredOn"),
        ("SuspendVM_Task", PowerChange::Suspend, "suspended"),
        ("PowerOnVM_Task", PowerChange::On, "poweredOn"),
        ("ShutdownGuest", PowerChange::ShutdownGuest, "poweredOff"),
    ] {
        proxy.lose(method);
        let lost = machines.power(&vm, change, PATIENCE).await.expect_err("lost");
        assert!(lost.may_have_happened());
        machines.power(&vm, change, PATIENCE).await.expect(state);
        assert_eq!(govc.property("/DC0/vm/DC0_H0_VM1", "runtime.powerState").await, state);
    }

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

/// A world in which the source can get and lose cards while a clone is on its way.
struct Changing {
    // Ends with the story.
    vcsim: Vcsim,
    govc: Govc,
    proxy: Proxy,
    ours: Connected,
    order: CloneOrder,
}

impl Changing {
    async fn start() -> Self {
        let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
        let govc = Govc::new(&vcsim);
        let proxy = Proxy::start(vcsim.socket(), &Supervisor::new()).await;
        let ours = connect(proxy.address()).await;
        let order = prepared(&ours, "nest 3").await;
        // A template cannot be changed.
        govc.run(&["vm.markasvm", "-host=DC0_H0", "DC0_H0_VM0"]).await;
        Self { vcsim, govc, proxy, ours, order }
    }

    async fn add_card(&self, vm: &str) {
        self.govc.run(&["vm.network.add", "-vm", vm, "-net=VM Network", "-net.adapter=vmxnet3"]).await;
    }

    /// The clone runs with the address that was wanted, and is the only one; how many cards it has.
    async fn cards_of_the_clone(self) -> usize {
        let listing = self.govc.run(&["find", "/", "-type", "m"]).await;
        assert_eq!(listing.lines().collect::<Vec<_>>(), ["/DC0/vm/DC0_H0_VM0", "/DC0/vm/nest 3"]);
        for (path, expected) in [
            ("runtime.powerState", "poweredOn"),
            ("guest.ipAddress", "192.0.2.17"),
            ("config.annotation", "{\"hatchery_name\": \"h1\"}"),
            ("config.hardware.numCPU", "3"),
        ] {
            assert_eq!(self.govc.property("/DC0/vm/nest 3", path).await, expected, "{path}");
        }
        let cards = self.govc.json(&["device.info", "-vm", "nest 3", "ethernet-*"]).await;
        self.ours.close().await;
        drop(self.vcsim);
        cards["devices"].as_array().expect("a list").len()
    }
}

#[tokio::test]
async fn a_source_that_gets_a_card_while_it_is_cloned_has_a_clone_with_all_cards_set_up() {
    if only_on_vcsim() {
        return;
    }
    let world = Changing::start().await;
    // vcsim leaves the clone behind that it could not set up: it is finished.
    let mut held = world.proxy.hold("CloneVM_Task");
    let change = async {
        held.arrived().await;
        world.add_card("DC0_H0_VM0").await;
        drop(held);
    };
    let (cloned, ()) = tokio::join!(world.ours.machines.clone_vm(&world.order, PATIENCE, None), change);
    cloned.expect("cloned");
    assert_eq!(world.cards_of_the_clone().await, 2);
}

#[tokio::test]
async fn a_clone_that_was_refused_for_its_cards_is_ordered_again() {
    if only_on_vcsim() {
        return;
    }
    // Whether the source shows its new card when it is looked at again, or has lost it.
    for (shows_it, cards, set_up_apart) in [(true, 2, 0), (false, 1, 1)] {
        let world = Changing::start().await;
        let (mut held, mut looking) = (world.proxy.hold("CloneVM_Task"), world.proxy.hold("FindChild"));
        let change = async {
            held.arrived().await;
            world.add_card("DC0_H0_VM0").await;
            drop(held);
            looking.arrived().await;
            // A vCenter leaves nothing behind.
            world.govc.run(&["vm.destroy", "nest 3"]).await;
            if !shows_it {
                world.govc.run(&["device.remove", "-vm=DC0_H0_VM0", "ethernet-1"]).await;
            }
            drop(looking);
        };
        let (cloned, ()) = tokio::join!(world.ours.machines.clone_vm(&world.order, PATIENCE, None), change);
        cloned.expect("cloned");
        let exchanges = world.proxy.exchanges();
        let asked = |method: &str| exchanges.iter().filter(|e| e.method == method).count();
        assert_eq!((asked("CloneVM_Task"), asked("CustomizeVM_Task")), (2, set_up_apart));
        assert_eq!(world.cards_of_the_clone().await, cards);
    }
}

#[tokio::test]
async fn cards_that_never_agree_are_told_with_their_numbers() {
    if only_on_vcsim() {
        return;
    }
    let world = Changing::start().await;
    let (mut cloning, mut setting_up) =
        (world.proxy.hold("CloneVM_Task"), world.proxy.hold("CustomizeVM_Task"));
    let change = async {
        cloning.arrived().await;
        world.add_card("DC0_H0_VM0").await;
        drop(cloning);
        setting_up.arrived().await;
        world.add_card("nest 3").await;
        drop(setting_up);
    };
    let (cloned, ()) = tokio::join!(world.ours.machines.clone_vm(&world.order, PATIENCE, None), change);
    let error = cloned.expect_err("it has three cards now");
    assert!(matches!(error, CloneError::CardsDisagree { sent: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("for 2 network cards, and vCenter counts 3"), "{error}");
    assert_eq!(world.govc.property("/DC0/vm/nest 3", "runtime.powerState").await, "poweredOff");
    world.ours.close().await;
}

#[tokio::test]
async fn a_guest_is_set_up_once_although_the_answer_to_that_was_lost() {
    if only_on_vcsim() {
        return;
    }
    let world = Changing::start().await;
    let mut held = world.proxy.hold("CloneVM_Task");
    world.proxy.lose("CustomizeVM_Task");
    let change = async {
        held.arrived().await;
        world.add_card("DC0_H0_VM0").await;
        drop(held);
    };
    let (cloned, ()) = tokio::join!(world.ours.machines.clone_vm(&world.order, PATIENCE, None), change);
    cloned.expect("cloned");
    let asked = world.proxy.exchanges().iter().filter(|e| e.method == "CustomizeVM_Task").count();
    assert_eq!(asked, 1);
    assert_eq!(world.cards_of_the_clone().await, 2);
}

#[tokio::test]
async fn a_source_without_cards_cannot_have_an_address() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let order = prepared(&ours, "nest 4").await;
    govc.run(&["vm.markasvm", "-host=DC0_H0", "DC0_H0_VM0"]).await;
    govc.run(&["device.remove", "-vm=DC0_H0_VM0", "ethernet-0"]).await;
    let error = ours.machines.clone_vm(&order, PATIENCE, None).await.expect_err("there is no card");
    assert!(error.to_string().contains("no network card for the address 192.0.2.17"), "{error}");
    let any = GuestSetup::Linux { address: None, dns: Vec::new(), domain: String::new() };
    let order = CloneOrder { guest: any, network: None, ..order };
    ours.machines.clone_vm(&order, PATIENCE, None).await.expect("cloned");
    assert_eq!(govc.property("/DC0/vm/nest 4", "runtime.powerState").await, "poweredOn");
    ours.close().await;
}
