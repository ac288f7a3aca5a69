//! Jobs of others, and giving back: nothing is written on a job that is not ours, and only what is ours is released.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{Control, Job, NewJob, Requirement, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use rookery_vim_sim::{Action, FaultSpec, Remains, Rule, Span};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::witness::was_told;

fn stage(options: LabOptions) -> Stage {
    Stage::set(options)
}

/// What our hatchery said of a job: the ids or texts of its messages.
fn said(job: &Job) -> Vec<String> {
    let ours = job.infos.iter().filter(|info| info.by != "api");
    ours.map(|info| info.said.to_string()).collect()
}

// Jobs without a model are listed to every hatchery. Each one that could not run them wrote a red error on them.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_on_a_v1_job_that_names_no_model_of_ours() {
    let stage = stage(LabOptions {
        tables: "[[flavors]]\nname = \"small\"\ncpus = 1\nmemoryMB = 1024\n".to_owned(),
        ..LabOptions::default()
    });
    let lab = &stage.lab;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let asks = |kind: &str, value: &str| vec![Requirement::new(kind, value, value)];
    let of_others = [
        ("without a model", NewJob::v1("true")),
        ("with a program", NewJob { requirements: asks("binary", "git"), ..NewJob::v1("true") }),
        ("on a host", NewJob { requirements: asks("hostname", "metal-7"), ..NewJob::v1("true") }),
        ("on an unknown model", NewJob { model: Some("team/docker".to_owned()), ..NewJob::v1("true") }),
        (
            "on a model that cannot be read",
            NewJob { model: Some("PRJ/github/org/app/nowhere@main".to_owned()), ..NewJob::v1("true") },
        ),
    ];
    let mut left_alone = Vec::new();
    for (which, job) in of_others {
        left_alone.push((which, lab.enqueue(job).await));
    }
    let named = NewJob {
        model: Some(format!("{}@main", Lab::DEBIAN)),
        requirements: asks("flavor", "gigantic"),
        ..NewJob::v1("true")
    };
    let named = lab.enqueue(named).await;
    sleep(Duration::from_hours(1)).await;
    for (which, id) in left_alone {
        let job = lab.job(&id).await;
        assert_eq!((job.status, said(&job)), (Status::Waiting, vec![]), "a job {which}");
    }
    let told = said(&lab.job(&named).await);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("MsgSpawnInfoJobError") && told[0].contains("gigantic"), "{told:?}");
    assert!(told[0].contains("\"type\":\"Warning\""), "{told:?}");
    scene.stop().await;
    stage.lab.close().await;
}

/// Changes what CDS knows of a job.
async fn change(stage: &Stage, job: &str, change: impl FnOnce(&mut Value)) {
    let mut dump = stage.cds().await;
    change(&mut dump["jobs"][job]);
    let loaded = stage.lab.cds.control(Control::Load(dump)).await.expect("CDS runs");
    assert_eq!(loaded.status, 200, "{loaded:?}");
}

/// A worker of somebody else's has run the job.
fn succeed(job: &mut Value) {
    let now = job["history"].as_array().and_then(|history| history.last()).expect("a history")[0].clone();
    job["status"] = json!("Success");
    for status in ["Building", "Success"] {
        job["history"].as_array_mut().expect("a list").push(json!([now, status]));
    }
}

// The booking of another hatchery was released, and a job that was over ran again.
#[tokio::test(start_paused = true)]
async fn a_failed_start_gives_back_only_what_is_still_ours() {
    let stage = stage(LabOptions::default());
    let lab = &stage.lab;
    let fault = FaultSpec::new("SystemError", "a rule of the story");
    let after = Span::Constant(SignedDuration::from_mins(2));
    let action = Action::TaskError { fault, after, remains: Remains::Nothing };
    let broken = Rule { method: "CloneVM_Task".to_owned(), ..Rule::new(action) };
    lab.world.ask(rookery_vim_sim::Control::AddRule(broken)).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let v1 = || NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("true") };
    let v2 = || NewJob::v2("true", Lab::DEBIAN, "default");
    let [booked, taken] = [lab.enqueue(v1()).await, lab.enqueue(v1()).await];
    let [over, ours] = [lab.enqueue(v2()).await, lab.enqueue(v2()).await];
    for job in [&booked, &taken, &over, &ours] {
        stage.until("the job is held", async || !lab.job(job).await.attempts.is_empty()).await;
    }
    change(&stage, &booked, |job| {
        job["booking"]["hatchery"] = json!("another");
        job["booking"]["service"] = json!(4711);
        job["booking"]["until"] = json!("2031-12-31T00:00:00Z");
    })
    .await;
    for job in [&taken, &over] {
        change(&stage, job, succeed).await;
    }
    stage.until("a start has failed", async || lab.job(&ours).await.releases > 0).await;
    sleep(Duration::from_mins(2)).await;
    for (which, id, status) in [
        ("that another one has booked", &booked, Status::Waiting),
        ("that somebody else has run", &taken, Status::Success),
        ("that is over", &over, Status::Success),
    ] {
        let job = lab.job(id).await;
        assert_eq!((job.status, job.releases), (status, 0), "a job {which}: {job:#?}");
        assert!(!was_told(&job, "a rule of the story"), "a job {which}: {job:#?}");
    }
    assert!(was_told(&lab.job(&ours).await, "a rule of the story"));
    scene.stop().await;
    stage.lab.close().await;
}
