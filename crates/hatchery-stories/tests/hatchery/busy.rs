//! A vCenter that is asked for more than it can do at once: jobs wait in the queue of CDS, not in ours.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{NewJob, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use rookery_vim_client::{Blocked, Site};
use rookery_vim_sim::{Action, Change, Control, Durations, FaultSpec, Remains, Rule, Span};
use tokio::time::sleep;

use super::witness::clones_run;

const JOBS: usize = 12;

async fn operations_take(stage: &Stage, durations: Durations) {
    let change = Change { durations: Some(durations), ..Change::default() };
    stage.lab.world.ask(Control::Set(Box::new(change))).await;
}

async fn clones_take_four_minutes(stage: &Stage) {
    let clone = Span::Constant(SignedDuration::from_mins(4));
    operations_take(stage, Durations { clone, ..Durations::default() }).await;
}

// All were taken at once; the last ones spent their time in a queue, were given back, and tried again.
#[tokio::test(start_paused = true)]
async fn a_job_is_taken_only_when_its_clone_can_begin_in_time() {
    let options = LabOptions {
        settings: "maxOperations = 2\n".to_owned(),
        tables: "[commonConfiguration.provision]\nmaxWorker = 40\nmaxConcurrentProvisioning = 40\n"
            .to_owned(),
        ..LabOptions::default()
    };
    let stage = Stage::set(options);
    clones_take_four_minutes(&stage).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let mut jobs = Vec::new();
    for _ in 0..JOBS {
        jobs.push(stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await);
    }
    // Nothing was measured yet: two run, and as many wait.
    sleep(Duration::from_secs(60)).await;
    {
        let report = scene.hatchery.published.report.borrow();
        let why = report.waiting.values().map(|why| (why.as_str(), why.to_string()));
        let busy = why.filter(|(word, text)| {
            (*word, &**text) == ("vcenter_busy", "vCenter is busy: 4 before this one")
        });
        assert_eq!(
            (report.running.iter().filter(|one| one.is_start()).count(), busy.count()),
            (4, JOBS - 4),
            "{:?}",
            report.waiting
        );
    }
    let text = scene.hatchery.published.metrics_text();
    let sample = format!("rookery_hatchery_jobs_waiting{{reason=\"vcenter_busy\"}} {}", JOBS - 4);
    assert!(text.contains(&sample), "{text}");
    assert_eq!(clones_run(&stage.lab).await, 2);
    stage.all_jobs_end().await;
    for job in jobs {
        let job = stage.lab.job(&job).await;
        assert_eq!((job.status, job.attempts.len()), (Status::Success, 1), "{job:#?}");
    }
    scene.stop().await;
    stage.lab.close().await;
}

// Clones that failed at once made the queue look short, and jobs were taken that could not begin in time.
#[tokio::test(start_paused = true)]
async fn only_clones_that_succeed_tell_how_long_clones_take() {
    let stage = Stage::set(LabOptions::default());
    clones_take_four_minutes(&stage).await;
    let (fault, after) = (FaultSpec::new("SystemError", "no"), Span::default());
    let fails = Action::TaskError { fault, after, remains: Remains::default() };
    let rule = Rule { method: "CloneVM_Task".to_owned(), count: Some(1), ..Rule::new(fails) };
    stage.lab.world.ask(Control::AddRule(rule)).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let median = || scene.hatchery.published.beside.governor.load(&Site::default()).median;
    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.until("its first start has failed", async || stage.lab.job(&job).await.releases == 1).await;
    assert_eq!(median(), None);
    stage.all_jobs_end().await;
    let measured = median().expect("a clone has succeeded");
    assert!(measured >= Duration::from_mins(4), "{measured:?}");
    scene.stop().await;
    stage.lab.close().await;
}

// The setting had no effect: no order said which host it was for.
#[tokio::test(start_paused = true)]
async fn one_host_is_asked_for_no_more_at_once_than_the_settings_say() {
    let options = LabOptions { settings: "maxOperationsPerHost = 1\n".to_owned(), ..LabOptions::default() };
    let stage = Stage::set(options);
    let destroy = Span::Constant(SignedDuration::from_mins(1));
    operations_take(&stage, Durations { destroy, ..Durations::default() }).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    for _ in 0..4 {
        stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    }
    stage.all_jobs_end().await;
    let (governor, mut waited) = (&scene.hatchery.published.beside.governor, false);
    while !stage.machines_of(Lab::NAME).await.is_empty() {
        assert!(governor.running() <= 1, "there is one host, and its machines are deleted one by one");
        waited |= governor.waiting().iter().any(|one| matches!(one.blocked, Blocked::Host(_)));
        sleep(Duration::from_secs(1)).await;
    }
    assert!(waited, "they are deleted together, but for that");
    scene.stop().await;
    stage.lab.close().await;
}
