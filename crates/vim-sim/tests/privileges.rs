//! Who may see and do what, in the bytes that clients get.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use jiff::Timestamp;
use rookery_vim_sim::{
    Access, Body, Counts, Input, Model, Permission, Reply, Request, RequestId, Role, Settings, User, World,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

struct Sim {
    world: World,
    last: u64,
}

#[derive(Clone)]
struct Session {
    cookie: String,
    key: String,
}

fn text(reply: Reply) -> String {
    let Body::Text(text) = reply.body else { panic!("{reply:?}") };
    text
}

/// What is between two marks, the first time.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}")).1;
    rest.split_once(after).unwrap_or_else(|| panic!("no {after} in {rest}")).0
}

impl Sim {
    /// `admin` is one; `tenant` has a role of that name on one VM; `viewer` has `View` on all of vCenter.
    fn new(tenant: &[&str]) -> Self {
        let user = |name: &str| User { name: name.to_owned(), password: "secret".to_owned() };
        let grant = |principal: &str, role: &str, entity: &str| Permission {
            principal: principal.to_owned(),
            role: role.to_owned(),
            entity: entity.to_owned(),
            propagate: true,
        };
        let privileges = tenant.iter().map(|&id| id.to_owned()).collect();
        let access = Access {
            users: ["admin", "tenant", "viewer", "nobody"].map(user).into(),
            roles: vec![Role { name: "tenant".to_owned(), privileges }],
            permissions: vec![
                grant("admin", "Admin", "/"),
                grant("tenant", "tenant", "DC0/vm/DC0_H0_VM0"),
                grant("viewer", "View", "/"),
            ],
        };
        let settings = Settings { access, ..Settings::default() };
        let world = Model::uniform(Counts::default()).build(settings, NOW).expect("a model");
        Self { world, last: 0 }
    }

    /// Sends a call; all answers that it leads to, by request.
    fn send(&mut self, cookie: &str, body: &str) -> (u64, Vec<(u64, Reply)>) {
        self.last += 1;
        let envelope = format!(
            "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><soapenv:Body>{body}</soapenv:Body></soapenv:Envelope>"
        );
        let request = Request {
            method: "POST".to_owned(),
            path: "/sdk".to_owned(),
            headers: vec![("cookie".to_owned(), cookie.to_owned())],
            body: envelope.into(),
            ..Request::default()
        };
        let output = self.world.step(NOW, Input::Request(RequestId(self.last), request));
        (self.last, output.replies.into_iter().map(|(id, reply)| (id.0, reply)).collect())
    }

    fn call(&mut self, session: &Session, class: &str, this: &str, method: &str, parameters: &str) -> String {
        let body = format!(
            "<{method} xmlns=\"urn:vim25\"><_this type=\"{class}\">{this}</_this>{parameters}</{method}>"
        );
        let (request, replies) = self.send(&session.cookie, &body);
        let (_, reply) = replies.into_iter().find(|(id, _)| *id == request).expect("an answer");
        text(reply)
    }

    /// The answer to a login, and the session if there is one.
    fn try_login(&mut self, user: &str) -> Result<Session, String> {
        let body = format!(
            "<Login xmlns=\"urn:vim25\"><_this type=\"SessionManager\">SessionManager</_this>\
             <userName>{user}</userName><password>secret</password></Login>"
        );
        let (_, mut replies) = self.send("", &body);
        let (_, reply) = replies.pop().expect("an answer");
        let cookie =
            reply.headers.iter().find(|(name, _)| *name == "set-cookie").map(|(_, value)| value.clone());
        let text = text(reply);
        match cookie {
            Some(cookie) => {
                let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
                Ok(Session { cookie, key: between(&text, "<key>", "</key>").to_owned() })
            }
            None => Err(text),
        }
    }

    fn login(&mut self, user: &str) -> Session {
        self.try_login(user).unwrap_or_else(|answer| panic!("{answer}"))
    }

