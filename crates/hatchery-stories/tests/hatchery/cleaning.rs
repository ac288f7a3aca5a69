//! When machines go: each row of the decision table, and what keeps a machine whatever the table says.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_cds_sim::{Config, Control, Fault, NewJob, Protocol, Status, Times, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage};
use rookery_kit::{Govc, Wire, eventually};
use rookery_vim_sim::Span;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::history::{asked, line, lives, peace, refuse, requests, trouble};

/// Finished machines go after a second, silent ones after a minute, busy ones after two.
const QUICK: &str = "finishedWorkerGracePeriod = 1\nworkerRegistrationTTL = 1\nworkerTTL = 2\n";

fn quick() -> LabOptions {
    LabOptions { settings: QUICK.to_owned(), ..LabOptions::default() }
}

fn ago(lab: &Lab, seconds: i64) -> Timestamp {
    lab.world.clock.now().saturating_sub(SignedDuration::from_secs(seconds)).expect("a time")
}

/// A machine with such a mark, made by somebody else's hand.
async fn plant(govc: &Govc, name: &str, on: bool, mark: &Value) {
    let power = if on { "-on=true" } else { "-on=false" };
    let mark = mark.to_string();
    govc.run(&["vm.clone", "-vm", "debian12", power, "-annotation", &mark, name]).await;
}

/// The mark of a worker of this lab that started so long ago.
fn worker(lab: &Lab, name: &str, started: i64) -> Value {
    json!({ "hatchery_name": Lab::NAME, "worker_name": name, "vmware_model_path": "debian12",
            "created": ago(lab, started).to_string(), "worker_start_time": ago(lab, started).to_string() })
}

async fn exists(lab: &Lab, name: &str) -> bool {
    lab.world.vms().await.values().any(|vm| vm.name == name)
}

/// How many machines the hatchery has.
async fn own(lab: &Lab) -> usize {
    lab.world.vms().await.values().filter(|vm| vm.mark()["hatchery_name"] == Lab::NAME).count()
}

async fn goes(lab: &Lab, name: &str) {
    eventually(&format!("{name} is deleted"), async || !exists(lab, name).await).await;
}

/// A V2 job that is being built, and the name of its worker.
async fn long_job(lab: &Lab) -> (String, String) {
    let job = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    eventually("the job is built", async || lab.job(&job).await.status == Status::Building).await;
    let worker = lab.job(&job).await.worker_name;
    (job, worker)
}

/// Makes the mark of a machine say that its worker started so long ago.
pub(super) async fn backdate(lab: &Lab, name: &str, seconds: i64) {
    let vms = lab.world.vms().await;
    let vm = vms.values().find(|vm| vm.name == name).unwrap_or_else(|| panic!("there is no {name}"));
    let mut mark = vm.mark();
    mark["worker_start_time"] = ago(lab, seconds).to_string().into();
    lab.govc().run(&["vm.change", "-vm", name, "-annotation", &mark.to_string()]).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_went_off_goes_after_the_grace_period_and_its_open_job_is_queued_again() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    let (job, worker) = long_job(&lab).await;
    lab.govc().run(&["vm.power", "-off", "-force", &worker]).await;
    goes(&lab, &worker).await;
    eventually("another worker has the job", async || lab.job(&job).await.workers.len() == 2).await;
    let again = lab.job(&job).await;
    assert_eq!(again.releases, 1, "{again:#?}");
    let life = lives(&lab).await[&worker];
    let stayed = life.removed.expect("it was removed").duration_since(life.off.expect("it was off"));
    assert!(stayed >= SignedDuration::from_secs(1), "{stayed}");
    scene.stop().await;
    lab.close_with_cut_down(&[&worker]).await;
}

