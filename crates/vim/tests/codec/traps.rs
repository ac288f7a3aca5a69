//! The rules that bite (fact sheet vim25, section 3), one or two tests each. Rule 1, the order of the schema, stands
//! in `writing.rs`.

use insta::assert_snapshot;
use rookery_vim::methods::{
    CreateFilter, CurrentTime, Method, ModifyListView, RetrievePropertiesEx, WaitForUpdatesEx,
};
use rookery_vim::objects::{
    ConnectionState, GuestNicInfo, ObjectUpdateKind, PowerState, PropertyChangeOp, RetrieveResult, Selection,
    TaskState, ToolsRunning,
};
use rookery_vim::{DecodeError, MoRef, Node, Wire};

use crate::{answered, content, document, result, shown};

#[test]
fn rule_2_the_class_is_the_local_part_of_xsi_type_whatever_the_prefixes() {
    let page = result::<RetrievePropertiesEx>("made/other_prefixes").expect("it has an object");
    assert_snapshot!(shown::page(&page), @r#"
    VirtualMachine:vm-7
      name = string "worker"
      runtime.powerState = VirtualMachinePowerState "poweredOn"
      runtime.host = ManagedObjectReference HostSystem:host-9
    "#);
}

/// govc writes `xsd:string` and never says what `xsd` is.
#[test]
fn rule_2_the_prefix_of_a_class_need_not_be_declared() {
    let text = document("captures/call_reconfigure");
    assert!(!String::from_utf8_lossy(&text).contains("xmlns:xsd"));
    let spec = content(&text).take("spec").expect("a reconfiguration");
    assert_snapshot!(shown::value(&spec), @r#"untyped { extraConfig OptionValue { key untyped "a", value string "b" } }"#);
}

#[test]
fn rule_2_a_class_that_nobody_knows_is_kept() {
    let call = "<CreateFilter xmlns='urn:vim25' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'>\
        <_this type='PropertyCollector'>pc</_this><spec><objectSet><obj type='Folder'>group-d1</obj>\
        <selectSet xsi:type='TeleportSpec'><to>b</to></selectSet><selectSet><name>a</name></selectSet>\
        </objectSet></spec><partialUpdates>0</partialUpdates></CreateFilter>";
    let node = rookery_vim::node::parse(call.as_bytes(), &rookery_vim::Limits::default()).expect("XML");
    let filter = CreateFilter::read(node).expect("a filter");
    // Without a stated class the declared one counts.
    let [Selection::Other(unknown), Selection::SelectionSpec(known)] = &*filter.spec.object_set[0].select_set
    else {
        panic!("{filter:?}")
    };
    assert_eq!((unknown.xsi_type.as_deref(), unknown.child_text("to")), (Some("TeleportSpec"), Some("b")));
    assert_eq!(known.name.as_deref(), Some("a"));
}

#[test]
fn rule_3_an_open_value_is_read_as_its_stated_type() {
    fn check<T: Wire + PartialEq + std::fmt::Debug>(class: &str, text: &str, expected: T) {
        let value = open_value(&format!("<val xsi:type='xsd:{class}'>{text}</val>"));
        assert_eq!(value.xsi_type.as_deref(), Some(class));
        assert_eq!(T::from_node(value), Ok(expected));
    }
    check("string", "a", "a".to_owned());
    check("boolean", "true", true);
    check("boolean", "0", false);
    check("short", "-5", -5_i16);
    check("int", "7", 7_i32);
    check("long", "9223372036854775807", i64::MAX);
    check("double", "0.5", 0.5_f64);
    check("VirtualMachinePowerState", "poweredOff", PowerState::Off);
}

/// govc and pyvmomi decode by the stated type, so it must be the schema's name and not ours.
#[test]
fn rule_3_our_values_state_the_types_that_a_server_states() {
    fn check<T: Wire>(stated: &str, path: &str, ours: &T) {
        let ours = Node::any(ours).expect("it is well-formed");
        let theirs =
            ["captures/retrieve_page", "captures/failed_task_paths"].map(result::<RetrievePropertiesEx>);
        let mut objects = theirs.into_iter().flatten().flat_map(|page| page.objects);
        let theirs = objects.find_map(|o| o.prop_set.into_iter().find(|p| p.name == path)).expect(path).val;
        assert_eq!(
            (ours.xsi_type.as_deref(), theirs.xsi_type.as_deref()),
            (Some(stated), Some(stated)),
            "{path}"
        );
        assert_eq!(ours.ref_type, theirs.ref_type, "{path}");
    }
    check("string", "name", &"a".to_owned());
    check("boolean", "config.template", &true);
    check("int", "config.hardware.memoryMB", &1_i32);
    check("dateTime", "config.createDate", &jiff::Timestamp::UNIX_EPOCH);
    check("ManagedObjectReference", "runtime.host", &MoRef::new("HostSystem", "host-1"));
    check("VirtualMachinePowerState", "runtime.powerState", &PowerState::On);
    check("VirtualMachineConnectionState", "runtime.connectionState", &ConnectionState::Connected);
    check("TaskInfoState", "info.state", &TaskState::Error);
    check("string", "guest.toolsRunningStatus", &ToolsRunning::NotRunning);
}

#[test]
fn rule_4_the_class_of_a_reference_and_the_type_of_a_value_are_different_attributes() {
    for attributes in [
        "type='HostSystem' xsi:type='ManagedObjectReference'",
        "xsi:type='ManagedObjectReference' type='HostSystem'",
        "x:type='Other' type='HostSystem' xmlns:x='urn:other' xsi:type='vim25:ManagedObjectReference'",
    ] {
        let value = open_value(&format!("<val {attributes}>host-21</val>"));
        assert_eq!(value.xsi_type.as_deref(), Some("ManagedObjectReference"));
        assert_eq!(MoRef::from_node(value), Ok(MoRef::new("HostSystem", "host-21")));
    }
    let without_class = open_value("<val xsi:type='ManagedObjectReference'>host-21</val>");
    assert!(MoRef::from_node(without_class).is_err());
}

#[test]
fn rule_5_the_items_of_an_array_each_have_their_own_type() {
    let page = result::<RetrievePropertiesEx>("made/arrays").expect("it has an object");
    assert_snapshot!(shown::page(&page), @r#"
    VirtualMachine:vm-7
      config.hardware.device = ArrayOfVirtualDevice { VirtualDevice VirtualDisk { key untyped "2000" }, VirtualDevice VirtualVmxnet3 { key untyped "4000" }, VirtualDevice VirtualDeviceOfTomorrow { key untyped "9000" }, VirtualDevice untyped { key untyped "1" } }
      datastore = ArrayOfManagedObjectReference { ManagedObjectReference ManagedObjectReference Datastore:datastore-1, ManagedObjectReference untyped Datastore:datastore-2 }
      layoutEx.names = ArrayOfString { string untyped "a", string untyped "", string untyped " c " }
      numbers = ArrayOfInt { int untyped "1", int untyped "-2" }
      tag = ArrayOfTag ""
    "#);
    let [_, references, strings, numbers, none] =
        <[_; 5]>::try_from(page.objects.into_iter().next().expect("one").prop_set).expect("five properties");
    assert_eq!(
        references.val.items(),
        Ok(vec![MoRef::new("Datastore", "datastore-1"), MoRef::new("Datastore", "datastore-2")])
    );
    assert_eq!(strings.val.items(), Ok(vec!["a".to_owned(), String::new(), " c ".to_owned()]));
    assert_eq!(numbers.val.items(), Ok(vec![1_i32, -2]));
    assert_eq!(none.val.items::<String>(), Ok(vec![]));
}

#[test]
fn rule_6_absent_nil_and_empty_are_told_apart() {
    let set = result::<WaitForUpdatesEx>("made/nil_and_empty").expect("there are updates");
    assert_snapshot!(shown::updates(&set), @r#"
    version 2
    modify VirtualMachine:vm-7
      assign a nothing
      assign b nothing
      assign c string ""
      assign d string ""
      assign e ArrayOfGuestNicInfo { GuestNicInfo untyped { network untyped "", macAddress untyped "", connected untyped "", deviceConfigId untyped " " } }
    "#);
    assert_eq!(set.truncated, None);
    let changes = set.filter_set.into_iter().flat_map(|f| f.object_set).flat_map(|o| o.change_set);
    let nics: Vec<GuestNicInfo> =
        changes.last().and_then(|c| c.val).expect("a value").items().expect("network cards");
    let [nic] = &*nics else { panic!("{nics:?}") };
    assert_eq!((nic.network.as_deref(), nic.mac_address.as_deref()), (Some(""), Some("")));
    assert_eq!((nic.connected, nic.device_config_id), (None, None));
}

/// vcsim writes empty elements for enumerations that are unset.
#[test]
fn rule_6_an_empty_element_of_a_list_is_no_item() {
    let found = answered::<ModifyListView>(
        "<returnval/><returnval type='Task'>task-1</returnval><returnval type='Task'/>",
    );
    assert_eq!(found, Ok(vec![MoRef::new("Task", "task-1")]));
}

#[test]
fn rule_6_an_unknown_value_of_an_enumeration_is_kept() {
    let set = result::<WaitForUpdatesEx>("made/unknown_things").expect("there are updates");
    let update = &set.filter_set[0].object_set[0];
    assert_eq!(update.kind, ObjectUpdateKind::Other("teleport".into()));
    assert_eq!(update.change_set[0].op, PropertyChangeOp::Other("toggle".into()));
    let state = update.change_set[0].val.clone().expect("a value");
    assert_eq!(PowerState::from_node(state), Ok(PowerState::Other("hibernated".into())));
}

#[test]
fn rule_7_a_date_has_any_number_of_digits_in_its_fraction_and_any_zone() {
    let check = |text: &str, expected: &str| {
        let time = answered::<CurrentTime>(&format!("<returnval>{text}</returnval>"));
        assert_eq!(time.map(|t| t.to_string()).as_deref(), Ok(expected), "{text}");
    };
    check("2026-11-15T07:13:27Z", "2026-11-15T07:13:27Z");
    check("2026-11-15T07:13:27.9Z", "2026-11-15T07:13:27.9Z");
    check("2026-11-15T07:13:27.998Z", "2026-11-15T07:13:27.998Z");
    check("2026-11-15T07:13:27.998682Z", "2026-11-15T07:13:27.998682Z");
    check("2026-11-15T07:13:27.998682812Z", "2026-11-15T07:13:27.998682812Z");
    check("2026-11-15T09:13:27+02:00", "2026-11-15T07:13:27Z");
    check("2026-11-15T07:13:27", "2026-11-15T07:13:27Z");
    check("\n 2026-11-15T07:13:27.5Z ", "2026-11-15T07:13:27.5Z");
    for wrong in ["", "now", "2026-02-30T00:00:00Z", "2026-11-15"] {
        assert!(answered::<CurrentTime>(&format!("<returnval>{wrong}</returnval>")).is_err(), "{wrong}");
    }
}

#[test]
fn rule_8_a_long_is_64_bits_and_minus_one_is_a_number() {
    let number = |text: &str| Node::leaf("limit", "long", text);
    assert_eq!(i64::from_node(number("-1")), Ok(-1));
    assert_eq!(i64::from_node(number("10737418240")), Ok(10_737_418_240));
    assert_eq!(i64::from_node(number(" 7 \n")), Ok(7));
    let too_large = i32::from_node(number("10737418240"));
    let error = DecodeError::Invalid { element: "limit".into(), expected: "int", text: "10737418240".into() };
    assert_eq!(too_large, Err(error));
    for wrong in ["", "1.0", "0x1", "1e3", "one"] {
        assert!(i64::from_node(number(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn rule_9_text_is_unescaped_once_and_line_ends_are_as_xml_says() {
    let page = result::<RetrievePropertiesEx>("made/text_forms").expect("it has an object");
    assert_snapshot!(shown::page(&page), @r#"
    VirtualMachine:vm-7
      cdata = string "a<b> & ]]>c"
      references = string "AB😀&<>\"'\r\n\t"
      lines = string "one\ntwo\nthree"
      comment = string "abcdef"
      spaces = string "  padded\t"
      number = int "\n       42\n     "
      type = string "x"
      attribute = ManagedObjectReference HostSystem:host-9
    "#);
}

#[test]
fn rule_9_an_annotation_with_json_line_ends_and_other_scripts_arrives_unchanged() {
    let page = result::<RetrievePropertiesEx>("captures/retrieve_page").expect("it has objects");
    let annotation =
        page.objects[0].prop_set.iter().find(|p| p.name == "config.annotation").expect("it was set");
    assert_eq!(annotation.val.text, "{\"owner\":\"a&b\",\"note\":\"1 < 2 > '0'\"}\r\nlast é ✓ 😀");
}

#[test]
fn rule_10_unknown_elements_and_attributes_and_other_vocabularies_are_skipped() {
    let set = result::<WaitForUpdatesEx>("made/unknown_things").expect("there are updates");
    assert_snapshot!(shown::updates(&set), @r#"
    version 4
    teleport VirtualMachine:vm-7
      toggle runtime.powerState VirtualMachinePowerState "hibernated"
      assign config.quantum QuantumInfo { qubits untyped "3", spin double "0.5" }
    "#);
}

#[test]
fn rule_10_an_item_of_another_vocabulary_is_no_item() {
    let array =
        open_value("<val xsi:type='ArrayOfInt'><int>1</int><o:int xmlns:o='urn:other'>2</o:int></val>");
    assert_eq!(array.items(), Ok(vec![1_i32]));
}

#[test]
fn rule_11_binary_values_pass_as_text() {
    let value = open_value("<val xsi:type='xsd:base64Binary'>AAEC/w==</val>");
    assert_eq!(shown::value(&value), "base64Binary \"AAEC/w==\"");
    assert_eq!(Node::any(&value), Ok(value));
}

/// An element beside text is nothing that vSphere writes: the element counts.
#[test]
fn text_beside_elements_is_ignored() {
    let value = open_value("<val>before<a>1</a>between<a>2</a>after</val>");
    assert_eq!(shown::value(&value), "untyped { a untyped \"1\", a untyped \"2\" }");
}

fn open_value(val: &str) -> Node {
    let page: Option<RetrieveResult> = answered::<RetrievePropertiesEx>(&format!(
        "<returnval><objects><obj type='A'>a</obj><propSet><name>p</name>{val}</propSet></objects></returnval>"
    ))
    .expect("a result");
    let object = page.expect("it has an object").objects.remove(0);
    object.prop_set.into_iter().next().expect("it has a property").val
}
