//! The inventory is late: what our own acts were told counts until it has caught up.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Vm, Wire};
use rookery_vim_sim::{Action, Body, Change, Control, Durations, GuestTimes, Rule, Span};
use serde_json::Value;
use tokio::time::sleep;

use super::witness::pool;

const JOBS: u64 = 20;
const WARM: u64 = 3;

async fn told(stage: &Stage, control: Control) -> Value {
    let reply = stage.lab.world.vcenter.control(control).await.expect("the vCenter runs");
    let Body::Text(text) = reply.body else { panic!("an answer is text") };
    serde_json::from_str(&text).expect("JSON")
}

/// How many calls of a method were answered.
async fn answered(stage: &Stage, method: &str) -> u64 {
    told(stage, Control::Inspect).await["requests"][method]["answered"].as_u64().unwrap_or_default()
}

/// The vCenter tells changes of these properties five seconds late, and guests are ready before that.
async fn late(properties: &[&str]) -> Stage {
    let tables = pool("debian12", WARM.try_into().expect("a number"));
    let stage = Stage::set(LabOptions { tables, ..LabOptions::default() });
    let change = Change {
        durations: Some(Durations::default()),
        guests: Some(GuestTimes::default()),
        ..Change::default()
    };
    told(&stage, Control::Set(Box::new(change))).await;
    for property in properties {
        let by = Span::Constant(SignedDuration::from_secs(5));
        let late = Action::Late { property: (*property).to_owned(), by };
        told(&stage, Control::AddRule(Rule::new(late))).await;
    }
    stage
}

async fn warm(stage: &Stage) -> u64 {
    let is_warm = |vm: &Vm| !vm.on && vm.mark()["provisioning"] == true && vm.name.starts_with("provision-");
    stage.machines_of(Lab::NAME).await.iter().filter(|vm| is_warm(vm)).count() as u64
}

// A claimed machine counted as warm until the inventory showed its new name and notes: a fresh one was deleted as excess
// ("there are 4, 3 are configured"), and another one made.
#[tokio::test(start_paused = true)]
async fn twenty_claims_with_updates_five_seconds_late_are_twenty_clones_and_nothing_is_removed() {
    for properties in [&["*"][..], &["name", "config.annotation"]] {
        let stage = late(properties).await;
        let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
        stage.until("all are warm", async || warm(&stage).await == WARM).await;
        for _ in 0..JOBS {
            stage.lab.v2_job(Lab::DEBIAN, "true").await;
            sleep(Duration::from_secs(7)).await;
        }
        stage.all_jobs_end().await;
        stage.until("all are warm again", async || warm(&stage).await == WARM).await;
        stage
            .until("the workers are gone", async || stage.machines_of(Lab::NAME).await.len() as u64 == WARM)
            .await;
        assert_eq!(answered(&stage, "CloneVM_Task").await, WARM + JOBS, "{properties:?}");
        assert_eq!(answered(&stage, "Destroy_Task").await, JOBS, "{properties:?}: only workers went");
        assert_eq!(stage.findings(), []);
        scene.stop().await;
        stage.lab.close().await;
    }
}
