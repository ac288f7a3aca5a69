//! Trouble on purpose, and the world out and in.

use rookery_cds_sim::{Body, Control, Fault, NewJob, Status, Trouble};
use serde_json::{Value, json};

use super::kit::{Lab, PATH, header, request};

#[test]
fn each_trouble_happens_to_as_many_calls_as_it_says() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    let take = format!("/v2/queue/rbx/job/{id}/hatchery/take");
    let fault = |trouble| Control::AddFault(Fault::next(1, "/v2/queue/*/take", trouble));

    lab.control(fault(Trouble::Error { status: 500, id: 1 }));
    assert_eq!(lab.refusal(&session, "POST", &take, &Value::Null), (500, 1));
    lab.control(fault(Trouble::Maintenance));
    assert_eq!(lab.refusal(&session, "POST", &take, &Value::Null), (503, 60));
    lab.control(fault(Trouble::Html { status: 502 }));
    let reply = lab.reply(&session, "POST", &take, &Value::Null);
    assert_eq!((reply.status, header(&reply, "content-type").as_deref()), (502, Some("text/html")));
    lab.control(fault(Trouble::Dropped));
    assert_eq!(lab.reply(&session, "POST", &take, &Value::Null).body, Body::Cut);
    assert_eq!(lab.job(&id).status, Status::Waiting, "nothing was done so far");

    lab.control(fault(Trouble::LostReply));
    assert_eq!(lab.reply(&session, "POST", &take, &Value::Null).body, Body::Cut);
    assert_eq!(lab.job(&id).status, Status::Scheduling, "it was done");
    lab.ok(&session, "DELETE", &take, &Value::Null);

    lab.control(fault(Trouble::Slow { milliseconds: 2000 }));
    assert_eq!(lab.request(request(&session, "POST", &take, &Value::Null)), None);
    assert_eq!(lab.job(&id).status, Status::Scheduling, "it was done at once");
    assert_eq!(lab.pass(1).len(), 0);
    let late = lab.pass(1);
    assert_eq!((late.len(), late[0].1.status), (1, 200));
}

#[test]
fn a_chance_follows_from_the_seed_and_faults_can_be_cleared() {
    let outcomes = || {
        let mut lab = Lab::new();
        let trouble = Trouble::Error { status: 503, id: 60 };
        let fault = Fault {
            chance: 0.5,
            times: None,
            method: Some("get".to_owned()),
            ..Fault::next(0, "*", trouble)
        };
        lab.control(Control::AddFault(fault));
        let drawn: Vec<_> = (0..40).map(|_| lab.call("", "GET", "/mon/version", &Value::Null).0).collect();
        lab.v1("one");
        lab.control(Control::ClearFaults);
        (0..40).for_each(|_| assert_eq!(lab.call("", "GET", "/mon/version", &Value::Null).0, 200));
        drawn
    };
    let drawn = outcomes();
    assert!(drawn.contains(&200) && drawn.contains(&503), "{drawn:?}");
    assert_eq!(drawn, outcomes());
}

#[test]
fn requests_are_remembered_without_tokens() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    lab.call(&session, "GET", "/queue/workflows?modelType=vsphere", &Value::Null);
    let requests = lab.control(Control::Requests);
    let seen = |at: usize| {
        (&requests[at]["method"], &requests[at]["path"], &requests[at]["status"], &requests[at]["by"])
    };
    assert_eq!(seen(0), (&json!("POST"), &json!("/auth/consumer/builtin/signin"), &json!(200), &Value::Null));
    assert_eq!(seen(1), (&json!("GET"), &json!("/queue/workflows"), &json!(200), &json!("one")));
    assert_eq!(requests[0]["body"]["token"], "…");
    assert!(!requests.to_string().contains("v1-one"));
    lab.control(Control::ForgetRequests);
    assert_eq!(lab.control(Control::Requests), json!([]));
}

#[test]
fn a_world_comes_back_from_its_dump() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    let take = format!("/v2/queue/rbx/job/{id}/hatchery/take");
    let dump = lab.control(Control::Dump);
    lab.ok(&session, "POST", &take, &Value::Null);
    lab.control(Control::Load(dump.clone()));
    assert_eq!(lab.control(Control::Dump), dump);
    lab.ok(&session, "POST", &take, &Value::Null);
}

#[test]
fn control_over_http_takes_its_token_and_stays_at_home() {
    let mut lab = Lab::new();
    let body = json!({ "protocol": "v2", "script": "true", "model": PATH, "region": "rbx" });
    assert_eq!(lab.refusal("", "POST", "/control/jobs", &body).0, 401);
    let mut from_afar = request("open", "POST", "/control/jobs", &body);
    from_afar.peer = Some(([192, 0, 2, 1], 5000).into());
    assert_eq!(lab.request(from_afar).unwrap().status, 403);
    let id = lab.ok("open", "POST", "/control/jobs", &body)["id"].as_str().unwrap().to_owned();
    assert_eq!(lab.ok("open", "GET", &format!("/control/jobs/{id}"), &Value::Null)["status"], "Waiting");
    let fault = json!({ "path": "/v2/*", "times": 1, "trouble": { "error": { "status": 500, "id": 1 } } });
    lab.ok("open", "POST", "/control/faults", &fault);
    assert_eq!(lab.refusal("", "GET", "/v2/worker", &Value::Null), (500, 1));
    lab.ok("open", "POST", "/control/time", &json!({ "advance-seconds": 3600 }));
    assert_eq!(lab.ok("open", "GET", "/control/jobs", &Value::Null)[0]["status"], "Fail");
    for (method, what, body) in [
        ("GET", "workers", Value::Null),
        ("GET", "requests", Value::Null),
        ("DELETE", "requests", Value::Null),
        ("DELETE", "faults", Value::Null),
        ("POST", "sessions/expire", Value::Null),
        ("POST", "sockets/drop", Value::Null),
        ("POST", "sockets/close", Value::Null),
        ("POST", "sockets/freeze", Value::Null),
        ("POST", "sockets/thaw", Value::Null),
        ("POST", "restart", json!({ "keep-sessions": true })),
        ("PUT", "models", json!({ "name": "m" })),
        ("PUT", "code-models", json!({ "path": "P/v/o/r/m", "spec": {} })),
        ("PUT", "builtin", json!({ "name": "x", "token": "y" })),
        ("PUT", "hatcheries", json!({ "name": "x", "token": "y", "region": "rbx" })),
    ] {
        lab.ok("open", method, &format!("/control/{what}"), &body);
    }
    let world = lab.ok("open", "GET", "/control/world", &Value::Null);
    lab.ok("open", "PUT", "/control/world", &world);
    assert_eq!(lab.refusal("open", "GET", "/control/nothing", &Value::Null).0, 404);
    assert_eq!(lab.refusal("open", "PUT", "/control/models", &json!({ "nam": "m" })).0, 400);
}
