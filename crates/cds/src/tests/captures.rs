//! What a real CDS and its own hatchery said to each other: our requests are the same, and each answer is understood.

use std::time::Duration;

use serde_json::{Value, json};

use super::kit::{Kit, NOW, Reply, identity};
use crate::session::Protocol as _;
use crate::{
    HatcheryKey, Identity, InfoLevel, JobId, JobStatus, MonitoringStatus, RegionFilter, RequirementKind,
    SpawnInfo, V1JobId, V2JobId, WorkerStatus,
};

const CAPTURES: &str = include_str!("../../tests/captures/hatchery.jsonl");
const JOB: &str = "6ec08f8c-2b9f-4e0a-81ab-5e980012400a";

#[derive(Debug, Clone)]
struct Capture {
    method: String,
    uri: String,
    status: u16,
    request: Value,
    answer: Value,
}

fn captures() -> Vec<Capture> {
    let capture = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        Capture {
            method: line["method"].as_str().unwrap().to_owned(),
            uri: line["uri"].as_str().unwrap().to_owned(),
            status: line["status"].as_u64().unwrap().try_into().unwrap(),
            request: line["req"].clone(),
            answer: line["resp"].clone(),
        }
    };
    CAPTURES.lines().map(capture).collect()
}

fn capture(method: &str, uri: &str) -> Capture {
    captures().into_iter().rfind(|capture| capture.method == method && capture.uri == uri).expect(uri)
}

/// Answers everything but sign-ins as it was captured.
fn kit(now: &str) -> Kit {
    let captures = captures();
    Kit::with(identity(), Some("<JWT>"), Some("<JWT>"), now, move |asked| {
        let path = asked.uri.strip_prefix("/api").unwrap();
        let capture =
            captures.iter().rfind(|capture| capture.method == asked.method && capture.uri == path)?;
        let body = if capture.status == 204 { String::new() } else { capture.answer.to_string() };
        (!path.ends_with("/signin")).then_some(Reply::Answer(capture.status, body))
    })
}

/// That the last request is the captured one.
fn check_last(kit: &Kit, method: &str, uri: &str) {
    let (asked, captured) = (kit.server.asked().pop().unwrap(), capture(method, uri));
    assert_eq!((asked.method, asked.uri), (captured.method, format!("/api{}", captured.uri)));
    assert_eq!(asked.body, captured.request);
}

fn captured_identity(config: &Value) -> Identity {
    Identity { config: serde_json::from_value(config.clone()).unwrap(), ..identity() }
}

/// The capture has no keys in it.
fn without_key(mut introduction: Value, at: &str) -> Value {
    let key: &HatcheryKey = &identity().key;
    let found = introduction.pointer_mut(at).unwrap();
    assert_eq!(found, key.public());
    *found = json!("<base64 of PEM>");
    introduction
}

#[test]
fn the_introductions_are_the_captured_ones() {
    let v1 = capture("POST", "/auth/consumer/builtin/signin");
    let identity = captured_identity(&v1.request["service"]["config"]);
    let introduction = crate::v1::Builtin::introduction(&identity, &"<JWT>".into());
    assert_eq!(without_key(introduction, "/service/public_key"), v1.request);

    let v2 = capture("POST", "/v2/auth/consumer/hatchery/signin");
    let identity = captured_identity(&v2.request["config"]);
    let introduction = crate::v2::Consumer::introduction(&identity, &"<JWT>".into());
    assert_eq!(without_key(introduction, "/public_key"), v2.request);
}

#[tokio::test(start_paused = true)]
async fn the_answers_to_the_introductions_are_understood() {
    let kit = Kit::new(|asked| {
        let capture = capture(&asked.method, asked.uri.strip_prefix("/api").unwrap());
        Some(Reply::Answer(capture.status, capture.answer.to_string()))
    });
    let service = kit.v1().service().await.unwrap();
    assert_eq!((service.id, service.region.as_deref()), (7, Some("default")));
    assert!(!service.ignore_job_with_no_region);
    assert_eq!(kit.v2().region().await.unwrap(), "default");
}

#[tokio::test(start_paused = true)]
async fn heartbeats_are_the_captured_ones_line_by_line() {
    let kit = kit(NOW);
    for (uri, lines) in [("/services/heartbeat", 23), ("/v2/hatchery/heartbeat", 23)] {
        let captured = capture("POST", uri).request;
        let status: MonitoringStatus = serde_json::from_value(captured).unwrap();
        assert_eq!(status.lines.len(), lines);
        if uri.starts_with("/v2") {
            kit.v2().heartbeat(&status).await.unwrap();
        } else {
            kit.v1().heartbeat(&status).await.unwrap();
        }
        check_last(&kit, "POST", uri);
    }
}