    /// What is at a path, if the user may see it.
    fn find(&mut self, session: &Session, path: &str) -> Option<String> {
        let parameters = format!("<inventoryPath>{path}</inventoryPath>");
        let answer = self.call(session, "SearchIndex", "SearchIndex", "FindByInventoryPath", &parameters);
        answer.contains("<returnval").then(|| {
            let rest = between(&answer, "<returnval", "</returnval>");
            rest.split_once('>').expect("an element").1.to_owned()
        })
    }

    fn read(&mut self, session: &Session, class: &str, id: &str, properties: &str) -> String {
        let spec = format!(
            "<specSet><propSet><type>{class}</type>{properties}</propSet><objectSet><obj type=\"{class}\">{id}</obj></objectSet></specSet><options/>"
        );
        self.call(session, "PropertyCollector", "propertyCollector", "RetrievePropertiesEx", &spec)
    }
}

const VM: &str = "DC0/vm/DC0_H0_VM0";
const OTHER: &str = "DC0/vm/DC0_H0_VM1";
const READS: [&str; 3] = ["System.Anonymous", "System.View", "System.Read"];

#[test]
fn what_may_not_be_seen_is_left_out_but_for_the_way_to_what_may() {
    let mut sim = Sim::new(&READS);
    let (admin, tenant) = (sim.login("admin"), sim.login("tenant"));
    let (vm, other) = (sim.find(&admin, VM).expect("a VM"), sim.find(&admin, OTHER).expect("a VM"));
    assert_eq!(sim.find(&tenant, VM), Some(vm.clone()));
    assert_eq!(sim.find(&tenant, OTHER), None);
    let folder = sim.find(&tenant, "DC0/vm").expect("the way");
    let children = sim.read(&tenant, "Folder", &folder, "<pathSet>childEntity</pathSet>");
    assert!(children.contains(&format!(">{vm}<")) && !children.contains(&format!(">{other}<")), "{children}");

    // A view shows as much, and a traversal.
    let root = sim.find(&tenant, "/").expect("the root");
    let container = format!(
        "<container type=\"Folder\">{root}</container><type>VirtualMachine</type><recursive>true</recursive>"
    );
    let view = sim.call(&tenant, "ViewManager", "ViewManager", "CreateContainerView", &container);
    let view = between(&view, "type=\"ContainerView\">", "<").to_owned();
    let listed = sim.read(&tenant, "ContainerView", &view, "<pathSet>view</pathSet>");
    assert!(
        listed.contains(&format!(">{vm}<")) && listed.matches("type=\"VirtualMachine\"").count() == 1,
        "{listed}"
    );
    let spec = format!(
        "<specSet><propSet><type>VirtualMachine</type><pathSet>name</pathSet></propSet><objectSet><obj type=\"Folder\">{folder}</obj>\
         <skip>true</skip><selectSet xsi:type=\"TraversalSpec\"><type>Folder</type><path>childEntity</path><skip>false</skip></selectSet></objectSet></specSet><options/>"
    );
    let reached = sim.call(&tenant, "PropertyCollector", "propertyCollector", "RetrievePropertiesEx", &spec);
    assert_eq!(reached.matches("<obj ").count(), 1, "{reached}");
}

