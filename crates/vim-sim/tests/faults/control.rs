//! Control: over HTTP, of time, and the whole world out and in.

use jiff::SignedDuration;
use rookery_vim::Hidden;
use rookery_vim_sim::{Control, Effect, Request, Settings};
use serde_json::{Value, json};

use super::kit::{Object, Sim, slow, start, text};

fn controlled() -> Sim {
    Sim::new(Settings { control_token: Some(Hidden("secret".into())), ..slow() })
}

/// Status and body of a request with the token, from this machine.
fn http(sim: &mut Sim, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let id = sim.send(request(method, path, "Bearer secret", "127.0.0.1:4000", body));
    let reply = sim.reply(id).expect("an answer at once");
    (reply.status, serde_json::from_str(&text(&reply)).unwrap_or_default())
}

fn request(method: &str, path: &str, token: &str, peer: &str, body: &Value) -> Request {
    Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: vec![("authorization".to_owned(), token.to_owned())],
        body: body.to_string().into(),
        peer: peer.parse().ok(),
        ..Request::default()
    }
}

#[test]
fn only_who_is_near_and_knows_the_token_controls_the_simulator() {
    for (token, shown, peer, expected) in [
        (Some("secret"), "Bearer secret", "127.0.0.1:1", 200),
        (Some("secret"), "Bearer secret", "[::1]:1", 200),
        (Some("secret"), "Bearer secret", "192.0.2.1:1", 403),
        (Some("secret"), "Bearer secret", "somewhere", 403),
        (Some("secret"), "Bearer secreT", "127.0.0.1:1", 401),
        (Some("secret"), "Bearer secret2", "127.0.0.1:1", 401),
        (Some("secret"), "Bearer ", "127.0.0.1:1", 401),
        (Some("secret"), "secret", "127.0.0.1:1", 401),
        (None, "Bearer secret", "127.0.0.1:1", 404),
        (None, "Bearer ", "127.0.0.1:1", 404),
    ] {
        let control_token = token.map(|token| Hidden(token.into()));
        let mut sim = Sim::new(Settings { control_token, ..Settings::default() });
        let id = sim.send(request("GET", "/rookery/", shown, peer, &Value::Null));
        assert_eq!(sim.reply(id).unwrap().status, expected, "{token:?} {shown} {peer}");
    }
}

