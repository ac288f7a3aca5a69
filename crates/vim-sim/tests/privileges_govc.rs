//! Roles, as VMware's own command line meets them.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

#[path = "kit/govc.rs"]
mod kit;

use rookery_vim_sim::{Access, Permission, Role, Settings, User};

use kit::Sim;

const VM: &str = "/DC0/vm/DC0_H0_VM0";

/// What a program needs that runs VMs.
const ENOUGH: &[&str] = &[
    "System.Anonymous",
    "System.View",
    "System.Read",
    "Datastore.AllocateSpace",
    "Datastore.Browse",
    "Datastore.FileManagement",
    "Network.Assign",
    "Resource.AssignVMToPool",
    "VirtualMachine.Config.AddNewDisk",
    "VirtualMachine.Config.AddRemoveDevice",
    "VirtualMachine.Config.AdvancedConfig",
    "VirtualMachine.Config.Annotation",
    "VirtualMachine.Config.CPUCount",
    "VirtualMachine.Config.EditDevice",
    "VirtualMachine.Config.Memory",
    "VirtualMachine.Config.Rename",
    "VirtualMachine.Config.Settings",
    "VirtualMachine.Interact.DeviceConnection",
    "VirtualMachine.Interact.PowerOff",
    "VirtualMachine.Interact.PowerOn",
    "VirtualMachine.Interact.Reset",
    "VirtualMachine.Interact.SetCDMedia",
    "VirtualMachine.Interact.Suspend",
    "VirtualMachine.Inventory.Create",
    "VirtualMachine.Inventory.CreateFromExisting",
    "VirtualMachine.Inventory.Delete",
    "VirtualMachine.Provisioning.Clone",
    "VirtualMachine.Provisioning.MarkAsTemplate",
    "VirtualMachine.State.CreateSnapshot",
];

/// A vCenter in which `worker` has all of these but one, and an administrator is there, too.
async fn sim_without(missing: &str) -> Sim {
    let user = |name: &str| User { name: name.to_owned(), password: "secret".to_owned() };
    let grant = |principal: &str, role: &str| Permission {
        principal: principal.to_owned(),
        role: role.to_owned(),
        entity: "/".to_owned(),
        propagate: true,
    };
    let privileges = ENOUGH.iter().filter(|id| **id != missing).map(|&id| id.to_owned()).collect();
    let access = Access {
        users: vec![user("admin"), user("worker")],
        roles: vec![Role { name: "work".to_owned(), privileges }],
        permissions: vec![grant("admin", "Admin"), grant("worker", "work")],
    };
    Sim::start(Settings { access, ..Settings::default() }).await
}

/// An operation, what must be done before by somebody else, and the privileges that it needs.
struct Operation {
    before: &'static [&'static [&'static str]],
    command: &'static [&'static str],
    needs: &'static [&'static str],
}

const OFF: &[&str] = &["vm.power", "-off", "-force", VM];

