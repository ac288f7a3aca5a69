use rookery_vim::{Node, envelope};

use super::*;

fn order() -> CreateOrder {
    let network = |name: &str| NetworkBacking::Standard {
        name: name.to_owned(),
        network: MoRef::new("Network", "network-1"),
    };
    CreateOrder {
        name: "a/b".to_owned(),
        folder: MoRef::new("Folder", "group-1"),
        pool: MoRef::new("ResourcePool", "resgroup-1"),
        host: Some(MoRef::new("HostSystem", "host-1")),
        datastore: MoRef::new("Datastore", "fast"),
        guest_id: "rhel8_64Guest".to_owned(),
        firmware: Firmware::Efi { secure_boot: true },
        cpus: 4,
        cores_per_socket: Some(2),
        memory_mb: 8192,
        annotation: Some("{}".to_owned()),
        extra_config: vec![("disk.enableUUID".to_owned(), "TRUE".to_owned())],
        bios_uuid: None,
        instance_uuid: Some(uuid(2)),
        scsi: Some(ScsiController::Paravirtual),
        disks: vec![NewDisk { size_kb: 20_971_520, thin: true }, NewDisk { size_kb: 1024, thin: false }],
        cards: vec![
            NewCard { network: network("one"), class: NewCard::VMXNET3.to_owned(), mac: None },
            NewCard {
                network: network("two"),
                class: "VirtualE1000e".to_owned(),
                mac: Some("00:50:56:00:00:01".to_owned()),
            },
        ],
        cdrom: Some(Cdrom { bus: CdromBus::Sata, iso: Some("[fast] iso/x.iso".to_owned()) }),
        boot: vec![BootDevice::Network(1), BootDevice::Cdrom, BootDevice::Disk(0)],
    }
}

fn uuid(last: u8) -> Uuid {
    format!("564d0000-0000-4000-8000-0000000000{last:02x}").parse().expect("a UUID")
}

fn sent(order: &CreateOrder) -> String {
    let config = spec::config(order, uuid(1), Some("fast")).expect("it can be said");
    envelope::call(&spec::call(order, config), None).expect("XML carries it")
}

/// The parts stand in the text in this order; all else between them does not matter.
fn in_order(xml: &str, parts: &[&str]) {
    let mut rest = xml;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} does not come next in {xml}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn one_call_carries_everything_in_the_order_of_the_schema() {
    in_order(
        &sent(&order()),
        &[
            "<_this type=\"Folder\">group-1<",
            "<config><name>a%2fb<",
            "<uuid>564d0000-0000-4000-8000-000000000001<",
            "<instanceUuid>564d0000-0000-4000-8000-000000000002<",
            "<guestId>",
            "<annotation>",
            "<files><vmPathName>[fast]<",
            "<numCPUs>4<",
            "<numCoresPerSocket>2<",
            "<memoryMB>8192<",
            "<deviceChange><operation>add</operation><device xsi:type=\"ParaVirtualSCSIController\"><key>-1<",
            "<busNumber>0</busNumber><sharedBus>noSharing</sharedBus><scsiCtlrUnitNumber>7<",
            "<device xsi:type=\"VirtualAHCIController\"><key>-2</key><busNumber>0<",
            "<operation>add</operation><fileOperation>create</fileOperation><device xsi:type=\"VirtualDisk\"><key>-100<",
            "<backing xsi:type=\"VirtualDiskFlatVer2BackingInfo\"><fileName></fileName><diskMode>persistent<",
            "<thinProvisioned>true<",
            "<controllerKey>-1</controllerKey><unitNumber>0</unitNumber><capacityInKB>20971520<",
            "<key>-101<",
            "<thinProvisioned>false<",
            "<unitNumber>1</unitNumber><capacityInKB>1024<",
            "<operation>add</operation><device xsi:type=\"VirtualCdrom\"><key>-3<",
            "<backing xsi:type=\"VirtualCdromIsoBackingInfo\"><fileName>[fast] iso/x.iso<",
            "<connectable><startConnected>true<",
            "<controllerKey>-2</controllerKey><unitNumber>0<",
            "<device xsi:type=\"VirtualVmxnet3\"><key>-200<",
            "<deviceName>one<",
            "</connectable></device>",
            "<device xsi:type=\"VirtualE1000e\"><key>-201<",
            "<deviceName>two<",
            "</connectable><addressType>manual</addressType><macAddress>00:50:56:00:00:01<",
            "<extraConfig><key>disk.enableUUID<",
            "<bootOptions><efiSecureBootEnabled>true<",
            "<bootOrder xsi:type=\"VirtualMachineBootOptionsBootableEthernetDevice\"><deviceKey>-201<",
            "<bootOrder xsi:type=\"VirtualMachineBootOptionsBootableCdromDevice\">",
            "<bootOrder xsi:type=\"VirtualMachineBootOptionsBootableDiskDevice\"><deviceKey>-100<",
            "</bootOptions><firmware>efi<",
            "</config><pool type=\"ResourcePool\">",
            "<host type=\"HostSystem\">",
        ],
    );
}

