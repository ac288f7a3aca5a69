//! What servers wrote, as typed values.

use insta::assert_snapshot;
use rookery_vim::envelope::{self, AnswerError};
use rookery_vim::methods::{
    ContinueRetrievePropertiesEx, CreateContainerView, CreateFilter, CreateListView, CurrentTime,
    DestroyPropertyCollector, Login, Logout, Method, ModifyListView, PowerOnVmTask, RetrievePropertiesEx,
    RetrieveServiceContent, WaitForUpdatesEx,
};
use rookery_vim::objects::{ObjectContent, ObjectUpdateKind, Selection};
use rookery_vim::{Hidden, MoRef, Node};

use crate::{answer, content, document, result, shown};

#[test]
fn the_well_known_objects_of_a_vcenter_are_read() {
    let content = result::<RetrieveServiceContent>("captures/service_content");
    assert_eq!(content.root_folder, MoRef::new("Folder", "group-d1"));
    assert_eq!(content.property_collector, MoRef::new("PropertyCollector", "propertyCollector"));
    assert_eq!(content.session_manager, Some(MoRef::new("SessionManager", "SessionManager")));
    assert_eq!(
        content.guest_operations_manager,
        Some(MoRef::new("GuestOperationsManager", "guestOperationsManager"))
    );
    assert_eq!((&*content.about.api_type, &*content.about.api_version), ("VirtualCenter", "6.5"));
}

#[test]
fn a_host_has_other_identifiers_and_lacks_some_objects() {
    let content = result::<RetrieveServiceContent>("made/esxi_service_content");
    assert_eq!(content.root_folder, MoRef::new("Folder", "ha-folder-root"));
    assert_eq!(content.storage_resource_manager, None);
    assert_eq!((&*content.about.api_type, content.about.instance_uuid), ("HostAgent", None));
}

#[test]
fn a_session_is_read() {
    let session = result::<Login>("captures/login");
    assert_eq!((&*session.key.0, &*session.user_name), ("00000000-0000-4000-8000-00000000cafe", "user"));
    assert_eq!(session.login_time.map(|t| t.to_string()).as_deref(), Some("2026-11-15T09:03:40.29219173Z"));
}

