//! Data objects and enumerations: one row a type, members in schema order. Only what Rookery uses stands here.

use jiff::Timestamp;

use crate::wire::{enums, objects, variants};
use crate::{Fault, Hidden, MoRef, Node};

objects! {
    /// The well-known objects of a server. Their identifiers differ between vCenter and `ESXi`, which lacks some.
    ServiceContent {
        root_folder: MoRef = "rootFolder",
        property_collector: MoRef = "propertyCollector",
        view_manager: Option<MoRef> = "viewManager",
        about: AboutInfo = "about",
        session_manager: Option<MoRef> = "sessionManager",
        authorization_manager: Option<MoRef> = "authorizationManager",
        event_manager: Option<MoRef> = "eventManager",
        task_manager: Option<MoRef> = "taskManager",
        customization_spec_manager: Option<MoRef> = "customizationSpecManager",
        search_index: Option<MoRef> = "searchIndex",
        file_manager: Option<MoRef> = "fileManager",
        virtual_disk_manager: Option<MoRef> = "virtualDiskManager",
        storage_resource_manager: Option<MoRef> = "storageResourceManager",
        guest_operations_manager: Option<MoRef> = "guestOperationsManager",
    }

    /// What the server says of itself.
    AboutInfo {
        name: String = "name",
        full_name: String = "fullName",
        vendor: Option<String> = "vendor",
        version: String = "version",
        build: Option<String> = "build",
        os_type: Option<String> = "osType",
        product_line_id: Option<String> = "productLineId",
        api_type: String = "apiType",
        api_version: String = "apiVersion",
        instance_uuid: Option<String> = "instanceUuid",
    }

    /// A logged-in session.
    UserSession {
        key: Hidden = "key",
        user_name: String = "userName",
        full_name: Option<String> = "fullName",
        login_time: Option<Timestamp> = "loginTime",
        last_active_time: Option<Timestamp> = "lastActiveTime",
        locale: Option<String> = "locale",
        message_locale: Option<String> = "messageLocale",
        extension_session: Option<bool> = "extensionSession",
        ip_address: Option<String> = "ipAddress",
        user_agent: Option<String> = "userAgent",
        call_count: Option<i64> = "callCount",
    }

    /// What a session may do with one object.
    EntityPrivilege {
        entity: MoRef = "entity",
        priv_availability: Vec<PrivilegeAvailability> = "privAvailability",
    }

    /// Whether one privilege is there.
    PrivilegeAvailability {
        priv_id: String = "privId",
        is_granted: bool = "isGranted",
    }

    /// What to collect, from where.
    PropertyFilterSpec {
        prop_set: Vec<PropertySpec> = "propSet",
        object_set: Vec<ObjectSpec> = "objectSet",
        report_missing_objects: Option<bool> = "reportMissingObjectsInResults",
    }

    /// Which properties of one class.
    PropertySpec {
        kind: String = "type",
        all: Option<bool> = "all",
        path_set: Vec<String> = "pathSet",
    }

    /// Where a collection starts.
    ObjectSpec {
        obj: MoRef = "obj",
        skip: Option<bool> = "skip",
        select_set: Vec<Selection> = "selectSet",
    }

    /// A step along a property that refers to other objects.
    TraversalSpec {
        name: Option<String> = "name",
        kind: String = "type",
        path: String = "path",
        skip: Option<bool> = "skip",
        select_set: Vec<Selection> = "selectSet",
    }

    /// A reference to a step by its name; this is how traversals recurse.
    SelectionSpec {
        name: Option<String> = "name",
    }

    /// How a retrieve is paged.
    RetrieveOptions {
        max_objects: Option<i32> = "maxObjects",
    }

    /// One page of a retrieve; a token means that there is more.
    RetrieveResult {
        token: Option<String> = "token",
        objects: Vec<ObjectContent> = "objects",
    }

    /// One object with the properties that were asked for. An unset property is absent.
    ObjectContent {
        obj: MoRef = "obj",
        prop_set: Vec<DynamicProperty> = "propSet",
        missing_set: Vec<MissingProperty> = "missingSet",
    }

    /// A property and its value. An unset property is absent, but vcsim lists it without a value from the second
    /// page of a retrieve on.
    DynamicProperty (unset without val) {
        name: String = "name",
        val: Node = "val",
    }

    /// A property that could not be read, and why.
    MissingProperty {
        path: String = "path",
        fault: LocalizedMethodFault = "fault",
    }

    /// A fault with its message, as it stands inside results and tasks.
    LocalizedMethodFault {
        fault: Option<Node> = "fault",
        localized_message: Option<String> = "localizedMessage",
    }

    /// How long to wait for updates, and how many to take at once.
    WaitOptions {
        max_wait_seconds: Option<i32> = "maxWaitSeconds",
        max_object_updates: Option<i32> = "maxObjectUpdates",
    }

    /// Changes since a version.
    UpdateSet {
        version: String = "version",
        filter_set: Vec<PropertyFilterUpdate> = "filterSet",
        truncated: Option<bool> = "truncated",
    }

    /// Changes that one filter saw.
    PropertyFilterUpdate {
        filter: MoRef = "filter",
        object_set: Vec<ObjectUpdate> = "objectSet",
        missing_set: Vec<Node> = "missingSet",
    }

    /// Changes of one object.
    ObjectUpdate {
        kind: ObjectUpdateKind = "kind",
        obj: MoRef = "obj",
        change_set: Vec<PropertyChange> = "changeSet",
        missing_set: Vec<MissingProperty> = "missingSet",
    }

    /// One changed property; no value means that it is now unset.
    PropertyChange {
        name: String = "name",
        op: PropertyChangeOp = "op",
        val: Option<Node> = "val",
    }

    /// Which events to collect.
    EventFilterSpec {
        entity: Option<EventFilterSpecByEntity> = "entity",
        time: Option<EventFilterSpecByTime> = "time",
        disable_full_message: Option<bool> = "disableFullMessage",
        event_type_id: Vec<String> = "eventTypeId",
    }

    /// Events of an object, or of all inside it.
    EventFilterSpecByEntity {
        entity: MoRef = "entity",
        recursion: String = "recursion",
    }

    /// Events of a time.
    EventFilterSpecByTime {
        begin_time: Option<Timestamp> = "beginTime",
        end_time: Option<Timestamp> = "endTime",
    }

    /// Which tasks to collect; what is unset lets all through.
    TaskFilterSpec {
        entity: Option<TaskFilterSpecByEntity> = "entity",
        time: Option<TaskFilterSpecByTime> = "time",
        user_name: Option<TaskFilterSpecByUsername> = "userName",
        activation_id: Vec<String> = "activationId",
        state: Vec<TaskState> = "state",
        alarm: Option<MoRef> = "alarm",
        scheduled_task: Option<MoRef> = "scheduledTask",
        event_chain_id: Vec<i32> = "eventChainId",
        tag: Vec<String> = "tag",
        parent_task_key: Vec<String> = "parentTaskKey",
        root_task_key: Vec<String> = "rootTaskKey",
    }

    /// Tasks about an object, or about all inside it.
    TaskFilterSpecByEntity {
        entity: MoRef = "entity",
        recursion: String = "recursion",
    }

    /// Tasks of a time: when they were queued, when they began, or when they ended.
    TaskFilterSpecByTime {
        time_type: String = "timeType",
        begin_time: Option<Timestamp> = "beginTime",
        end_time: Option<Timestamp> = "endTime",
    }

    /// Tasks that somebody ordered, or the system.
    TaskFilterSpecByUsername {
        system_user: bool = "systemUser",
        user_list: Vec<String> = "userList",
    }

    /// A network card as the guest reports it.
    GuestNicInfo {
        network: Option<String> = "network",
        ip_address: Vec<String> = "ipAddress",
        mac_address: Option<String> = "macAddress",
        connected: Option<bool> = "connected",
        device_config_id: Option<i32> = "deviceConfigId",
    }
}

