//! What we write: a real vCenter insists on the order of the schema, vcsim does not.

use insta::assert_snapshot;
use rookery_vim::envelope::{self, AnswerError};
use rookery_vim::methods::{
    CreateContainerView, CreateFilter, Login, Method, ModifyListView, PowerOnVmTask, RenameTask,
    RetrievePropertiesEx, RetrieveServiceContent, WaitForUpdatesEx,
};
use rookery_vim::objects::{
    GuestNicInfo, LocalizedMethodFault, MissingProperty, ObjectContent, ObjectSpec, ObjectUpdate,
    ObjectUpdateKind, PropertyChange, PropertyChangeOp, PropertyFilterSpec, PropertyFilterUpdate,
    PropertySpec, RetrieveOptions, Selection, SelectionSpec, TraversalSpec, UpdateSet, WaitOptions,
};
use rookery_vim::{Hidden, Limits, MoRef, Node, Wire, Writer, node};

use crate::{answer, content, document};

#[test]
fn a_call_stands_in_an_envelope_with_its_class_stated_where_the_schema_leaves_it_open() {
    let method =
        CreateFilter { this: MoRef::new("PropertyCollector", "pc"), spec: filter(), partial_updates: false };
    assert_snapshot!(indented(&said(&method, Some("op-7f3a"))), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
     <soapenv:Header>
      <operationID>op-7f3a</operationID>
     </soapenv:Header>
     <soapenv:Body>
      <CreateFilter xmlns="urn:vim25">
       <_this type="PropertyCollector">pc</_this>
       <spec>
        <propSet>
         <type>VirtualMachine</type>
         <pathSet>name</pathSet>
         <pathSet>runtime.powerState</pathSet>
        </propSet>
        <objectSet>
         <obj type="Folder">group-d1</obj>
         <skip>true</skip>
         <selectSet xsi:type="TraversalSpec">
          <name>down</name>
          <type>Folder</type>
          <path>childEntity</path>
          <skip>false</skip>
          <selectSet xsi:type="SelectionSpec">
           <name>down</name>
          </selectSet>
         </selectSet>
        </objectSet>
        <reportMissingObjectsInResults>true</reportMissingObjectsInResults>
       </spec>
       <partialUpdates>false</partialUpdates>
      </CreateFilter>
     </soapenv:Body>
    </soapenv:Envelope>
    "#);
}

#[test]
fn parameters_keep_the_order_of_the_schema() {
    let view_manager = MoRef::new("ViewManager", "ViewManager");
    let vm = MoRef::new("VirtualMachine", "vm-7");
    assert_snapshot!(inside(&CreateContainerView {
        this: view_manager,
        container: MoRef::new("Folder", "group-d1"),
        kinds: vec!["VirtualMachine".into(), "Folder".into()],
        recursive: true,
    }), @r#"<CreateContainerView xmlns="urn:vim25"><_this type="ViewManager">ViewManager</_this><container type="Folder">group-d1</container><type>VirtualMachine</type><type>Folder</type><recursive>true</recursive></CreateContainerView>"#);
    assert_snapshot!(inside(&RetrievePropertiesEx {
        this: MoRef::new("PropertyCollector", "pc"),
        spec_set: vec![],
        options: RetrieveOptions { max_objects: None },
    }), @r#"<RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">pc</_this><options></options></RetrievePropertiesEx>"#);
    assert_snapshot!(inside(&WaitForUpdatesEx {
        this: MoRef::new("PropertyCollector", "pc"),
        version: Some(String::new()),
        options: Some(WaitOptions { max_wait_seconds: Some(60), max_object_updates: Some(500) }),
    }), @r#"<WaitForUpdatesEx xmlns="urn:vim25"><_this type="PropertyCollector">pc</_this><version></version><options><maxWaitSeconds>60</maxWaitSeconds><maxObjectUpdates>500</maxObjectUpdates></options></WaitForUpdatesEx>"#);
    assert_snapshot!(inside(&ModifyListView {
        this: MoRef::new("ListView", "lv"),
        add: vec![MoRef::new("Task", "task-1"), MoRef::new("Task", "task-2")],
        remove: vec![MoRef::new("Task", "task-0")],
    }), @r#"<ModifyListView xmlns="urn:vim25"><_this type="ListView">lv</_this><add type="Task">task-1</add><add type="Task">task-2</add><remove type="Task">task-0</remove></ModifyListView>"#);
    assert_snapshot!(inside(&Login {
        this: MoRef::new("SessionManager", "SessionManager"),
        user_name: "user".into(),
        password: Hidden("<secret>".into()),
        locale: Some("en_US".into()),
    }), @r#"<Login xmlns="urn:vim25"><_this type="SessionManager">SessionManager</_this><userName>user</userName><password>&lt;secret&gt;</password><locale>en_US</locale></Login>"#);
    assert_snapshot!(inside(&PowerOnVmTask { this: vm, host: None }), @r#"<PowerOnVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-7</_this></PowerOnVM_Task>"#);
}

/// The table of the fact sheet (vim25, section 3), for the types that this crate has.
#[test]
fn members_keep_the_order_of_the_schema() {
    use has_members as check;
    check(&filter(), "propSet objectSet reportMissingObjectsInResults");
    check(
        &PropertySpec { kind: "Task".into(), all: Some(true), path_set: vec!["a".into()] },
        "type all pathSet",
    );
    check(&filter().object_set[0], "obj skip selectSet");
    check(&traversal(), "name type path skip selectSet");
    check(
        &WaitOptions { max_wait_seconds: Some(1), max_object_updates: Some(2) },
        "maxWaitSeconds maxObjectUpdates",
    );
    let updates = updates();
    check(&updates, "version filterSet truncated");
    check(&updates.filter_set[0], "filter objectSet missingSet");
    check(&updates.filter_set[0].object_set[0], "kind obj changeSet missingSet");
    check(&updates.filter_set[0].object_set[0].change_set[0], "name op val");
    check(&missing(), "path fault");
    check(&missing().fault, "fault localizedMessage");
    let object = ObjectContent { obj: vm(), prop_set: vec![], missing_set: vec![missing()] };
    check(&object, "obj missingSet");
    let nic = GuestNicInfo {
        network: Some("n".into()),
        ip_address: vec!["10.0.0.1".into()],
        mac_address: Some("m".into()),
        connected: Some(true),
        device_config_id: Some(-1),
    };
    check(&nic, "network ipAddress macAddress connected deviceConfigId");
}

/// Independent of the sheet: whatever we write back stands in the order in which vcsim wrote it.
#[test]
fn what_was_read_is_written_in_the_order_of_the_server() {
    fn check<M: Method<Output: PartialEq + std::fmt::Debug>>(name: &str) {
        let theirs = document(name);
        let output = answer::<M>(&theirs).expect(name);
        let ours = envelope::result::<M>(&output);
        contained(&content(ours.as_bytes()), &content(&theirs), name);
        assert_eq!(answer::<M>(ours.as_bytes()), Ok::<_, AnswerError>(output), "{name}");
    }
    check::<RetrieveServiceContent>("captures/service_content");
    check::<RetrieveServiceContent>("made/esxi_service_content");
    check::<Login>("captures/login");
    check::<RetrievePropertiesEx>("captures/retrieve_page");
    check::<RetrievePropertiesEx>("captures/retrieve_wide");
    check::<RetrievePropertiesEx>("captures/retrieve_invalid_property");
    check::<WaitForUpdatesEx>("captures/updates_truncated");
    check::<WaitForUpdatesEx>("captures/updates_leave");
}

#[test]
fn text_is_escaped_once_and_what_xml_cannot_carry_is_replaced_where_a_server_tells_it() {
    let check = |text: &str, written: &str| {
        let mut out = Writer::new();
        out.leaf("a", None, text);
        assert_eq!(out.into_string(), format!("<a>{written}</a>"));
    };
    check("a&b <c> \"d\" 'e'", "a&amp;b &lt;c&gt; &quot;d&quot; 'e'");
    check("&amp;", "&amp;amp;");
    check("]]>", "]]&gt;");
    check("line\r\nline\ttab\n", "line&#13;\nline\ttab\n");
    for c in ["\0", "\u{1}", "\u{8}", "\u{b}", "\u{c}", "\u{1f}", "\u{fffe}", "\u{ffff}"] {
        check(&format!("a{c}b"), "a\u{fffd}b");
    }
    check("\u{7f}\u{85}é✓😀\u{2028}\u{fffd}", "\u{7f}\u{85}é✓😀\u{2028}\u{fffd}");
    check("{\"hatchery\":\"h1\"}", "{&quot;hatchery&quot;:&quot;h1&quot;}");
}

#[test]
fn attributes_keep_their_white_space() {
    let mut out = Writer::new();
    out.reference("obj", Some("ManagedObjectReference"), &MoRef::new("a\t\"<b>\"\r\n&c", "vm-7"));
    assert_snapshot!(out.into_string(), @r#"<obj type="a&#9;&quot;&lt;b&gt;&quot;&#13;&#10;&amp;c" xsi:type="ManagedObjectReference">vm-7</obj>"#);
}

#[test]
fn the_operation_is_escaped_and_may_be_absent() {
    let rename = RenameTask { this: vm(), new_name: "a".into() };
    assert!(!said(&rename, None).contains("Header"));
    let call = said(&rename, Some("<op & 1>"));
    let root = node::parse(call.as_bytes(), &Limits::default()).expect("XML");
    assert_eq!(root.children[0].child_text("operationID"), Some("<op & 1>"));
}

#[test]
fn what_xml_cannot_carry_is_never_left_out_of_what_is_asked_for() {
    let rename = RenameTask { this: vm(), new_name: "a\u{1}b".into() };
    let refused = envelope::call(&rename, None).expect_err("vCenter would name it ab");
    assert_eq!(
        refused.to_string(),
        "the value of newName contains a control character that XML cannot carry"
    );
    let reference = RenameTask { this: MoRef::new("VirtualMachine", "vm\u{7}"), new_name: "a".into() };
    assert!(envelope::call(&reference, None).is_err());
    assert!(envelope::call(&rename, Some("\u{1b}")).is_err());
    assert!(Node::any(&"\u{ffff}".to_owned()).is_err());
    let several = RenameTask { this: vm(), new_name: "tab\tand\nline\r".into() };
    assert!(envelope::call(&several, None).is_ok());
}

#[test]
fn a_password_is_never_shown() {
    let method = Login {
        this: MoRef::new("SessionManager", "SessionManager"),
        user_name: "user".into(),
        password: Hidden("hunter2".into()),
        locale: None,
    };
    let mut out = Writer::new();
    method.write_parameters(&mut out);
    let shown = format!("{method:?} {method:#?} {:?} {out:?}", method.password);
    assert!(shown.contains("user_name") && !shown.contains("hunter2"), "{shown}");
    assert!(said(&method, None).contains("<password>hunter2</password>"));
}

fn vm() -> MoRef {
    MoRef::new("VirtualMachine", "vm-7")
}

fn traversal() -> TraversalSpec {
    TraversalSpec {
        name: Some("down".into()),
        kind: "Folder".into(),
        path: "childEntity".into(),
        skip: Some(false),
        select_set: vec![Selection::SelectionSpec(SelectionSpec { name: Some("down".into()) })],
    }
}

fn filter() -> PropertyFilterSpec {
    PropertyFilterSpec {
        prop_set: vec![PropertySpec {
            kind: "VirtualMachine".into(),
            all: None,
            path_set: vec!["name".into(), "runtime.powerState".into()],
        }],
        object_set: vec![ObjectSpec {
            obj: MoRef::new("Folder", "group-d1"),
            skip: Some(true),
            select_set: vec![Selection::TraversalSpec(traversal())],
        }],
        report_missing_objects: Some(true),
    }
}

fn missing() -> MissingProperty {
    let fault = Some(Node { xsi_type: Some("NoPermission".into()), ..Node::new("fault") });
    let fault = LocalizedMethodFault { fault, localized_message: Some("no".into()) };
    MissingProperty { path: "name".into(), fault }
}

fn updates() -> UpdateSet {
    let change = PropertyChange {
        name: "name".into(),
        op: PropertyChangeOp::Assign,
        val: Some(Node::leaf("val", "string", "a")),
    };
    let object = ObjectUpdate {
        kind: ObjectUpdateKind::Modify,
        obj: vm(),
        change_set: vec![change],
        missing_set: vec![missing()],
    };
    let filter = PropertyFilterUpdate {
        filter: MoRef::new("PropertyFilter", "f"),
        object_set: vec![object],
        missing_set: vec![Node::new("missingSet")],
    };
    UpdateSet { version: "1".into(), filter_set: vec![filter], truncated: Some(true) }
}

/// The names of all members that a value has, in the order in which it is written.
pub(crate) fn has_members<T: Wire>(value: &T, order: &str) {
    let node = Node::any(value).expect("it is well-formed");
    assert_eq!(node.children.iter().map(|c| &*c.name).collect::<Vec<_>>().join(" "), order);
}

/// Whether all that we wrote stands in what others wrote, in their order.
fn contained(ours: &Node, theirs: &Node, at: &str) {
    let mut rest = theirs.children.iter();
    for child in &ours.children {
        let at = format!("{at}/{}", child.name);
        let same = rest.find(|c| c.name == child.name).unwrap_or_else(|| panic!("{at} is out of order"));
        contained(child, same, &at);
    }
}

/// Reads a call of another client and writes it again: with the same words, in the same order.
pub(crate) fn reread<M: Method + PartialEq + std::fmt::Debug>(name: &str) -> M {
    let theirs = content(&document(name));
    let call = M::read(theirs.clone()).expect(name);
    let ours = content(said(&call, None).as_bytes());
    contained(&ours, &theirs, name);
    assert_eq!(leaves(&ours), leaves(&theirs), "{name}");
    assert_eq!(M::read(ours).as_ref(), Ok(&call), "{name}");
    call
}

/// The text of everything that has no parts, and the class of every reference.
fn leaves(node: &Node) -> Vec<String> {
    if node.children.is_empty() {
        return vec![format!("{} {:?} {}", node.name, node.ref_type, node.text)];
    }
    node.children.iter().flat_map(leaves).collect()
}

/// The method's element, without the envelope that all share.
pub(crate) fn inside<M: Method>(method: &M) -> String {
    let call = said(method, None);
    let (_, body) = call.split_once("<soapenv:Body>").expect("a call has a body");
    body.trim_end_matches("</soapenv:Body></soapenv:Envelope>").to_owned()
}

/// A call that XML can carry.
pub(crate) fn said<M: Method>(method: &M, operation: Option<&str>) -> String {
    envelope::call(method, operation).expect("XML carries it")
}

/// One element a line, for people.
fn indented(xml: &str) -> String {
    let mut depth = 0_usize;
    let mut lines = String::new();
    for part in xml.split_inclusive('>').map(str::trim_start) {
        depth -= usize::from(part.contains("</"));
        if part.starts_with("</") && lines.ends_with('>') || part.starts_with('<') && !part.starts_with("</")
        {
            lines.extend(["\n", &" ".repeat(depth)]);
        }
        lines += part;
        depth += usize::from(!part.contains("</") && !part.starts_with("<?"));
    }
    lines.trim_start().to_owned()
}
