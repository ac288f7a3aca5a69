//! The queue of the first protocol.

use rookery_cds_sim::{ModelType, NewJob, Requirement, Status};
use serde_json::{Value, json};

use super::kit::{Lab, request};

fn ids(listed: &Value) -> Vec<String> {
    listed.as_array().unwrap().iter().map(|job| job["id"].to_string()).collect()
}

#[test]
fn the_queue_shows_what_fits_the_filters_and_the_groups() {
    let mut lab = Lab::new();
    let plain = lab.enqueue(NewJob::v1("true"));
    let here = lab.enqueue(NewJob { region: Some("rbx".to_owned()), ..NewJob::v1("true") });
    let docker = lab.enqueue(NewJob { model_type: Some(ModelType::Docker), ..NewJob::v1("true") });
    let team = lab.enqueue(NewJob { exec_groups: vec!["team".to_owned()], ..NewJob::v1("true") });
    let (one, of_team) = (lab.v1("one"), lab.v1("team"));
    for (session, query, expected) in [
        (&one, "", vec![&plain, &here, &docker]),
        (&one, "?modelType=vsphere", vec![&plain, &here]),
        (&one, "?modelType=docker&region=", vec![&plain, &docker]),
        (&one, "?modelType=vsphere&region=rbx", vec![&here]),
        (&one, "?modelType=vsphere&region=rbx&region=", vec![&plain, &here]),
        (&one, "?region=gra", vec![]),
        (&one, "?status=Building", vec![]),
        (&of_team, "", vec![&team]),
    ] {
        let listed = lab.ok(session, "GET", &format!("/queue/workflows{query}"), &Value::Null);
        assert_eq!(ids(&listed), expected.into_iter().cloned().collect::<Vec<_>>(), "{query}");
    }
    let count = lab.ok(&one, "GET", "/queue/workflows/count?modelType=vsphere", &Value::Null);
    assert_eq!(count["version"], 2);
    assert_eq!(lab.ok(&one, "GET", "/queue/workflows/count", &Value::Null)["version"], 2, "of no type");
    assert_eq!(lab.refusal(&one, "GET", "/queue/workflows?status=Wait", &Value::Null), (400, 74));
    assert_eq!(lab.refusal(&one, "GET", "/queue/workflows?modelType=bare", &Value::Null), (400, 74));
    lab.ok(&one, "GET", &format!("/queue/workflows/{team}/infos"), &Value::Null);
    assert_eq!(lab.refusal(&one, "POST", &format!("/queue/workflows/{team}/book"), &json!({})), (403, 11));
    assert_eq!(
        lab.refusal(&of_team, "GET", &format!("/queue/workflows/{plain}/infos"), &Value::Null),
        (403, 11)
    );
}

#[test]
fn a_booking_is_a_race_with_an_end() {
    let mut lab = Lab::new();
    let (one, two) = (lab.v1("one"), lab.v1("two"));
    let id = lab.enqueue(NewJob::v1("true"));
    let book = format!("/queue/workflows/{id}/book");
    assert_eq!(lab.refusal(&one, "DELETE", &book, &Value::Null), (400, 135));
    for (delay, holds) in [(0, 120), (500, 500)] {
        lab.ok(&one, "POST", &book, &json!({ "delay": delay }));
        assert_eq!(lab.refusal(&two, "POST", &book, &json!({ "delay": 0 })), (403, 89));
        // The holder hears that it has the job, but does not get it for longer.
        lab.ok(&one, "POST", &book, &json!({ "delay": 9000 }));
        assert_eq!(ids(&lab.ok(&two, "GET", "/queue/workflows", &Value::Null)), Vec::<String>::new());
        let infos = lab.ok(&two, "GET", &format!("/queue/workflows/{id}/infos"), &Value::Null);
        assert_eq!(infos["bookedby"]["name"], "one");
        lab.pass(holds - 1);
        assert_eq!(lab.refusal(&two, "POST", &book, &json!({ "delay": 0 })), (403, 89));
        lab.pass(1);
        assert_eq!(ids(&lab.ok(&two, "GET", "/queue/workflows", &Value::Null)), std::slice::from_ref(&id));
    }
    lab.ok(&one, "POST", &book, &json!({ "delay": 0 }));
    assert_eq!(lab.ok(&two, "DELETE", &book, &Value::Null), Value::Null);
    lab.ok(&two, "POST", &book, &json!({ "delay": 0 }));
    assert_eq!(lab.job(&id).attempts.len(), 6);
    assert_eq!(lab.job(&id).releases, 1);
}

#[test]
fn a_booking_does_not_look_at_the_status() {
    let mut lab = Lab::new();
    let (one, two) = (lab.v1("one"), lab.v1("two"));
    let id = lab.enqueue(NewJob::v1("true"));
    let worker = lab.worker_v1(&id);
    lab.ok(&worker, "POST", &format!("/queue/workflows/{id}/take"), &Value::Null);
    let book = format!("/queue/workflows/{id}/book");
    lab.ok(&two, "POST", &book, &json!({ "delay": 0 }));
    assert_eq!(lab.refusal(&one, "POST", &book, &json!({ "delay": 0 })), (403, 89));
    let infos = lab.ok(&one, "GET", &format!("/queue/workflows/{id}/infos"), &Value::Null);
    assert_eq!((&infos["status"], &infos["bookedby"]["name"]), (&json!("Building"), &json!("two")));
}