variants! {
    /// Where a collection goes on from an object.
    Selection of "SelectionSpec" { TraversalSpec, SelectionSpec }
}

enums! {
    /// What happened to an object. `enter` may come for an object that is known: it replaces all that is known of it.
    ObjectUpdateKind of "ObjectUpdateKind" { Enter = "enter", Modify = "modify", Leave = "leave" }

    /// What happened to a property.
    PropertyChangeOp of "PropertyChangeOp" { Assign = "assign", Add = "add", Remove = "remove", IndirectRemove = "indirectRemove" }

    /// Whether a VM runs.
    PowerState of "VirtualMachinePowerState" { On = "poweredOn", Off = "poweredOff", Suspended = "suspended" }

    /// Whether vCenter reaches a VM through its host.
    ConnectionState of "VirtualMachineConnectionState" {
        Connected = "connected",
        Disconnected = "disconnected",
        Orphaned = "orphaned",
        Inaccessible = "inaccessible",
        Invalid = "invalid",
    }

    /// Where a task stands.
    TaskState of "TaskInfoState" { Queued = "queued", Running = "running", Success = "success", Error = "error" }

    /// Whether VMware Tools run in the guest. The schema has its values, but declares the property as text.
    ToolsRunning of "string" {
        Running = "guestToolsRunning",
        NotRunning = "guestToolsNotRunning",
        ExecutingScripts = "guestToolsExecutingScripts",
    }
}

impl LocalizedMethodFault {
    /// The fault in the form that callers judge.
    pub fn into_fault(self) -> Fault {
        Fault::new(self.fault, self.localized_message.unwrap_or_default())
    }
}
