//! Old news deletes nothing: lists of workers that are old or wrong, clocks that somebody sets, hosts that are gone.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{Fault, NewJob, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Wire, eventually};
use rookery_vim_sim::{Control, Incident};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::cleaning::backdate;
use super::history::{asked, line, peace, requests, trouble};

/// When a stage begins.
const START: &str = "2031-02-03T04:05:06Z";

/// A machine of the lab's hatchery whose worker started when the stage was set.
pub(super) fn machine(name: &str, on: bool, change: impl FnOnce(&mut Value)) -> String {
    let mut mark = json!({
        "hatchery_name": Lab::NAME, "worker_name": name, "vmware_model_path": "debian12",
        "created": START, "worker_start_time": START,
    });
    change(&mut mark);
    format!("[[datacenter.vm]]\nname = {name:?}\non = {on}\nannotation = {:?}\n", mark.to_string())
}

fn stage(machines: &[String]) -> Stage {
    let options = LabOptions::default();
    let model = options.model.clone() + &machines.concat();
    Stage::set(LabOptions { model, ..options })
}

pub(super) async fn names(stage: &Stage) -> Vec<String> {
    stage.machines_of(Lab::NAME).await.into_iter().map(|vm| vm.name).collect()
}

/// Waits until that minute of the story.
async fn minute(begun: Instant, minute: u64) {
    sleep_until(begun + Duration::from_mins(minute)).await;
}

async fn set_vcenter_clock(stage: &Stage, by: SignedDuration) {
    stage.lab.world.ask(Control::Advance(by)).await;
}

async fn do_to_vcenter(stage: &Stage, incident: Incident) {
    let reply = stage.lab.world.vcenter.control(Control::Do(incident)).await.expect("the vCenter runs");
    assert_eq!(reply.status, 200, "{reply:?}");
}

async fn lists_fail(lab: &Lab, how: Trouble) {
    for path in ["/worker", "/v2/worker"] {
        trouble(lab, Fault { times: None, ..Fault::next(0, path, how.clone()) }).await;
    }
}