#[tokio::test(start_paused = true)]
async fn a_v1_job_is_listed_read_booked_and_told_about() {
    let kit = kit("2026-11-15T07:53:01.892555217Z");
    let (v1, job) = (kit.v1(), V1JobId::try_from(4).unwrap());
    assert_eq!(v1.queue(&RegionFilter::new(Some("default"), false)).await.unwrap(), []);
    check_last(&kit, "GET", "/queue/workflows?modelType=vsphere&region=default&region=");

    let found = v1.job(job).await.unwrap();
    check_last(&kit, "GET", "/queue/workflows/4/infos");
    assert_eq!((found.id, &found.status, found.booked_by.id), (job, &JobStatus::Waiting, 0));
    assert_eq!(found.queued, Some("2026-11-15T07:53:01.595771Z".parse().unwrap()));
    let groups: Vec<_> = found.exec_groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(groups, ["RIG", "grp-rig-vsphere", "shared.infra"]);
    let [requirement] = found.requirements() else { panic!("{found:?}") };
    assert_eq!(requirement.kind, RequirementKind::OsArchitecture);
    assert_eq!(requirement.value, "linux/amd64");

    v1.book(job, Duration::ZERO).await.unwrap();
    check_last(&kit, "POST", "/queue/workflows/4/book");

    let info = SpawnInfo::Starts {
        hatchery: "rig-vsphere".into(),
        worker: "dazzling-bartik".into(),
        model: "rig-vsphere-model".into(),
    };
    v1.spawn_info(job, &[info]).await.unwrap();
    check_last(&kit, "POST", "/queue/workflows/4/spawn/infos");
}

#[tokio::test(start_paused = true)]
async fn a_v2_job_is_listed_read_taken_and_told_about() {
    let kit = kit("2026-11-15T07:52:55.169098214Z");
    let (v2, job) = (kit.v2(), V2JobId::try_from(JOB.to_owned()).unwrap());
    assert_eq!(v2.queue(&[]).await.unwrap(), []);
    check_last(&kit, "GET", "/v2/queue/default");

    let found = v2.job(&job).await.unwrap();
    check_last(&kit, "GET", &format!("/v2/queue/default/job/{JOB}"));
    assert_eq!((&found.job.status, found.job.hatchery_name.as_str()), (&JobStatus::Waiting, ""));
    assert_eq!(found.job.runs_on().model, "RIG/rigvcs/gituser/rigrepo/rig-vsphere-model@refs/heads/main");
    assert_eq!(found.job.project_key, "RIG");
    let model = found.model.unwrap();
    assert_eq!((model.kind.as_str(), model.osarch.as_str()), ("vsphere", "linux/amd64"));
    assert_eq!(model.spec.image, "debian12");
    assert!(model.spec.password.is_none() && found.job.services().next().is_none());

    let taken = v2.take(&job).await.unwrap();
    check_last(&kit, "POST", &format!("/v2/queue/default/job/{JOB}/hatchery/take"));
    assert_eq!((taken.status, taken.hatchery_name.as_str()), (JobStatus::Scheduling, "rig-vsphere"));

    let message = "Hatchery \"rig-vsphere\" is starting the worker \"peaceful-mclaren\" from model \"rig-vsphere-model\"";
    v2.info(&job, InfoLevel::Info, message).await.unwrap();
    check_last(&kit, "POST", &format!("/v2/queue/default/job/{JOB}/info"));
}

#[tokio::test(start_paused = true)]
async fn workers_and_models_are_read() {
    let kit = kit(NOW);
    let [worker] = kit.v1().workers().await.unwrap().try_into().unwrap();
    check_last(&kit, "GET", "/worker");
    assert_eq!((worker.name.as_str(), worker.status), ("dazzling-bartik", WorkerStatus::Disabled));
    assert_eq!((worker.job, worker.model, worker.hatchery.as_str()), (None, None, "rig-vsphere"));
    assert_eq!(worker.last_beat, Some("2026-11-15T07:53:03.765183Z".parse().unwrap()));

    let [worker] = kit.v2().workers().await.unwrap().try_into().unwrap();
    check_last(&kit, "GET", "/v2/worker");
    assert_eq!(worker.job, Some(JobId::V2(JOB.to_owned().try_into().unwrap())));
    assert_eq!(worker.last_beat, Some("2026-11-15T07:52:57.0107Z".parse().unwrap()));

    assert!(kit.v1().models().await.unwrap().is_empty());
    check_last(&kit, "GET", "/worker/model/enabled");
    let path = crate::ModelPath {
        project: "RIG".into(),
        vcs: "rigvcs".into(),
        repository: "gituser/rigrepo".into(),
        name: "rig-vsphere-model".into(),
        branch: "main".into(),
    };
    let model = kit.v2().model(&path).await.unwrap();
    let captured =
        "/v2/project/RIG/vcs/rigvcs/repository/gituser%2Frigrepo/workermodel/rig-vsphere-model?branch=main";
    check_last(&kit, "GET", captured);
    assert_eq!((model.name.as_str(), model.spec.image.as_str()), ("rig-vsphere-model", "debian12"));

    kit.v1().sign_out().await.unwrap();
    check_last(&kit, "POST", "/auth/consumer/signout");
}