#[test]
fn what_may_not_be_read_is_told_as_missing_with_the_privilege_that_it_needs() {
    let mut sim = Sim::new(&READS);
    let (admin, tenant, viewer) = (sim.login("admin"), sim.login("tenant"), sim.login("viewer"));
    let (vm, other) = (sim.find(&admin, VM).expect("a VM"), sim.find(&admin, OTHER).expect("a VM"));
    let paths = "<pathSet>name</pathSet><pathSet>runtime.powerState</pathSet>";
    let whole = sim.read(&tenant, "VirtualMachine", &vm, paths);
    assert!(whole.contains("poweredOn") && !whole.contains("missingSet"), "{whole}");

    // Seen, not read.
    let seen = sim.read(&viewer, "VirtualMachine", &vm, paths);
    assert!(seen.contains("DC0_H0_VM0") && !seen.contains("poweredOn"), "{seen}");
    let missing = between(&seen, "<missingSet>", "</missingSet>");
    assert_eq!(between(missing, "<path>", "<"), "runtime.powerState");
    assert!(
        missing.contains("xsi:type=\"NoPermission\"") && missing.contains(&format!(">{vm}<")),
        "{missing}"
    );
    assert_eq!(between(missing, "<privilegeId>", "<"), "System.Read");
    let all = sim.read(&viewer, "VirtualMachine", &vm, "<all>true</all>");
    assert!(
        all.contains("<propSet><name>name</name>") && !all.contains("<propSet><name>runtime</name>"),
        "{all}"
    );
    assert!(all.contains("<missingSet><path>runtime</path>"), "{all}");

    // Not even seen, but asked for.
    let hidden = sim.read(&tenant, "VirtualMachine", &other, paths);
    assert_eq!(
        (hidden.matches("<missingSet>").count(), hidden.matches("<propSet>").count()),
        (2, 0),
        "{hidden}"
    );
    assert_eq!(between(&hidden, "<privilegeId>", "<"), "System.View");
    let fetched = sim.call(&viewer, "VirtualMachine", &vm, "Fetch", "<prop>runtime</prop>");
    assert!(fetched.contains("NoPermissionFault"), "{fetched}");
}

#[test]
fn a_call_without_its_privilege_is_refused_and_does_nothing() {
    let mut sim = Sim::new(&READS);
    let (admin, tenant) = (sim.login("admin"), sim.login("tenant"));
    let vm = sim.find(&admin, VM).expect("a VM");
    let refused = sim.call(&tenant, "VirtualMachine", &vm, "PowerOffVM_Task", "");
    let fault = between(&refused, "<NoPermissionFault", "</NoPermissionFault>");
    assert_eq!(between(fault, "<privilegeId>", "<"), "VirtualMachine.Interact.PowerOff");
    assert!(fault.contains(&format!("<object type=\"VirtualMachine\">{vm}</object>")), "{fault}");
    assert!(refused.contains("<faultstring>Permission to perform this operation was denied.</faultstring>"));
    let power = "<pathSet>runtime.powerState</pathSet>";
    assert!(sim.read(&admin, "VirtualMachine", &vm, power).contains("poweredOn"));

    let mut sim = Sim::new(&[&READS[..], &["VirtualMachine.Interact.PowerOff"]].concat());
    let tenant = sim.login("tenant");
    let done = sim.call(&tenant, "VirtualMachine", &vm, "PowerOffVM_Task", "");
    assert!(done.contains("type=\"Task\""), "{done}");
    assert!(sim.read(&tenant, "VirtualMachine", &vm, power).contains("poweredOff"));
}

#[test]
fn whoever_removes_all_that_it_may_see_is_told_that_it_is_done() {
    let more = ["VirtualMachine.Interact.PowerOff", "VirtualMachine.Inventory.Delete"];
    let mut sim = Sim::new(&[&READS[..], &more[..1]].concat());
    let tenant = sim.login("tenant");
    let vm = sim.find(&tenant, VM).expect("a VM");
    let refused = sim.call(&tenant, "VirtualMachine", &vm, "Destroy_Task", "");
    assert_eq!(between(&refused, "<privilegeId>", "<"), "VirtualMachine.Inventory.Delete");

    let mut sim = Sim::new(&[&READS[..], &more].concat());
    let (tenant, viewer) = (sim.login("tenant"), sim.login("viewer"));
    sim.call(&tenant, "VirtualMachine", &vm, "PowerOffVM_Task", "");
    let task = sim.call(&tenant, "VirtualMachine", &vm, "Destroy_Task", "");
    let task = between(&task, "type=\"Task\">", "<").to_owned();
    for session in [&tenant, &viewer] {
        let info = sim.read(session, "Task", &task, "<pathSet>info.state</pathSet>");
        assert!(info.contains("success"), "{info}");
    }
    assert_eq!(sim.find(&viewer, VM), None);
}

