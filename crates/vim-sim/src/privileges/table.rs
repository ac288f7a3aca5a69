//! Which method needs which privileges on what, where that does not depend on what exactly is asked for.

/// What a privilege is needed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    /// What the call is made on: an entity, the entity of a task, or the VM of a snapshot.
    This,
    Root,
    /// What a parameter refers to; each of them if it is a list.
    Parameter(&'static str),
    /// The datastore of a path such as `[fast] a/b` in a parameter.
    Datastore(&'static str),
}

/// A privilege that a method needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) method: &'static str,
    pub(super) privilege: &'static str,
    pub(super) on: On,
}

const fn row(method: &'static str, privilege: &'static str, on: On) -> Row {
    Row { method, privilege, on }
}

const VM: On = On::Parameter("vm");
const QUERY: &str = "VirtualMachine.GuestOperations.Query";
const MODIFY: &str = "VirtualMachine.GuestOperations.Modify";
const EXECUTE: &str = "VirtualMachine.GuestOperations.Execute";
const FILES: &str = "Datastore.FileManagement";

/// In the order in which they are checked.
pub(super) const TABLE: &[Row] = &[
    row("PowerOnVM_Task", "VirtualMachine.Interact.PowerOn", On::This),
    row("PowerOnMultiVM_Task", "VirtualMachine.Interact.PowerOn", VM),
    row("PowerOffVM_Task", "VirtualMachine.Interact.PowerOff", On::This),
    row("ShutdownGuest", "VirtualMachine.Interact.PowerOff", On::This),
    row("ResetVM_Task", "VirtualMachine.Interact.Reset", On::This),
    row("RebootGuest", "VirtualMachine.Interact.Reset", On::This),
    row("SuspendVM_Task", "VirtualMachine.Interact.Suspend", On::This),
    row("CreateSnapshot_Task", "VirtualMachine.State.CreateSnapshot", On::This),
    row("RemoveSnapshot_Task", "VirtualMachine.State.RemoveSnapshot", On::This),
    row("RemoveAllSnapshots_Task", "VirtualMachine.State.RemoveSnapshot", On::This),
    row("RevertToSnapshot_Task", "VirtualMachine.State.RevertToSnapshot", On::This),
    row("MarkAsTemplate", "VirtualMachine.Provisioning.MarkAsTemplate", On::This),
    row("MarkAsVirtualMachine", "VirtualMachine.Provisioning.MarkAsVM", On::This),
    row("MarkAsVirtualMachine", "Resource.AssignVMToPool", On::Parameter("pool")),
    row("UnregisterVM", "VirtualMachine.Inventory.Unregister", On::This),
    row("CustomizeVM_Task", "VirtualMachine.Provisioning.Customize", On::This),
    row("DisconnectHost_Task", "Host.Config.Connection", On::This),
    row("ReconnectHost_Task", "Host.Config.Connection", On::This),
    row("CreateFolder", "Folder.Create", On::This),
    row("CreateResourcePool", "Resource.CreatePool", On::This),
    row("ValidateCredentialsInGuest", QUERY, VM),
    row("ListProcessesInGuest", QUERY, VM),
    row("ReadEnvironmentVariableInGuest", QUERY, VM),
    row("ListFilesInGuest", QUERY, VM),
    row("InitiateFileTransferFromGuest", QUERY, VM),
    row("InitiateFileTransferToGuest", MODIFY, VM),
    row("CreateTemporaryFileInGuest", MODIFY, VM),
    row("CreateTemporaryDirectoryInGuest", MODIFY, VM),
    row("MakeDirectoryInGuest", MODIFY, VM),
    row("MoveFileInGuest", MODIFY, VM),
    row("MoveDirectoryInGuest", MODIFY, VM),
    row("ChangeFileAttributesInGuest", MODIFY, VM),
    row("DeleteFileInGuest", MODIFY, VM),
    row("DeleteDirectoryInGuest", MODIFY, VM),
    row("StartProgramInGuest", EXECUTE, VM),
    row("TerminateProcessInGuest", EXECUTE, VM),
    row("MakeDirectory", FILES, On::Datastore("name")),
    row("DeleteDatastoreFile_Task", FILES, On::Datastore("name")),
    row("MoveDatastoreFile_Task", FILES, On::Datastore("sourceName")),
    row("MoveDatastoreFile_Task", FILES, On::Datastore("destinationName")),
    row("CopyDatastoreFile_Task", "Datastore.Browse", On::Datastore("sourceName")),
    row("CopyDatastoreFile_Task", FILES, On::Datastore("destinationName")),
    row("SearchDatastore_Task", "Datastore.Browse", On::Datastore("datastorePath")),
    row("SearchDatastoreSubFolders_Task", "Datastore.Browse", On::Datastore("datastorePath")),
    row("CreateContainerView", "System.View", On::Parameter("container")),
    row("FindChild", "System.View", On::Parameter("entity")),
    row("TerminateSession", "Sessions.TerminateSession", On::Root),
    row("SessionIsActive", "Sessions.ValidateSession", On::Root),
    row("HasPrivilegeOnEntities", "System.View", On::Parameter("entity")),
    row("HasPrivilegeOnEntity", "System.View", On::Parameter("entity")),
    row("HasUserPrivilegeOnEntities", "System.View", On::Parameter("entities")),
    row("FetchUserPrivilegeOnEntities", "System.View", On::Parameter("entities")),
    row("RetrieveEntityPermissions", "System.View", On::Parameter("entity")),
    row("AddAuthorizationRole", "Authorization.ModifyRoles", On::Root),
    row("UpdateAuthorizationRole", "Authorization.ModifyRoles", On::Root),
    row("RemoveAuthorizationRole", "Authorization.ModifyRoles", On::Root),
    row("SetEntityPermissions", "Authorization.ModifyPermissions", On::Parameter("entity")),
    row("ResetEntityPermissions", "Authorization.ModifyPermissions", On::Parameter("entity")),
    row("RemoveEntityPermission", "Authorization.ModifyPermissions", On::Parameter("entity")),
];
