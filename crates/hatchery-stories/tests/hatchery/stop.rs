//! How a hatchery ends that is told to: what it cannot finish it gives back.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{Fault, NewJob, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Tripwire, Wire};
use rookery_vim_sim::{Action, Change, Control, Durations, GuestBehaviour, Rule, Span};
use tokio::time::Instant;

use super::witness::clones_run;

/// A stop waits so long for workers that are being started, and is over soon after.
const WAITS: Duration = Duration::from_secs(20);
const OVER: Duration = Duration::from_secs(40);

fn minutes(minutes: i64) -> Span {
    Span::Constant(SignedDuration::from_mins(minutes))
}

/// A stage on which V1 jobs run on a model of V2, with a rule.
async fn stage(rule: Rule) -> Stage {
    let tables = format!("[[defaultWorkerModelsV2]]\nworkerModelV2 = \"{}@main\"\n", Lab::DEBIAN);
    let stage = Stage::set(LabOptions { tables, ..LabOptions::default() });
    let added = stage.lab.world.vcenter.control(Control::AddRule(rule)).await.expect("the vCenter runs");
    assert_eq!(added.status, 200, "{added:?}");
    stage
}

// Jobs that were held when a hatchery ended were offered to nobody for ten minutes.
#[tokio::test(start_paused = true)]
async fn a_stop_gives_back_what_has_not_been_launched_after_20_seconds() {
    let slow = Action::Guest(GuestBehaviour::SlowBoot { by: minutes(2) });
    let stage = stage(Rule::new(slow)).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let v2 = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    let v1 = stage.lab.enqueue(NewJob::v1("true")).await;
    stage
        .until("both machines run", async || {
            stage.machines_of(Lab::NAME).await.iter().filter(|vm| vm.on).count() == 2
        })
        .await;
    let (first, second) = (stage.lab.job(&v1).await, stage.lab.job(&v2).await);
    assert!(first.booking.is_some() && second.status == Status::Scheduling, "{first:#?} {second:#?}");
    let begun = Instant::now();
    scene.stop().await;
    let took = begun.elapsed();
    assert!((WAITS..OVER).contains(&took), "{took:?}");
    let (first, second) = (stage.lab.job(&v1).await, stage.lab.job(&v2).await);
    assert!(first.booking.is_none(), "{first:#?}");
    assert_eq!((second.status, second.releases), (Status::Waiting, 1), "{second:#?}");
    assert!(!stage.machines_of(Lab::NAME).await.iter().any(|vm| vm.on), "nobody needs them any more");
    // The next hatchery does not wait for what this one has left.
    let begun = Instant::now();
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage.all_jobs_end().await;
    let took = begun.elapsed();
    assert!(took < Duration::from_mins(5), "{took:?}");
    for job in [&v1, &v2] {
        assert_eq!(stage.lab.job(job).await.status, Status::Success);
    }
    assert_eq!(stage.findings(), []);
    scene.stop().await;
    stage.lab.close().await;
}

// It went on in vCenter, for nobody and with nobody's address.
#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_clone_cancels_the_clone() {
    let stage = Stage::set(LabOptions::default());
    let durations = Durations { clone: minutes(20), ..Durations::default() };
    let change = Change { durations: Some(durations), ..Change::default() };
    stage.lab.world.ask(Control::Set(Box::new(change))).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    stage.until("a clone runs", async || clones_run(&stage.lab).await == 1).await;
    let begun = Instant::now();
    scene.stop().await;
    let took = begun.elapsed();
    assert!((WAITS..OVER).contains(&took), "{took:?}");
    assert_eq!(clones_run(&stage.lab).await, 0);
    assert!(stage.machines_of(Lab::NAME).await.is_empty());
    let job = stage.lab.job(&job).await;
    assert_eq!((job.status, job.releases), (Status::Waiting, 1), "{job:#?}");
    assert_eq!(stage.findings(), []);
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_launch_without_an_answer_counts_as_launched_when_the_hatchery_stops() {
    // The first program is the one that shows whether the guest takes orders.
    let late = Action::Delay { by: minutes(1) };
    let method = "StartProgramInGuest".to_owned();
    let stage = stage(Rule { method, after: 1, ..Rule::new(late) }).await;
    // Its worker runs, and has not taken it yet: nobody can see that it will.
    let slow = Fault::next(1, "*/worker/signin", Trouble::Slow { milliseconds: 45_000 });
    stage.lab.cds.control(rookery_cds_sim::Control::AddFault(slow)).await.expect("the CDS runs");
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    let workers = async || stage.lab.cds.workers().await.expect("the CDS runs");
    stage.until("its worker signs in", async || !workers().await.is_empty()).await;
    assert_eq!(stage.lab.job(&job).await.status, Status::Scheduling);
    scene.stop().await;
    stage.all_jobs_end().await;
    let ended = stage.lab.job(&job).await;
    assert_eq!((ended.status, ended.releases, ended.workers.len()), (Status::Success, 0, 1), "{ended:#?}");
    assert_eq!(stage.findings(), []);
    stage.lab.close().await;
}

// It waited for a report that nobody made any more, and the booked job was offered to nobody for eleven minutes.
#[tokio::test(start_paused = true)]
async fn after_a_panic_bookings_are_ended_and_v2_jobs_are_left_to_cds() {
    for (message, about) in [("pass planned", ""), ("called vCenter", "WaitForUpdatesEx")] {
        let slow = Action::Guest(GuestBehaviour::SlowBoot { by: minutes(2) });
        let stage = stage(Rule::new(slow)).await;
        let tripwire = Tripwire::set();
        let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
        let v2 = stage.lab.v2_job(Lab::DEBIAN, "true").await;
        let v1 = stage.lab.enqueue(NewJob::v1("true")).await;
        stage
            .until("both machines run", async || {
                stage.machines_of(Lab::NAME).await.iter().filter(|vm| vm.on).count() == 2
            })
            .await;
        tripwire.panic_at(message, about);
        scene.hatchery.ended().await;
        scene.stop_after_panics(1).await;
        let (first, second) = (stage.lab.job(&v1).await, stage.lab.job(&v2).await);
        assert!(first.booking.is_none(), "{first:#?}");
        assert_eq!((second.status, second.releases), (Status::Scheduling, 0), "{second:#?}");
        assert_eq!(stage.findings(), []);
        stage.lab.close().await;
    }
}
