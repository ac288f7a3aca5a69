//! Calls that a vCenter refuses, and how.

use rookery_vim_sim::{Counts, Request, Settings};

use super::lab::{Fault, Lab, envelope, read, reference};

const COLLECTOR: &str = r#"<_this type="PropertyCollector">propertyCollector</_this>"#;
const SERVICE: &str = r#"<_this type="ServiceInstance">ServiceInstance</_this>"#;
const SESSIONS: &str = r#"<_this type="SessionManager">SessionManager</_this>"#;

struct Client {
    lab: Lab,
    cookie: String,
}

impl Client {
    fn new() -> Self {
        let settings =
            Settings { login: Some(("user".to_owned(), "pass".to_owned())), page: 2, ..Settings::default() };
        let mut lab = Lab::new(settings, Counts { vms: 3, clusters: 0, ..Counts::default() });
        let cookie = lab.log_in("user", "pass").expect("the right password");
        Self { lab, cookie }
    }

    fn call(&mut self, method: &str, this: &str, parameters: &str) -> Result<rookery_vim::Node, Fault> {
        self.lab.call(&self.cookie, method, this, parameters)
    }

    /// The class of the fault that a call is refused with.
    #[track_caller]
    fn refused(&mut self, method: &str, this: &str, parameters: &str, class: &str) {
        let answer = self.call(method, this, parameters);
        assert_eq!(answer, Err(Fault(class.to_owned())), "{method} {this} {parameters}");
    }

    /// The reference of the first VM.
    fn vm(&mut self) -> String {
        let path = "<inventoryPath>/DC0/vm/DC0_H0_VM0</inventoryPath>";
        let this = r#"<_this type="SearchIndex">SearchIndex</_this>"#;
        let found = self.call("FindByInventoryPath", this, path).expect("a search");
        found.child_text("returnval").expect("the first VM").to_owned()
    }

    fn on_vm(&mut self) -> String {
        let vm = self.vm();
        reference("_this", ("VirtualMachine", &vm))
    }

    fn properties(&mut self, paths: &str) -> Result<rookery_vim::Node, Fault> {
        let vm = self.vm();
        let spec = format!(
            "<specSet><propSet><type>VirtualMachine</type>{paths}</propSet><objectSet>{}</objectSet></specSet>\
             <options></options>",
            reference("obj", ("VirtualMachine", &vm))
        );
        self.call("RetrievePropertiesEx", COLLECTOR, &spec)
    }
}

#[test]
fn nothing_is_answered_before_the_login_but_what_a_login_needs() {
    let mut client = Client::new();
    let vm = client.on_vm();
    client.cookie.clear();
    for (method, this) in [
        ("CurrentTime", SERVICE),
        ("PowerOnVM_Task", vm.as_str()),
        ("CreatePropertyCollector", COLLECTOR),
        ("Logout", SESSIONS),
        ("NoSuchMethod", SERVICE),
    ] {
        client.refused(method, this, "", "NotAuthenticated");
    }
    client.cookie = "vmware_soap_session=\"0123456789abcdef\"".to_owned();
    client.refused("CurrentTime", SERVICE, "", "NotAuthenticated");
    client.call("RetrieveServiceContent", SERVICE, "").expect("anybody may ask that");
}

#[test]
fn a_login_needs_the_right_name_and_password() {
    let mut client = Client::new();
    for (user, password) in [("user", "wrong"), ("other", "pass"), ("", ""), ("user", "")] {
        assert_eq!(client.lab.log_in(user, password), Err(Fault("InvalidLogin".to_owned())));
    }
    // Who is logged in cannot log in again.
    let again = "<userName>user</userName><password>pass</password>";
    client.refused("Login", SESSIONS, again, "InvalidLogin");
}

#[test]
fn a_session_ends_with_its_logout_and_with_its_termination() {
    let mut client = Client::new();
    let other = client.lab.log_in("user", "pass").expect("a second session");
    let list = client.call("Fetch", SESSIONS, "<prop>sessionList</prop>").expect("a list");
    let sessions = list.child("returnval").map(|list| list.children.clone()).unwrap_or_default();
    assert_eq!(sessions.len(), 2);
    let key = sessions.last().and_then(|session| session.child_text("key")).expect("a key").to_owned();
    let own = sessions.first().and_then(|session| session.child_text("key")).expect("a key").to_owned();
    client.refused("TerminateSession", SESSIONS, &format!("<sessionId>{own}</sessionId>"), "InvalidArgument");
    client.refused("TerminateSession", SESSIONS, "<sessionId>nobody</sessionId>", "NotFound");
    client
        .call("TerminateSession", SESSIONS, &format!("<sessionId>{key}</sessionId>"))
        .expect("the other one");
    let refused = client.lab.call(&other, "CurrentTime", SERVICE, "");
    assert_eq!(refused, Err(Fault("NotAuthenticated".to_owned())));
    client.call("Logout", SESSIONS, "").expect("a logout");
    client.refused("CurrentTime", SERVICE, "", "NotAuthenticated");
}