#[test]
fn a_page_of_a_retrieve_is_read_with_its_token() {
    let page = result::<RetrievePropertiesEx>("captures/retrieve_page").expect("there are objects");
    assert_snapshot!(shown::page(&page), @r#"
    VirtualMachine:vm-62
      name = string "DC0_H0_VM0"
      parent = ManagedObjectReference Folder:group-2
      runtime.powerState = VirtualMachinePowerState "poweredOn"
      runtime.host = ManagedObjectReference HostSystem:host-21
      runtime.connectionState = VirtualMachineConnectionState "connected"
      resourcePool = ManagedObjectReference ResourcePool:resgroup-23
      config.template = boolean "false"
      config.annotation = string "{\"owner\":\"a&b\",\"note\":\"1 < 2 > '0'\"}\r\nlast é ✓ 😀"
      config.uuid = string "63d40cc5-9cba-5cc1-884a-f7f19070ecea"
      config.instanceUuid = string "b170c191-7587-5f8e-9a15-08c6a0a11ca5"
      config.hardware.numCPU = int "1"
      config.hardware.memoryMB = int "32"
      config.createDate = dateTime "2026-11-15T09:03:38.388802034Z"
      guest.toolsRunningStatus = string "guestToolsNotRunning"
      guest.ipAddress = string "10.0.0.99"
      guest.net = ArrayOfGuestNicInfo { GuestNicInfo untyped { ipAddress untyped "10.0.0.99", macAddress untyped "00:0c:29:63:65:61", connected untyped "true", deviceConfigId untyped "4000" } }
      guest.hostName = string "w-1"
    VirtualMachine:vm-65
      name = string "DC0_H0_VM1"
      parent = ManagedObjectReference Folder:group-2
      runtime.powerState = VirtualMachinePowerState "poweredOn"
      runtime.host = ManagedObjectReference HostSystem:host-21
      runtime.connectionState = VirtualMachineConnectionState "connected"
      resourcePool = ManagedObjectReference ResourcePool:resgroup-23
      config.template = boolean "false"
      config.uuid = string "cbdc036a-3e40-58a6-9860-33428d2c3927"
      config.instanceUuid = string "98e152d0-eae2-5372-a08e-7e034d392eff"
      config.hardware.numCPU = int "1"
      config.hardware.memoryMB = int "32"
      config.createDate = dateTime "2026-11-15T09:03:38.433296496Z"
      guest.toolsRunningStatus = string "guestToolsNotRunning"
      guest.net = ArrayOfGuestNicInfo { GuestNicInfo untyped { macAddress untyped "00:0c:29:39:32:37", connected untyped "true", deviceConfigId untyped "4000" } }
    token 22222222-2222-4222-8222-222222222222
    "#);
}

/// vcsim lists unset properties without a value from the second page on; on the first it leaves them out.
#[test]
fn a_property_without_a_value_is_as_one_that_is_not_there() {
    let last = result::<ContinueRetrievePropertiesEx>("captures/retrieve_last_page");
    assert_eq!((last.token.as_deref(), last.objects.len()), (None, 2));
    assert_eq!(last.objects[0].prop_set.len(), 14);
    assert!(last.objects[0].prop_set.iter().all(|p| p.name != "config.annotation"));
}

#[test]
fn whole_data_objects_are_kept_with_the_types_of_their_parts() {
    let page = result::<RetrievePropertiesEx>("captures/retrieve_wide").expect("there are objects");
    let devices = property(&page.objects[0], "config.hardware.device");
    let classes: Vec<_> = devices.children.iter().filter_map(|d| d.xsi_type.as_deref()).collect();
    assert_eq!((devices.xsi_type.as_deref(), classes.len()), (Some("ArrayOfVirtualDevice"), 13));
    assert_eq!(classes[11..], ["VirtualDisk", "VirtualE1000"]);
    let disk = devices.children[11].child("backing").expect("a disk has a backing");
    assert_eq!(disk.child("datastore").and_then(|d| d.ref_type.as_deref()), Some("Datastore"));
}

#[test]
fn a_retrieve_without_a_match_is_empty() {
    let page =
        result::<RetrievePropertiesEx>("captures/retrieve_empty").expect("vcsim sends an empty result");
    assert_eq!(shown::page(&page), "");
    // vCenter sends none at all.
    assert_eq!(crate::answered::<RetrievePropertiesEx>(""), Ok(None));
}

#[test]
fn a_missing_property_comes_with_its_reason_beside_those_that_were_found() {
    let page =
        result::<RetrievePropertiesEx>("captures/retrieve_invalid_property").expect("there is an object");
    assert_snapshot!(shown::page(&page), @r#"
    VirtualMachine:vm-62
      name = string "DC0_H0_VM0"
      noSuchThing is missing: InvalidProperty (name noSuchThing)
    "#);
}

#[test]
fn the_first_load_enters_all_objects() {
    let set = result::<WaitForUpdatesEx>("captures/updates_first_load").expect("there are updates");
    let objects: Vec<_> = set.filter_set.iter().flat_map(|f| &f.object_set).collect();
    assert!(objects.iter().all(|o| o.kind == ObjectUpdateKind::Enter && o.change_set.len() == 22));
    assert_eq!((objects.len(), set.truncated), (3, None));
}

#[test]
fn updates_are_read() {
    let check = |name| shown::updates(&result::<WaitForUpdatesEx>(name).expect("there are updates"));
    assert_snapshot!(check("captures/updates_modify"), @r#"
    version P
    modify VirtualMachine:vm-62
      assign name string "a & b %2f é \"q\" <1>"
    "#);
    assert_snapshot!(check("captures/updates_power_off"), @r#"
    version P
    modify VirtualMachine:vm-62
      assign runtime.powerState VirtualMachinePowerState "poweredOff"
    "#);
    assert_snapshot!(check("captures/updates_leave"), @r#"
    version P
    leave VirtualMachine:vm-62
    "#);
    assert!(check("captures/updates_truncated").ends_with("and more"));
    assert_eq!(result::<WaitForUpdatesEx>("captures/updates_time_out"), None);
}

#[test]
fn references_dates_lists_and_void_results_are_read() {
    let session = "session[00000000-0000-4000-8000-00000000cafe]11111111-1111-4111-8111-111111111111";
    assert_eq!(
        result::<CreateContainerView>("captures/create_container_view"),
        MoRef::new("ContainerView", session)
    );
    assert_eq!(result::<CreateListView>("captures/create_list_view"), MoRef::new("ListView", session));
    assert_eq!(result::<CreateFilter>("captures/create_filter"), MoRef::new("PropertyFilter", session));
    assert_eq!(result::<PowerOnVmTask>("captures/power_on_task"), MoRef::new("Task", "task-74"));
    assert_eq!(result::<ModifyListView>("captures/modify_list_view"), [MoRef::new("Task", "task-99999")]);
    assert_eq!(result::<ModifyListView>("captures/modify_list_view_all_found"), []);
    assert_eq!(result::<CurrentTime>("captures/current_time").to_string(), "2026-11-15T09:03:40.293077263Z");
    result::<DestroyPropertyCollector>("captures/destroy_property_collector");
    result::<Logout>("captures/logout");
}

#[test]
fn the_versions_of_a_server_come_newest_first() {
    let check =
        |name, expected: &[&str]| assert_eq!(envelope::versions(&document(name)).expect(name), expected);
    check("captures/versions", &["6.5", "6.0", "5.5"]);
    check("made/versions_vcenter", &["7.0.3.0", "7.0.2.0", "6.7.3", "2.0"]);
}

#[test]
fn what_is_no_answer_to_the_call_is_refused() {
    let check = |bytes: &[u8], root: &str| match answer::<CurrentTime>(bytes) {
        Err(AnswerError::NotAnAnswer { method: "CurrentTime", root: found }) => assert_eq!(&*found, root),
        other => panic!("{other:?}"),
    };
    check(&document("captures/no_returnval"), "Envelope");
    check(&document("captures/call_login"), "Envelope");
    check(&document("captures/versions"), "namespaces");
    check(b"<html><body><h1>503 Service Unavailable</h1></body></html>", "html");
    check(b"<Envelope xmlns='http://schemas.xmlsoap.org/soap/envelope/'/>", "Envelope");
    check(b"<Envelope xmlns='http://schemas.xmlsoap.org/soap/envelope/'><Body/></Envelope>", "Envelope");
    check(b"<Envelope xmlns='http://www.w3.org/2003/05/soap-envelope'><Body/></Envelope>", "Envelope");
    for (text, reason) in [
        (&b""[..], "no root element"),
        (b"upstream connect error", "no root element"),
        (b"<!DOCTYPE html><html></html>", "document type"),
        (b"\xff\xfe<\0a\0", "UTF-8"),
    ] {
        match answer::<CurrentTime>(text) {
            Err(AnswerError::Unreadable { source, .. }) => {
                assert!(source.to_string().contains(reason), "{source}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn calls_of_other_clients_are_read() {
    let collector = MoRef::new("PropertyCollector", "propertyCollector");
    let ancestors =
        RetrievePropertiesEx::read(content(&document("captures/call_retrieve_ancestors"))).expect("govc");
    assert_eq!(ancestors.this, collector);
    let [spec] = &*ancestors.spec_set else { panic!("{ancestors:?}") };
    let [Selection::TraversalSpec(parent), Selection::TraversalSpec(_)] = &*spec.object_set[0].select_set
    else {
        panic!("{spec:?}")
    };
    assert_eq!((parent.name.as_deref(), &*parent.path), (Some("traverseParent"), "parent"));
    assert!(matches!(&*parent.select_set, [Selection::SelectionSpec(again)] if again.name == parent.name));

    let filter = CreateFilter::read(content(&document("captures/call_create_filter"))).expect("govc");
    assert_eq!(filter.spec.object_set[0].skip, None);
    let filter = CreateFilter::read(content(&document("made/call_pyvmomi"))).expect("pyvmomi");
    assert_eq!((filter.this, filter.partial_updates), (collector, true));
    assert_eq!((filter.spec.prop_set[0].all, filter.spec.prop_set[0].path_set.len()), (Some(true), 0));

    let wait = WaitForUpdatesEx::read(content(&document("captures/call_wait"))).expect("govc");
    assert_eq!((wait.version.as_deref(), wait.options), (Some("-"), None));
    let login = Login::read(content(&document("captures/call_login"))).expect("govc");
    assert_eq!((&*login.user_name, login.password), ("user", Hidden("pass".into())));
}

fn property<'o>(object: &'o ObjectContent, name: &str) -> &'o Node {
    let found = object.prop_set.iter().find(|p| p.name == name);
    &found.unwrap_or_else(|| panic!("{name} is not among the properties of {}", object.obj)).val
}
