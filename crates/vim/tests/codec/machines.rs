//! Making a VM, and asking what one may do: orders from the fact sheet (vim25, sections 3 and 7) and from govc.

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rookery_vim::methods::{CreateVmTask, HasPrivilegeOnEntities, ReconfigVmTask};
use rookery_vim::objects::{EntityPrivilege, PrivilegeAvailability};
use rookery_vim::specs::{
    BootableDevice, OptionValue, ToolsConfigInfo, VirtualDeviceConfigSpec, VirtualMachineBootOptions,
    VirtualMachineBootOptionsBootableCdromDevice, VirtualMachineBootOptionsBootableDiskDevice,
    VirtualMachineBootOptionsBootableEthernetDevice, VirtualMachineConfigSpec, VirtualMachineFileInfo,
};
use rookery_vim::{Hidden, MoRef, Node};

use crate::result;
use crate::round_trip::{call_comes_back, reference, result_comes_back, text, value};
use crate::writing::{has_members, inside, reread};

#[test]
fn a_configuration_keeps_the_order_of_the_schema() {
    has_members(
        &full(),
        "changeVersion name uuid instanceUuid guestId annotation files tools numCPUs numCoresPerSocket memoryMB \
         deviceChange extraConfig bootOptions firmware",
    );
    has_members(&full().device_change[0], "operation fileOperation device");
    has_members(&full().extra_config[0], "key value");
    has_members(
        &full().boot_options.expect("it has some"),
        "efiSecureBootEnabled bootOrder bootOrder bootOrder",
    );
    has_members(&VirtualMachineConfigSpec::default(), "");
}

