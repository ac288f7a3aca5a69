//! Operations at random, and the calls that ask for them.

use proptest::prelude::*;

use super::lab::reference;

/// VMs come to be.
#[derive(Debug, Clone)]
pub(super) enum Make {
    Create { name: u8, folder: u8, pool: u8, datastore: u8, size: u8 },
    Clone { source: u8, name: u8, folder: u8, pool: u8, how: u8, size: u8 },
}

#[derive(Debug, Clone)]
pub(super) enum Change {
    Reconfigure { vm: u8, how: u8, number: u8 },
    Power { vm: u8, how: u8 },
    Snapshot { vm: u8, how: u8, which: u8 },
    Rename { entity: u8, name: u8 },
    Destroy(u8),
    Mark { vm: u8, how: u8, pool: u8 },
}

/// What VMs are in, and whatever else there is to ask.
#[derive(Debug, Clone)]
pub(super) enum Place {
    Folder { parent: u8, name: u8 },
    Pool { parent: u8, name: u8, limit: u8 },
    Move { entity: u8, folder: u8 },
    Cancel(u8),
    Fetch { entity: u8, path: u8 },
    Wrong(u8),
}

pub(super) fn make() -> impl Strategy<Value = Make> {
    let n = any::<u8>;
    prop_oneof![
        2 => (n(), n(), n(), n(), n()).prop_map(|(name, folder, pool, datastore, size)| Make::Create {
            name, folder, pool, datastore, size
        }),
        3 => (n(), n(), n(), n(), n(), n()).prop_map(|(source, name, folder, pool, how, size)| Make::Clone {
            source, name, folder, pool, how, size
        }),
    ]
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    let n = any::<u8>;
    prop_oneof![
        6 => (n(), n(), n()).prop_map(|(vm, how, number)| Change::Reconfigure { vm, how, number }),
        6 => (n(), n()).prop_map(|(vm, how)| Change::Power { vm, how }),
        4 => (n(), n(), n()).prop_map(|(vm, how, which)| Change::Snapshot { vm, how, which }),
        3 => (n(), n()).prop_map(|(entity, name)| Change::Rename { entity, name }),
        3 => n().prop_map(Change::Destroy),
        2 => (n(), n(), n()).prop_map(|(vm, how, pool)| Change::Mark { vm, how, pool }),
    ]
}

pub(super) fn place() -> impl Strategy<Value = Place> {
    let n = any::<u8>;
    prop_oneof![
        2 => (n(), n()).prop_map(|(parent, name)| Place::Folder { parent, name }),
        2 => (n(), n(), n()).prop_map(|(parent, name, limit)| Place::Pool { parent, name, limit }),
        2 => (n(), n()).prop_map(|(entity, folder)| Place::Move { entity, folder }),
        2 => n().prop_map(Place::Cancel),
        1 => (n(), n()).prop_map(|(entity, path)| Place::Fetch { entity, path }),
        1 => n().prop_map(Place::Wrong),
    ]
}

const NAMES: [&str; 6] = ["web", "db", "ci%2frunner", "web", "", "a name with spaces"];

const ENTITIES: [&str; 10] = [
    "VirtualMachine",
    "Folder",
    "ResourcePool",
    "Datastore",
    "Network",
    "HostSystem",
    "ClusterComputeResource",
    "Datacenter",
    "DistributedVirtualPortgroup",
    "StoragePod",
];

/// What there is to choose from.
pub(super) struct Choice(pub(super) Vec<(String, String)>);

impl Choice {
    /// `_this` of one of these classes.
    fn on(&self, classes: &[&str], nth: u8) -> String {
        reference("_this", self.of(classes, nth))
    }

    fn vm(&self, nth: u8) -> String {
        self.on(&["VirtualMachine"], nth)
    }

