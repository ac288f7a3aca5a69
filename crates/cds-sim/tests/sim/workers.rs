//! Workers: what gets them in, and what becomes of them.

use jsonwebtoken::Algorithm;
use rookery_cds_sim::{BuiltinConsumer, Control, Model, NewJob, Status};
use serde_json::{Value, json};

use super::kit::{Lab, PATH, claims_v2, form, header, mint, mint_as};

const SIGN_IN: &str = "/auth/consumer/worker/signin";

fn v2_taken(lab: &mut Lab) -> (String, String, String) {
    let one = lab.v2("one");
    let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    let of_job = format!("/v2/queue/rbx/job/{id}");
    lab.ok(&one, "POST", &format!("{of_job}/hatchery/take"), &Value::Null);
    (one, id, of_job)
}

#[test]
fn a_token_must_be_signed_by_the_hatchery_that_it_names() {
    let mut lab = Lab::new();
    lab.v1("one");
    let (_, id, of_job) = v2_taken(&mut lab);
    let v1_job: i64 = lab.enqueue(NewJob::v1("true")).parse().unwrap();
    let v1 = |hatchery: &str| json!({ "worker_model": "w", "model": {}, "job_id": v1_job, "hatchery_name": hatchery });
    let v2 = format!("{of_job}/worker/signin");
    for (uri, claims, elsewhere) in [
        (SIGN_IN, v1("one"), v1("unknown")),
        (
            v2.as_str(),
            claims_v2(&id),
            json!({ "worker_model": "w", "run_job_id": id, "hatchery_name": "unknown" }),
        ),
    ] {
        for bad in [
            String::new(),
            "nonsense".to_owned(),
            mint_as(&claims, Algorithm::PS512, false, 3600),
            mint_as(&claims, Algorithm::RS512, true, 3600),
            mint_as(&claims, Algorithm::RS512, false, -1),
            mint(&elsewhere),
            mint(&json!({ "worker_model": "", "job_id": v1_job, "run_job_id": id, "hatchery_name": "one" })),
        ] {
            assert_eq!(lab.refusal(&bad, "POST", uri, &form()), (401, 10), "{uri}");
        }
        let pss = mint_as(&claims, Algorithm::PS512, false, 3600);
        let (_, said) = lab.call(&pss, "POST", uri, &form());
        assert!(said["from"].as_str().unwrap().contains("signed with PS512"), "{said}");
        for good in [Algorithm::RS256, Algorithm::RS384, Algorithm::RS512] {
            let mut claims = claims.clone();
            claims["worker_model"] = format!("with-{good:?}").into();
            let reply = lab.reply(&mint_as(&claims, good, false, 3600), "POST", uri, &form());
            assert_eq!(reply.status, 200, "{good:?} {}", reply.value());
            let session = header(&reply, "x-cds-jwt").unwrap();
            // The next one comes for the same job.
            lab.call(&session, "POST", "/auth/consumer/worker/signout", &Value::Null);
        }
    }
}

#[test]
fn the_claims_of_the_first_protocol_must_agree() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let job: i64 = lab.enqueue(NewJob::v1("true")).parse().unwrap();
    let team: i64 =
        lab.enqueue(NewJob { exec_groups: vec!["team".to_owned()], ..NewJob::v1("true") }).parse().unwrap();
    let models = lab.ok(&session, "GET", "/worker/model/enabled", &Value::Null);
    let model = models[0]["id"].clone();
    for (claims, expected) in [
        (json!({ "register_only": false }), (401, 10)),
        (json!({ "register_only": true }), (401, 10)),
        (json!({ "register_only": true, "model": {} }), (401, 10)),
        (json!({ "register_only": true, "model": { "id": model }, "job_id": job }), (401, 10)),
        (json!({ "job_id": job, "model": { "id": 999 } }), (401, 10)),
        (json!({ "job_id": 999, "model": {} }), (403, 11)),
        (json!({ "job_id": team, "model": {} }), (401, 10)),
        (json!({ "job_id": job.to_string(), "model": {} }), (401, 10)),
    ] {
        let mut claims = claims;
        claims["worker_model"] = "w".into();
        claims["hatchery_name"] = "one".into();
        assert_eq!(lab.refusal(&mint(&claims), "POST", SIGN_IN, &form()), expected, "{claims}");
    }
}