#[test]
fn what_a_vm_starts_from_states_its_class() {
    let call = ReconfigVmTask {
        this: MoRef::new("VirtualMachine", "vm-7"),
        spec: VirtualMachineConfigSpec {
            boot_options: full().boot_options,
            ..VirtualMachineConfigSpec::default()
        },
    };
    assert_snapshot!(inside(&call), @r#"<ReconfigVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-7</_this><spec><bootOptions><efiSecureBootEnabled>true</efiSecureBootEnabled><bootOrder xsi:type="VirtualMachineBootOptionsBootableCdromDevice"></bootOrder><bootOrder xsi:type="VirtualMachineBootOptionsBootableDiskDevice"><deviceKey>2000</deviceKey></bootOrder><bootOrder xsi:type="VirtualMachineBootOptionsBootableEthernetDevice"><deviceKey>4000</deviceKey></bootOrder></bootOptions></spec></ReconfigVM_Task>"#);
}

/// The example of the fact sheet, with a disk in place of all devices.
#[test]
fn a_vm_is_made_in_the_words_of_the_schema() {
    let call = CreateVmTask {
        this: MoRef::new("Folder", "group-2"),
        config: VirtualMachineConfigSpec {
            name: Some("scratch2".into()),
            guest_id: Some("rhel8_64Guest".into()),
            files: Some(VirtualMachineFileInfo { vm_path_name: Some("[LocalDS_0]".into()) }),
            cpus: Some(4),
            memory_mb: Some(8192),
            device_change: full().device_change,
            firmware: Some("efi".into()),
            ..VirtualMachineConfigSpec::default()
        },
        pool: MoRef::new("ResourcePool", "resgroup-27"),
        host: Some(MoRef::new("HostSystem", "host-21")),
    };
    assert_snapshot!(inside(&call), @r#"<CreateVM_Task xmlns="urn:vim25"><_this type="Folder">group-2</_this><config><name>scratch2</name><guestId>rhel8_64Guest</guestId><files><vmPathName>[LocalDS_0]</vmPathName></files><numCPUs>4</numCPUs><memoryMB>8192</memoryMB><deviceChange><operation>add</operation><fileOperation>create</fileOperation><device xsi:type="VirtualDisk"><key>-203</key></device></deviceChange><firmware>efi</firmware></config><pool type="ResourcePool">resgroup-27</pool><host type="HostSystem">host-21</host></CreateVM_Task>"#);
}

#[test]
fn a_vm_that_govc_makes_is_read_and_written_alike() {
    let call = reread::<CreateVmTask>("captures/call_create_vm");
    assert_eq!(
        (&*call.this.to_string(), &*call.pool.to_string()),
        ("Folder:group-2", "ResourcePool:resgroup-24")
    );
    let config = &call.config;
    assert_eq!((config.name.as_deref(), config.firmware.as_deref()), (Some("scratch"), Some("efi")));
    assert_eq!((config.cpus, config.memory_mb), (Some(4), Some(8192)));
    let devices: Vec<_> = config.device_change.iter().filter_map(|c| c.device.xsi_type.as_deref()).collect();
    assert_eq!(
        devices,
        [
            "ParaVirtualSCSIController",
            "VirtualIDEController",
            "VirtualDisk",
            "VirtualCdrom",
            "VirtualVmxnet3"
        ]
    );
    let files: Vec<_> = config.device_change.iter().filter_map(|c| c.file_operation.as_deref()).collect();
    assert_eq!(files, ["create"], "for the disk alone");
}

#[test]
fn which_privileges_a_session_has_is_read() {
    let answer = result::<HasPrivilegeOnEntities>("captures/has_privilege");
    let entities: Vec<_> = answer.iter().map(|e| e.entity.id()).collect();
    assert_eq!(entities, ["group-d1", "datacenter-2"]);
    let granted = |id: &str| PrivilegeAvailability { priv_id: id.to_owned(), is_granted: true };
    let expected = [granted("VirtualMachine.Interact.PowerOn"), granted("Datastore.FileManagement")];
    assert_eq!(answer[1].priv_availability, expected);
}

#[test]
fn privileges_are_asked_for_with_the_session_which_is_never_shown() {
    let call = privileges(vec![MoRef::new("Folder", "group-d1")], "5e551040", vec!["System.View".into()]);
    assert_snapshot!(inside(&call), @r#"<HasPrivilegeOnEntities xmlns="urn:vim25"><_this type="AuthorizationManager">AuthorizationManager</_this><entity type="Folder">group-d1</entity><sessionId>5e551040</sessionId><privId>System.View</privId></HasPrivilegeOnEntities>"#);
    let shown = format!("{call:?} {call:#?}");
    assert!(shown.contains("System.View") && !shown.contains("5e551040"), "{shown}");
}

proptest! {
    #[test]
    fn configurations_come_back(
        this in reference(),
        config in config(),
        pool in reference(),
        host in option::of(reference()),
    ) {
        call_comes_back(&ReconfigVmTask { this: this.clone(), spec: config.clone() })?;
        call_comes_back(&CreateVmTask { this, config, pool, host })?;
    }

    #[test]
    fn privileges_come_back(
        entities in vec(reference(), 0..3),
        session in text(),
        ids in vec(text(), 0..3),
        is_granted in any::<bool>(),
    ) {
        call_comes_back(&privileges(entities.clone(), &session, ids.clone()))?;
        let priv_availability: Vec<_> =
            ids.into_iter().map(|priv_id| PrivilegeAvailability { priv_id, is_granted }).collect();
        let answer = entities.into_iter().map(|entity| EntityPrivilege {
            entity,
            priv_availability: priv_availability.clone(),
        });
        result_comes_back::<HasPrivilegeOnEntities>(answer.collect())?;
    }
}

fn privileges(entity: Vec<MoRef>, session: &str, priv_id: Vec<String>) -> HasPrivilegeOnEntities {
    let this = MoRef::new("AuthorizationManager", "AuthorizationManager");
    HasPrivilegeOnEntities { this, entity, session_id: Hidden(session.to_owned()), priv_id }
}

/// A configuration with all its members.
fn full() -> VirtualMachineConfigSpec {
    let key = Node { text: "-203".to_owned(), ..Node::new("key") };
    let disk = Node { xsi_type: Some("VirtualDisk".into()), children: vec![key], ..Node::new("device") };
    let device_change = VirtualDeviceConfigSpec {
        operation: Some("add".into()),
        file_operation: Some("create".into()),
        device: disk,
    };
    let boot_order = vec![
        BootableDevice::VirtualMachineBootOptionsBootableCdromDevice(
            VirtualMachineBootOptionsBootableCdromDevice {},
        ),
        BootableDevice::VirtualMachineBootOptionsBootableDiskDevice(
            VirtualMachineBootOptionsBootableDiskDevice { device_key: 2000 },
        ),
        BootableDevice::VirtualMachineBootOptionsBootableEthernetDevice(
            VirtualMachineBootOptionsBootableEthernetDevice { device_key: 4000 },
        ),
    ];
    VirtualMachineConfigSpec {
        change_version: Some("2026-11-15T07:08:22Z".into()),
        name: Some("scratch2".into()),
        uuid: Some("421f1e4c-0000-4000-8000-000000000001".into()),
        instance_uuid: Some("501f1e4c-0000-4000-8000-000000000002".into()),
        guest_id: Some("rhel8_64Guest".into()),
        annotation: Some("{\"hatchery_name\":\"h1\"}".into()),
        files: Some(VirtualMachineFileInfo { vm_path_name: Some("[LocalDS_0]".into()) }),
        tools: Some(ToolsConfigInfo { after_power_on: Some(true) }),
        cpus: Some(4),
        cores_per_socket: Some(2),
        memory_mb: Some(8192),
        device_change: vec![device_change],
        extra_config: vec![OptionValue {
            key: "disk.enableUUID".into(),
            value: Node::leaf("value", "string", "TRUE"),
        }],
        boot_options: Some(VirtualMachineBootOptions { efi_secure_boot_enabled: Some(true), boot_order }),
        firmware: Some("efi".into()),
    }
}

fn config() -> impl Strategy<Value = VirtualMachineConfigSpec> {
    let words = vec(option::of(text()), 7);
    let numbers = (option::of(any::<i32>()), option::of(any::<i32>()), option::of(any::<i64>()));
    let change = (option::of(text()), option::of(text()), value("device")).prop_map(
        |(operation, file_operation, device)| VirtualDeviceConfigSpec { operation, file_operation, device },
    );
    let setting = (text(), value("value")).prop_map(|(key, value)| OptionValue { key, value });
    let lists = (vec(change, 0..3), vec(setting, 0..3));
    (words, numbers, lists, any::<bool>()).prop_map(
        |(words, numbers, (device_change, extra_config), more)| {
            let mut words = words.into_iter().map(Option::unwrap_or_default);
            let mut word = || words.next().filter(|word| !word.is_empty());
            VirtualMachineConfigSpec {
                change_version: word(),
                name: word(),
                uuid: word(),
                instance_uuid: word(),
                guest_id: word(),
                annotation: word(),
                files: more.then_some(VirtualMachineFileInfo { vm_path_name: None }),
                tools: more.then_some(ToolsConfigInfo { after_power_on: None }),
                cpus: numbers.0,
                cores_per_socket: numbers.1,
                memory_mb: numbers.2,
                device_change,
                extra_config,
                boot_options: more.then(|| full().boot_options).flatten(),
                firmware: word(),
            }
        },
    )
}
