//! Machines that are kept for somebody to look at: whose worker failed, as many as were asked for, and not for ever.

use jiff::{SignedDuration, Timestamp};
use rookery_cds_sim::{Fault, NewJob, Status, Trouble};
use rookery_hatchery::surface::control::{Answer, Request};
use rookery_hatchery::surface::holds::{Order, Target};
use rookery_hatchery_stories::{Lab, LabOptions, Scene};
use rookery_kit::eventually;
use serde_json::Value;

use super::cleaning::backdate;
use super::history::{lives, peace, trouble};

const HOUR: u64 = 3600;

/// Finished machines go after a second.
fn quick() -> LabOptions {
    let settings = "finishedWorkerGracePeriod = 1\nworkerRegistrationTTL = 1\n".to_owned();
    LabOptions { settings, ..LabOptions::default() }
}

async fn ask(scene: &Scene, request: Request) -> Result<String, String> {
    match scene.hatchery.control_state().answer(request).await {
        Answer::Done(told) => Ok(told),
        Answer::Refused(why) | Answer::Unclear(why) => Err(why),
        odd @ (Answer::Status(_) | Answer::Explained(_) | Answer::Jobs(_)) => panic!("{odd:?}"),
    }
}

async fn hold(scene: &Scene, of: Target, count: u32, seconds: u64) -> Result<String, String> {
    let reason = "it fails at night".to_owned();
    ask(scene, Request::Hold(Order { of, count, seconds, within: HOUR, reason })).await
}

async fn release(scene: &Scene, of: Target) -> Result<String, String> {
    ask(scene, Request::Release { of }).await
}

fn debian() -> Target {
    Target::Model("debian12".to_owned())
}

fn machine(name: &str) -> Target {
    Target::Machine(name.to_owned())
}

/// The mark of a machine; none if there is no such machine.
async fn mark(lab: &Lab, name: &str) -> Option<Value> {
    let vms = lab.world.vms().await;
    let vm = vms.values().find(|vm| vm.name == name)?;
    serde_json::from_str(&vm.notes).ok()
}

fn held_until(mark: &Value) -> Option<Timestamp> {
    mark["rookery_hold_until"].as_str()?.parse().ok()
}

async fn is_kept(lab: &Lab, name: &str) {
    eventually(&format!("{name} is kept"), async || {
        mark(lab, name).await.is_some_and(|mark| held_until(&mark).is_some())
    })
    .await;
}

async fn goes(lab: &Lab, name: &str) {
    eventually(&format!("{name} is deleted"), async || mark(lab, name).await.is_none()).await;
}

/// A V2 job that fails, and the name of its worker.
async fn failing(lab: &Lab) -> String {
    let ended = lab.ended(&lab.v2_job(Lab::DEBIAN, "exit 1").await).await;
    assert_eq!(ended.status, Status::Fail, "{ended:#?}");
    ended.worker_name
}

#[tokio::test(start_paused = true)]
async fn a_failed_worker_is_kept_although_the_hatchery_dies_before_and_after_it() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    hold(&scene, debian(), 1, HOUR).await.expect("it is taken");
    scene.crash().await;
    let scene = lab.hatch().await;
    let worker = failing(&lab).await;
    is_kept(&lab, &worker).await;
    let seen = mark(&lab, &worker).await.expect("a mark");
    assert_eq!(seen["rookery_hold_reason"], "it fails at night", "{seen:#}");
    assert_eq!(seen["hatchery_name"], Lab::NAME, "{seen:#}");
    let left = held_until(&seen).expect("a time").duration_since(lab.world.clock.now());
    assert!((SignedDuration::from_mins(50)..=SignedDuration::from_mins(60)).contains(&left), "{left}");

    scene.crash().await;
    let scene = lab.hatch().await;
    let second = failing(&lab).await;
    goes(&lab, &second).await;
    assert!(mark(&lab, &worker).await.is_some(), "one was asked for, and the first one is kept");
    let report = scene.hatchery.published.report.clone();
    eventually("the report shows it", async || {
        let report = report.borrow();
        let shown: Vec<_> =
            report.held.iter().map(|held| (held.machine.as_str(), held.power.as_str())).collect();
        let line = report.workers.iter().find(|line| line.name == worker);
        shown == [(worker.as_str(), "off")]
            && report.counts.held == 1
            && report.wishes.is_empty()
            && line.is_some_and(|line| line.status == "Held")
    })
    .await;
    assert!(scene.hatchery.published.metrics_text().contains("\nrookery_hatchery_held_machines 1\n"));

    scene.hatchery.drain(true).await;
    let told = release(&scene, machine(&worker)).await;
    assert_eq!(told, Ok(format!("{worker} is released: it is deleted as any other")));
    goes(&lab, &worker).await;
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn of_three_that_fail_at_once_two_are_kept_and_no_good_one() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    hold(&scene, debian(), 2, HOUR).await.expect("it is taken");
    // Whoever repeats himself does not want twice as many.
    hold(&scene, debian(), 2, HOUR).await.expect("it is taken");
    let good = lab.v2_job(Lab::DEBIAN, "true").await;
    let good = lab.ended(&good).await.worker_name;
    let elsewhere = lab.v2_job(Lab::ROCKY, "exit 1").await;
    let mut jobs = Vec::new();
    for _ in 0..3 {
        jobs.push(lab.v2_job(Lab::DEBIAN, "exit 1").await);
    }
    let mut workers = Vec::new();
    for job in &jobs {
        workers.push(lab.ended(job).await.worker_name);
    }
    goes(&lab, &good).await;
    goes(&lab, &lab.ended(&elsewhere).await.worker_name).await;
    let kept = async || {
        let vms = lab.world.vms().await;
        vms.values().filter(|vm| held_until(&vm.mark()).is_some()).count()
    };
    eventually("one of the three is deleted", async || {
        let mut left = 0;
        for worker in &workers {
            left += usize::from(mark(&lab, worker).await.is_some());
        }
        left == 2
    })
    .await;
    assert_eq!(kept().await, 2);
    eventually("the hatchery sees both", async || scene.hatchery.published.report.borrow().held.len() == 2)
        .await;
    release(&scene, debian()).await.expect("they are let go");
    for worker in &workers {
        goes(&lab, worker).await;
    }
    let nothing = release(&scene, debian()).await;
    assert_eq!(
        nothing,
        Err("nothing is kept, and no request to keep anything is open, for model debian12".to_owned())
    );
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_of_a_job_goes_when_its_time_is_over() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    scene.hatchery.drain(true).await;
    let job = lab.v2_job(Lab::DEBIAN, "exit 1").await;
    hold(&scene, Target::Job(job.clone()), 1, 4).await.expect("it is taken");
    scene.hatchery.drain(false).await;
    let other = failing(&lab).await;
    goes(&lab, &other).await;
    let worker = lab.ended(&job).await.worker_name;
    goes(&lab, &worker).await;
    let lives = lives(&lab).await;
    let stayed = |worker: &String| {
        let life = lives[worker];
        life.removed.expect("it is gone").duration_since(life.off.expect("it went off"))
    };
    assert!(stayed(&worker) >= SignedDuration::from_secs(4), "{}", stayed(&worker));
    let wrong = hold(&scene, Target::Job("no-job".to_owned()), 1, 4).await;
    assert!(wrong.is_err(), "{wrong:?}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_machine_of_a_worker_that_died_is_kept_and_its_job_runs_elsewhere() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    hold(&scene, debian(), 1, HOUR).await.expect("it is taken");
    let job = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    eventually("the job is built", async || lab.job(&job).await.status == Status::Building).await;
    let worker = lab.job(&job).await.worker_name;
    lab.govc().run(&["vm.power", "-off", "-force", &worker]).await;
    is_kept(&lab, &worker).await;
    eventually("another worker has the job", async || lab.job(&job).await.workers.len() == 2).await;
    let again = lab.job(&job).await;
    assert_eq!(again.releases, 1, "{again:#?}");
    assert_ne!(again.worker_name, worker);
    assert!(mark(&lab, &worker).await.is_some());
    scene.stop().await;
    lab.close_with_cut_down(&[&worker]).await;
}