#[test]
fn rules_are_added_listed_and_removed_as_json() {
    let mut sim = controlled();
    let vm = sim.vm(0);
    let rule = json!({
        "method": "PowerOnVM_Task", "target": "*_VM0", "count": 1,
        "action": { "task-error": { "class": "SystemError", "message": "no", "after": "3s" } }
    });
    assert_eq!(http(&mut sim, "POST", "/rookery/rules", &rule), (200, json!({ "id": 1 })));
    let task = sim.power_on(&vm);
    sim.pass(3);
    assert_eq!(sim.task(&task).1.as_deref(), Some("SystemError"));
    let (_, rules) = http(&mut sim, "GET", "/rookery/rules", &Value::Null);
    assert_eq!((&rules[0]["id"], &rules[0]["seen"], &rules[0]["hits"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(rules[0]["action"]["task-error"]["after"], "3s");
    assert_eq!(http(&mut sim, "DELETE", "/rookery/rules/1", &Value::Null).0, 200);
    assert_eq!(http(&mut sim, "DELETE", "/rookery/rules/1", &Value::Null).0, 404);
    assert_eq!(http(&mut sim, "GET", "/rookery/rules", &Value::Null).1, json!([]));
}

#[test]
fn every_action_has_its_json() {
    let mut sim = controlled();
    for action in [
        json!({ "fault": { "class": "NotFound" } }),
        json!({ "status": { "code": 503 } }),
        json!({ "task-error": { "class": "NotFound", "after": "~2s", "remains": "everything" } }),
        json!("lose-reply"),
        json!("drop"),
        json!({ "slow-body": { "bytes-per-second": 100 } }),
        json!({ "delay": { "by": "1s..2s" } }),
        json!("expire-caller"),
        json!("freeze"),
        json!({ "do": "expire-sessions" }),
        json!({ "do": { "restart": { "down": "5s" } } }),
        json!({ "do": { "host-down": { "host": "*", "restart-vms": true } } }),
        json!({ "do": { "host-up": { "host": "*" } } }),
        json!({ "do": { "host-maintenance": { "host": "*", "on": true } } }),
        json!({ "do": { "datastore-free": { "datastore": "*", "bytes": 0 } } }),
        json!({ "do": { "datastore-accessible": { "datastore": "*", "accessible": false } } }),
        json!({ "do": { "set-guest": { "vm": "*", "tools": false } } }),
        json!({ "guest": { "slow-boot": { "by": "1m" } } }),
        json!({ "guest": "no-tools" }),
        json!({ "guest": "no-operations" }),
        json!({ "guest": "no-address" }),
        json!({ "guest": { "wrong-address": { "ip": "192.0.2.1" } } }),
        json!({ "guest": { "loses-tools": { "after": "1h" } } }),
    ] {
        let (status, answer) = http(&mut sim, "POST", "/rookery/rules", &json!({ "action": action }));
        assert_eq!(status, 200, "{action}: {answer}");
    }
    let (_, rules) = http(&mut sim, "GET", "/rookery/rules", &Value::Null);
    for rule in rules.as_array().unwrap() {
        let mut rule = rule.clone();
        for counted in ["id", "seen", "hits"] {
            rule.as_object_mut().unwrap().remove(counted);
        }
        assert_eq!(
            http(&mut sim, "POST", "/rookery/rules", &rule).0,
            200,
            "what is listed can be added: {rule}"
        );
    }
    for nonsense in
        [json!({}), json!({ "action": "dance" }), json!({ "action": "drop", "methods": "x" }), json!(1)]
    {
        assert_eq!(http(&mut sim, "POST", "/rookery/rules", &nonsense).0, 400, "{nonsense}");
    }
}

#[test]
fn what_cannot_be_done_is_said_so() {
    let mut sim = controlled();
    for (method, path, body, expected) in [
        ("POST", "/rookery/deeds", json!({ "host-down": { "host": "nowhere" } }), 404),
        ("POST", "/rookery/deeds", json!({ "host-down": {} }), 400),
        ("POST", "/rookery/time", json!({ "advance": "1s..2s" }), 400),
        ("POST", "/rookery/time", json!({ "advance": "-5s" }), 400),
        ("GET", "/rookery/time", json!(null), 405),
        ("GET", "/rookery/nothing", json!(null), 404),
        ("DELETE", "/rookery/rules/x", json!(null), 404),
        ("PATCH", "/rookery/settings", json!({ "limit": {} }), 400),
        ("PUT", "/rookery/world", json!({ "version": 1 }), 400),
    ] {
        let (status, answer) = http(&mut sim, method, path, &body);
        assert_eq!(status, expected, "{method} {path} {body}");
        assert!(answer["error"].is_string(), "{method} {path} {body}");
    }
}

#[test]
fn time_passes_on_command_and_everything_happens_in_its_own_time() {
    let mut sim = controlled();
    let vm = sim.vm(0);
    let task = sim.power_on(&vm);
    let collector = sim.watch(&vm, "runtime.powerState");
    let first = sim.wait(&collector, "", 3600);
    sim.reply(first).unwrap();
    let wait = sim.wait(&collector, "1", 3600);
    let (status, answer) = http(&mut sim, "POST", "/rookery/time", &json!({ "advance": "1m" }));
    assert_eq!((status, &answer["now"]), (200, &json!("2031-02-03T04:06:06Z")));
    assert!(sim.reply(wait).is_some());
    assert_eq!(sim.state(&task), "success");
    assert_eq!(sim.get(&task, "info.completeTime"), "2031-02-03T04:05:14Z", "not when somebody looked");
    let now = start().saturating_add(SignedDuration::from_mins(1)).unwrap();
    assert!(sim.effects.contains(&Effect::Advance(now)), "the clock must follow");
    // Until it does, the world does not go back.
    let instance = ("ServiceInstance".to_owned(), "ServiceInstance".to_owned());
    let answer = sim.call("CurrentTime", &instance, "").unwrap();
    assert!(answer.child_text("returnval").unwrap().starts_with("2031-02-03T04:06:06"));
}

#[test]
fn settings_change_while_it_runs() {
    let mut sim = controlled();
    let vm = sim.vm(0);
    let change =
        json!({ "durations": { "power": "1s" }, "limits": { "sessions": 1, "idle-session": "10m" } });
    assert_eq!(http(&mut sim, "PATCH", "/rookery/settings", &change).0, 200);
    let task = sim.power_on(&vm);
    sim.pass(1);
    assert_eq!(sim.state(&task), "success");
    let cookie = sim.cookie.clone();
    assert!(sim.log_in().is_err());
    sim.cookie = cookie;
    sim.pass(600);
    assert!(sim.call("Fetch", &vm, "<prop>name</prop>").is_err(), "it was idle");
}

#[test]
fn a_look_inside_tells_what_there_is_and_how_often_it_was_asked() {
    let mut sim = controlled();
    let vm = sim.vm(0);
    sim.power_on(&vm);
    let collector = sim.watch(&vm, "name");
    let wait = sim.wait(&collector, "", 60);
    sim.reply(wait).unwrap();
    sim.wait(&collector, "1", 60);
    sim.call("PowerOnVM_Task", &("VirtualMachine".into(), "vm-99999".into()), "").unwrap_err();
    let (_, seen) = http(&mut sim, "GET", "/rookery/", &Value::Null);
    assert_eq!(seen["objects"]["VirtualMachine"], 2);
    assert_eq!(seen["sessions"][0]["user"], "u");
    assert_eq!(seen["waits"], 1);
    assert_eq!(seen["tasks"]["running"], 1);
    assert_eq!(seen["unfinished"][0]["method"], "PowerOnVM_Task");
    let requests = &seen["requests"];
    assert_eq!(requests["Login"]["answered"], 1);
    assert_eq!(
        (&requests["PowerOnVM_Task"]["answered"], &requests["PowerOnVM_Task"]["refused"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(
        (&requests["WaitForUpdatesEx"]["answered"], &requests["WaitForUpdatesEx"]["waiting"]),
        (&json!(1), &json!(1))
    );
    assert!(requests["Login"]["bytes-sent"].as_u64().unwrap() > 100);
    assert!(!seen.to_string().contains(sim.cookie.split('"').nth(1).unwrap()), "cookies are secrets");
}

/// All that a client can read of a VM and of the places around it.
fn everything(sim: &mut Sim) -> Vec<String> {
    let mut all = Vec::new();
    for path in ["DC0", "DC0/vm", "DC0/host/DC0_C0", "DC0/host/DC0_C0/DC0_C0_H0", "DC0/datastore/LocalDS_0"] {
        let object = sim.find(path);
        let summary = if path.ends_with("DC0") || path.ends_with("vm") { "name" } else { "summary" };
        all.push(format!("{object:?} {:?}", sim.value(&object, summary)));
    }
    for name in ["DC0_C0_RP0_VM0", "DC0_C0_RP0_VM1", "made"] {
        let vm = sim.find(&format!("DC0/vm/{name}"));
        for path in ["config", "runtime", "guest", "snapshot", "resourcePool", "summary.config"] {
            all.push(format!("{vm:?} {path} {:?}", sim.value(&vm, path)));
        }
    }
    all
}

#[test]
fn a_world_that_was_dumped_is_the_same_in_another_process() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    sim.power_on(&vm);
    sim.clone(&vm, "made", true);
    sim.order("CreateSnapshot_Task", &vm, "<name>s</name><memory>false</memory><quiesce>false</quiesce>");
    let spec = "<spec><annotation>hello &lt;there&gt;</annotation>\
        <extraConfig><key>a.b</key><value xsi:type=\"string\">1 &amp; 2</value></extraConfig></spec>";
    sim.order("ReconfigVM_Task", &vm, spec);
    let before = everything(&mut sim);
    let dumped = sim.control(Control::Dump).unwrap().to_string();

    let mut other = Sim::new(Settings { seed: 99, ..Settings::default() });
    let old = other.cookie.clone();
    other.control(Control::Load(dumped.clone())).unwrap();
    assert_eq!(other.call("Fetch", &vm, "<prop>name</prop>").unwrap_err(), "NotAuthenticated", "{old}");
    other.log_in().unwrap();
    assert_eq!(everything(&mut other), before);

    // What comes next is new in both worlds.
    let made = other.find("DC0/vm/made");
    let task = other.clone(&made, "next", false);
    assert_eq!(other.state(&task), "success");
    let next = other.find("DC0/vm/next");
    assert!(before.iter().all(|line| !line.contains(&format!("\"{}\"", next.1))));
}

#[test]
fn a_digest_changes_with_the_world_and_not_with_who_looks_at_it() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let digest = |sim: &mut Sim| sim.control(Control::Digest).unwrap()["digest"].clone();
    // Whoever begins to watch takes a reference, as everything new does.
    let watched = sim.watch(&vm, "name");
    let mut last = digest(&mut sim);
    sim.wait(&watched, "", 5);
    sim.get(&vm, "config");
    sim.pass(3600);
    assert_eq!(digest(&mut sim), last, "that is no change");
    let changes: [fn(&mut Sim, &Object); 4] = [
        |sim, _| drop(sim.log_in().unwrap()),
        |sim, vm| drop(sim.order("ReconfigVM_Task", vm, "<spec><annotation>x</annotation></spec>")),
        |sim, vm| drop(sim.power_on(vm)),
        |sim, vm| drop(sim.clone(vm, "made", false)),
    ];
    for (number, change) in changes.iter().enumerate() {
        change(&mut sim, &vm);
        let now = digest(&mut sim);
        assert_ne!(now, last, "{number}");
        last = now;
    }
}

/// A world that came from another process drew the UUIDs that were in it already, if that had the same seed.
#[test]
fn what_is_new_in_a_world_that_was_loaded_has_no_uuid_of_what_was_there() {
    let uuid = |sim: &mut Sim, path: &str| {
        let vm = sim.find(path);
        (sim.get(&vm, "config.uuid"), sim.get(&vm, "config.instanceUuid"))
    };
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    sim.clone(&vm, "made", false);
    let made = uuid(&mut sim, "DC0/vm/made");
    let dumped = sim.control(Control::Dump).unwrap().to_string();
    let mut other = Sim::new(Settings::default());
    other.control(Control::Load(dumped)).unwrap();
    other.log_in().unwrap();
    other.clone(&vm, "next", false);
    let next = uuid(&mut other, "DC0/vm/next");
    assert!(made.0 != next.0 && made.1 != next.1, "{made:?}, {next:?}");
}

#[test]
fn a_dump_is_the_same_again_after_it_was_loaded() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    sim.power_on(&vm);
    let dumped = sim.control(Control::Dump).unwrap().to_string();
    sim.control(Control::Load(dumped.clone())).unwrap();
    assert_eq!(sim.control(Control::Dump).unwrap().to_string(), dumped);
}

#[test]
fn what_was_under_way_in_a_dump_is_dropped() {
    let mut sim = Sim::new(slow());
    let (first, second) = (sim.vm(0), sim.vm(1));
    let store = sim.find("DC0/datastore/LocalDS_0");
    let free = sim.get(&store, "summary.freeSpace");
    sim.clone(&first, "half", false);
    sim.power_on(&second);
    let dumped = sim.control(Control::Dump).unwrap().to_string();
    let mut other = Sim::new(slow());
    other.control(Control::Load(dumped)).unwrap();
    other.log_in().unwrap();
    other.pass(3600);
    assert_eq!(other.look_for("DC0/vm/half"), None);
    assert_eq!(other.get(&store, "summary.freeSpace"), free);
    assert_eq!(other.get(&second, "runtime.powerState"), "poweredOff");
    let task = other.power_on(&second);
    other.pass(8);
    assert_eq!(other.state(&task), "success", "nobody works on it any more");
}

type Spoil = fn(&mut Value, &str);

#[test]
fn a_dump_that_does_not_fit_together_is_refused_and_changes_nothing() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let id = format!("VirtualMachine:{}", vm.1);
    let good = sim.control(Control::Dump).unwrap();
    let cases: [(&str, Spoil); 6] = [
        ("version", |dump, _| dump["version"] = json!(2)),
        ("VM without an entity", |dump, id| {
            drop(dump["store"]["entities"].as_object_mut().unwrap().remove(id));
        }),
        ("in itself", |dump, id| dump["store"]["entities"][id]["parent"] = json!(id)),
        ("nowhere", |dump, id| dump["store"]["entities"][id]["parent"] = json!("Folder:group-4711")),
        ("endless memory", |dump, id| dump["store"]["vms"][id]["memory_mb"] = json!(i64::MAX)),
        ("no datastore", |dump, id| {
            dump["store"]["vms"][id]["datastore"] = json!("Datastore:datastore-4711");
        }),
    ];
    for (name, spoil) in cases {
        let mut bad = good.clone();
        spoil(&mut bad, &id);
        assert!(sim.control(Control::Load(bad.to_string())).is_err(), "{name}");
        assert!(!sim.get(&vm, "name").is_empty(), "{name}");
    }
    for text in ["", "{}", "[1]", "{\"version\":1"] {
        assert!(sim.control(Control::Load(text.to_owned())).is_err(), "{text}");
    }
}
