//! Answers of vCenter that get lost: what was ordered is waited for, and not ordered again.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{NewJob, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use rookery_vim_sim::{Action, Change, Control, Durations, Rule, Span};
use tokio::time::Instant;

use super::history::lives_by;

// After a few seconds the machine in the making was given up, and with it one of the attempts of the job.
#[tokio::test(start_paused = true)]
async fn a_clone_whose_answer_is_lost_is_waited_for_as_long_as_any_other() {
    let options = LabOptions {
        settings: "iprange = \"10.9.0.1/32\"\ngateway = \"10.9.0.254\"\n".to_owned(),
        ..LabOptions::default()
    };
    let stage = Stage::set(options);
    let minutes = Span::Constant(SignedDuration::from_mins(4));
    let durations = Some(Durations { clone: minutes, ..Durations::default() });
    let change = Change { durations, ..Change::default() };
    stage.lab.world.ask(Control::Set(Box::new(change))).await;
    let lost = Rule { method: "CloneVM_Task".to_owned(), count: Some(1), ..Rule::new(Action::LoseReply) };
    stage.lab.world.ask(Control::AddRule(lost)).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.all_jobs_end().await;
    let ended = stage.lab.job(&job).await;
    assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 1), "{ended:#?}");
    assert_eq!(stage.witness(lives_by).await.len(), 1);
    scene.stop().await;
    stage.lab.close().await;
}

// It was held for a quarter of an hour, and with no other address no job could run meanwhile.
#[tokio::test(start_paused = true)]
async fn the_address_of_an_order_that_never_arrived_is_given_again_once_no_clone_can_have_it() {
    let options = LabOptions {
        settings: "iprange = \"10.9.0.1/32\"\ngateway = \"10.9.0.254\"\n".to_owned(),
        ..LabOptions::default()
    };
    let stage = Stage::set(options);
    let never = Rule { method: "CloneVM_Task".to_owned(), count: Some(1), ..Rule::new(Action::Drop) };
    stage.lab.world.ask(Control::AddRule(never)).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.all_jobs_end().await;
    let ended = stage.lab.job(&job).await;
    assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 2), "{ended:#?}");
    let waited = begun.elapsed();
    assert!((Duration::from_mins(1)..Duration::from_mins(3)).contains(&waited), "{waited:?}");
    scene.stop().await;
    stage.lab.close().await;
}