#[test]
fn members_must_stand_in_schema_order() {
    let mut client = Client::new();
    let vm = client.on_vm();
    let folder = reference("folder", ("Folder", "group-d1"));
    for (method, parameters) in [
        ("CreateSnapshot_Task", "<memory>false</memory><name>s</name><quiesce>false</quiesce>".to_owned()),
        ("ReconfigVM_Task", "<spec><memoryMB>64</memoryMB><numCPUs>1</numCPUs></spec>".to_owned()),
        (
            "CloneVM_Task",
            format!(
                "<name>x</name>{folder}<spec><location></location><template>false</template>\
                 <powerOn>false</powerOn></spec>"
            ),
        ),
        (
            "CloneVM_Task",
            format!(
                "{folder}<name>x</name><spec><location></location><powerOn>false</powerOn>\
                 <template>false</template></spec>"
            ),
        ),
    ] {
        client.refused(method, &vm, &parameters, "InvalidRequest");
    }
    let spec = "<version></version>";
    let options =
        "<options><maxObjectUpdates>1</maxObjectUpdates><maxWaitSeconds>0</maxWaitSeconds></options>";
    client.refused("WaitForUpdatesEx", COLLECTOR, &format!("{spec}{options}"), "InvalidRequest");
    client.refused("WaitForUpdatesEx", COLLECTOR, &format!("<options></options>{spec}"), "InvalidRequest");
}

#[test]
fn what_is_required_must_be_there() {
    let mut client = Client::new();
    let vm = client.on_vm();
    for (method, parameters) in [
        ("CloneVM_Task", ""),
        ("CloneVM_Task", "<name>x</name>"),
        ("ReconfigVM_Task", ""),
        ("CreateSnapshot_Task", "<name>s</name>"),
        ("Rename_Task", ""),
        ("Fetch", ""),
    ] {
        client.refused(method, &vm, parameters, "InvalidRequest");
    }
    // Without the object that it is called on a call means nothing.
    client.refused("CurrentTime", "", "", "InvalidRequest");
}

#[test]
fn values_must_be_of_their_types() {
    let mut client = Client::new();
    let vm = client.on_vm();
    for (method, parameters) in [
        ("ReconfigVM_Task", "<spec><numCPUs>many</numCPUs></spec>"),
        ("ReconfigVM_Task", "<spec><memoryMB>1.5</memoryMB></spec>"),
        ("CreateSnapshot_Task", "<name>s</name><memory>perhaps</memory><quiesce>false</quiesce>"),
    ] {
        client.refused(method, &vm, parameters, "InvalidRequest");
    }
}

#[test]
fn unknown_methods_and_methods_of_other_objects_are_refused() {
    let mut client = Client::new();
    let vm = client.on_vm();
    client.refused("NoSuchMethod_Task", &vm, "", "InvalidRequest");
    client.refused(
        "PowerOnVM_Task",
        &reference("_this", ("Folder", "group-d1")),
        "",
        "ManagedObjectNotFound",
    );
    client.refused(
        "CreateFilter",
        SERVICE,
        "<spec></spec><partialUpdates>false</partialUpdates>",
        "ManagedObjectNotFound",
    );
}

#[test]
fn what_is_not_xml_or_no_envelope_is_refused() {
    let mut client = Client::new();
    let whole = envelope("CurrentTime", SERVICE, "");
    for body in ["", "hello", "<a>", "<a/>", &whole[..whole.len() - 5], &whole.replace("CurrentTime", "a:b")]
    {
        let id = client.lab.post(&client.cookie.clone(), body.as_bytes());
        let reply = client.lab.take(id).expect("an answer");
        assert_eq!(read(&reply), Err(Fault("InvalidRequest".to_owned())), "{body}");
    }
}

#[test]
fn other_addresses_and_verbs_are_refused() {
    let mut client = Client::new();
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/sdk", 405),
        ("PUT", "/sdk/", 405),
        ("POST", "/sdk/vimServiceVersions.xml", 404),
        ("GET", "/folder/x?dsName=LocalDS_0", 401),
    ] {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
        let id = client.lab.request(Request { method, path: path.clone(), query, ..Request::default() });
        assert_eq!(client.lab.take(id).expect("an answer").status, status, "{path}");
    }
}