#[test]
fn whoever_has_no_permission_at_all_cannot_come_in() {
    let mut sim = Sim::new(&READS);
    let refused = sim.try_login("nobody").map(|_| ()).expect_err("nothing is allowed to nobody");
    assert!(refused.contains("NoPermissionFault"), "{refused}");
    let refused = sim.try_login("stranger").map(|_| ()).expect_err("a stranger");
    assert!(refused.contains("InvalidLoginFault"), "{refused}");
}

#[test]
fn other_sessions_are_seen_and_ended_only_with_the_privilege_for_it() {
    let mut sim = Sim::new(&READS);
    let (admin, tenant) = (sim.login("admin"), sim.login("tenant"));
    let list = "<pathSet>sessionList</pathSet><pathSet>currentSession</pathSet>";
    let told = sim.read(&tenant, "SessionManager", "SessionManager", list);
    assert!(told.contains(&tenant.key) && !told.contains(&admin.key), "{told}");
    assert_eq!(between(&told, "<privilegeId>", "<"), "Sessions.TerminateSession");
    let told = sim.read(&admin, "SessionManager", "SessionManager", list);
    assert!(
        told.contains(&tenant.key) && told.contains(&admin.key) && !told.contains("missingSet"),
        "{told}"
    );
    let end = |key: &str| format!("<sessionId>{key}</sessionId>");
    let refused = sim.call(&tenant, "SessionManager", "SessionManager", "TerminateSession", &end(&admin.key));
    assert!(refused.contains("NoPermissionFault"), "{refused}");
    sim.call(&admin, "SessionManager", "SessionManager", "TerminateSession", &end(&tenant.key));
    assert!(sim.read(&tenant, "SessionManager", "SessionManager", list).contains("NotAuthenticatedFault"));
}

#[test]
fn a_watcher_sees_what_it_may_come_and_go_with_its_permissions() {
    let mut sim = Sim::new(&READS);
    let (admin, tenant) = (sim.login("admin"), sim.login("tenant"));
    let (vm, other) = (sim.find(&admin, VM).expect("a VM"), sim.find(&admin, OTHER).expect("a VM"));
    let root = sim.find(&tenant, "/").expect("the root");
    let container = format!(
        "<container type=\"Folder\">{root}</container><type>VirtualMachine</type><recursive>true</recursive>"
    );
    let view = sim.call(&tenant, "ViewManager", "ViewManager", "CreateContainerView", &container);
    let view = between(&view, "type=\"ContainerView\">", "<").to_owned();
    let filter = format!(
        "<spec><propSet><type>VirtualMachine</type><pathSet>name</pathSet></propSet><objectSet><obj type=\"ContainerView\">{view}</obj><skip>true</skip>\
         <selectSet xsi:type=\"TraversalSpec\"><type>ContainerView</type><path>view</path><skip>false</skip></selectSet></objectSet></spec>\
         <partialUpdates>false</partialUpdates>"
    );
    sim.call(&tenant, "PropertyCollector", "propertyCollector", "CreateFilter", &filter);
    let wait = |version: &str| {
        format!(
            "<WaitForUpdatesEx xmlns=\"urn:vim25\"><_this type=\"PropertyCollector\">propertyCollector</_this><version>{version}</version></WaitForUpdatesEx>"
        )
    };
    let (_, mut first) = sim.send(&tenant.cookie, &wait(""));
    let first = text(first.pop().expect("an answer").1);
    assert!(first.contains(&format!(">{vm}<")) && first.matches("<kind>enter").count() == 1, "{first}");

    // The wait is answered by what somebody else does, as its own user may see it.
    let version = between(&first, "<version>", "<").to_owned();
    let (waiting, none) = sim.send(&tenant.cookie, &wait(&version));
    assert!(none.is_empty());
    let give = |entity: &str, role: i32| {
        format!(
            "<SetEntityPermissions xmlns=\"urn:vim25\"><_this type=\"AuthorizationManager\">AuthorizationManager</_this><entity type=\"VirtualMachine\">{entity}</entity>\
             <permission><principal>tenant</principal><group>false</group><roleId>{role}</roleId><propagate>true</propagate></permission></SetEntityPermissions>"
        )
    };
    let (_, replies) = sim.send(&admin.cookie, &give(&other, -2));
    let answer = replies.into_iter().find(|(id, _)| *id == waiting).expect("the wait is over");
    let answer = text(answer.1);
    assert!(answer.contains("<kind>enter") && answer.contains(&format!(">{other}<")), "{answer}");
    let version = between(&answer, "<version>", "<").to_owned();
    let (waiting, _) = sim.send(&tenant.cookie, &wait(&version));
    let (_, replies) = sim.send(&admin.cookie, &give(&vm, -5));
    let answer = replies.into_iter().find(|(id, _)| *id == waiting).expect("the wait is over");
    let answer = text(answer.1);
    assert!(answer.contains("<kind>leave") && answer.contains(&format!(">{vm}<")), "{answer}");
}

