//! The pages that monitoring of a Go hatchery knows, over HTTP.

use rookery_cds_sim::{Fault, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions, Scene};
use rookery_kit::{eventually, read_page};
use serde_json::Value;

use super::history::trouble;

async fn page(scene: &Scene, path: &str) -> (u16, Value) {
    let (status, _, text) = read_page(&format!("{}{path}", scene.url)).await.expect("it serves");
    (status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}")))
}

#[tokio::test(flavor = "multi_thread")]
async fn monitoring_finds_what_it_knows_and_an_alarm_is_a_status_of_its_own() {
    let lab = Lab::start(LabOptions::default()).await;
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    eventually("the job is built", async || lab.job(&job).await.status == Status::Building).await;
    let worker = lab.job(&job).await.worker_name;
    eventually("the worker is listed", async || {
        page(&scene, "/mon/workers").await.1[0]["status"] == "Building"
    })
    .await;
    let listed = page(&scene, "/mon/workers").await.1;
    assert_eq!((&listed[0]["name"], &listed[0]["run_job_id"]), (&worker.into(), &job.into()), "{listed}");
    assert!(listed[0]["id"].is_string() && listed[0]["last_beat"].is_string(), "{listed}");

    let (status, told) = page(&scene, "/mon/status").await;
    assert_eq!(status, 200, "{told:#}");
    let lines = told["lines"].as_array().expect("lines");
    let value = |component: &str| {
        let line = lines.iter().find(|line| line["component"] == component);
        line.map_or(Value::Null, |line| line["value"].clone())
    };
    assert_eq!((value("Workers"), value("CPUs")), ("1/10".into(), "2/unlimited".into()), "{told:#}");
    let version = page(&scene, "/mon/version").await.1;
    for key in ["version", "architecture", "os", "git_hash", "build_time"] {
        assert!(version[key].is_string(), "{key}: {version}");
    }
    let (status, none) = page(&scene, "/nothing").await;
    assert_eq!((status, none["message"].is_string()), (404, true), "{none}");

    trouble(&lab, Fault::next(1, "/v2/hatchery/heartbeat", Trouble::Error { status: 403, id: 11 })).await;
    eventually("the alarm is seen", async || page(&scene, "/mon/status").await.0 == 503).await;
    scene.stop().await;
    lab.close().await;
}
