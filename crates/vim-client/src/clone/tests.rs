use rookery_vim::envelope;

use super::*;

fn reference(kind: &str, id: &str) -> MoRef {
    MoRef::new(kind, id)
}

fn order() -> CloneOrder {
    CloneOrder {
        source: reference("VirtualMachine", "vm-1"),
        name: "a/b".to_owned(),
        folder: reference("Folder", "group-1"),
        pool: reference("ResourcePool", "resgroup-1"),
        host: None,
        datastore: Some(reference("Datastore", "fast")),
        disks: DiskMove::Auto,
        network: Some(NetworkBacking::Standard {
            name: "VM Network".to_owned(),
            network: reference("Network", "network-1"),
        }),
        card_class: None,
        first_disk_kb: None,
        change: Change {
            annotation: Some("{}".to_owned()),
            cpus: Some(2),
            memory_mb: Some(1024),
            extra_config: vec![("k".to_owned(), "v".to_owned())],
            ..Change::default()
        },
        guest: GuestSetup::Linux {
            address: Some(FixedAddress {
                ip: "192.0.2.7".to_owned(),
                mask: "255.255.255.0".to_owned(),
                gateway: None,
            }),
            dns: vec!["192.0.2.53".to_owned()],
            domain: String::new(),
        },
        power_on: true,
    }
}

fn leaf(name: &str, text: &str) -> Node {
    Node { text: text.to_owned(), ..Node::new(name) }
}

fn card(class: &str) -> Node {
    let members = [
        leaf("key", "4000"),
        leaf("deviceInfo", "a card"),
        leaf("backing", "old"),
        leaf("connectable", "yes"),
        leaf("unitNumber", "7"),
        leaf("addressType", "generated"),
        leaf("macAddress", "00:50:56:00:00:01"),
        leaf("wakeOnLanEnabled", "true"),
    ];
    Node { xsi_type: Some(class.into()), children: members.into(), ..Node::new("VirtualDevice") }
}

fn source(cards: &[&str]) -> Source {
    let disk = Node { xsi_type: Some("VirtualDisk".into()), ..Node::new("VirtualDevice") };
    Source {
        devices: std::iter::once(disk).chain(cards.iter().map(|class| card(class))).collect(),
        snapshot: Some(reference("VirtualMachineSnapshot", "snapshot-1")),
        datastores: vec![reference("Datastore", "fast")],
    }
}

fn sent(order: &CloneOrder, source: &Source) -> String {
    envelope::call(&spec::call(order, source).expect("it can be said"), None).expect("XML carries it")
}

#[test]
fn members_are_sent_in_the_order_that_a_vcenter_insists_on() {
    let xml = sent(&order(), &source(&["VirtualVmxnet3"]));
    let expected = [
        "<_this",
        "<folder",
        "<name>a%2fb<",
        "<spec><location>",
        "<datastore",
        "<diskMoveType>",
        "<pool",
        "<deviceChange><operation>edit<",
        "<device xsi:type=\"VirtualVmxnet3\">",
        "<key>4000<",
        "<deviceInfo>",
        "<backing xsi:type=\"VirtualEthernetCardNetworkBackingInfo\">",
        "<deviceName>VM Network<",
        "<connectable>",
        "<unitNumber>",
        "<wakeOnLanEnabled>",
        "</location>",
        "<template>false<",
        "<config>",
        "<annotation>",
        "<tools><afterPowerOn>true<",
        "<numCPUs>2<",
        "<memoryMB>1024<",
        "<extraConfig><key>k<",
        "<value xsi:type=\"xsd:string\">v<",
        "</config>",
        "<customization><options xsi:type=\"CustomizationLinuxOptions\">",
        "<identity xsi:type=\"CustomizationLinuxPrep\"><hostName xsi:type=\"CustomizationVirtualMachineName\">",
        "<domain><",
        "<globalIPSettings><dnsServerList>",
        "<nicSettingMap><adapter><ip xsi:type=\"CustomizationFixedIp\"><ipAddress>192.0.2.7<",
        "<subnetMask>",
        "</customization>",
        "<powerOn>true<",
        "<snapshot type=\"VirtualMachineSnapshot\">snapshot-1<",
    ];
    let mut rest = xml.as_str();
    for part in expected {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} does not come next in {xml}"));
        rest = &rest[at + part.len()..];
    }
    assert!(
        !xml.contains("macAddress") && !xml.contains("addressType"),
        "the clone gets a MAC of its own: {xml}"
    );
}

