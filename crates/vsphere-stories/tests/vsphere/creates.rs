//! VMs made from nothing.

use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Connected, Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim_client::{
    BootDevice, Cdrom, CdromBus, CreateError, CreateOrder, Firmware, Kind, NetworkBacking, NewCard, NewDisk,
    Places, ScsiController, network_backing,
};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);
const UUID: &str = "564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b";

/// An order that uses everything.
async fn prepared(ours: &Connected, name: &str) -> CreateOrder {
    let places = Places::load(&ours.client).await.expect("they load");
    let root = ours.client.content().root_folder.clone();
    let find = |kind, name: &str| places.find(kind, Some(name), &root).expect(name).id.clone();
    let card = async |network: &str, class: &str, mac: Option<&str>| NewCard {
        network: network_backing(&ours.client, &find(Kind::Network, network)).await.expect("a network"),
        class: class.to_owned(),
        mac: mac.map(str::to_owned),
    };
    CreateOrder {
        name: name.to_owned(),
        folder: find(Kind::Folder, "/DC0/vm"),
        pool: find(Kind::Pool, "/DC0/host/DC0_H0/Resources"),
        host: Some(find(Kind::Host, "DC0_H0")),
        datastore: find(Kind::Datastore, "LocalDS_0"),
        guest_id: "rhel8_64Guest".to_owned(),
        firmware: Firmware::Efi { secure_boot: true },
        cpus: 4,
        cores_per_socket: Some(2),
        memory_mb: 8192,
        annotation: Some("{\"nest\": \"<1>\"}".to_owned()),
        extra_config: vec![("disk.enableUUID".to_owned(), "TRUE".to_owned())],
        bios_uuid: Some(UUID.parse().expect("a UUID")),
        instance_uuid: Some("50001a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b".parse().expect("a UUID")),
        scsi: Some(ScsiController::Paravirtual),
        disks: vec![NewDisk { size_kb: 20 << 20, thin: true }, NewDisk { size_kb: 1 << 20, thin: false }],
        cards: vec![
            card("VM Network", NewCard::VMXNET3, None).await,
            card("DC0_DVPG0", "VirtualE1000e", Some("00:50:56:00:00:07")).await,
        ],
        cdrom: Some(Cdrom { bus: CdromBus::Sata, iso: Some("[LocalDS_0] iso/x.iso".to_owned()) }),
        boot: vec![BootDevice::Network(1), BootDevice::Cdrom, BootDevice::Disk(1)],
    }
}

async fn devices(govc: &Govc, vm: &str) -> Vec<Value> {
    let info = govc.json(&["device.info", "-vm", vm]).await;
    info["devices"].as_array().expect("a list").clone()
}

/// The devices of a class as `device.info` names them.
fn of_class<'a>(devices: &'a [Value], class: &str) -> Vec<&'a Value> {
    devices.iter().filter(|device| device["type"] == class).collect()
}

async fn upload_iso(govc: &Govc) {
    let image = tempfile::NamedTempFile::new().expect("a temporary file");
    // vCenter does not take an empty one from govc, which sends it without a length.
    std::fs::write(image.path(), "an image").expect("it is written");
    let path = image.path().to_str().expect("a path");
    govc.run(&["datastore.mkdir", "-ds", "LocalDS_0", "iso"]).await;
    govc.run(&["datastore.upload", "-ds", "LocalDS_0", path, "iso/x.iso"]).await;
}

