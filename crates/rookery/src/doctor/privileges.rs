//! The privileges that Rookery needs, on what, and for what.

/// What an object stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Root,
    /// The datacenter, or all of vCenter.
    Datacenter,
    /// The folder of the VMs, and with it the VMs that are made there.
    Folder,
    Pool,
    Datastore,
    Network,
    /// A template that is cloned.
    Template,
    /// A VM that is cloned like a template.
    Machine,
}

impl On {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Root,
        Self::Datacenter,
        Self::Folder,
        Self::Pool,
        Self::Datastore,
        Self::Network,
        Self::Template,
        Self::Machine,
    ];
}

/// How much it matters that a privilege is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// No VM can be made, used or removed without it.
    Needed,
    /// Only what is named does not work without it.
    Useful,
}

/// A privilege and who needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub privilege: &'static str,
    pub on: On,
    /// How much it matters.
    pub weight: Weight,
    pub purpose: &'static str,
}

const fn needed(on: On, privilege: &'static str, purpose: &'static str) -> Need {
    Need { privilege, on, weight: Weight::Needed, purpose }
}

const fn useful(on: On, privilege: &'static str, purpose: &'static str) -> Need {
    Need { privilege, on, weight: Weight::Useful, purpose }
}

/// All of them. `docs/cli.md` shows the same list.
pub const NEEDS: &[Need] = &[
    useful(On::Root, "Sessions.TerminateSession", "one hatchery of a name, and another one that stands by"),
    needed(On::Datacenter, "System.View", "seeing anything at all"),
    needed(On::Datacenter, "System.Read", "reading what VMs are like"),
    useful(On::Datacenter, "InventoryService.Tagging.CreateCategory", "making categories of tags"),
    useful(On::Datacenter, "InventoryService.Tagging.CreateTag", "making tags"),
    needed(On::Folder, "VirtualMachine.Inventory.CreateFromExisting", "cloning"),
    needed(On::Folder, "VirtualMachine.Inventory.Delete", "removing VMs"),
    needed(On::Folder, "VirtualMachine.Config.AddNewDisk", "cloning: the clone's disks"),
    needed(On::Folder, "VirtualMachine.Config.EditDevice", "cloning: its network cards"),
    needed(On::Folder, "VirtualMachine.Config.CPUCount", "cloning: its number of CPUs"),
    needed(On::Folder, "VirtualMachine.Config.Memory", "cloning: its memory"),
    useful(
        On::Folder,
        "VirtualMachine.Config.DiskExtend",
        "cloning: a larger first disk, by `diskSizeGB` of a flavor",
    ),
    needed(On::Folder, "VirtualMachine.Config.Annotation", "marking VMs as ours"),
    needed(On::Folder, "VirtualMachine.Config.AdvancedConfig", "handing settings to the guest"),
    needed(On::Folder, "VirtualMachine.Config.Settings", "setting how VMware Tools start with the guest"),
    needed(On::Folder, "VirtualMachine.Config.Rename", "renaming VMs"),
    needed(On::Folder, "VirtualMachine.Interact.PowerOn", "starting VMs"),
    needed(On::Folder, "VirtualMachine.Interact.PowerOff", "stopping VMs and shutting guests down"),
    useful(On::Folder, "VirtualMachine.Interact.Reset", "`rookery vm power reset` and `reboot`"),
    useful(On::Folder, "VirtualMachine.Interact.Suspend", "`rookery vm power suspend`"),
    needed(On::Folder, "VirtualMachine.GuestOperations.Query", "seeing whether a program in the guest runs"),
    needed(On::Folder, "VirtualMachine.GuestOperations.Modify", "writing files into the guest"),
    needed(On::Folder, "VirtualMachine.GuestOperations.Execute", "starting programs in the guest"),
    useful(On::Folder, "VirtualMachine.Inventory.Create", "VMs that start from an ISO image"),
    useful(On::Folder, "VirtualMachine.Config.AddRemoveDevice", "VMs that start from an ISO image"),
    useful(On::Folder, "VirtualMachine.Interact.SetCDMedia", "VMs that start from an ISO image"),
    useful(On::Folder, "VirtualMachine.Interact.DeviceConnection", "VMs that start from an ISO image"),
    useful(On::Folder, "InventoryService.Tagging.AttachTag", "giving VMs tags"),
    needed(On::Pool, "Resource.AssignVMToPool", "putting VMs into the pool"),
    needed(On::Datastore, "Datastore.AllocateSpace", "putting disks on the datastore"),
    useful(On::Datastore, "Datastore.Browse", "finding ISO images on the datastore"),
    useful(On::Datastore, "Datastore.FileManagement", "uploading ISO images, and removing them"),
    needed(On::Network, "Network.Assign", "connecting VMs to the network"),
    needed(On::Template, "VirtualMachine.Provisioning.DeployTemplate", "cloning a template"),
    needed(On::Template, "VirtualMachine.Provisioning.Customize", "giving a clone its name and address"),
    needed(On::Machine, "VirtualMachine.Provisioning.Clone", "cloning a VM"),
    needed(On::Machine, "VirtualMachine.Provisioning.Customize", "giving a clone its name and address"),
    useful(
        On::Machine,
        "VirtualMachine.State.CreateSnapshot",
        "`rookery vm snapshot take`, for linked clones",
    ),
    useful(On::Machine, "VirtualMachine.Provisioning.MarkAsTemplate", "making a template of a VM"),
];

/// What is needed on an object that stands for all of these; each privilege once.
pub fn needs_on(roles: &[On]) -> Vec<&'static Need> {
    let mut needs: Vec<&Need> = Vec::new();
    for need in NEEDS.iter().filter(|need| roles.contains(&need.on)) {
        if needs.iter().all(|known| known.privilege != need.privilege) {
            needs.push(need);
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_object_needs_something_and_nothing_twice() {
        for on in On::ALL {
            let needs = NEEDS.iter().filter(|need| need.on == on).count();
            assert_eq!((needs_on(&[on]).len(), needs > 0), (needs, true), "{on:?}");
        }
        // A template and a VM share one.
        assert_eq!(needs_on(&On::ALL).len(), NEEDS.len() - 1);
    }

    #[test]
    fn the_manual_names_them_all_with_what_needs_them() {
        let manual = include_str!("../../../../docs/cli.md");
        for need in NEEDS {
            let row = manual.lines().find(|line| {
                line.starts_with(&format!("| `{}` |", need.privilege)) && line.contains(need.purpose)
            });
            assert!(row.is_some(), "{need:?}");
        }
    }
}