    fn of<'c>(&'c self, classes: &[&str], nth: u8) -> (&'c str, &'c str) {
        let fitting: Vec<_> = self.0.iter().filter(|(class, _)| classes.contains(&class.as_str())).collect();
        // Now and then something that is not there, or is of another class.
        match nth {
            255 => ("VirtualMachine", "vm-999999"),
            254 => ("Network", "network-1"),
            253 => self.0.first().map_or(("Folder", "group-d1"), |(class, id)| (class, id)),
            _ if fitting.is_empty() => ("VirtualMachine", "vm-999998"),
            _ => {
                let (class, id) = fitting[usize::from(nth) % fitting.len()];
                (class, id)
            }
        }
    }
}

/// A call, ready to be sent.
pub(super) struct Call {
    pub(super) method: &'static str,
    pub(super) this: String,
    pub(super) parameters: String,
}

fn call(method: &'static str, this: String, parameters: impl Into<String>) -> Call {
    Call { method, this, parameters: parameters.into() }
}

impl Make {
    pub(super) fn form(&self, choice: &Choice) -> Call {
        match self {
            Self::Create { name, folder, pool, datastore, size } => {
                let store = if *datastore >= 250 {
                    "nowhere".to_owned()
                } else {
                    format!("LocalDS_{}", datastore % 2)
                };
                let config = format!(
                    "<config><name>{}</name><files><vmPathName>[{store}]</vmPathName></files><numCPUs>{}</numCPUs>\
                     <memoryMB>{}</memoryMB>{}{}</config>",
                    pick(&NAMES, *name),
                    size % 9,
                    i64::from(*size) * 64,
                    disk(*size, *datastore),
                    card(choice, *size),
                );
                let pool = reference("pool", choice.of(&["ResourcePool"], *pool));
                call("CreateVM_Task", choice.on(&["Folder"], *folder), config + &pool)
            }
            Self::Clone { source, name, folder, pool, how, size } => {
                let folder = reference("folder", choice.of(&["Folder"], *folder));
                let spec = clone_spec(choice, *pool, *how, *size);
                let parameters = format!("{folder}<name>{}</name>{spec}", pick(&NAMES, *name));
                call("CloneVM_Task", choice.vm(*source), parameters)
            }
        }
    }
}

impl Change {
    pub(super) fn form(&self, choice: &Choice) -> Call {
        match self {
            Self::Reconfigure { vm, how, number } => {
                let spec = changes(choice, *how, *number);
                call("ReconfigVM_Task", choice.vm(*vm), format!("<spec>{spec}</spec>"))
            }
            Self::Power { vm, how } => call(pick(&POWER, *how), choice.vm(*vm), ""),
            Self::Snapshot { vm, how, which } => {
                let snapshot = choice.on(&["VirtualMachineSnapshot"], *which);
                match how % 4 {
                    0 => {
                        let parameters = "<name>s</name><memory>false</memory><quiesce>false</quiesce>";
                        call("CreateSnapshot_Task", choice.vm(*vm), parameters)
                    }
                    1 => {
                        let children = format!("<removeChildren>{}</removeChildren>", is_even(*vm));
                        call("RemoveSnapshot_Task", snapshot, children)
                    }
                    2 => call("RevertToSnapshot_Task", snapshot, ""),
                    _ => call("RemoveAllSnapshots_Task", choice.vm(*vm), ""),
                }
            }
            Self::Rename { entity, name } => {
                let name = format!("<newName>{}</newName>", pick(&NAMES, *name));
                call("Rename_Task", choice.on(&ENTITIES, *entity), name)
            }
            Self::Destroy(entity) if entity.is_multiple_of(3) => {
                call("UnregisterVM", choice.vm(entity / 3), "")
            }
            Self::Destroy(entity) => call("Destroy_Task", choice.on(&ENTITIES[..3], *entity), ""),
            Self::Mark { vm, how, .. } if is_even(*how) => call("MarkAsTemplate", choice.vm(*vm), ""),
            Self::Mark { vm, pool, .. } => {
                let pool = reference("pool", choice.of(&["ResourcePool"], *pool));
                call("MarkAsVirtualMachine", choice.vm(*vm), pool)
            }
        }
    }
}