#[tokio::test(start_paused = true)]
async fn the_machine_of_a_worker_that_never_came_is_kept_on_and_its_job_runs_elsewhere() {
    let mut options = quick();
    // Of a machine that runs CDS takes care: it queues the job again.
    options.cds.times.scheduling = 30;
    let lab = Lab::paused(options);
    trouble(&lab, Fault::next(1, "/download/worker/*", Trouble::Slow { milliseconds: 600_000 })).await;
    let scene = lab.hatch().await;
    hold(&scene, debian(), 1, HOUR).await.expect("it is taken");
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    eventually("a machine was made", async || {
        let report = scene.hatchery.published.report.borrow();
        report.workers.len() == 1 && report.running.is_empty()
    })
    .await;
    let silent = lives(&lab).await.into_keys().next().expect("a machine");
    backdate(&lab, &silent, 61).await;
    is_kept(&lab, &silent).await;
    peace(&lab).await;
    let ended = lab.ended(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    assert_ne!(ended.worker_name, silent);
    let vms = lab.govc().vms(&["name", "runtime.powerState"]).await;
    let kept = vms.values().find(|vm| vm["name"] == *silent).expect("it is still there");
    assert_eq!(kept["runtime.powerState"], "poweredOn");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_somebody_names_stays_after_its_job_and_others_cannot_be_named() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "sleep 20").await;
    eventually("the job is built", async || lab.job(&job).await.status == Status::Building).await;
    let worker = lab.job(&job).await.worker_name;
    eventually("nobody is at it", async || scene.hatchery.published.report.borrow().running.is_empty()).await;
    hold(&scene, machine(&worker), 1, HOUR).await.expect("it is kept");
    let other = lab.v2_job(Lab::DEBIAN, "true").await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    goes(&lab, &lab.ended(&other).await.worker_name).await;
    is_kept(&lab, &worker).await;
    for foreign in ["jumphost", "debian12", "nobody"] {
        let refused = hold(&scene, machine(foreign), 1, HOUR).await;
        assert_eq!(refused, Err(format!("{foreign} is no machine of hatchery {}", Lab::NAME)));
    }
    release(&scene, machine(&worker)).await.expect("it is let go");
    goes(&lab, &worker).await;
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_v1_job_is_kept_if_it_is_named_since_cds_does_not_tell_how_it_ended() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    let v1 = || NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("exit 1") };
    scene.hatchery.drain(true).await;
    let (named, other) = (lab.enqueue(v1()).await, lab.enqueue(v1()).await);
    hold(&scene, Target::Job(named.clone()), 1, HOUR).await.expect("it is taken");
    hold(&scene, debian(), 1, HOUR).await.expect("it is taken");
    scene.hatchery.drain(false).await;
    goes(&lab, &lab.ended(&other).await.worker_name).await;
    is_kept(&lab, &lab.ended(&named).await.worker_name).await;
    scene.stop().await;
    lab.close().await;
}