#[test]
fn a_watcher_that_may_only_look_is_told_what_it_misses() {
    let mut sim = Sim::new(&READS);
    let (admin, viewer) = (sim.login("admin"), sim.login("viewer"));
    let vm = sim.find(&admin, VM).expect("a VM");
    let filter = format!(
        "<spec><propSet><type>VirtualMachine</type><pathSet>name</pathSet><pathSet>runtime.powerState</pathSet></propSet>\
         <objectSet><obj type=\"VirtualMachine\">{vm}</obj></objectSet></spec><partialUpdates>false</partialUpdates>"
    );
    sim.call(&viewer, "PropertyCollector", "propertyCollector", "CreateFilter", &filter);
    let told = sim.call(
        &viewer,
        "PropertyCollector",
        "propertyCollector",
        "WaitForUpdatesEx",
        "<version></version>",
    );
    assert!(told.contains("DC0_H0_VM0") && !told.contains("poweredOn"), "{told}");
    assert_eq!(between(&told, "<missingSet><path>", "<"), "runtime.powerState");
}

#[test]
fn what_happened_to_what_may_not_be_seen_is_not_told() {
    let mut sim = Sim::new(&READS);
    let (admin, tenant) = (sim.login("admin"), sim.login("tenant"));
    for path in [VM, OTHER] {
        let vm = sim.find(&admin, path).expect("a VM");
        sim.call(&admin, "VirtualMachine", &vm, "PowerOffVM_Task", "");
    }
    let told = |sim: &mut Sim, session: &Session| {
        let events = sim.call(session, "EventManager", "EventManager", "QueryEvents", "<filter/>");
        (events.contains("DC0_H0_VM0"), events.contains("DC0_H0_VM1"))
    };
    assert_eq!((told(&mut sim, &admin), told(&mut sim, &tenant)), ((true, true), (true, false)));
}