impl Place {
    pub(super) fn form(&self, choice: &Choice) -> Call {
        match self {
            Self::Folder { parent, name } => {
                let name = format!("<name>{}</name>", pick(&NAMES, *name));
                call("CreateFolder", choice.on(&["Folder"], *parent), name)
            }
            Self::Pool { parent, name, limit } => {
                let limit = if *limit > 200 { -1 } else { i64::from(*limit) * 16 };
                let parameters = format!(
                    "<name>{}</name><spec><cpuAllocation><limit>-1</limit></cpuAllocation><memoryAllocation>\
                     <limit>{limit}</limit></memoryAllocation></spec>",
                    pick(&NAMES, *name)
                );
                call("CreateResourcePool", choice.on(&["ResourcePool"], *parent), parameters)
            }
            Self::Move { entity, folder } => {
                let list = reference("list", choice.of(&ENTITIES, *entity));
                call("MoveIntoFolder_Task", choice.on(&["Folder", "StoragePod"], *folder), list)
            }
            Self::Cancel(nth) => call("CancelTask", choice.on(&["Task"], *nth), ""),
            Self::Fetch { entity, path } => {
                let path = format!("<prop>{}</prop>", pick(&PATHS, *path));
                call("Fetch", choice.on(&ENTITIES, *entity), path)
            }
            Self::Wrong(nth) => call(pick(&METHODS, *nth), choice.on(&ENTITIES, *nth), "<x><y/></x>"),
        }
    }
}

const POWER: [&str; 7] = [
    "PowerOnVM_Task",
    "PowerOffVM_Task",
    "PowerOnVM_Task",
    "ResetVM_Task",
    "SuspendVM_Task",
    "ShutdownGuest",
    "RebootGuest",
];
const PATHS: [&str; 7] =
    ["name", "config", "summary.config", "bogus", "config.hardware.device", "parent.", ""];
const METHODS: [&str; 6] =
    ["NoSuchMethod", "CloneVM_Task", "WaitForUpdatesEx", "Login", "CreateFilter", "QueryEvents"];

fn is_even(number: u8) -> bool {
    number.is_multiple_of(2)
}

