//! A CDS that is swamped loses jobs: workers are launched no faster than it bears them.

use std::time::Duration;

use rookery_cds_sim::{Capacity, Config, Fault, Job, NewJob, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use tokio::time::{Instant, sleep};

/// What came of fifty jobs that were there at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcome {
    took: Duration,
    lost: usize,
    /// The fewest workers that were allowed at once.
    fewest: u32,
    /// Whether some job was seen to wait for that reason.
    explained: bool,
}

/// Runs fifty jobs with so many workers starting at once.
async fn fifty_jobs(capacity: Option<Capacity>, limit: u32, adapts: bool) -> Outcome {
    let options = LabOptions {
        v1: false,
        cds: Config { capacity, ..Config::default() },
        // CDS is to be what is short, not vCenter.
        settings: format!(
            "adaptToCDS = {adapts}\nmaxOperations = 200\nmaxOperationsPerHost = 200\n\
             maxOperationsPerDatastore = 200\n"
        ),
        tables: format!(
            "[commonConfiguration.provision]\nmaxWorker = 0\nmaxConcurrentProvisioning = {limit}\n"
        ),
        ..LabOptions::default()
    };
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    for _ in 0..50 {
        stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    }
    let (mut fewest, mut explained) = (limit, false);
    let jobs = loop {
        sleep(Duration::from_secs(1)).await;
        let report = scene.hatchery.published.report.borrow().clone();
        fewest = fewest.min(report.launches.allowed);
        explained |= report.waiting.values().any(|line| line.to_string().starts_with("CDS answers slowly: "));
        let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
        // A fixed limit that loses a job is of no use, however it goes on.
        let is_lost = |job: &Job| job.status.is_final() && job.status != Status::Success;
        if jobs.iter().all(|job| job.status.is_final()) || (!adapts && jobs.iter().any(is_lost)) {
            break jobs;
        }
        assert!(begun.elapsed() < Duration::from_hours(1), "{jobs:#?}");
    };
    let took = begun.elapsed();
    let lost = jobs.iter().filter(|job| job.status.is_final() && job.status != Status::Success).count();
    assert_eq!(stage.findings(), []);
    scene.stop().await;
    stage.lab.close().await;
    let outcome = Outcome { took, lost, fewest, explained };
    println!("{limit} at once, adapting {adapts}: {outcome:?}");
    outcome
}

const SLOW: Option<Capacity> =
    Some(Capacity { service_milliseconds: 250, worker_patience_milliseconds: 10_000 });

// Of fifty jobs that were started as fast as vCenter could, a third was lost.
#[tokio::test(start_paused = true)]
async fn no_job_is_lost_on_a_slow_server_and_it_takes_little_longer_than_with_the_best_limit() {
    let mut fixed = Vec::new();
    for limit in [4, 8, 12, 50] {
        fixed.push(fifty_jobs(SLOW, limit, false).await);
    }
    assert!(
        fixed.last().is_some_and(|all_at_once| all_at_once.lost > 0),
        "the server is not slow: {fixed:?}"
    );
    let best = fixed.iter().filter(|one| one.lost == 0).map(|one| one.took).min().expect("a limit that does");
    for limit in [50, 10] {
        let adapting = fifty_jobs(SLOW, limit, true).await;
        assert_eq!(adapting.lost, 0, "{adapting:?}");
        assert!(adapting.took <= best.mul_f64(1.5), "{adapting:?} where {best:?} is possible: {fixed:?}");
        assert!(adapting.fewest < limit && adapting.explained, "it was felt, and told: {adapting:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn on_a_fast_server_nothing_is_held_back() {
    for (capacity, limit) in
        [(None, 50), (Some(Capacity { service_milliseconds: 15, worker_patience_milliseconds: 10_000 }), 10)]
    {
        let before = fifty_jobs(capacity, limit, false).await;
        let adapting = fifty_jobs(capacity, limit, true).await;
        assert_eq!((before.lost, adapting.lost, adapting.fewest), (0, 0, limit));
        assert!(!adapting.explained, "{adapting:?}");
        assert!(adapting.took <= before.took, "{adapting:?} {before:?}");
    }
}

// Such a job was shown as being scheduled until the machine was deleted, minutes later, or for ten minutes.
#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_went_off_before_taking_it_is_released_then() {
    let stage = Stage::set(LabOptions::default());
    let lab = &stage.lab;
    let refused = Trouble::Error { status: 403, id: 11 };
    let fault = Fault::next(1, "/v2/queue/*/worker/signin", refused);
    lab.cds.control(rookery_cds_sim::Control::AddFault(fault)).await.expect("CDS runs");
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let job = lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    let own = async || stage.machines_of(Lab::NAME).await;
    stage.until("its machine runs", async || own().await.iter().any(|vm| vm.on)).await;
    while own().await.iter().any(|vm| vm.on) {
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(own().await.len(), 1, "it is off and still there");
    sleep(Duration::from_secs(3)).await;
    let released = lab.job(&job).await;
    assert_eq!(released.releases, 1, "{released:#?}");
    stage.all_jobs_end().await;
    let ended = lab.job(&job).await;
    assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 2), "{ended:#?}");
    assert_eq!(ended.releases, 1, "it is released once: {ended:#?}");
    scene.stop().await;
    stage.lab.close().await;
}