#[test]
fn properties_that_a_class_does_not_have_are_refused() {
    let mut client = Client::new();
    let vm = client.vm();
    let on_vm = client.on_vm();
    for path in [
        "bogus",
        "config.bogus",
        "config.hardware.bogus",
        "name.x",
        "",
        "config.",
        ".name",
        "runtime.powerState.x",
    ] {
        assert_eq!(
            client.properties(&format!("<pathSet>{path}</pathSet>")),
            Err(Fault("InvalidProperty".to_owned())),
            "{path}"
        );
        client.refused("Fetch", &on_vm, &format!("<prop>{path}</prop>"), "InvalidProperty");
        let filter = format!(
            "<spec><propSet><type>VirtualMachine</type><pathSet>{path}</pathSet></propSet><objectSet>{}</objectSet></spec>\
             <partialUpdates>false</partialUpdates>",
            reference("obj", ("VirtualMachine", &vm))
        );
        client.refused("CreateFilter", COLLECTOR, &filter, "InvalidProperty");
    }
    client.properties("<pathSet>snapshot</pathSet>").expect("what is unset is no fault");
}

#[test]
fn what_is_gone_is_not_found() {
    let mut client = Client::new();
    for (class, id) in [
        ("VirtualMachine", "vm-999"),
        ("VirtualMachine", "vm-1"),
        ("VirtualMachine", "vm-01"),
        ("VirtualMachine", "group-d1"),
        ("VirtualMachineSnapshot", "snapshot-999"),
        ("Task", "task-999"),
        ("HostDatastoreBrowser", "datastoreBrowser-999"),
        ("EventHistoryCollector", "eventcollector-999"),
        ("PropertyFilter", "filter-999"),
        ("ContainerView", "view-999"),
        ("NoSuchClass", "x-1"),
    ] {
        let this = reference("_this", (class, id));
        client.refused("Fetch", &this, "<prop>name</prop>", "ManagedObjectNotFound");
    }
    let gone = reference("obj", ("VirtualMachine", "vm-999"));
    let spec = format!(
        "<propSet><type>VirtualMachine</type><pathSet>name</pathSet></propSet><objectSet>{gone}</objectSet>"
    );
    let retrieve = format!("<specSet>{spec}</specSet><options></options>");
    client.refused("RetrievePropertiesEx", COLLECTOR, &retrieve, "ManagedObjectNotFound");
    let filter = format!("<spec>{spec}</spec><partialUpdates>false</partialUpdates>");
    client.refused("CreateFilter", COLLECTOR, &filter, "ManagedObjectNotFound");
    let view = format!("{}<recursive>true</recursive>", reference("container", ("Folder", "group-d999")));
    let views = r#"<_this type="ViewManager">ViewManager</_this>"#;
    client.refused("CreateContainerView", views, &view, "ManagedObjectNotFound");
}

#[test]
fn collectors_views_and_tokens_belong_to_one_session() {
    let mut client = Client::new();
    let made = client.call("CreatePropertyCollector", COLLECTOR, "").expect("a collector");
    let own = reference("_this", ("PropertyCollector", made.child_text("returnval").expect("a collector")));
    let container = reference("container", ("Folder", "group-d1"));
    let views = r#"<_this type="ViewManager">ViewManager</_this>"#;
    let view = format!("{container}<recursive>true</recursive>");
    let view = client.call("CreateContainerView", views, &view).expect("a view");
    let view = view.child_text("returnval").expect("a view").to_owned();
    let all = format!(
        "<specSet><propSet><type>VirtualMachine</type><pathSet>name</pathSet></propSet><objectSet>\
         <obj type=\"ContainerView\">{view}</obj><skip>true</skip><selectSet xsi:type=\"TraversalSpec\">\
         <type>ContainerView</type><path>view</path></selectSet></objectSet></specSet><options></options>"
    );
    let page = client.call("RetrievePropertiesEx", COLLECTOR, &all).expect("a page");
    let token = page
        .child("returnval")
        .and_then(|p| p.child_text("token"))
        .expect("three do not fit on a page of two");
    let token = format!("<token>{token}</token>");
    let first = std::mem::take(&mut client.cookie);
    client.cookie = client.lab.log_in("user", "pass").expect("a second session");
    client.refused("WaitForUpdatesEx", &own, "<version></version>", "ManagedObjectNotFound");
    client.refused("ContinueRetrievePropertiesEx", COLLECTOR, &token, "InvalidProperty");
    client.refused("DestroyView", &reference("_this", ("ContainerView", &view)), "", "ManagedObjectNotFound");
    client.cookie = first;
    client.refused("ContinueRetrievePropertiesEx", COLLECTOR, "<token>no such</token>", "InvalidProperty");
    let rest = client
        .call("ContinueRetrievePropertiesEx", COLLECTOR, &token)
        .expect("what others tried changed nothing");
    assert_eq!(rest.child("returnval").map(|p| p.children.len()), Some(1));
    client.refused("ContinueRetrievePropertiesEx", COLLECTOR, &token, "InvalidProperty");
}
