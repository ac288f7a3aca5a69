//! Clones that outlive their start, or the hatchery that ordered them: whoever comes next never gets their address.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{NewJob, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::Wire;
use rookery_vim_sim::{Action, Change, Control, Durations, FaultSpec, Rule, Span};
use tokio::time::{Instant, sleep};

use super::witness::clones_run;

/// What workers are cloned from.
#[derive(Debug, Clone, Copy)]
enum Image {
    Template,
    PlainVm,
}

fn stage(image: Image) -> Stage {
    let options = LabOptions::default();
    let template = "name = \"debian12\"\ntemplate = true\n";
    let model = match image {
        Image::Template => options.model.clone(),
        Image::PlainVm => options.model.replace(template, "name = \"debian12\"\n"),
    };
    let settings = "iprange = \"10.9.0.8/29\"\ngateway = \"10.9.0.254\"\n".to_owned();
    Stage::set(LabOptions { settings, model, ..options })
}

/// Clones that are ordered from now on take so long.
async fn clones_take(stage: &Stage, clone: SignedDuration) {
    let second = Span::Constant(SignedDuration::from_secs(1));
    let clone = Span::Constant(clone);
    let durations = Durations { clone, power: second, destroy: second, ..Durations::default() };
    let change = Change { durations: Some(durations), ..Change::default() };
    stage.lab.world.ask(Control::Set(Box::new(change))).await;
}

/// A job whose clone takes twenty minutes; later ones are fast.
async fn slow_job(stage: &Stage) -> String {
    clones_take(stage, SignedDuration::from_mins(20)).await;
    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.until("a clone runs", async || clones_run(&stage.lab).await == 1).await;
    clones_take(stage, SignedDuration::from_secs(4)).await;
    job
}

async fn no_task_can_be_cancelled(stage: &Stage) {
    let fault = FaultSpec { class: "NotSupported".to_owned(), message: "no".to_owned(), members: Vec::new() };
    let rule = Rule { method: "CancelTask".to_owned(), ..Rule::new(Action::Fault(fault)) };
    stage.lab.world.ask(Control::AddRule(rule)).await;
}

/// The machines that ever had an address, by address. No two have one at a time.
#[derive(Debug, Default)]
struct Given(BTreeMap<String, BTreeSet<String>>);

impl Given {
    async fn look(&mut self, stage: &Stage) -> usize {
        let machines = stage.machines_of(Lab::NAME).await;
        let mut now = BTreeMap::new();
        for machine in &machines {
            let address = machine.mark()["ip_address"].as_str().unwrap_or_default().to_owned();
            let other = now.insert(address.clone(), machine.name.clone());
            assert_eq!(other, None, "{address} was given to {} as well", machine.name);
            self.0.entry(address).or_default().insert(machine.name.clone());
        }
        machines.len()
    }

    /// Looks for so long.
    async fn watch(&mut self, stage: &Stage, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.look(stage).await;
            sleep(Duration::from_secs(5)).await;
        }
    }
}

async fn outlives_its_start(image: Image) {
    let stage = stage(image);
    no_task_can_be_cancelled(&stage).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    let job = slow_job(&stage).await;
    let mut given = Given::default();
    given.watch(&stage, Duration::from_mins(19)).await;
    let ended = stage.lab.job(&job).await;
    assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 2), "{ended:#?}");
    assert_eq!(clones_run(&stage.lab).await, 1, "the first clone is not over");
    // Others get no address that the first clone may have.
    stage.lab.enqueue(NewJob::v2("true", Lab::ROCKY, "default")).await;
    given.watch(&stage, Duration::from_mins(5)).await;
    assert!(begun.elapsed() > Duration::from_mins(20));
    stage.all_jobs_end().await;
    // It came, and it went at once: it was given up before.
    let names: Vec<_> = given.0.values().flatten().collect();
    let first = given.0.get("10.9.0.8").map(BTreeSet::len);
    assert_eq!((names.len(), first), (3, Some(1)), "{given:?}");
    stage.until("all machines are gone", async || stage.machines_of(Lab::NAME).await.is_empty()).await;
    scene.stop().await;
    stage.lab.close().await;
}

// The address was free from the moment in which the start was given up, and the retry took it.
#[tokio::test(start_paused = true)]
async fn a_clone_that_outlives_its_start_keeps_its_address_and_its_machine_goes() {
    outlives_its_start(Image::Template).await;
}

#[tokio::test(start_paused = true)]
async fn a_clone_of_a_plain_machine_that_outlives_its_start_keeps_its_address_and_its_machine_goes() {
    outlives_its_start(Image::PlainVm).await;
}

// It went on for ten minutes more, for nobody.
#[tokio::test(start_paused = true)]
async fn a_clone_that_outlives_its_start_is_cancelled() {
    let stage = stage(Image::Template);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    let job = slow_job(&stage).await;
    stage.until("no clone runs", async || clones_run(&stage.lab).await == 0).await;
    let cancelled = begun.elapsed();
    assert!((Duration::from_secs(570)..Duration::from_secs(590)).contains(&cancelled), "{cancelled:?}");
    stage.all_jobs_end().await;
    let ended = stage.lab.job(&job).await;
    assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 2), "{ended:#?}");
    // Nothing is in doubt: vCenter has told how it ended.
    assert_eq!(scene.hatchery.published.report.borrow().clones_in_doubt, 0);
    let mut given = Given::default();
    given.watch(&stage, Duration::from_mins(15)).await;
    assert!(given.0.len() <= 1, "{given:?}");
    scene.stop().await;
    stage.lab.close().await;
}

async fn outlives_the_hatchery(image: Image) {
    let stage = stage(image);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    slow_job(&stage).await;
    sleep(Duration::from_mins(2)).await;
    scene.crash().await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage.lab.enqueue(NewJob::v2("true", Lab::ROCKY, "default")).await;
    let mut given = Given::default();
    // Longer than a quarter of an hour: while a clone is listed, it is waited for.
    given.watch(&stage, Duration::from_mins(17)).await;
    assert_eq!((given.0.len(), clones_run(&stage.lab).await), (0, 1), "{given:?}");
    let waits =
        scene.hatchery.published.report.borrow().waiting.values().any(|line| line.as_str() == "address");
    assert!(waits, "{:?}", scene.hatchery.published.report.borrow().waiting);
    given.watch(&stage, Duration::from_mins(5)).await;
    assert!(given.0.len() >= 2, "{given:?}");
    stage.all_jobs_end().await;
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_clone_that_outlives_the_hatchery_keeps_all_addresses_back_until_it_has_ended() {
    outlives_the_hatchery(Image::Template).await;
}

// Only clones of templates were looked for.
#[tokio::test(start_paused = true)]
async fn a_clone_of_a_plain_machine_that_outlives_the_hatchery_keeps_all_addresses_back() {
    outlives_the_hatchery(Image::PlainVm).await;
}