// A list of workers counted for as long as no other came, and the machine went by it after three minutes.
#[tokio::test(start_paused = true)]
async fn a_list_of_workers_that_is_older_than_a_minute_deletes_nothing() {
    let stage = stage(&[machine("over", false, |_| {})]);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    sleep_until(begun + Duration::from_secs(30)).await;
    lists_fail(&stage.lab, Trouble::Html { status: 502 }).await;
    minute(begun, 10).await;
    assert_eq!(names(&stage).await, ["over"]);
    let told = line(&scene, "Cleaning").expect("it is told");
    assert!(told.starts_with("WARN: the list of workers is "), "{told}");
    peace(&stage.lab).await;
    stage.until("it is deleted", async || names(&stage).await.is_empty()).await;
    assert_eq!(line(&scene, "Cleaning"), None);
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_of_ours_that_is_set_makes_no_machine_older() {
    // When it was set, by how many seconds, and the last minute in which the machine is there: clocks that were far apart
    // make ages count from when they agree.
    for (steps, last) in
        [(vec![(9, 50)], 10), (vec![(3, -50), (9, 50)], 10), (vec![(2, 3600), (4, -3600)], 14)]
    {
        let stage = stage(&[machine("runs", true, |_| {})]);
        let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
        let begun = Instant::now();
        for (at, seconds) in &steps {
            minute(begun, *at).await;
            stage.set_clock(SignedDuration::from_secs(*seconds));
        }
        sleep_until(begun + Duration::from_secs(60 * last - 5)).await;
        assert_eq!(names(&stage).await, ["runs"], "{steps:?}");
        minute(begun, last + 3).await;
        assert_eq!(names(&stage).await, [""; 0], "{steps:?}");
        scene.stop().await;
        stage.lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn ages_count_from_when_clocks_agree_again_and_holds_keep_what_was_left() {
    let kept = machine("kept", false, |mark| mark["rookery_hold_until"] = "2031-02-03T05:05:06Z".into());
    let stage = stage(&[machine("runs", true, |_| {}), kept]);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    let hours = SignedDuration::from_hours(3);
    minute(begun, 2).await;
    set_vcenter_clock(&stage, hours).await;
    minute(begun, 5).await;
    let told = line(&scene, "Cleaning").expect("it is told");
    assert!(told.contains("the inventory's clock is 10800 s from ours"), "{told}");
    stage.set_clock(hours);
    minute(begun, 14).await;
    assert_eq!(line(&scene, "Cleaning"), None, "they agree");
    assert_eq!(names(&stage).await, ["runs", "kept"]);
    minute(begun, 20).await;
    assert_eq!(names(&stage).await, ["kept"], "ten minutes after they agreed");
    minute(begun, 59).await;
    assert_eq!(names(&stage).await, ["kept"], "it was to be kept for an hour");
    minute(begun, 65).await;
    assert_eq!(names(&stage).await, [""; 0]);
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_small_step_of_vcenter_s_clock_makes_no_machine_older() {
    let stage = stage(&[machine("runs", true, |_| {})]);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    minute(begun, 9).await;
    set_vcenter_clock(&stage, SignedDuration::from_secs(58)).await;
    minute(begun, 18).await;
    assert_eq!(names(&stage).await, ["runs"], "its age counts from the ninth minute");
    minute(begun, 22).await;
    assert_eq!(names(&stage).await, [""; 0]);
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_host_does_not_respond_is_left_alone_until_it_does() {
    let stage = stage(&[machine("over", false, |_| {})]);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let begun = Instant::now();
    minute(begun, 1).await;
    do_to_vcenter(&stage, Incident::HostDown { host: "esx-1".to_owned(), restart_vms: false }).await;
    minute(begun, 15).await;
    let failed = "rookery_hatchery_deletion_failures_total{reason=\"finished\"} 0";
    assert!(scene.hatchery.published.metrics_text().contains(failed), "nobody tried to delete it");
    do_to_vcenter(&stage, Incident::HostUp { host: "esx-1".to_owned() }).await;
    stage.until("it is deleted", async || names(&stage).await.is_empty()).await;
    scene.stop().await;
    stage.lab.close().await;
}

// A list can be empty and succeed: all workers would seem never to have registered.
#[tokio::test(start_paused = true)]
async fn a_machine_whose_job_is_built_in_it_stays_although_no_list_has_its_worker() {
    let settings = "workerRegistrationTTL = 1\nfinishedWorkerGracePeriod = 1\n".to_owned();
    let v1 = NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("sleep 1000") };
    for job in [NewJob::v2("sleep 1000", Lab::DEBIAN, "default"), v1] {
        let lab = Lab::paused(LabOptions { settings: settings.clone(), ..LabOptions::default() });
        let scene = lab.hatch().await;
        let job = lab.enqueue(job).await;
        eventually("the job is built", async || lab.job(&job).await.status == Status::Building).await;
        let worker = lab.job(&job).await.worker_name;
        lists_fail(&lab, Trouble::Empty).await;
        let of_job = format!("/{job}");
        let read = async || {
            let all = requests(&lab).await;
            all.iter().filter(|entry| entry.method == "GET" && entry.path.contains(&of_job)).count()
        };
        let before = read().await;
        backdate(&lab, &worker, 61).await;
        eventually("its job is read", async || read().await > before).await;
        let lists = asked(&lab, "GET", "/v2/worker").await;
        eventually("it was looked at since", async || asked(&lab, "GET", "/v2/worker").await > lists + 1)
            .await;
        let is_there = async || lab.world.vms().await.values().any(|vm| vm.name == worker);
        assert!(is_there().await);
        lab.cds.control(rookery_cds_sim::Control::Stop(job.clone())).await.expect("the CDS runs");
        eventually("it goes when nobody is at work in it", async || !is_there().await).await;
        scene.stop().await;
        lab.close().await;
    }
}