#[test]
fn a_worker_of_the_second_protocol_comes_only_while_its_job_is_scheduled_by_its_hatchery() {
    let mut lab = Lab::new();
    let (one, id, of_job) = v2_taken(&mut lab);
    let sign_in = format!("{of_job}/worker/signin");
    let token = mint(&claims_v2(&id));
    let mut other_job = claims_v2(&id);
    other_job["run_job_id"] = "another".into();
    assert_eq!(lab.refusal(&mint(&other_job), "POST", &sign_in, &form()), (403, 11));
    let elsewhere = format!("/v2/queue/gra/job/{id}/worker/signin");
    assert_eq!(lab.refusal(&token, "POST", &elsewhere, &form()), (403, 11));
    lab.v2("two");
    let mut of_two = claims_v2(&id);
    of_two["hatchery_name"] = "two".into();
    assert_eq!(lab.refusal(&mint(&of_two), "POST", &sign_in, &form()), (403, 11));

    lab.ok(&one, "DELETE", &format!("{of_job}/hatchery/take"), &Value::Null);
    assert_eq!(lab.refusal(&token, "POST", &sign_in, &form()), (403, 11));
    lab.ok(&one, "POST", &format!("{of_job}/hatchery/take"), &Value::Null);
    let (first, second) = (lab.worker_v2(&id), lab.worker_v2_called("another", &id));
    lab.ok(&first, "POST", &format!("{of_job}/worker/take"), &Value::Null);
    for late in [&first, &second] {
        assert_eq!(lab.refusal(late, "POST", &format!("{of_job}/worker/take"), &Value::Null), (403, 11));
    }
    assert_eq!(
        lab.refusal(&second, "POST", &format!("{of_job}/result"), &json!({ "status": "Fail" })),
        (403, 11)
    );
    assert_eq!(lab.refusal(&first, "POST", "/queue/workflows/1/take", &Value::Null), (403, 11));
    assert_eq!(lab.refusal(&token, "POST", &sign_in, &form()), (403, 11), "it is building");
    assert_eq!(lab.refusal(&first, "GET", "/v2/worker", &Value::Null), (403, 11));
}

#[test]
fn one_worker_of_the_first_protocol_takes_a_job() {
    let mut lab = Lab::new();
    lab.v1("one");
    let (id, other) = (lab.enqueue(NewJob::v1("true")), lab.enqueue(NewJob::v1("true")));
    let worker = lab.worker_v1(&id);
    let take = format!("/queue/workflows/{id}/take");
    lab.ok(&worker, "POST", &take, &Value::Null);
    assert_eq!(lab.refusal(&worker, "POST", &take, &Value::Null), (410, 91));
    let of_other = format!("/queue/workflows/{other}");
    assert_eq!(lab.refusal(&worker, "POST", &format!("{of_other}/take"), &Value::Null), (403, 11));
    let success = |id: &str| json!({ "buildID": id.parse::<i64>().unwrap(), "status": "Success" });
    assert_eq!(lab.refusal(&worker, "POST", &format!("{of_other}/result"), &success(&other)), (403, 11));
    lab.ok(&worker, "POST", &format!("/queue/workflows/{id}/result"), &success(&id));
}

#[test]
fn names_are_given_once_and_a_job_of_the_first_protocol_has_one_worker() {
    let mut lab = Lab::new();
    let hatchery = lab.v1("one");
    let (_, id2, of_job) = v2_taken(&mut lab);
    let (id, other) = (lab.enqueue(NewJob::v1("true")), lab.enqueue(NewJob::v1("true")));
    let v1 = |name: &str, job: &str| {
        let job: i64 = job.parse().unwrap();
        mint(&json!({ "worker_model": name, "model": {}, "job_id": job, "hatchery_name": "one" }))
    };
    let session = header(&lab.reply(&v1("a", &id), "POST", SIGN_IN, &form()), "x-cds-jwt").unwrap();
    for (name, job) in [("a", &id), ("a", &other), ("b", &id)] {
        assert_eq!(lab.refusal(&v1(name, job), "POST", SIGN_IN, &form()), (401, 10), "{name} {job}");
    }
    // Whoever signs out gives up the job at once, and the name when nobody knows it any more.
    lab.ok(&session, "POST", "/auth/consumer/worker/signout", &Value::Null);
    lab.ok(&v1("b", &id), "POST", SIGN_IN, &form());
    assert_eq!(lab.refusal(&v1("a", &other), "POST", SIGN_IN, &form()), (401, 10));
    lab.pass(300);
    lab.ok(&v1("a", &other), "POST", SIGN_IN, &form());
    assert_eq!(lab.ok(&hatchery, "GET", "/worker", &Value::Null).as_array().unwrap().len(), 2);

    // The protocols do not know each other's names, and the second one lets a job have many.
    let sign_in = format!("{of_job}/worker/signin");
    lab.worker_v2_called("a", &id2);
    assert_eq!(lab.refusal(&mint(&claims_of("a", &id2)), "POST", &sign_in, &form()), (401, 10));
    lab.worker_v2_called("b", &id2);
}

