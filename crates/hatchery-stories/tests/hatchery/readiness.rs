//! A VM is ready no later and for no better reasons than with the Go hatchery. On paused time.

use rookery_cds_sim::{NewJob, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use rookery_vim_sim::ProgramRule;

use super::history::refuse;

/// One job in a fresh clone; how many seconds it waited for its worker.
async fn served(stage: &Stage) -> i64 {
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.all_jobs_end().await;
    let job = stage.lab.job(&job).await;
    assert_eq!((job.status, job.attempts.len()), (Status::Success, 1), "{job:#?}");
    assert_eq!(stage.findings(), []);
    scene.stop().await;
    job.started.expect("it ran").duration_since(job.queued).as_secs()
}

fn stage(options: LabOptions) -> Stage {
    Stage::set(options)
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_ends_with_an_exit_code_fails_no_start() {
    // vcsim with a container for a guest says -1 of a command line with a semicolon.
    let mut options = LabOptions::default();
    let probe = ProgramRule { arguments: "-n ;env".to_owned(), exit_code: -1, ..ProgramRule::default() };
    options.vcenter.programs.push(probe);
    let stage = stage(options);
    served(&stage).await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn refusals_of_a_young_guest_are_outlasted_within_the_minute() {
    let calm = stage(LabOptions::default());
    let usual = served(&calm).await;
    calm.lab.close().await;
    // So many refusals of one kind are over after so many seconds.
    for (class, count, seconds) in [("InvalidGuestLogin", 4, 29), ("GuestPermissionDenied", 40, 40)] {
        let stage = stage(LabOptions::default());
        refuse(&stage.lab, "StartProgramInGuest", Some(count), class).await;
        let took = served(&stage).await;
        assert!((seconds - 1..=seconds + 2).contains(&(took - usual)), "{took} s instead of {usual} s");
        stage.lab.close().await;
    }
}
