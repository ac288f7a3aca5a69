//! A job goes all the way: queue, machine, guest program, worker, log, result.

use rookery_cds_sim::Status;
use rookery_stories::{Lab, LabOptions};

#[tokio::test(flavor = "multi_thread")]
async fn a_v2_job_runs_in_a_fresh_clone() {
    let lab = Lab::start(LabOptions::default()).await;
    let scene = lab.hatch().await;
    let nonce = "n0nce-4711";
    let job = lab.v2_job(Lab::DEBIAN, &format!("echo {nonce}")).await;
    let ended = lab.ended(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    assert!(ended.logs.contains(nonce), "{ended:#?}");
    scene.stop().await;
    lab.close().await;
}