fn claims_of(name: &str, job: &str) -> Value {
    let mut claims = claims_v2(job);
    claims["worker_model"] = name.into();
    claims
}

#[test]
fn a_model_is_used_and_registered_by_those_who_may() {
    let mut lab = Lab::new();
    let consumer = |maintainer, group_admin| {
        Control::PutBuiltin(Box::new(BuiltinConsumer {
            name: "one".to_owned(),
            token: "v1-one".into(),
            maintainer,
            group_admin,
            ..BuiltinConsumer::default()
        }))
    };
    let model = |group: &str, restricted| Model {
        name: format!("{group}-{restricted}"),
        group: group.to_owned(),
        restricted,
        ..Model::default()
    };
    lab.v1("one");
    let mut number = 0;
    for (group, restricted, maintainer, group_admin, may) in [
        ("shared.infra", false, false, true, true),
        ("shared.infra", true, false, true, true),
        ("team", false, false, true, false),
        ("team", false, true, true, true),
        ("team", true, true, true, false),
        ("shared.infra", false, false, false, false),
    ] {
        lab.control(consumer(maintainer, group_admin));
        let id = lab.control(Control::PutModel(Box::new(model(group, restricted))))["id"].clone();
        number += 1;
        let claims = json!({
            "worker_model": format!("register-{number}"), "model": { "id": id }, "register_only": true,
            "hatchery_name": "one",
        });
        let (status, said) = lab.call(&mint(&claims), "POST", SIGN_IN, &form());
        assert_eq!(status, if may { 200 } else { 401 }, "{group} {restricted} {maintainer} {said}");
    }
}

#[test]
fn a_consumer_that_is_bound_to_a_region_gets_no_worker_for_another() {
    for (ignores, region, may) in [
        (None, Some("rbx"), true),
        (None, Some("gra"), false),
        (None, None, true),
        (Some(true), None, false),
        (Some(true), Some("rbx"), true),
    ] {
        let mut lab = Lab::new();
        lab.v1("one");
        lab.control(Control::PutBuiltin(Box::new(BuiltinConsumer {
            name: "one".to_owned(),
            token: "v1-one".into(),
            service_region: Some("rbx".to_owned()),
            service_ignore_job_with_no_region: ignores,
            ..BuiltinConsumer::default()
        })));
        let job = lab.enqueue(NewJob { region: region.map(str::to_owned), ..NewJob::v1("true") });
        let job: i64 = job.parse().unwrap();
        let claims = json!({ "worker_model": "w", "model": {}, "job_id": job, "hatchery_name": "one" });
        let (status, said) = lab.call(&mint(&claims), "POST", SIGN_IN, &form());
        assert_eq!(status, if may { 200 } else { 401 }, "{ignores:?} {region:?} {said}");
    }
}

#[test]
fn disabling_a_worker_fails_what_it_builds_and_only_its_hatchery_may() {
    let mut lab = Lab::new();
    let (one, two) = (lab.v1("one"), lab.v1("two"));
    let id = lab.enqueue(NewJob::v1("true"));
    let worker = lab.worker_v1(&id);
    lab.ok(&worker, "POST", &format!("/queue/workflows/{id}/take"), &Value::Null);
    let listed = lab.ok(&one, "GET", "/worker", &Value::Null);
    assert_eq!(listed[0]["status"], "Building");
    assert_eq!(lab.ok(&two, "GET", "/worker", &Value::Null), json!([]));
    let disable = format!("/worker/{}/disable", listed[0]["id"].as_str().unwrap());
    assert_eq!(lab.refusal(&two, "POST", &disable, &Value::Null), (403, 11));
    lab.ok(&one, "POST", &disable, &Value::Null);
    assert_eq!(lab.job(&id).status, Status::Fail);
    let listed = lab.ok(&one, "GET", "/worker", &Value::Null);
    assert_eq!((&listed[0]["status"], &listed[0]["job_run_id"]), (&json!("Disabled"), &Value::Null));
    assert_eq!(lab.refusal(&one, "POST", "/worker/nobody/disable", &Value::Null), (404, 38));
}