#[tokio::test(start_paused = true)]
async fn the_machine_of_a_finished_job_goes_and_the_job_is_not_run_again() {
    let mut options = quick();
    options.cds.times.deletion = 0;
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    let worker = lab.ended(&job).await.worker_name;
    goes(&lab, &worker).await;
    // A machine that was left running with a job that is over is no reason to run it again either.
    let mut mark = self::worker(&lab, "late", 600);
    mark["job_id"] = job.as_str().into();
    plant(&lab.govc(), "late", true, &mark).await;
    goes(&lab, "late").await;
    let ended = lab.job(&job).await;
    assert_eq!((ended.status, ended.releases, ended.attempts.len()), (Status::Success, 0, 1), "{ended:#?}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_runs_too_long_goes_and_one_that_does_not_stays() {
    let lab = Lab::paused(quick());
    let scene = lab.hatch().await;
    let ((_, old), (_, young)) = (long_job(&lab).await, long_job(&lab).await);
    backdate(&lab, &young, 100).await;
    backdate(&lab, &old, 121).await;
    goes(&lab, &old).await;
    assert!(exists(&lab, &young).await);
    scene.stop().await;
    lab.close_with_cut_down(&[&old]).await;
}

/// The machine of a silent worker goes after its time, and the job is given back once and succeeds on another one.
async fn runs_elsewhere(lab: &Lab, scene: &Scene, job: &str) {
    eventually("a machine was made", async || {
        own(lab).await == 1 && scene.hatchery.published.report.borrow().running.is_empty()
    })
    .await;
    let silent = lives(lab).await.into_keys().next().expect("a machine");
    backdate(lab, &silent, 61).await;
    goes(lab, &silent).await;
    peace(lab).await;
    let ended = lab.ended(job).await;
    assert_eq!((ended.status, ended.releases), (Status::Success, 1), "{ended:#?}");
    assert_ne!(ended.worker_name, silent);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_never_registers_goes_and_its_job_runs_elsewhere() {
    let lab = Lab::paused(quick());
    // Its machine runs, and waits for the worker to be downloaded.
    trouble(&lab, Fault::next(1, "/download/worker/*", Trouble::Slow { milliseconds: 600_000 })).await;
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    runs_elsewhere(&lab, &scene, &job).await;
    let reads: Vec<_> = requests(&lab).await;
    let release = reads.iter().position(|entry| entry.method == "DELETE").expect("it was released");
    let detail = format!("/v2/queue/default/job/{job}");
    let last =
        reads[..release].iter().rev().find(|entry| entry.path.starts_with(&detail)).expect("a request");
    assert_eq!((last.method.as_str(), last.path.as_str()), ("GET", detail.as_str()), "it was read first");
    scene.stop().await;
    lab.close().await;
}

// CDS knows the worker by then, and lets nobody sign in under its name, nor a second worker for its V1 job.
#[tokio::test(start_paused = true)]
async fn a_job_whose_worker_never_heard_that_it_was_let_in_runs_elsewhere() {
    let v1 = NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("true") };
    let v2 = NewJob::v2("true", Lab::DEBIAN, "default");
    for (job, sign_in) in [(v1, "/auth/consumer/worker/signin"), (v2, "*/worker/signin")] {
        // CDS remembers its workers for as long as the story takes.
        let times = Times { disabled_worker: 3600, deletion: 3600, ..Times::default() };
        let cds = Config { times, ..Config::default() };
        let lab = Lab::paused(LabOptions { cds, ..quick() });
        trouble(&lab, Fault::next(1, sign_in, Trouble::LostReply)).await;
        let scene = lab.hatch().await;
        let job = lab.enqueue(job).await;
        let ended = lab.ended(&job).await;
        assert_eq!((ended.status, ended.releases), (Status::Success, 1), "{ended:#?}");
        assert_eq!(lives(&lab).await.len(), 2);
        if ended.asked.protocol == Protocol::V1 {
            let workers = lab.cds.workers().await.expect("the CDS runs");
            let first = workers.iter().find(|worker| worker.name != ended.worker_name);
            let disabled = first.and_then(|worker| worker.disabled_at);
            assert!(disabled.is_some_and(|at| at < ended.attempts[1].at), "{ended:#?} {workers:#?}");
        }
        scene.stop().await;
        lab.close().await;
    }
}

/// Somebody stops a job of either protocol once it is that far. Its machine goes, and it is neither given back nor run
/// again.
async fn stopped_when(script: &str, far: impl AsyncFn(&Lab, &str) -> bool) {
    let v1 = NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1(script) };
    for job in [v1, NewJob::v2(script, Lab::DEBIAN, "default")] {
        let mut options = quick();
        options.vcenter.guests.tools = Span::Constant(SignedDuration::from_millis(1500));
        let lab = Lab::paused(options);
        let scene = lab.hatch().await;
        let job = lab.enqueue(job).await;
        eventually("the job is that far", async || far(&lab, &job).await).await;
        lab.cds.control(Control::Stop(job.clone())).await.expect("the CDS runs");
        let begun = Instant::now();
        eventually("its machine is gone", async || own(&lab).await == 0).await;
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "it runs for as long as it may: {:?}",
            begun.elapsed()
        );
        eventually("nothing is under way", async || {
            scene.hatchery.published.report.borrow().running.is_empty()
        })
        .await;
        let ended = lab.job(&job).await;
        assert_eq!(
            (ended.status, ended.attempts.len(), ended.releases),
            (Status::Stopped, 1, 0),
            "{ended:#?}"
        );
        assert_eq!(lives(&lab).await.len(), 1);
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_stopped_while_its_machine_starts_leaves_nothing_behind() {
    Box::pin(stopped_when("true", async |lab, job| {
        let held = lab.job(job).await.attempts.len() == 1;
        held && own(lab).await == 1
    }))
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_stopped_while_it_runs_takes_its_machine_along() {
    let runs = async |lab: &Lab, job: &str| lab.job(job).await.status == Status::Building;
    Box::pin(stopped_when("sleep 1000", runs)).await;
}

// A V1 job is booked for longer than a start may take, and was offered to nobody for ten minutes after its machine.
#[tokio::test(start_paused = true)]
async fn a_v1_job_whose_machine_goes_runs_elsewhere_at_once() {
    let lab = Lab::paused(quick());
    trouble(&lab, Fault::next(1, "/download/worker/*", Trouble::Slow { milliseconds: 600_000 })).await;
    let scene = lab.hatch().await;
    let model = Some(format!("{}@main", Lab::DEBIAN));
    let job = lab.enqueue(NewJob { model, ..NewJob::v1("true") }).await;
    runs_elsewhere(&lab, &scene, &job).await;
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn marks_that_tell_no_start_are_judged_by_events_then_by_age_and_held_or_foreign_machines_stay() {
    let lab = Lab::paused(quick());
    let govc = lab.govc();
    let without_start = |name: &str| {
        let mut mark = worker(&lab, name, 0);
        mark["worker_start_time"] = "0001-01-01T00:00:00Z".into();
        mark["created"] = "0001-01-01T00:00:00Z".into();
        mark
    };
    plant(&govc, "on-by-events", true, &without_start("on-by-events")).await;
    plant(&govc, "off-by-age", false, &without_start("off-by-age")).await;
    plant(&govc, "was-warm", false, &without_start("renamed")).await;
    govc.run(&["vm.change", "-vm", "was-warm", "-name", "renamed"]).await;
    let mut held = worker(&lab, "held", 600);
    held["rookery_hold_until"] = ago(&lab, -3600).to_string().into();
    plant(&govc, "held", false, &held).await;
    let mut theirs = worker(&lab, "theirs", 600);
    theirs["hatchery_name"] = "another-hatchery".into();
    plant(&govc, "theirs", false, &theirs).await;
    let mut foreign = worker(&lab, "foreign", 600);
    foreign["hatchery_name"] = Value::Null;
    plant(&govc, "foreign", true, &foreign).await;
    // vCenter's clock may be a minute ahead before nothing is deleted any more.
    let ahead = rookery_vim_sim::Control::Advance(SignedDuration::from_secs(58));
    lab.world.ask(ahead).await;
    let scene = lab.hatch().await;
    for name in ["off-by-age", "on-by-events", "renamed"] {
        goes(&lab, name).await;
    }
    for name in ["held", "theirs", "foreign", "jumphost"] {
        assert!(exists(&lab, name).await, "{name}");
    }
    scene.stop().await;
    lab.close().await;
}

/// A stage with a machine whose worker has finished long ago.
fn with_a_finished_machine() -> Stage {
    let options = LabOptions::default();
    let mark = r#"{"hatchery_name":"hatchery-lab","worker_name":"finished","vmware_model_path":"debian12","created":"2031-02-03T03:30:00Z","worker_start_time":"2031-02-03T03:30:00Z"}"#;
    let finished = format!("\n[[datacenter.vm]]\nname = \"finished\"\nannotation = '{mark}'\n");
    let model = options.model.clone() + &finished;
    Stage::set(LabOptions { model, ..options })
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_for_as_long_as_the_clocks_differ() {
    let stage = with_a_finished_machine();
    let by = |seconds| rookery_vim_sim::Control::Advance(SignedDuration::from_secs(seconds));
    stage.lab.world.ask(by(90)).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    sleep(Duration::from_hours(1)).await;
    assert_eq!(stage.machines_of(Lab::NAME).await.len(), 1);
    assert!(line(&scene, "Cleaning").is_some_and(|line| line.starts_with("WARN")));
    scene.stop().await;
    // A minute is what they may differ by.
    let mut stage = stage;
    stage.set_clock_ahead(SignedDuration::from_secs(40));
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage.until("it is deleted", async || stage.machines_of(Lab::NAME).await.is_empty()).await;
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_for_as_long_as_the_workers_cannot_be_listed() {
    let stage = with_a_finished_machine();
    let fails = Trouble::Html { status: 502 };
    trouble(&stage.lab, Fault { times: None, ..Fault::next(0, "/v2/worker", fails) }).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    sleep(Duration::from_hours(1)).await;
    assert!(asked(&stage.lab, "GET", "/v2/worker").await > 3);
    assert_eq!(stage.machines_of(Lab::NAME).await.len(), 1);
    assert!(line(&scene, "Cleaning").is_some_and(|line| line.starts_with("WARN")));
    peace(&stage.lab).await;
    stage.until("it is deleted", async || stage.machines_of(Lab::NAME).await.is_empty()).await;
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_machine_of_a_disabled_worker_goes_at_once() {
    let mut options = quick();
    // Workers say every half minute that they are there.
    (options.cds.times.silent_worker, options.cds.times.deletion) = (3, 600);
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    let (_, worker) = long_job(&lab).await;
    let begun = Instant::now();
    goes(&lab, &worker).await;
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "not only when it has run for too long: {:?}",
        begun.elapsed()
    );
    scene.stop().await;
    lab.close_with_cut_down(&[&worker]).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_machine_is_disabled_after_two_looks_where_cds_can_do_that() {
    let lab = Lab::paused(LabOptions::default());
    let scene = lab.hatch().await;
    let v1 = NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("sleep 1000") };
    let v1 = lab.enqueue(v1).await;
    eventually("the job is built", async || lab.job(&v1).await.status == Status::Building).await;
    let (_, second) = long_job(&lab).await;
    let first = lab.job(&v1).await.worker_name;
    let looks = requests(&lab).await.iter().filter(|entry| entry.path == "/worker").count();
    for name in [&first, &second] {
        lab.govc().run(&["vm.destroy", name]).await;
    }
    eventually("the worker of the V1 job is disabled", async || asked(&lab, "POST", "/disable").await == 1)
        .await;
    let all = requests(&lab).await;
    let disabled = all.iter().position(|entry| entry.path.ends_with("/disable")).expect("a request");
    let lists = all[..disabled].iter().filter(|entry| entry.path == "/worker").count();
    assert!(lists >= looks + 2, "{lists} {looks}");
    assert!(all[disabled].path.starts_with("/worker/"), "there is no such call for V2 workers");
    let listed = async || requests(&lab).await.iter().filter(|entry| entry.path == "/worker").count();
    eventually("it is looked at again", async || listed().await > lists + 1).await;
    let metrics = scene.hatchery.published.metrics_text();
    let found = metrics.lines().find(|line| line.contains("\"worker_without_machine\"")).expect("a sample");
    assert!(found.ends_with(" 2"), "each is told of once: {found}");
    scene.stop().await;
    lab.close_with_cut_down(&[&first, &second]).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_cannot_be_destroyed_is_tried_again() {
    let lab = Lab::paused(quick());
    refuse(&lab, "Destroy_Task", Some(2), "SystemError").await;
    plant(&lab.govc(), "stubborn", false, &worker(&lab, "stubborn", 600)).await;
    let scene = lab.hatch().await;
    goes(&lab, "stubborn").await;
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_machine_of_a_failed_start_goes_at_once_whatever_the_grace_period() {
    let settings = "finishedWorkerGracePeriod = 3600\n".to_owned();
    let lab = Lab::paused(LabOptions { settings, ..LabOptions::default() });
    refuse(&lab, "PowerOnVM_Task", Some(1), "SystemError").await;
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    eventually("the second start works", async || lab.job(&job).await.status == Status::Building).await;
    let running = lab.job(&job).await.worker_name;
    let failed = lives(&lab).await.into_keys().find(|name| *name != running).expect("a failed start");
    goes(&lab, &failed).await;
    assert!(exists(&lab, &running).await);
    assert_eq!(lab.job(&job).await.releases, 1, "its job was given back once, and not from its next worker");
    scene.stop().await;
    lab.close().await;
}