#[tokio::test]
async fn a_new_vm_is_what_was_ordered() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    upload_iso(&govc).await;
    let ours = connect(vcsim.address()).await;
    let order = prepared(&ours, "a new one").await;
    let vm = ours.machines.create_vm(&order, PATIENCE, None).await.expect("made");
    let object = format!("VirtualMachine:{}", vm.id());
    for (path, expected) in [
        ("name", "a new one"),
        ("runtime.powerState", "poweredOff"),
        ("config.uuid", UUID),
        ("config.instanceUuid", "50001a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b"),
        ("config.guestId", "rhel8_64Guest"),
        ("config.firmware", "efi"),
        ("config.bootOptions.efiSecureBootEnabled", "true"),
        ("config.annotation", "{\"nest\": \"<1>\"}"),
        ("config.hardware.numCPU", "4"),
        ("config.hardware.numCoresPerSocket", "2"),
        ("config.hardware.memoryMB", "8192"),
    ] {
        assert_eq!(govc.property(&object, path).await, expected, "{path}");
    }
    assert!(govc.property(&object, "config.files.vmPathName").await.starts_with("[LocalDS_0] "));
    let settings = govc.json(&["object.collect", &object, "config.extraConfig"]).await.to_string();
    assert!(settings.contains("disk.enableUUID"), "{settings}");

    let devices = devices(&govc, "a new one").await;
    let [scsi] = of_class(&devices, "ParaVirtualSCSIController")[..] else { panic!("{devices:#?}") };
    let disks = of_class(&devices, "VirtualDisk");
    let shape = |disk: &Value| {
        (
            disk["capacityInKB"].as_i64(),
            disk["backing"]["thinProvisioned"].as_bool(),
            disk["controllerKey"].clone(),
        )
    };
    let expected = [
        (Some(20 << 20), Some(true), scsi["key"].clone()),
        (Some(1 << 20), Some(false), scsi["key"].clone()),
    ];
    assert_eq!(disks.iter().map(|disk| shape(disk)).collect::<Vec<_>>(), expected);
    let [cdrom] = of_class(&devices, "VirtualCdrom")[..] else { panic!("{devices:#?}") };
    assert_eq!(cdrom["backing"]["fileName"], "[LocalDS_0] iso/x.iso");
    assert_eq!(cdrom["connectable"]["startConnected"], true);
    let [sata] = of_class(&devices, "VirtualAHCIController")[..] else { panic!("{devices:#?}") };
    assert_eq!(cdrom["controllerKey"], sata["key"]);
    let [plain] = of_class(&devices, "VirtualVmxnet3")[..] else { panic!("{devices:#?}") };
    assert_eq!(plain["backing"]["deviceName"], "VM Network");
    let [manual] = of_class(&devices, "VirtualE1000e")[..] else { panic!("{devices:#?}") };
    assert_eq!(manual["macAddress"], "00:50:56:00:00:07");
    assert!(manual["backing"]["port"]["portgroupKey"].is_string(), "{manual}");

    // The keys of the order are not those of the devices: what counts is that it starts from what it has.
    let boot = govc.json(&["object.collect", &object, "config.bootOptions.bootOrder"]).await;
    let boot = boot[0]["val"]["_value"].as_array().unwrap_or_else(|| panic!("{boot}")).clone();
    let keys: Vec<&Value> = boot.iter().map(|device| &device["deviceKey"]).collect();
    assert_eq!(keys, [&manual["key"], &Value::Null, &disks[1]["key"]], "{boot:?}");
    ours.close().await;
}

#[tokio::test]
async fn an_order_that_is_repeated_makes_one_vm_and_a_taken_name_none() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    upload_iso(&govc).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let order = prepared(&ours, "once").await;

    proxy.lose("CreateVM_Task");
    let made = ours.machines.create_vm(&order, PATIENCE, None).await.expect("found again");
    let again = ours.machines.create_vm(&order, PATIENCE, None).await.expect("it is there");
    assert_eq!(made, again);
    let asked = proxy.exchanges().iter().filter(|e| e.method == "CreateVM_Task").count();
    assert_eq!(asked, 1);
    assert_eq!(govc.property(&format!("VirtualMachine:{}", made.id()), "config.uuid").await, UUID);

    // Without a UUID nobody can say whose it is.
    let nameless = CreateOrder { bios_uuid: None, ..order.clone() };
    let other = CreateOrder { name: "DC0_H0_VM0".to_owned(), ..order.clone() };
    for order in [nameless, other] {
        let error = ours.machines.create_vm(&order, PATIENCE, None).await.expect_err("taken");
        let CreateError::NameTaken { by, .. } = &error else { panic!("{error:?}") };
        assert!(error.to_string().contains(by.id()), "{error}");
        assert_eq!(govc.property(&by.to_string(), "name").await, order.name);
    }
    let network = NetworkBacking::Distributed { switch_uuid: "none".into(), portgroup_key: "none".into() };
    let wrong = NewCard { network, class: NewCard::VMXNET3.to_owned(), mac: None };
    let refused = CreateOrder { cards: vec![wrong], boot: Vec::new(), name: "twice".to_owned(), ..order };
    let error = ours.machines.create_vm(&refused, PATIENCE, None).await.expect_err("no such switch");
    assert!(matches!(&error, CreateError::Failed { source, .. } if source.fault().is_some()), "{error:?}");
    let left = govc.run(&["find", "/", "-type", "m"]).await;
    assert_eq!(left.lines().count(), 2, "the old VM and the new one: {left}");
    ours.close().await;
}

#[tokio::test]
async fn without_a_uuid_a_lost_answer_still_makes_one_vm() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    upload_iso(&govc).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let order = CreateOrder { bios_uuid: None, ..prepared(&ours, "nameless").await };
    proxy.lose("CreateVM_Task");
    let made = ours.machines.create_vm(&order, PATIENCE, None).await.expect("found again");
    let uuid = govc.property(&format!("VirtualMachine:{}", made.id()), "config.uuid").await;
    assert_eq!(&uuid[14..15], "4", "{uuid}");
    let left = govc.run(&["find", "/", "-type", "m"]).await;
    assert_eq!(left.lines().count(), 2, "{left}");
    ours.close().await;
}