#[test]
fn a_worker_that_says_nothing_is_disabled_and_then_forgotten() {
    let mut lab = Lab::new();
    let v1 = lab.v1("one");
    let (v2, id2, of_job) = v2_taken(&mut lab);
    let id1 = lab.enqueue(NewJob::v1("true"));
    let (worker1, worker2) = (lab.worker_v1(&id1), lab.worker_v2(&id2));
    lab.ok(&worker1, "POST", &format!("/queue/workflows/{id1}/take"), &Value::Null);
    lab.ok(&worker2, "POST", &format!("{of_job}/worker/take"), &Value::Null);
    lab.pass(200);
    lab.ok(&worker1, "POST", "/worker/refresh", &Value::Null);
    lab.ok(&worker2, "POST", &format!("{of_job}/worker/refresh"), &Value::Null);
    let status = |lab: &mut Lab| {
        (
            lab.ok(&v1, "GET", "/worker", &Value::Null)[0]["status"].clone(),
            lab.ok(&v2, "GET", "/v2/worker", &Value::Null)[0]["status"].clone(),
        )
    };
    lab.pass(299);
    assert_eq!(status(&mut lab), (json!("Building"), json!("Building")));
    lab.pass(1);
    assert_eq!(status(&mut lab), (json!("Disabled"), json!("Disabled")));
    let listed = lab.ok(&v1, "GET", "/worker", &Value::Null);
    assert_eq!((&listed[0]["job_run_id"], &listed[0]["uptodate"]), (&Value::Null, &json!(false)));
    assert_eq!((lab.job(&id1).status, lab.job(&id2).status), (Status::Building, Status::Building));
    lab.pass(10);
    assert_eq!(status(&mut lab), (Value::Null, Value::Null));
    // The first protocol starts the job again, the second one stops it.
    assert_eq!((lab.job(&id1).status, lab.job(&id2).status), (Status::Waiting, Status::Stopped));
    assert_eq!(lab.job(&id1).retry, 1);
    assert_eq!(lab.refusal(&worker1, "POST", "/worker/refresh", &Value::Null), (401, 10));
}

#[test]
fn a_job_of_the_first_protocol_is_stopped_when_its_fourth_worker_dies() {
    let mut lab = Lab::new();
    let id = lab.enqueue(NewJob::v1("true"));
    for expected in [Status::Waiting, Status::Waiting, Status::Waiting, Status::Stopped] {
        lab.v1("one");
        let worker = lab.worker_v1(&id);
        lab.ok(&worker, "POST", &format!("/queue/workflows/{id}/take"), &Value::Null);
        lab.pass(310);
        assert_eq!(lab.job(&id).status, expected);
    }
}

#[test]
fn signing_out_disables_a_worker_for_a_while() {
    let mut lab = Lab::new();
    let v1 = lab.v1("one");
    let (v2, id2, of_job) = v2_taken(&mut lab);
    let id1 = lab.enqueue(NewJob::v1("true"));
    let (worker1, worker2) = (lab.worker_v1(&id1), lab.worker_v2(&id2));
    lab.ok(&worker1, "POST", "/auth/consumer/worker/signout", &Value::Null);
    lab.ok(&worker2, "POST", &format!("{of_job}/worker/signout"), &Value::Null);
    assert_eq!(lab.refusal(&worker1, "POST", "/worker/waiting", &Value::Null), (401, 10));
    let count = |lab: &mut Lab, session: &str, uri: &str| {
        lab.ok(session, "GET", uri, &Value::Null).as_array().map_or(0, Vec::len)
    };
    assert_eq!(lab.ok(&v2, "GET", "/v2/worker", &Value::Null)[0]["run_job_id"], id2.as_str());
    lab.pass(10);
    assert_eq!((count(&mut lab, &v1, "/worker"), count(&mut lab, &v2, "/v2/worker")), (1, 0));
    lab.pass(290);
    assert_eq!(count(&mut lab, &v1, "/worker"), 0);
    assert_eq!(lab.control(Control::Workers), json!([]));
}

