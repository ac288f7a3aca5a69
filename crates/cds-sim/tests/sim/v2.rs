//! The queue of the second protocol.

use rookery_cds_sim::{CodeModel, Config, ModelType, NewJob, Status};
use serde_json::{Value, json};

use super::kit::{Lab, PATH, config, sign_in_v2};

fn enqueue(lab: &mut Lab) -> (String, String) {
    let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    let of_job = format!("/v2/queue/rbx/job/{id}");
    (id, of_job)
}

#[test]
fn the_queue_shows_what_fits_the_region_the_type_and_the_processor() {
    let arm = CodeModel { osarch: "linux/arm64".to_owned(), ..CodeModel::vsphere("P/v/o/r/arm", "arm") };
    let docker = CodeModel { model_type: ModelType::Docker, ..CodeModel::vsphere("P/v/o/r/docker", "d") };
    let mut lab =
        Lab::with(Config { code_models: vec![CodeModel::vsphere(PATH, "debian"), arm, docker], ..config() });
    let (plain, _) = enqueue(&mut lab);
    let arm = lab.enqueue(NewJob::v2("true", "P/v/o/r/arm@refs/heads/main", "rbx"));
    lab.enqueue(NewJob::v2("true", "P/v/o/r/docker", "rbx"));
    let far = lab.enqueue(NewJob::v2("true", PATH, "gra"));
    let (one, elsewhere) = (lab.v2("one"), lab.v2("far"));
    for (session, uri, expected) in [
        (&one, "/v2/queue/rbx", vec![&plain]),
        (&one, "/v2/queue/rbx?osarch=linux/arm64", vec![&arm]),
        (&one, "/v2/queue/rbx?osarch=linux%2Famd64&osarch=linux/arm64", vec![&plain, &arm]),
        (&elsewhere, "/v2/queue/gra", vec![&far]),
    ] {
        let listed = lab.ok(session, "GET", uri, &Value::Null);
        let ids: Vec<_> = listed.as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{uri}");
    }
    let mut as_docker = sign_in_v2("one");
    as_docker["type"] = "docker".into();
    lab.ok("", "POST", "/v2/auth/consumer/hatchery/signin", &as_docker);
    assert_eq!(lab.ok(&one, "GET", "/v2/queue/rbx", &Value::Null).as_array().unwrap().len(), 1);
    assert_eq!(lab.refusal(&one, "GET", &format!("/v2/queue/rbx/job/{far}"), &Value::Null), (403, 11));
}

#[test]
fn one_hatchery_takes_a_job_and_the_others_are_too_late() {
    let mut lab = Lab::new();
    let (one, two) = (lab.v2("one"), lab.v2("two"));
    let (id, of_job) = enqueue(&mut lab);
    let take = format!("{of_job}/hatchery/take");
    let taken = lab.ok(&one, "POST", &take, &Value::Null);
    assert_eq!((&taken["status"], &taken["hatchery_name"]), (&json!("Scheduling"), &json!("one")));
    for session in [&one, &two] {
        assert_eq!(lab.refusal(session, "POST", &take, &Value::Null), (404, 38));
    }
    assert_eq!(lab.refusal(&one, "POST", "/v2/queue/rbx/job/nothing/hatchery/take", &Value::Null), (404, 38));
    let far = lab.enqueue(NewJob::v2("true", PATH, "gra"));
    let wrong_region = format!("/v2/queue/rbx/job/{far}/hatchery/take");
    assert_eq!(lab.refusal(&one, "POST", &wrong_region, &Value::Null), (400, 149));
    let elsewhere = format!("/v2/queue/gra/job/{far}/hatchery/take");
    assert_eq!(lab.refusal(&one, "POST", &elsewhere, &Value::Null), (403, 11));

    assert_eq!(lab.refusal(&two, "DELETE", &take, &Value::Null), (400, 149));
    assert_eq!(
        lab.refusal(&two, "POST", &format!("{of_job}/result"), &json!({ "status": "Fail" })),
        (403, 11)
    );
    let result = |time: &str| json!({ "status": "Fail", "error": "no", "time": time });
    let far_result = format!("/v2/queue/rbx/job/{far}/result");
    assert_eq!(lab.refusal(&one, "POST", &far_result, &json!({ "status": "Fail" })), (400, 149));
    assert_eq!(lab.refusal(&one, "POST", &format!("{of_job}/result"), &result("now")), (400, 74));
    lab.ok(&one, "POST", &format!("{of_job}/result"), &result("2031-02-03T04:05:06.5+02:00"));
    // That it is over counts before whose it was.
    assert_eq!(
        lab.refusal(&two, "POST", &format!("{of_job}/result"), &json!({ "status": "Fail" })),
        (400, 74)
    );
    assert_eq!(
        lab.refusal(&one, "POST", &format!("{of_job}/result"), &json!({ "status": "Fail" })),
        (400, 74)
    );
    assert_eq!(lab.refusal(&two, "POST", &take, &Value::Null), (400, 74));
    assert_eq!(lab.job(&id).status, Status::Fail);
}