#[test]
fn roles_and_permissions_are_made_asked_for_and_removed() {
    let mut sim = Sim::new(&READS);
    let (admin, tenant) = (sim.login("admin"), sim.login("tenant"));
    let vm = sim.find(&admin, VM).expect("a VM");
    let manager = "AuthorizationManager";
    let entity = format!("<entity type=\"VirtualMachine\">{vm}</entity>");
    let made = sim.call(
        &admin,
        manager,
        manager,
        "AddAuthorizationRole",
        "<name>starter</name><privIds>VirtualMachine.Interact.PowerOn</privIds>",
    );
    let role = between(&made, "<returnval>", "<").to_owned();
    let unknown = sim.call(
        &admin,
        manager,
        manager,
        "AddAuthorizationRole",
        "<name>x</name><privIds>No.Such</privIds>",
    );
    assert!(unknown.contains("InvalidArgumentFault"), "{unknown}");
    let twice = sim.call(&admin, manager, manager, "AddAuthorizationRole", "<name>starter</name>");
    assert!(twice.contains("AlreadyExistsFault"), "{twice}");
    let give = format!(
        "{entity}<permission><principal>TENANT</principal><group>false</group><roleId>{role}</roleId><propagate>false</propagate></permission>"
    );
    let refused = sim.call(&tenant, manager, manager, "SetEntityPermissions", &give);
    assert!(refused.contains("Authorization.ModifyPermissions"), "{refused}");
    sim.call(&admin, manager, manager, "SetEntityPermissions", &give);
    let held = format!(
        "{entity}<sessionId>{}</sessionId><privId>VirtualMachine.Interact.PowerOn</privId><privId>VirtualMachine.Interact.Reset</privId>",
        tenant.key
    );
    let held = sim.call(&tenant, manager, manager, "HasPrivilegeOnEntities", &held);
    let grants: Vec<&str> =
        held.split("<isGranted>").skip(1).map(|rest| &rest[..rest.find('<').unwrap_or(0)]).collect();
    assert_eq!(grants, ["true", "false"], "{held}");
    let fetch = format!("{}<userName>tenant</userName>", entity.replace("entity", "entities"));
    let fetched = sim.call(&admin, manager, manager, "FetchUserPrivilegeOnEntities", &fetch);
    assert_eq!(fetched.matches("<privileges>").count(), 4, "{fetched}");
    let permissions = sim.call(
        &admin,
        manager,
        manager,
        "RetrieveEntityPermissions",
        &format!("{entity}<inherited>true</inherited>"),
    );
    assert!(
        permissions.contains("<principal>TENANT</principal>")
            && permissions.contains("<principal>admin</principal>"),
        "{permissions}"
    );
    let roles = sim.read(&admin, manager, manager, "<pathSet>roleList</pathSet>");
    assert!(roles.contains("<name>starter</name>") && roles.contains("<roleId>-1</roleId>"), "{roles}");

    let remove = |fail: bool| format!("<roleId>{role}</roleId><failIfUsed>{fail}</failIfUsed>");
    let used = sim.call(&admin, manager, manager, "RemoveAuthorizationRole", &remove(true));
    assert!(used.contains("RemoveFailedFault"), "{used}");
    sim.call(&admin, manager, manager, "RemoveAuthorizationRole", &remove(false));
    let all = sim.call(&admin, manager, manager, "RetrieveAllPermissions", "");
    assert!(!all.contains("TENANT") && all.contains("<principal>viewer</principal>"), "{all}");
    let system = sim.call(
        &admin,
        manager,
        manager,
        "RemoveAuthorizationRole",
        "<roleId>-1</roleId><failIfUsed>false</failIfUsed>",
    );
    assert!(system.contains("InvalidArgumentFault"), "{system}");
}

#[test]
fn files_on_a_datastore_need_its_privileges_over_http_too() {
    for (missing, method, status) in [
        ("Datastore.Browse", "GET", 403),
        ("Datastore.FileManagement", "PUT", 403),
        ("", "GET", 404),
        ("", "PUT", 411),
    ] {
        let all = ["System.View", "Datastore.Browse", "Datastore.FileManagement"];
        let privileges: Vec<&str> = all.into_iter().filter(|id| *id != missing).collect();
        let mut sim = Sim::new(&privileges);
        let admin = sim.login("admin");
        let roles =
            sim.read(&admin, "AuthorizationManager", "AuthorizationManager", "<pathSet>roleList</pathSet>");
        let before = roles.split("<name>tenant</name>").next().expect("a role");
        let role = before.rsplit("<roleId>").next().and_then(|rest| rest.split('<').next()).expect("a role");
        let datastore = sim.find(&admin, "DC0/datastore/LocalDS_0").expect("a datastore");
        let give = format!(
            "<entity type=\"Datastore\">{datastore}</entity><permission><principal>tenant</principal><group>false</group><roleId>{role}</roleId><propagate>true</propagate></permission>"
        );
        sim.call(&admin, "AuthorizationManager", "AuthorizationManager", "SetEntityPermissions", &give);
        let tenant = sim.login("tenant");
        let request = Request {
            method: method.to_owned(),
            path: "/folder/a".to_owned(),
            query: "dcPath=DC0&dsName=LocalDS_0".to_owned(),
            headers: vec![("cookie".to_owned(), tenant.cookie)],
            ..Request::default()
        };
        let output = sim.world.step(NOW, Input::Request(RequestId(1000), request));
        assert_eq!(output.replies[0].1.status, status, "{method} without {missing}");
    }
}
