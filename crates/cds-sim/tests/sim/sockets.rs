//! Websockets: who hears of which job.

use rookery_cds_sim::{Control, Effect, ModelType, NewJob};
use serde_json::{Value, json};

use super::kit::{Lab, PATH, sign_in_v1, sign_in_v2};

fn queue_filter() -> String {
    json!([{ "type": "queue", "hatchery_type": "vsphere", "workflow_name": "" }]).to_string()
}

#[test]
fn a_hatchery_of_the_first_protocol_hears_of_what_it_may_run() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let team = lab.v1("team");
    let socket = lab.socket(&session, "/ws");
    let of_team = lab.socket(&team, "/ws");
    let job = NewJob::v1("true");
    lab.enqueue(job.clone());
    assert_eq!(lab.said(socket), [] as [Value; 0], "nothing before it said what it wants");
    lab.text(socket, &queue_filter());
    lab.text(of_team, &queue_filter());
    let region = |region: &str| NewJob { region: Some(region.to_owned()), ..job.clone() };
    let of_type = |kind| NewJob { model_type: Some(kind), ..job.clone() };
    let elsewhere = NewJob { exec_groups: vec!["else".to_owned()], ..job.clone() };
    for (job, hears, team_hears) in [
        (job.clone(), true, false),
        (region("rbx"), true, false),
        (region("gra"), false, false),
        (of_type(ModelType::Vsphere), true, false),
        (of_type(ModelType::Docker), false, false),
        (NewJob { exec_groups: vec!["team".to_owned()], ..job.clone() }, true, true),
        (elsewhere, true, false),
        (NewJob::v2("true", PATH, "rbx"), false, false),
    ] {
        let id = lab.enqueue(job.clone());
        let effects = lab.effects.clone();
        let heard = lab.said(socket);
        assert_eq!(heard.len(), usize::from(hears), "{job:?}");
        lab.effects = effects;
        assert_eq!(lab.said(of_team).len(), usize::from(team_hears), "{job:?}");
        for event in heard {
            assert_eq!(
                (&event["status"], &event["event"]["type_event"]),
                (&json!("OK"), &json!("sdk.EventRunWorkflowJob"))
            );
            assert_eq!(
                (event["event"]["payload"]["id"].to_string(), &event["event"]["status"]),
                (id.clone(), &json!("Waiting"))
            );
        }
    }
}

#[test]
fn a_stored_flag_keeps_jobs_without_a_region_away() {
    let mut lab = Lab::new();
    let mut body = sign_in_v1("one");
    body["service"]["ignore_job_with_no_region"] = true.into();
    let session =
        lab.ok("", "POST", "/auth/consumer/builtin/signin", &body)["token"].as_str().unwrap().to_owned();
    let socket = lab.socket(&session, "/ws");
    lab.text(socket, &queue_filter());
    lab.enqueue(NewJob::v1("true"));
    assert_eq!(lab.said(socket).len(), 0);
    lab.enqueue(NewJob { region: Some("rbx".to_owned()), ..NewJob::v1("true") });
    assert_eq!(lab.said(socket).len(), 1);
}

#[test]
fn a_bad_filter_is_answered_and_the_old_one_stays() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let socket = lab.socket(&session, "/ws");
    lab.text(socket, &json!({ "type": "queue", "hatchery_type": "vsphere" }).to_string());
    for bad in ["nonsense", "7", r#"[{"type":"everything"}]"#, "{}"] {
        lab.text(socket, bad);
        let said = lab.said(socket);
        assert_eq!((said.len(), &said[0]["status"]), (1, &json!("KO")), "{bad}");
        assert!(!said[0]["error"].as_str().unwrap().is_empty());
    }
    lab.enqueue(NewJob::v1("true"));
    assert_eq!(lab.said(socket).len(), 1);
}

#[test]
fn a_hatchery_of_the_second_protocol_hears_by_what_it_registered() {
    let mut lab = Lab::new();
    for (config, hears) in [
        (json!({ "osArch": ["linux/amd64", "linux/arm64"] }), true),
        (json!({ "osArch": "linux/amd64" }), true),
        (json!({ "osArch": ["linux/arm64"] }), false),
        (json!({ "commonConfiguration": { "osArch": ["linux/arm64"] } }), true),
        (Value::Null, true),
    ] {
        let mut body = sign_in_v2("one");
        body["config"] = config.clone();
        let said = lab.ok("", "POST", "/v2/auth/consumer/hatchery/signin", &body);
        let socket = lab.socket(said["token"].as_str().unwrap(), "/v2/hatchery/ws");
        let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
        let heard = lab.said(socket);
        assert_eq!(heard.len(), usize::from(hears), "{config}");
        for event in heard {
            assert_eq!((&event["job_run_id"], &event["job_id"]), (&json!(id), &json!("build")));
        }
        lab.enqueue(NewJob::v2("true", PATH, "gra"));
        assert_eq!(lab.said(socket).len(), 0);
    }
}

#[test]
fn a_job_that_comes_back_is_heard_of_again() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    let socket = lab.socket(&session, "/v2/hatchery/ws");
    let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    let take = format!("/v2/queue/rbx/job/{id}/hatchery/take");
    lab.ok(&session, "POST", &take, &Value::Null);
    assert_eq!(lab.said(socket).len(), 1);
    lab.ok(&session, "DELETE", &take, &Value::Null);
    assert_eq!(lab.said(socket).len(), 1);
    lab.ok(&session, "POST", &take, &Value::Null);
    lab.pass(600);
    assert_eq!(lab.said(socket).len(), 1);
}

#[test]
fn websockets_can_be_frozen_and_dropped() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    let socket = lab.socket(&session, "/v2/hatchery/ws");
    for (frozen, heard) in [(true, 0), (false, 1)] {
        lab.control(Control::FreezeSockets(frozen));
        lab.enqueue(NewJob::v2("true", PATH, "rbx"));
        assert_eq!(lab.said(socket).len(), heard);
    }
    lab.effects.clear();
    lab.control(Control::DropSockets { politely: true });
    assert_eq!(lab.effects, [Effect::Close { socket, politely: true }]);
    lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    assert_eq!(lab.said(socket).len(), 0);
    assert_eq!(lab.refusal(&session, "GET", "/v2/hatchery/ws", &Value::Null), (400, 74), "without a key");
    assert_eq!(lab.refusal("", "GET", "/ws", &Value::Null), (401, 10));
}
