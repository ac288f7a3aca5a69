//! Calls whose needs depend on what exactly is asked for.

use super::{of_class, reference, subject};
use crate::id::Kind;
use crate::world::World;

type Needs = Vec<(&'static str, Kind)>;

/// A call, and all that it needs.
pub(super) struct Case {
    pub(super) method: &'static str,
    pub(super) on: Kind,
    /// Whether the VM that it is about is a template.
    pub(super) template: bool,
    pub(super) parameters: String,
    pub(super) needs: Needs,
}

pub(super) fn all(world: &World) -> Vec<Case> {
    let parts = [clones(world), changes(world), device_changes(world), creations(world), entities()];
    parts.into_iter().flatten().collect()
}

fn folder(privilege: &'static str) -> (&'static str, Kind) {
    (privilege, Kind::Folder)
}

fn vm(privilege: &'static str) -> (&'static str, Kind) {
    (privilege, Kind::VirtualMachine)
}

const ASSIGN: (&str, Kind) = ("Network.Assign", Kind::Network);
const ALLOCATE: (&str, Kind) = ("Datastore.AllocateSpace", Kind::Datastore);
const INTO_POOL: (&str, Kind) = ("Resource.AssignVMToPool", Kind::ResourcePool);
const ISO: &str =
    "<backing xsi:type=\"VirtualCdromIsoBackingInfo\"><fileName>[LocalDS_0] b.iso</fileName></backing>";
const UNPLUGGED: &str = "<connectable><startConnected>false</startConnected>\
     <allowGuestControl>true</allowGuestControl><connected>false</connected></connectable>";
const NEW_DISK: &str = "<deviceChange><operation>add</operation><fileOperation>create</fileOperation>\
     <device xsi:type=\"VirtualDisk\"><key>-1</key><backing xsi:type=\"VirtualDiskFlatVer2BackingInfo\">\
     <fileName>[LocalDS_0]</fileName></backing><capacityInKB>1024</capacityInKB></device></deviceChange>";

fn device(operation: &str, device: &str) -> String {
    format!("<deviceChange><operation>{operation}</operation>{device}</deviceChange>")
}

fn card(world: &World) -> String {
    let network = reference("network", of_class(world, Kind::Network));
    format!(
        "<device xsi:type=\"VirtualVmxnet3\"><key>4000</key>\
         <backing xsi:type=\"VirtualEthernetCardNetworkBackingInfo\"><deviceName>VM Network</deviceName>{network}\
         </backing></device>"
    )
}

fn drive(inner: &str) -> String {
    format!("<device xsi:type=\"VirtualCdrom\"><key>3000</key>{inner}</device>")
}

fn disk(kb: i64) -> String {
    format!("<device xsi:type=\"VirtualDisk\"><key>2000</key><capacityInKB>{kb}</capacityInKB></device>")
}

fn clones(world: &World) -> Vec<Case> {
    let clone = |template: bool, spec: &str, more: &[(&'static str, Kind)]| {
        let location = [(Kind::Datastore, "datastore"), (Kind::ResourcePool, "pool")];
        let location = location.map(|(kind, name)| reference(name, of_class(world, kind))).concat();
        let folder_named = reference("folder", subject(world, Kind::Folder));
        let provisioning = if template {
            "VirtualMachine.Provisioning.DeployTemplate"
        } else {
            "VirtualMachine.Provisioning.Clone"
        };
        let always = [
            vm(provisioning),
            INTO_POOL,
            ALLOCATE,
            ASSIGN,
            folder("VirtualMachine.Inventory.CreateFromExisting"),
            folder("VirtualMachine.Config.AddNewDisk"),
        ];
        Case {
            method: "CloneVM_Task",
            on: Kind::VirtualMachine,
            template,
            parameters: format!(
                "{folder_named}<name>x</name><spec><location>{location}</location>{spec}</spec>"
            ),
            needs: [&always, more].concat(),
        }
    };
    let with =
        |config: &str, privilege| clone(true, &format!("<config>{config}</config>"), &[folder(privilege)]);
    vec![
        clone(false, "<powerOn>false</powerOn><template>false</template>", &[]),
        clone(true, "<powerOn>false</powerOn><template>false</template>", &[]),
        clone(false, "<powerOn>true</powerOn>", &[folder("VirtualMachine.Interact.PowerOn")]),
        clone(true, "<customization/>", &[vm("VirtualMachine.Provisioning.Customize")]),
        with("<annotation>a</annotation>", "VirtualMachine.Config.Annotation"),
        with("<numCPUs>2</numCPUs>", "VirtualMachine.Config.CPUCount"),
        with("<memoryMB>2</memoryMB>", "VirtualMachine.Config.Memory"),
        with("<tools/>", "VirtualMachine.Config.Settings"),
        with("<extraConfig/>", "VirtualMachine.Config.AdvancedConfig"),
        with(&device("edit", &card(world)), "VirtualMachine.Config.EditDevice"),
    ]
}

fn change(spec: &str, needs: &[(&'static str, Kind)]) -> Case {
    Case {
        method: "ReconfigVM_Task",
        on: Kind::VirtualMachine,
        template: false,
        parameters: format!("<spec>{spec}</spec>"),
        needs: needs.to_vec(),
    }
}

fn changes(_world: &World) -> Vec<Case> {
    vec![
        change("<annotation>a</annotation>", &[vm("VirtualMachine.Config.Annotation")]),
        change("<name>a</name>", &[vm("VirtualMachine.Config.Rename")]),
        change("<numCPUs>2</numCPUs>", &[vm("VirtualMachine.Config.CPUCount")]),
        change("<memoryMB>2</memoryMB>", &[vm("VirtualMachine.Config.Memory")]),
        change("<extraConfig/><extraConfig/>", &[vm("VirtualMachine.Config.AdvancedConfig")]),
        change("<guestId>x</guestId><bootOptions/>", &[vm("VirtualMachine.Config.Settings")]),
        change("<cpuAllocation/>", &[vm("VirtualMachine.Config.Resource")]),
        change(
            "<changeVersion>1</changeVersion><annotation>a</annotation><memoryMB>2</memoryMB>",
            &[vm("VirtualMachine.Config.Annotation"), vm("VirtualMachine.Config.Memory")],
        ),
    ]
}

fn device_changes(world: &World) -> Vec<Case> {
    let change =
        |operation: &str, what: &str, needs: &[(&'static str, Kind)]| change(&device(operation, what), needs);
    let add_remove = vm("VirtualMachine.Config.AddRemoveDevice");
    vec![
        change("edit", &card(world), &[vm("VirtualMachine.Config.EditDevice"), ASSIGN]),
        change("add", &card(world), &[add_remove, ASSIGN]),
        change("remove", &card(world), &[add_remove]),
        change("add", &drive(ISO), &[add_remove]),
        change("edit", &drive(ISO), &[vm("VirtualMachine.Interact.SetCDMedia")]),
        change("edit", &drive(UNPLUGGED), &[vm("VirtualMachine.Interact.DeviceConnection")]),
        change("edit", &disk(20 << 20), &[vm("VirtualMachine.Config.DiskExtend")]),
        change("edit", &disk(10 << 20), &[vm("VirtualMachine.Config.EditDevice")]),
        change("remove", &disk(0), &[vm("VirtualMachine.Config.RemoveDisk")]),
        change("add", &disk(1), &[vm("VirtualMachine.Config.AddExistingDisk")]),
        self::change(NEW_DISK, &[vm("VirtualMachine.Config.AddNewDisk"), ALLOCATE]),
    ]
}

fn creations(world: &World) -> Vec<Case> {
    let pool = reference("pool", of_class(world, Kind::ResourcePool));
    let create = |config: &str, more: &[(&'static str, Kind)]| Case {
        method: "CreateVM_Task",
        on: Kind::Folder,
        template: false,
        parameters: format!(
            "<config><name>x</name><annotation>a</annotation><files><vmPathName>[LocalDS_0]</vmPathName></files>\
             <numCPUs>1</numCPUs>{config}</config>{pool}"
        ),
        needs: [&[folder("VirtualMachine.Inventory.Create"), INTO_POOL, ALLOCATE], more].concat(),
    };
    vec![
        create("", &[]),
        create("<extraConfig/>", &[folder("VirtualMachine.Config.AdvancedConfig")]),
        create(NEW_DISK, &[folder("VirtualMachine.Config.AddNewDisk")]),
        create(&device("add", &drive(ISO)), &[folder("VirtualMachine.Config.AddRemoveDevice")]),
        create(&device("add", &card(world)), &[folder("VirtualMachine.Config.AddRemoveDevice"), ASSIGN]),
    ]
}

fn entities() -> Vec<Case> {
    let on = |method, on, privilege| Case {
        method,
        on,
        template: false,
        parameters: "<newName>x</newName>".to_owned(),
        needs: vec![(privilege, on)],
    };
    vec![
        on("Rename_Task", Kind::VirtualMachine, "VirtualMachine.Config.Rename"),
        on("Rename_Task", Kind::ResourcePool, "Resource.RenamePool"),
        on("Rename_Task", Kind::Datacenter, "Datacenter.Rename"),
        on("Rename_Task", Kind::Folder, "Folder.Rename"),
        on("Destroy_Task", Kind::VirtualMachine, "VirtualMachine.Inventory.Delete"),
        on("Destroy_Task", Kind::ResourcePool, "Resource.DeletePool"),
        on("Destroy_Task", Kind::Folder, "Folder.Delete"),
        on("NotInTheTable", Kind::ResourcePool, "System.View"),
    ]
}