#[test]
fn disks_are_linked_only_where_their_parents_are_within_reach() {
    let check = |datastore: Option<&str>, disks, snapshot: bool, linked: bool| {
        let datastore = datastore.map(|id| reference("Datastore", id));
        let mut source = source(&[]);
        if !snapshot {
            source.snapshot = None;
        }
        let xml = sent(&CloneOrder { datastore, disks, ..order() }, &source);
        assert_eq!(xml.contains("<diskMoveType>createNewChildDiskBacking<"), linked, "{xml}");
        assert_eq!(xml.contains("<diskMoveType>moveChildMostDiskBacking<"), !linked, "{xml}");
        assert_eq!(xml.contains("<snapshot"), linked, "{xml}");
    };
    check(None, DiskMove::Auto, true, true);
    check(Some("fast"), DiskMove::Auto, true, true);
    check(Some("slow"), DiskMove::Auto, true, false);
    check(Some("fast"), DiskMove::Auto, false, false);
    check(Some("fast"), DiskMove::ChildMost, true, false);
}

#[test]
fn every_card_gets_its_settings_and_only_the_first_a_fixed_address() {
    let xml = sent(&order(), &source(&["VirtualE1000", "VirtualVmxnet3", "VirtualVmxnet3"]));
    assert_eq!(xml.matches("<nicSettingMap>").count(), 3);
    assert_eq!(xml.matches("CustomizationFixedIp").count(), 1);
    assert_eq!(xml.matches("CustomizationDhcpIpGenerator").count(), 2);
    assert_eq!(xml.matches("<operation>edit<").count(), 1, "the other cards stay as they are");
    let bare = sent(&order(), &source(&[]));
    assert!(bare.contains("<customization>") && !bare.contains("<nicSettingMap>"), "{bare}");
    let plain = sent(&CloneOrder { guest: GuestSetup::AsIs, ..order() }, &source(&["VirtualE1000"]));
    assert!(!plain.contains("<customization>"));
}

#[test]
fn a_card_keeps_its_class_unless_another_one_is_asked_for() {
    let keep = |class: Option<&str>| {
        sent(&CloneOrder { card_class: class.map(str::to_owned), ..order() }, &source(&["VirtualE1000"]))
    };
    for xml in [keep(None), keep(Some("VirtualE1000"))] {
        assert!(xml.contains("<operation>edit</operation><device xsi:type=\"VirtualE1000\">"), "{xml}");
    }
    let changed = keep(Some("VirtualVmxnet3"));
    assert!(changed.contains("<operation>remove</operation><device xsi:type=\"VirtualE1000\">"), "{changed}");
    assert!(
        changed.contains("<operation>add</operation><device xsi:type=\"VirtualVmxnet3\"><key>-1<"),
        "{changed}"
    );
    let opaque = NetworkBacking::Opaque { id: "n1".to_owned(), kind: "nsx.LogicalSwitch".to_owned() };
    let opaque = sent(&CloneOrder { network: Some(opaque), ..order() }, &source(&["VirtualE1000"]));
    let backing = "<backing xsi:type=\"VirtualEthernetCardOpaqueNetworkBackingInfo\"><opaqueNetworkId>n1<";
    assert!(opaque.contains(backing), "{opaque}");
    let untouched = sent(&CloneOrder { network: None, ..order() }, &source(&["VirtualE1000"]));
    assert!(!untouched.contains("<deviceChange>"), "{untouched}");
}