#[test]
fn a_job_that_is_gone_is_forbidden_on_every_route() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let id = lab.enqueue(NewJob::v1("true"));
    let number: i64 = id.parse().unwrap();
    let result = json!({
        "id": number, "buildID": number, "status": "Fail", "reason": "no", "remoteTime": "2031-02-03T04:05:06Z",
    });
    lab.ok(&session, "POST", &format!("/queue/workflows/{id}/result"), &result);
    assert_eq!(lab.job(&id).status, Status::Fail);
    for id in [id.as_str(), "999", "x"] {
        for (method, what, body) in [
            ("GET", "infos", Value::Null),
            ("POST", "book", json!({ "delay": 0 })),
            ("DELETE", "book", Value::Null),
            ("POST", "spawn/infos", json!([])),
            ("POST", "result", result.clone()),
        ] {
            let uri = format!("/queue/workflows/{id}/{what}");
            assert_eq!(lab.refusal(&session, method, &uri, &body), (403, 11), "{method} {uri}");
        }
    }
}

#[test]
fn a_hatchery_fails_only_jobs_that_wait() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let id = lab.enqueue(NewJob::v1("true"));
    let worker = lab.worker_v1(&id);
    lab.ok(&worker, "POST", &format!("/queue/workflows/{id}/take"), &Value::Null);
    let uri = format!("/queue/workflows/{id}/result");
    let number: i64 = id.parse().unwrap();
    let result = |status: &str| json!({ "buildID": number, "status": status });
    assert_eq!(lab.refusal(&session, "POST", &uri, &result("Fail")), (403, 11));
    assert_eq!(lab.refusal(&worker, "POST", &uri, &result("Waiting")), (400, 74));
    lab.ok(&worker, "POST", &uri, &result("Success"));
    assert_eq!(lab.job(&id).status, Status::Success);
    let listed = lab.ok(&session, "GET", "/worker", &Value::Null);
    assert_eq!((&listed[0]["status"], &listed[0]["job_run_id"]), (&json!("Waiting"), &Value::Null));
}

#[test]
fn a_result_names_its_job_and_its_time_in_the_body() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let id = lab.enqueue(NewJob::v1("true"));
    let number: i64 = id.parse().unwrap();
    let uri = format!("/queue/workflows/{id}/result");
    for (build, time, expected) in [
        (Value::Null, Value::Null, (409, 147)),
        (json!(number + 1), Value::Null, (409, 147)),
        (json!(id), Value::Null, (409, 147)),
        (json!(number), json!("2031-02-03 04:05:06"), (400, 74)),
        (json!(number), json!(1_927_857_906), (400, 74)),
    ] {
        let result = json!({ "buildID": build, "status": "Fail", "remoteTime": time });
        assert_eq!(lab.refusal(&session, "POST", &uri, &result), expected, "{result}");
    }
    assert_eq!(lab.job(&id).status, Status::Waiting);
}

#[test]
fn what_a_job_asks_for_is_in_its_requirements() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let id = lab.enqueue(NewJob {
        region: Some("rbx".to_owned()),
        model: Some("PRJ/vcs/org/repo/debian".to_owned()),
        flavor: Some("large".to_owned()),
        memory: Some(512),
        services: [("pg".to_owned(), "postgres:16".to_owned())].into(),
        requirements: vec![Requirement::new("binary", "git", "git")],
        ..NewJob::v1("true")
    });
    let infos = lab.ok(&session, "GET", &format!("/queue/workflows/{id}/infos"), &Value::Null);
    let requirements = infos["job"]["action"]["requirements"].as_array().unwrap();
    let seen: Vec<_> =
        requirements.iter().map(|r| (r["type"].as_str().unwrap(), r["value"].as_str().unwrap())).collect();
    assert_eq!(
        seen,
        [
            ("region", "rbx"),
            ("model", "PRJ/vcs/org/repo/debian"),
            ("flavor", "large"),
            ("memory", "512"),
            ("service", "postgres:16"),
            ("binary", "git"),
        ]
    );
    assert_eq!((&infos["region"], &infos["model_type"]), (&json!("rbx"), &json!("vsphere")));
    assert_eq!(infos["contains_service"], true);
}

#[test]
fn what_hatcheries_say_about_a_job_is_kept() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let id = lab.enqueue(NewJob::v1("true"));
    let said = json!({ "message": { "id": "MsgSpawnInfoHatcheryStarts", "args": ["one", "w", "m"] } });
    let uri = format!("/queue/workflows/{id}/spawn/infos");
    lab.ok(&session, "POST", &uri, &json!([said]));
    let job = lab.job(&id);
    assert_eq!((job.infos[0].by.as_str(), &job.infos[0].said), ("one", &said));
    assert_eq!(lab.refusal(&session, "POST", &uri, &json!([{}])), (400, 74));
    assert_eq!(lab.refusal(&session, "POST", &uri, &said), (400, 74));
    let mut untimely = said.clone();
    untimely["remote_time"] = "now".into();
    assert_eq!(lab.refusal(&session, "POST", &uri, &json!([untimely])), (400, 74));
}

#[test]
fn the_queue_can_be_bounded_by_time_and_number() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let jobs: Vec<_> = (0..3)
        .map(|_| {
            lab.pass(60);
            lab.enqueue(NewJob::v1("true"))
        })
        .collect();
    for (name, value, expected) in [
        ("if-modified-since", "Mon, 03 Feb 2031 04:07:06 GMT", &jobs[1..]),
        ("x-cds-until", "Mon, 03 Feb 2031 04:07:06 GMT", &jobs[..2]),
        ("x-cds-limit", "1", &jobs[..1]),
        ("x-cds-until", "nonsense", &jobs[..]),
    ] {
        let mut call = request(&session, "GET", "/queue/workflows", &Value::Null);
        call.headers.push((name.to_owned(), value.to_owned()));
        assert_eq!(ids(&lab.request(call).unwrap().value()), expected, "{name}: {value}");
    }
}
