//! Neither server is asked more often than is of use. On paused time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_cds_sim::Status;
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use rookery_vim_sim::{Body, Control};
use serde_json::Value;
use tokio::time::sleep;

use super::history::{refuse, requests};

fn stage(options: LabOptions) -> Stage {
    Stage::set(options)
}

/// How often the vCenter was asked for anything about its history.
async fn history_calls(stage: &Stage) -> u64 {
    let reply = stage.lab.world.vcenter.control(Control::Inspect).await.expect("the vCenter runs");
    let Body::Text(text) = reply.body else { panic!("an inspection is text") };
    let seen: Value = serde_json::from_str(&text).expect("JSON");
    let asked = seen["requests"].as_object().expect("requests by method").iter();
    let about_history = |method: &str| {
        ["CreateCollectorForEvents", "ResetCollector", "RewindCollector", "DestroyCollector"]
            .contains(&method)
            || (method.starts_with("Read") && method.ends_with("Events"))
            || method == "QueryEvents"
    };
    let calls =
        |counts: &Value| counts["answered"].as_u64().zip(counts["refused"].as_u64()).map(|(a, r)| a + r);
    asked.filter(|(method, _)| about_history(method)).filter_map(|(_, counts)| calls(counts)).sum()
}

/// A stage with VMs whose marks do not say when they started.
fn with_old_marks(count: usize) -> Stage {
    let options = LabOptions::default();
    let mark = r#"{"hatchery_name":"hatchery-lab","vmware_model_path":"debian12"}"#;
    let old =
        format!("\n[[datacenter.vm]]\nname = \"old-#\"\ncount = {count}\non = true\nannotation = '{mark}'\n");
    let settings = "workerRegistrationTTL = 30\n".to_owned();
    stage(LabOptions { model: options.model.clone() + &old, settings, ..options })
}

#[tokio::test(start_paused = true)]
async fn the_history_of_hundreds_of_machines_is_asked_for_in_a_few_calls() {
    let stage = with_old_marks(500);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    sleep(Duration::from_mins(15)).await;
    let calls = history_calls(&stage).await;
    assert!((4..=20).contains(&calls), "{calls} calls");
    assert_eq!(stage.machines_of(Lab::NAME).await.len(), 500, "they are young");
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_history_that_cannot_be_read_is_asked_for_ever_more_rarely_and_deletes_nothing() {
    let stage = with_old_marks(20);
    refuse(&stage.lab, "CreateCollectorForEvents", None, "NoPermission").await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    sleep(Duration::from_hours(1)).await;
    let calls = history_calls(&stage).await;
    // At once, and after 2, 4, 8, 16 and again 16 minutes.
    assert!((5..=6).contains(&calls), "{calls} calls");
    assert_eq!(stage.machines_of(Lab::NAME).await.len(), 20, "nobody knows when they started");
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_backlog_asks_for_workers_every_two_seconds_at_most_and_only_when_something_has_happened() {
    let mut options = LabOptions {
        tables: "[commonConfiguration.provision]\nmaxWorker = 2\n".to_owned(),
        ..LabOptions::default()
    };
    // Machines run on for long after their workers have signed out, so that nothing happens meanwhile.
    options.cds.times.deletion = 0;
    let stage = stage(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let mut jobs = Vec::new();
    for _ in 0..8 {
        let job = rookery_cds_sim::NewJob::v2("true", Lab::DEBIAN, "default");
        jobs.push(stage.lab.enqueue(job).await);
    }
    stage.all_jobs_end().await;
    for job in &jobs {
        assert_eq!(stage.lab.job(job).await.status, Status::Success);
    }
    let asked: Vec<Timestamp> = requests(&stage.lab)
        .await
        .iter()
        .filter(|entry| entry.method == "GET" && entry.path == "/v2/worker")
        .map(|entry| entry.at)
        .collect();
    let gaps: Vec<SignedDuration> = asked.windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
    assert!(gaps.iter().all(|gap| *gap >= SignedDuration::from_secs(2)), "{gaps:?}");
    let took = asked.last().zip(asked.first()).map(|(last, first)| last.duration_since(*first).as_secs());
    let took = usize::try_from(took.expect("workers were listed")).expect("time passes");
    // One every ten seconds, and for each job: its start, its end, the end of its machine, the deletion.
    assert!(asked.len() <= took / 10 + 4 * jobs.len(), "{} lists in {took} s", asked.len());
    scene.stop().await;
    stage.lab.close().await;
}