#[test]
fn only_its_worker_gets_the_script_of_a_job_and_adds_to_its_log() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let id = lab.enqueue(NewJob::v1("echo secret"));
    let other = lab.enqueue(NewJob::v1("true"));
    let first = lab.worker_v1(&id);
    let second = lab.worker_v1_called("another", &other);
    let script = format!("/sim/job/{id}/script");
    assert_eq!(lab.refusal(&first, "GET", &script, &Value::Null), (403, 11));
    lab.ok(&first, "POST", &format!("/queue/workflows/{id}/take"), &Value::Null);
    let reply = lab.reply(&first, "GET", &script, &Value::Null);
    assert_eq!(reply.body, rookery_cds_sim::Body::Content("echo secret".into()));
    for other in [&second, &session] {
        assert_eq!(lab.refusal(other, "GET", &script, &Value::Null), (403, 11));
        assert_eq!(lab.refusal(other, "POST", &format!("/sim/job/{id}/log"), &Value::Null), (403, 11));
    }
    lab.ok(&first, "POST", &format!("/sim/job/{id}/log"), &json!("printed"));
    assert_eq!(lab.job(&id).logs, "\"printed\"");
}

#[test]
fn a_job_that_somebody_stops_is_over_for_everybody() {
    let mut lab = Lab::new();
    let v1 = lab.v1("one");
    let (v2, building, of_job) = v2_taken(&mut lab);
    let (_, scheduled, of_scheduled) = v2_taken(&mut lab);
    let (waiting, running) = (lab.enqueue(NewJob::v1("true")), lab.enqueue(NewJob::v1("true")));
    let (worker1, worker2) = (lab.worker_v1(&running), lab.worker_v2(&building));
    lab.ok(&worker1, "POST", &format!("/queue/workflows/{running}/take"), &Value::Null);
    lab.ok(&worker2, "POST", &format!("{of_job}/worker/take"), &Value::Null);
    let of_running = format!("/queue/workflows/{running}");
    // A worker may look at its own job only.
    let infos = format!("{of_running}/infos");
    assert_eq!(lab.ok(&worker1, "GET", &infos, &Value::Null)["status"], "Building");
    assert_eq!(lab.ok(&worker2, "GET", &of_job, &Value::Null)["runjob"]["status"], "Building");
    let foreign = format!("/queue/workflows/{waiting}/infos");
    assert_eq!(lab.refusal(&worker1, "GET", &foreign, &Value::Null), (403, 11));
    assert_eq!(lab.refusal(&worker2, "GET", &of_scheduled, &Value::Null), (403, 11));

    for id in [&waiting, &running, &building, &scheduled] {
        lab.ok("open", "POST", &format!("/control/jobs/{id}/stop"), &Value::Null);
        assert_eq!(lab.job(id).status, Status::Stopped);
        assert_eq!(lab.refusal("open", "POST", &format!("/control/jobs/{id}/stop"), &Value::Null).0, 409);
    }
    assert_eq!(lab.refusal("open", "POST", "/control/jobs/9/stop", &Value::Null).0, 404);
    for (session, of_job) in [(&v1, &foreign), (&worker1, &infos)] {
        assert_eq!(lab.refusal(session, "GET", of_job, &Value::Null), (403, 11));
    }
    assert_eq!(lab.ok(&worker2, "GET", &of_job, &Value::Null)["runjob"]["status"], "Stopped");
    let result = json!({ "buildID": running.parse::<i64>().unwrap(), "status": "Success" });
    assert_eq!(lab.refusal(&worker1, "POST", &format!("{of_running}/result"), &result), (403, 11));
    assert_eq!(lab.refusal(&worker2, "POST", &format!("{of_job}/result"), &result), (400, 74));
    let late = mint(&claims_of("late", &scheduled));
    assert_eq!(lab.refusal(&late, "POST", &format!("{of_scheduled}/worker/signin"), &form()), (403, 11));
    assert_eq!(lab.refusal(&v2, "POST", &format!("{of_scheduled}/hatchery/take"), &Value::Null), (400, 74));
    lab.ok(&worker1, "POST", "/auth/consumer/worker/signout", &Value::Null);
    lab.ok(&worker2, "POST", &format!("{of_job}/worker/signout"), &Value::Null);
    assert_eq!([&running, &building].map(|id| lab.job(id).status), [Status::Stopped; 2]);
}