const OPERATIONS: &[Operation] = &[
    Operation {
        before: &[],
        command: &[
            "vm.clone",
            "-vm",
            VM,
            "-pool",
            "/DC0/host/DC0_H0/Resources",
            "-on=false",
            "-c=2",
            "-m=64",
            "-annotation=x",
            "new",
        ],
        needs: &[
            "VirtualMachine.Provisioning.Clone",
            "VirtualMachine.Inventory.CreateFromExisting",
            "VirtualMachine.Config.AddNewDisk",
            "VirtualMachine.Config.CPUCount",
            "VirtualMachine.Config.Memory",
            "VirtualMachine.Config.Annotation",
            "Resource.AssignVMToPool",
            "Datastore.AllocateSpace",
            "Network.Assign",
        ],
    },
    Operation {
        before: &[],
        command: &[
            "vm.create",
            "-on=false",
            "-pool",
            "/DC0/host/DC0_H0/Resources",
            "-net",
            "VM Network",
            "-disk",
            "1MB",
            "new",
        ],
        needs: &[
            "VirtualMachine.Inventory.Create",
            "VirtualMachine.Config.AddNewDisk",
            "VirtualMachine.Config.AddRemoveDevice",
        ],
    },
    Operation { before: &[], command: OFF, needs: &["VirtualMachine.Interact.PowerOff"] },
    Operation {
        before: &[OFF],
        command: &["vm.power", "-on", VM],
        needs: &["VirtualMachine.Interact.PowerOn"],
    },
    Operation {
        before: &[],
        command: &["vm.power", "-reset", VM],
        needs: &["VirtualMachine.Interact.Reset"],
    },
    Operation {
        before: &[],
        command: &["vm.power", "-suspend", VM],
        needs: &["VirtualMachine.Interact.Suspend"],
    },
    Operation { before: &[OFF], command: &["vm.destroy", VM], needs: &["VirtualMachine.Inventory.Delete"] },
    Operation {
        before: &[],
        command: &["object.rename", VM, "other"],
        needs: &["VirtualMachine.Config.Rename"],
    },
    Operation {
        before: &[],
        command: &["vm.change", "-vm", VM, "-e", "a=b"],
        needs: &["VirtualMachine.Config.AdvancedConfig"],
    },
    Operation {
        before: &[OFF],
        command: &["vm.change", "-vm", VM, "-g", "otherGuest"],
        needs: &["VirtualMachine.Config.Settings"],
    },
    Operation {
        before: &[],
        command: &["vm.network.change", "-vm", VM, "-net", "DC0_DVPG0", "ethernet-0"],
        needs: &["VirtualMachine.Config.EditDevice", "Network.Assign"],
    },
    Operation {
        before: &[],
        command: &["device.cdrom.add", "-vm", VM],
        needs: &["VirtualMachine.Config.AddRemoveDevice"],
    },
    Operation {
        before: &[&["device.cdrom.add", "-vm", VM]],
        command: &["device.cdrom.insert", "-vm", VM, "-ds", "LocalDS_0", "a.iso"],
        needs: &["VirtualMachine.Interact.SetCDMedia"],
    },
    Operation {
        before: &[],
        command: &["device.disconnect", "-vm", VM, "ethernet-0"],
        needs: &["VirtualMachine.Interact.DeviceConnection"],
    },
    Operation {
        before: &[],
        command: &["snapshot.create", "-vm", VM, "s"],
        needs: &["VirtualMachine.State.CreateSnapshot"],
    },
    Operation {
        before: &[OFF],
        command: &["vm.markastemplate", VM],
        needs: &["VirtualMachine.Provisioning.MarkAsTemplate"],
    },
    Operation { before: &[], command: &["datastore.ls", "-ds", "LocalDS_0"], needs: &["Datastore.Browse"] },
    Operation {
        before: &[],
        command: &["datastore.mkdir", "-ds", "LocalDS_0", "new"],
        needs: &["Datastore.FileManagement"],
    },
];

#[tokio::test]
async fn an_operation_needs_its_privileges_and_none_that_others_need() {
    for Operation { before, command, needs } in OPERATIONS {
        let rest = ENOUGH.iter().filter(|id| !id.starts_with("System.") && !needs.contains(id));
        // One of the others stands for all: the table has its own test.
        let unneeded = rest.copied().next_back().expect("another privilege");
        for missing in needs.iter().copied().chain([unneeded]) {
            let sim = sim_without(missing).await;
            for command in *before {
                sim.run_as("admin", command).await;
            }
            if missing == unneeded {
                sim.run_as("worker", command).await;
            } else {
                let said = sim.refused("worker", command).await;
                assert!(
                    said.contains("NoPermission") || said.contains("Permission to perform"),
                    "{command:?} without {missing}: {said}"
                );
            }
        }
    }
}

#[tokio::test]
async fn somebody_without_a_right_to_look_cannot_search() {
    let sim = sim_without("System.View").await;
    assert!(sim.run_as("admin", &["find", "/", "-type", "m"]).await.contains(VM));
    let said = sim.refused("worker", &["find", "/", "-type", "m"]).await;
    assert!(said.contains("Permission to perform"), "{said}");
}

#[tokio::test]
async fn sessions_of_others_are_not_for_everybody() {
    let sim = sim_without("").await;
    assert!(sim.run_as("admin", &["session.ls"]).await.contains("admin"));
    assert!(sim.refused("worker", &["session.ls"]).await.contains("NoPermission"));
    let said = sim.refused("worker", &["session.rm", "some-key"]).await;
    assert!(said.contains("Permission to perform"), "{said}");
}