#[test]
fn releases_are_counted_and_the_fifth_fails_the_job() {
    let mut lab = Lab::new();
    let one = lab.v2("one");
    let (id, of_job) = enqueue(&mut lab);
    let take = format!("{of_job}/hatchery/take");
    for release in 1..=5 {
        assert_eq!(lab.job(&id).status, Status::Waiting, "before release {release}");
        lab.ok(&one, "POST", &take, &Value::Null);
        lab.ok(&one, "DELETE", &take, &Value::Null);
    }
    let job = lab.job(&id);
    assert_eq!((job.status, job.releases, job.attempts.len()), (Status::Fail, 5, 5));
    assert_eq!(lab.refusal(&one, "DELETE", &take, &Value::Null), (400, 149));
}

#[test]
fn releasing_a_finished_job_runs_it_again() {
    let mut lab = Lab::new();
    let one = lab.v2("one");
    let (id, of_job) = enqueue(&mut lab);
    lab.ok(&one, "POST", &format!("{of_job}/hatchery/take"), &Value::Null);
    let worker = lab.worker_v2(&id);
    lab.ok(&worker, "POST", &format!("{of_job}/worker/take"), &Value::Null);
    lab.ok(&worker, "POST", &format!("{of_job}/result"), &json!({ "status": "Success" }));
    assert_eq!(lab.job(&id).status, Status::Success);
    lab.ok(&one, "DELETE", &format!("{of_job}/hatchery/take"), &Value::Null);
    assert_eq!(lab.job(&id).status, Status::Waiting);
}

#[test]
fn time_brings_jobs_back_or_fails_them() {
    let mut lab = Lab::new();
    let one = lab.v2("one");
    let (id, of_job) = enqueue(&mut lab);
    lab.pass(100);
    lab.ok(&one, "POST", &format!("{of_job}/hatchery/take"), &Value::Null);
    lab.pass(599);
    assert_eq!(lab.job(&id).status, Status::Scheduling);
    lab.pass(1);
    let job = lab.job(&id);
    assert_eq!((job.status, job.releases, job.hatchery.as_str()), (Status::Waiting, 0, ""));
    lab.pass(3599);
    assert_eq!(lab.job(&id).status, Status::Waiting);
    lab.pass(1);
    let job = lab.job(&id);
    assert_eq!(job.status, Status::Fail);
    let seconds: Vec<_> =
        job.history.iter().map(|(at, _)| at.duration_since(job.history[0].0).as_secs()).collect();
    assert_eq!(seconds, [0, 100, 700, 4300]);
}

#[test]
fn the_detail_holds_the_model_and_runs_on_in_both_forms() {
    let mut lab = Lab::new();
    let one = lab.v2("one");
    let (_, of_job) = enqueue(&mut lab);
    let detail = lab.ok(&one, "GET", &of_job, &Value::Null);
    assert_eq!(detail["runjob"]["job"]["runs-on"], PATH);
    assert_eq!(
        detail["model"],
        json!({ "name": "debian", "osarch": "linux/amd64", "type": "vsphere", "spec": { "image": "debian" } })
    );
    let sized = lab.enqueue(NewJob {
        flavor: Some("large".to_owned()),
        memory: Some(4096),
        services: [("pg".to_owned(), "postgres".to_owned())].into(),
        ..NewJob::v2("true", PATH, "rbx")
    });
    let detail = lab.ok(&one, "GET", &format!("/v2/queue/rbx/job/{sized}"), &Value::Null);
    assert_eq!(
        detail["runjob"]["job"]["runs-on"],
        json!({ "model": PATH, "memory": "4096", "flavor": "large" })
    );
    assert_eq!(detail["runjob"]["job"]["services"]["pg"]["image"], "postgres");
}

#[test]
fn what_hatcheries_say_about_a_job_is_kept_if_its_level_is_known() {
    let mut lab = Lab::new();
    let one = lab.v2("one");
    let (id, of_job) = enqueue(&mut lab);
    let info = format!("{of_job}/info");
    lab.ok(
        &one,
        "POST",
        &info,
        &json!({ "level": "warning", "message": "so", "time": "2031-02-03T04:05:06Z" }),
    );
    assert_eq!(lab.job(&id).infos[0].said, json!({ "level": "warning", "message": "so" }));
    assert_eq!(lab.refusal(&one, "POST", &info, &json!({ "level": "loud", "message": "so" })), (400, 74));
    let untimely = json!({ "level": "info", "message": "so", "time": "now" });
    assert_eq!(lab.refusal(&one, "POST", &info, &untimely), (400, 74));
    assert_eq!(
        lab.refusal(&one, "POST", "/v2/queue/rbx/job/x/info", &json!({ "level": "info", "message": "so" })),
        (404, 38)
    );
}
