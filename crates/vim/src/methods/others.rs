//! Methods that other clients call: Rookery's simulator answers them, its client has no use for them.

use super::methods;
use crate::guest::{GuestAuthentication, GuestFileAttributes, GuestListFileInfo};
use crate::objects::{EventFilterSpec, PropertyFilterSpec, TaskFilterSpec, UpdateSet};
use crate::storage::HostDatastoreBrowserSearchSpec;
use crate::{Hidden, MoRef, Node};

methods! {
    /// One property of one object, whatever it is.
    Fetch = "Fetch", repeatable: true, returns Option<Node> {
        prop: String = "prop",
    }
    /// Reads properties without pages.
    RetrieveProperties = "RetrieveProperties", repeatable: true, returns Vec<Node> {
        spec_set: Vec<PropertyFilterSpec> = "specSet",
    }
    /// Gives up a retrieve.
    CancelRetrievePropertiesEx = "CancelRetrievePropertiesEx", repeatable: true, returns () {
        token: String = "token",
    }
    /// Ends a filter.
    DestroyPropertyFilter = "DestroyPropertyFilter", repeatable: true, returns () {}
    /// The long poll without options.
    WaitForUpdates = "WaitForUpdates", repeatable: true, returns UpdateSet {
        version: Option<String> = "version",
    }
    /// A look that does not wait.
    CheckForUpdates = "CheckForUpdates", repeatable: true, returns Option<UpdateSet> {
        version: Option<String> = "version",
    }
    /// Replaces what is in a list view; returns what could not be found.
    ResetListView = "ResetListView", repeatable: true, returns Vec<MoRef> {
        obj: Vec<MoRef> = "obj",
    }

    /// Whether a session is there.
    SessionIsActive = "SessionIsActive", repeatable: true, returns bool {
        session_id: Hidden = "sessionID",
        user_name: String = "userName",
    }

    /// The VM or host of that UUID.
    FindByUuid = "FindByUuid", repeatable: true, returns Option<MoRef> {
        datacenter: Option<MoRef> = "datacenter",
        uuid: String = "uuid",
        vm_search: bool = "vmSearch",
        instance_uuid: Option<bool> = "instanceUuid",
    }
    /// The VM with that address.
    FindByIp = "FindByIp", repeatable: true, returns Option<MoRef> {
        datacenter: Option<MoRef> = "datacenter",
        ip: String = "ip",
        vm_search: bool = "vmSearch",
    }
    /// All VMs with that address.
    FindAllByIp = "FindAllByIp", repeatable: true, returns Vec<MoRef> {
        datacenter: Option<MoRef> = "datacenter",
        ip: String = "ip",
        vm_search: bool = "vmSearch",
    }
    /// The VM with that host name.
    FindByDnsName = "FindByDnsName", repeatable: true, returns Option<MoRef> {
        datacenter: Option<MoRef> = "datacenter",
        dns_name: String = "dnsName",
        vm_search: bool = "vmSearch",
    }
    /// All VMs with that host name.
    FindAllByDnsName = "FindAllByDnsName", repeatable: true, returns Vec<MoRef> {
        datacenter: Option<MoRef> = "datacenter",
        dns_name: String = "dnsName",
        vm_search: bool = "vmSearch",
    }
    /// The VM whose configuration is in that file.
    FindByDatastorePath = "FindByDatastorePath", repeatable: true, returns Option<MoRef> {
        datacenter: MoRef = "datacenter",
        path: String = "path",
    }

    /// Events, all at once.
    QueryEvents = "QueryEvents", repeatable: true, returns Vec<Node> {
        filter: EventFilterSpec = "filter",
    }
    /// The events before those that were read.
    ReadPreviousEvents = "ReadPreviousEvents", repeatable: false, returns Vec<Node> {
        max_count: i32 = "maxCount",
    }
    /// Starts reading the history of tasks.
    CreateCollectorForTasks = "CreateCollectorForTasks", repeatable: true, returns MoRef {
        filter: TaskFilterSpec = "filter",
    }
    /// The next tasks after those that were read.
    ReadNextTasks = "ReadNextTasks", repeatable: false, returns Vec<Node> {
        max_count: i32 = "maxCount",
    }
    /// The tasks before those that were read.
    ReadPreviousTasks = "ReadPreviousTasks", repeatable: false, returns Vec<Node> {
        max_count: i32 = "maxCount",
    }
    /// How many events or tasks `latestPage` has.
    SetCollectorPageSize = "SetCollectorPageSize", repeatable: true, returns () {
        max_count: i32 = "maxCount",
    }
    /// Back to the oldest.
    RewindCollector = "RewindCollector", repeatable: true, returns () {}
    /// On to the newest.
    ResetCollector = "ResetCollector", repeatable: true, returns () {}

    /// Lets go of a host, which runs on.
    DisconnectHostTask = "DisconnectHost_Task", repeatable: false, returns MoRef {}
    /// Takes a host back.
    ReconnectHostTask = "ReconnectHost_Task", repeatable: false, returns MoRef {
        cnx_spec: Option<Node> = "cnxSpec",
        reconnect_spec: Option<Node> = "reconnectSpec",
    }

    /// Makes a folder of the same kind inside a folder.
    CreateFolder = "CreateFolder", repeatable: false, returns MoRef {
        name: String = "name",
    }
    /// Moves objects into a folder.
    MoveIntoFolderTask = "MoveIntoFolder_Task", repeatable: false, returns MoRef {
        list: Vec<MoRef> = "list",
    }
    /// Makes a pool in a pool.
    CreateResourcePool = "CreateResourcePool", repeatable: false, returns MoRef {
        name: String = "name",
        spec: Node = "spec",
    }
    /// Takes a VM out of the inventory but leaves its files.
    UnregisterVm = "UnregisterVM", repeatable: false, returns () {}
    /// Makes a template a VM again.
    MarkAsVirtualMachine = "MarkAsVirtualMachine", repeatable: false, returns () {
        pool: MoRef = "pool",
        host: Option<MoRef> = "host",
    }
    /// Powers on many VMs, called on a datacenter.
    PowerOnMultiVmTask = "PowerOnMultiVM_Task", repeatable: false, returns MoRef {
        vm: Vec<MoRef> = "vm",
    }
    /// Removes all snapshots of a VM.
    RemoveAllSnapshotsTask = "RemoveAllSnapshots_Task", repeatable: false, returns MoRef {
        consolidate: Option<bool> = "consolidate",
    }

    /// Copies a file.
    CopyDatastoreFileTask = "CopyDatastoreFile_Task", repeatable: false, returns MoRef {
        source_name: String = "sourceName",
        source_datacenter: Option<MoRef> = "sourceDatacenter",
        destination_name: String = "destinationName",
        destination_datacenter: Option<MoRef> = "destinationDatacenter",
        force: Option<bool> = "force",
    }
    /// Looks into a folder and all below it.
    SearchDatastoreSubFoldersTask = "SearchDatastoreSubFolders_Task", repeatable: false, returns MoRef {
        datastore_path: String = "datastorePath",
        search_spec: Option<HostDatastoreBrowserSearchSpec> = "searchSpec",
    }

    /// Variables of a guest's environment as `NAME=value`: those of some names, or all.
    ReadEnvironmentVariableInGuest = "ReadEnvironmentVariableInGuest", repeatable: true, returns Vec<String> {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        names: Vec<String> = "names",
    }
    /// Makes a directory.
    MakeDirectoryInGuest = "MakeDirectoryInGuest", repeatable: false, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        directory_path: String = "directoryPath",
        create_parent_directories: bool = "createParentDirectories",
    }
    /// An empty directory of a name that nobody else has.
    CreateTemporaryDirectoryInGuest = "CreateTemporaryDirectoryInGuest", repeatable: false, returns String {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        prefix: String = "prefix",
        suffix: String = "suffix",
        directory_path: Option<String> = "directoryPath",
    }
    /// Removes a directory.
    DeleteDirectoryInGuest = "DeleteDirectoryInGuest", repeatable: false, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        directory_path: String = "directoryPath",
        recursive: bool = "recursive",
    }
    /// Moves a directory.
    MoveDirectoryInGuest = "MoveDirectoryInGuest", repeatable: false, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        src_directory_path: String = "srcDirectoryPath",
        dst_directory_path: String = "dstDirectoryPath",
    }
    /// Moves a file.
    MoveFileInGuest = "MoveFileInGuest", repeatable: false, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        src_file_path: String = "srcFilePath",
        dst_file_path: String = "dstFilePath",
        overwrite: bool = "overwrite",
    }
    /// What is in a directory, or one file.
    ListFilesInGuest = "ListFilesInGuest", repeatable: true, returns GuestListFileInfo {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        file_path: String = "filePath",
        index: Option<i32> = "index",
        max_results: Option<i32> = "maxResults",
        match_pattern: Option<String> = "matchPattern",
    }
    /// Changes who may do what with a file, whose it is, and its times.
    ChangeFileAttributesInGuest = "ChangeFileAttributesInGuest", repeatable: true, returns () {
        vm: MoRef = "vm",
        auth: GuestAuthentication = "auth",
        guest_file_path: String = "guestFilePath",
        file_attributes: GuestFileAttributes = "fileAttributes",
    }
}