#[test]
fn in_a_cluster_of_datastores_a_linked_clone_stays_with_its_parent() {
    let fast = reference("Datastore", "fast");
    let stays = |disks, source: &Source| spec::stay(&CloneOrder { disks, ..order() }, source).cloned();
    assert_eq!(stays(DiskMove::Auto, &source(&[])), Some(fast));
    assert_eq!(stays(DiskMove::ChildMost, &source(&[])), None);
    assert_eq!(stays(DiskMove::Auto, &Source { snapshot: None, ..source(&[]) }), None);
    let spread = vec![reference("Datastore", "fast"), reference("Datastore", "slow")];
    assert_eq!(stays(DiskMove::Auto, &Source { datastores: spread, ..source(&[]) }), None);
}

#[test]
fn a_cluster_of_datastores_is_asked_about_the_whole_clone() {
    let call = spec::call(&order(), &source(&["VirtualVmxnet3"])).expect("it can be said");
    let pod = reference("StoragePod", "pod");
    let question = spec::placement(&pod, call.clone());
    assert_eq!(question.pod_selection_spec.storage_pod, Some(pod));
    assert_eq!((question.kind.as_str(), question.clone_name.as_deref()), ("clone", Some("a%2fb")));
    assert_eq!(
        (question.vm, question.folder, question.clone_spec),
        (Some(call.this), Some(call.folder), Some(call.spec))
    );
}

fn disk(key: i32, kb: i64) -> Node {
    let member = |name: &str, text: String| Node { text, ..Node::new(name) };
    Node {
        xsi_type: Some("VirtualDisk".into()),
        children: vec![
            member("key", key.to_string()),
            member("unitNumber", "0".to_owned()),
            member("capacityInKB", kb.to_string()),
            member("capacityInBytes", (kb * 1024).to_string()),
        ],
        ..Node::new("VirtualDevice")
    }
}

#[test]
fn a_first_disk_that_is_too_small_grows_and_then_all_disks_are_copied() {
    let check = |disks: &[(i32, i64)], wanted: Option<i64>, grown: Option<&str>| {
        let mut source = source(&["VirtualVmxnet3"]);
        source.devices.retain(|device| device.xsi_type.as_deref() != Some("VirtualDisk"));
        source.devices.extend(disks.iter().map(|(key, kb)| disk(*key, *kb)));
        let order = CloneOrder { first_disk_kb: wanted, ..order() };
        let xml = sent(&order, &source);
        let (_, config) = xml.split_once("<config>").expect("a configuration");
        assert_eq!(config.contains("<deviceChange>"), grown.is_some(), "{xml}");
        let edit = "<deviceChange><operation>edit</operation><device xsi:type=\"VirtualDisk\">";
        let whole = grown.map(|disk| format!("{edit}{disk}</device></deviceChange>"));
        assert!(whole.is_none_or(|whole| config.contains(&whole)), "{xml}");
        // A child of the source's disk cannot grow, nor can a copy of its newest layer alone.
        let copies = xml.contains("<diskMoveType>moveAllDiskBackingsAndDisallowSharing<");
        assert_eq!((copies, xml.contains("<snapshot")), (grown.is_some(), grown.is_none()), "{xml}");
        assert_eq!(spec::stay(&order, &source).is_none(), grown.is_some());
    };
    let to = |key: i32, kb: i64| {
        format!("<key>{key}</key><unitNumber>0</unitNumber><capacityInKB>{kb}</capacityInKB>")
    };
    check(&[(2000, 100)], None, None);
    check(&[(2000, 100)], Some(200), Some(&to(2000, 200)));
    check(&[(2001, 999), (2000, 100)], Some(200), Some(&to(2000, 200)));
    // It never shrinks, and other disks stay as they are.
    check(&[(2000, 300), (2001, 100)], Some(200), None);
    check(&[(2000, 200)], Some(200), None);
    check(&[], Some(200), None);
}
