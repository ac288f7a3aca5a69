//! Methods that change VMs.

use super::methods;
use crate::MoRef;
use crate::specs::{CustomizationSpec, VirtualMachineCloneSpec, VirtualMachineConfigSpec};

methods! {
    /// Renames any inventory object.
    RenameTask = "Rename_Task", repeatable: false, returns MoRef {
        new_name: String = "newName",
    }
    /// Powers on.
    PowerOnVmTask = "PowerOnVM_Task", repeatable: false, returns MoRef {
        host: Option<MoRef> = "host",
    }
    /// Powers off at once, as pulling the plug does.
    PowerOffVmTask = "PowerOffVM_Task", repeatable: false, returns MoRef {}
    /// Resets.
    ResetVmTask = "ResetVM_Task", repeatable: false, returns MoRef {}
    /// Suspends.
    SuspendVmTask = "SuspendVM_Task", repeatable: false, returns MoRef {}
    /// Asks the guest to shut down. The answer comes before the guest is off.
    ShutdownGuest = "ShutdownGuest", repeatable: false, returns () {}
    /// Asks the guest to reboot.
    RebootGuest = "RebootGuest", repeatable: false, returns () {}
    /// Makes a VM from nothing, called on its folder; the task's result is the new VM.
    CreateVmTask = "CreateVM_Task", repeatable: false, returns MoRef {
        config: VirtualMachineConfigSpec = "config",
        pool: MoRef = "pool",
        host: Option<MoRef> = "host",
    }
    /// Clones a VM or template into a folder; the task's result is the new VM.
    CloneVmTask = "CloneVM_Task", repeatable: false, returns MoRef {
        folder: MoRef = "folder",
        name: String = "name",
        spec: VirtualMachineCloneSpec = "spec",
    }
    /// Changes a VM's configuration.
    ReconfigVmTask = "ReconfigVM_Task", repeatable: false, returns MoRef {
        spec: VirtualMachineConfigSpec = "spec",
    }
    /// Sets the guest up when the VM starts next. It must be off, and have as many cards as there are settings.
    CustomizeVmTask = "CustomizeVM_Task", repeatable: false, returns MoRef {
        spec: CustomizationSpec = "spec",
    }
    /// Takes a snapshot; the task's result is the snapshot.
    CreateSnapshotTask = "CreateSnapshot_Task", repeatable: false, returns MoRef {
        name: String = "name",
        description: Option<String> = "description",
        memory: bool = "memory",
        quiesce: bool = "quiesce",
    }
    /// Makes a VM what it was when a snapshot was taken.
    RevertToSnapshotTask = "RevertToSnapshot_Task", repeatable: false, returns MoRef {}
    /// Removes a snapshot, and if so wanted those that were taken after it; what the VM is now stays.
    RemoveSnapshotTask = "RemoveSnapshot_Task", repeatable: false, returns MoRef {
        remove_children: bool = "removeChildren",
        consolidate: Option<bool> = "consolidate",
    }
    /// Makes a VM a template. It must be off.
    MarkAsTemplate = "MarkAsTemplate", repeatable: false, returns () {}
    /// Removes a VM with its files. It must be off.
    DestroyTask = "Destroy_Task", repeatable: false, returns MoRef {}
    /// Cancels a task that can be cancelled.
    CancelTask = "CancelTask", repeatable: true, returns () {}
}