fn pick(of: &[&'static str], nth: u8) -> &'static str {
    of[usize::from(nth) % of.len()]
}

fn disk(size: u8, datastore: u8) -> String {
    // Sizes from nothing to more than there is.
    let kb = match size % 8 {
        0 => 0,
        1 => -5,
        2 => i64::MAX / 1024,
        n => i64::from(n) << 20,
    };
    format!(
        "<deviceChange><operation>add</operation><fileOperation>create</fileOperation>\
         <device xsi:type=\"VirtualDisk\"><key>-1</key><backing xsi:type=\"VirtualDiskFlatVer2BackingInfo\">\
         <fileName>[LocalDS_{}]</fileName><diskMode>persistent</diskMode><thinProvisioned>{}</thinProvisioned></backing>\
         <controllerKey>1000</controllerKey><unitNumber>-1</unitNumber><capacityInKB>{kb}</capacityInKB></device></deviceChange>",
        datastore % 2,
        size.is_multiple_of(2)
    )
}

fn card(choice: &Choice, nth: u8) -> String {
    let (class, id) = choice.of(&["Network", "DistributedVirtualPortgroup"], nth);
    let backing = if class == "Network" {
        format!(
            "<backing xsi:type=\"VirtualEthernetCardNetworkBackingInfo\"><deviceName>VM Network</deviceName>\
             <network type=\"Network\">{id}</network></backing>"
        )
    } else {
        format!(
            "<backing xsi:type=\"VirtualEthernetCardDistributedVirtualPortBackingInfo\"><port><switchUuid>x</switchUuid>\
             <portgroupKey>{id}</portgroupKey></port></backing>"
        )
    };
    format!(
        "<deviceChange><operation>add</operation><device xsi:type=\"VirtualVmxnet3\"><key>-2</key>{backing}\
         <addressType>generated</addressType></device></deviceChange>"
    )
}

fn clone_spec(choice: &Choice, pool: u8, how: u8, size: u8) -> String {
    let datastore = match size % 4 {
        0 => reference("datastore", choice.of(&["Datastore"], size / 4)),
        _ => String::new(),
    };
    let how_disks = [
        "",
        "createNewChildDiskBacking",
        "moveChildMostDiskBacking",
        "moveAllDiskBackingsAndAllowSharing",
        "odd",
    ];
    let moves = match pick(&how_disks, how) {
        "" => String::new(),
        text => format!("<diskMoveType>{text}</diskMoveType>"),
    };
    let pool = reference("pool", choice.of(&["ResourcePool"], pool));
    let config = if size.is_multiple_of(2) {
        let added = if size.is_multiple_of(16) { disk(size / 16, size) } else { String::new() };
        format!(
            "<config><annotation>cloned</annotation><memoryMB>{}</memoryMB>{added}</config>",
            i64::from(size) * 32
        )
    } else {
        String::new()
    };
    let customization = if how.is_multiple_of(7) { customization(size) } else { String::new() };
    let snapshot = if how % 5 == 1 && !size.is_multiple_of(3) {
        reference("snapshot", choice.of(&["VirtualMachineSnapshot"], size))
    } else {
        String::new()
    };
    format!(
        "<spec><location>{datastore}{moves}{pool}</location><template>{}</template>{config}{customization}\
         <powerOn>{}</powerOn>{snapshot}</spec>",
        how.is_multiple_of(11),
        how.is_multiple_of(3)
    )
}

fn customization(size: u8) -> String {
    format!(
        "<customization><options xsi:type=\"CustomizationLinuxOptions\"/><identity xsi:type=\"CustomizationLinuxPrep\">\
         <hostName xsi:type=\"CustomizationFixedName\"><name>guest{size}</name></hostName><domain></domain></identity>\
         <globalIPSettings/><nicSettingMap><adapter><ip xsi:type=\"CustomizationFixedIp\"><ipAddress>10.0.0.{size}</ipAddress></ip>\
         <subnetMask>255.255.255.0</subnetMask></adapter></nicSettingMap></customization>"
    )
}

fn changes(choice: &Choice, how: u8, number: u8) -> String {
    let remove = |key: u16, destroy: bool| {
        let files = if destroy { "<fileOperation>destroy</fileOperation>" } else { "" };
        format!(
            "<deviceChange><operation>remove</operation>{files}<device xsi:type=\"VirtualDisk\"><key>{key}</key>\
             <capacityInKB>0</capacityInKB></device></deviceChange>"
        )
    };
    let grow = |key: u16, kb: i64| {
        format!(
            "<deviceChange><operation>edit</operation><device xsi:type=\"VirtualDisk\"><key>{key}</key>\
             <capacityInKB>{kb}</capacityInKB></device></deviceChange>"
        )
    };
    match how % 12 {
        0 => format!("<annotation>note {number}</annotation>"),
        1 => format!("<numCPUs>{}</numCPUs>", i32::from(number) - 3),
        2 => format!("<memoryMB>{}</memoryMB>", i64::from(number) * 128),
        3 => disk(number, number),
        4 => remove(2000 + u16::from(number % 3), number.is_multiple_of(2)),
        5 => grow(2000 + u16::from(number % 2), i64::from(number) << 20),
        6 => card(choice, number),
        7 => remove(4000 + u16::from(number % 2), false),
        8 => format!("<uuid>4210abcd-0000-4000-8000-00000000000{}</uuid>", number % 4),
        9 => format!("<instanceUuid>5010abcd-0000-4000-8000-00000000000{}</instanceUuid>", number % 3),
        // The first takes space, the second cannot be: none of it may stay.
        10 => format!("{}{}", disk(3 + number % 4, 0), remove(9999, true)),
        _ => format!(
            "<extraConfig xsi:type=\"OptionValue\"><key>k{}</key><value xsi:type=\"xsd:string\">{number}</value></extraConfig>",
            number % 3
        ),
    }
}