#[test]
fn what_is_not_wanted_is_not_mentioned() {
    let bare = CreateOrder {
        host: None,
        firmware: Firmware::Bios,
        cores_per_socket: None,
        annotation: None,
        extra_config: Vec::new(),
        instance_uuid: None,
        scsi: None,
        disks: Vec::new(),
        cards: Vec::new(),
        cdrom: Some(Cdrom::default()),
        boot: Vec::new(),
        ..order()
    };
    let xml = sent(&bare);
    in_order(
        &xml,
        &[
            "<device xsi:type=\"VirtualIDEController\">",
            "<backing xsi:type=\"VirtualCdromRemotePassthroughBackingInfo\"><deviceName></deviceName><exclusive>false<",
            "<startConnected>false<",
            "<firmware>bios<",
        ],
    );
    for absent in ["instanceUuid", "annotation", "Cores", "SCSI", "bootOptions", "extraConfig", "<host"] {
        assert!(!xml.contains(absent), "{absent} is in {xml}");
    }
    let lsi = sent(&CreateOrder { scsi: Some(ScsiController::LsiLogic), ..order() });
    assert!(lsi.contains("VirtualLsiLogicController") && !lsi.contains("ParaVirtual"), "{lsi}");
}

#[test]
fn disks_go_around_the_place_of_their_controller() {
    let disks = vec![NewDisk { size_kb: 1, thin: true }; 15];
    let xml = sent(&CreateOrder { disks, cdrom: None, ..order() });
    let places: Vec<&str> =
        xml.split("<unitNumber>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    let expected: Vec<String> = (0..16).filter(|at| *at != 7).map(|at| at.to_string()).collect();
    assert_eq!(places, expected);
}

#[test]
fn all_that_contradicts_itself_is_told_at_once() {
    let check = |order: CreateOrder, expected: &[&str]| {
        let told: Vec<String> = order.contradictions().iter().map(ToString::to_string).collect();
        assert_eq!(told, expected);
    };
    check(order(), &[]);
    check(CreateOrder { cores_per_socket: Some(0), ..order() }, &["4 CPUs do not fill sockets of 0 cores"]);
    check(CreateOrder { cores_per_socket: Some(8), ..order() }, &["4 CPUs do not fill sockets of 8 cores"]);
    check(
        CreateOrder {
            scsi: None,
            disks: vec![NewDisk { size_kb: 1, thin: true }; 16],
            cdrom: None,
            boot: vec![BootDevice::Cdrom, BootDevice::Disk(16), BootDevice::Network(2), BootDevice::Disk(15)],
            ..order()
        },
        &[
            "its disks need a SCSI controller",
            "its SCSI controller takes 15 disks, not 16",
            "it cannot start from a CD drive, which it does not have",
            "it cannot start from disk 17, which it does not have",
            "it cannot start from network card 3, which it does not have",
        ],
    );
}

#[test]
fn what_it_starts_from_is_found_again_among_the_devices_it_got() {
    let device = |class: &str, key: i32, place: i32| {
        let leaf = |name: &str, value: i32| Node { text: value.to_string(), ..Node::new(name) };
        Node {
            xsi_type: Some(class.into()),
            children: vec![leaf("key", key), leaf("unitNumber", place)],
            ..Node::new("VirtualDevice")
        }
    };
    let devices = [
        device("VirtualDisk", 2001, 1),
        device("VirtualE1000e", 4001, 8),
        device("VirtualCdrom", 3000, 0),
        device("VirtualDisk", 2000, 0),
        device("VirtualVmxnet3", 4000, 7),
    ];
    let found = spec::boot_options_of(&order(), &devices);
    assert_eq!(found, spec::boot_options(&order(), &[2000, 2001], &[4000, 4001]));
    let keys = format!("{found:?}");
    assert!(keys.contains("device_key: 4001") && keys.contains("device_key: 2000"), "{keys}");
}

#[test]
fn a_cluster_of_datastores_is_asked_about_each_disk() {
    let order = CreateOrder { datastore: MoRef::new("StoragePod", "pod"), ..order() };
    let config = spec::config(&order, uuid(1), None).expect("it can be said");
    assert_eq!(config.files, None);
    let question = spec::placement(&order, config);
    let asked: Vec<i32> =
        question.pod_selection_spec.initial_vm_config.iter().map(|c| c.disk[0].disk_id).collect();
    assert_eq!(asked, [-100, -101]);
    assert_eq!(question.pod_selection_spec.storage_pod.as_ref(), Some(&order.datastore));
    let backing = question.pod_selection_spec.initial_vm_config[0].disk[0].disk_backing_info.as_ref();
    let class = backing.and_then(|node| node.xsi_type.as_deref());
    assert_eq!(class, Some("VirtualDiskFlatVer2BackingInfo"));
}
