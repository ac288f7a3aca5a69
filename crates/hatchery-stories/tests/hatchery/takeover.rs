//! Machines of the Go hatchery are taken over as if they were ours, and it could take ours back.

use std::time::Duration;

use rookery_cds_sim::{Config, HatcheryConsumer, NewJob, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage};
use rookery_kit::{Vm, Wire};
use serde_json::Value;
use tokio::time::sleep;

/// The hatchery whose machines the fixture has.
const NAME: &str = "rig-vsphere";
/// As they were found on a vCenter that the Go hatchery had worked on.
const FOUND: &str = include_str!("fixtures/go-vms.json");

fn stage(number: usize) -> Stage {
    let own = HatcheryConsumer {
        name: NAME.to_owned(),
        token: "go-token".into(),
        region: Some("default".to_owned()),
        ..HatcheryConsumer::default()
    };
    let options = LabOptions {
        cds: Config { hatcheries: vec![own], ..Config::default() },
        settings: "iprange = \"10.99.0.0/29\"\ngateway = \"10.99.0.254\"\n".to_owned(),
        tables: format!("[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = {number}\n"),
        ..LabOptions::default()
    };
    Stage::set(options)
}

async fn hatch(stage: &Stage) -> Scene {
    let changes = [(Lab::NAME, NAME), ("v2-token", "go-token"), ("token = \"v1-token\"\n", "")];
    stage.hatch_with(&Wire::default(), &changes).await
}

/// A machine of the fixture: its name, its notes. They are written shortly before the story: a VM that is much younger than
/// its notes is a copy.
fn found(nth: usize) -> (String, String) {
    let all: Value = serde_json::from_str(FOUND).expect("JSON");
    let text = |key: &str| all[nth][key].as_str().expect("text").to_owned();
    (text("name"), text("annotation").replace("2026-11-15T08:", "2031-02-03T03:"))
}

/// Makes a machine as the Go hatchery left it.
async fn put(stage: &Stage, name: &str, notes: &str, on: bool) {
    stage.hasten().await;
    stage
        .witness(async |govc| {
            govc.run(&["vm.clone", "-vm", "debian12", &format!("-on={on}"), name]).await;
            govc.run(&["vm.change", "-vm", name, "-annotation", notes]).await;
        })
        .await;
}

/// The reference and the state of the machine of that name.
async fn named(stage: &Stage, name: &str) -> Option<(String, Vm)> {
    stage.vms().await.into_iter().find(|(_, vm)| vm.name == name)
}

#[tokio::test(start_paused = true)]
async fn a_warm_machine_of_the_go_hatchery_is_counted_and_claimed() {
    let stage = stage(1);
    let (name, notes) = found(1);
    put(&stage, &name, &notes, false).await;
    let address = ["-ip", "10.99.0.1", "-netmask", "255.255.255.0", "-gateway", "10.99.0.254"];
    let customize =
        [&["vm.customize", "-vm", &*name, "-type", "Linux", "-name", "warm"], &address[..]].concat();
    stage.witness(async |govc| govc.run(&customize).await).await;
    let (id, _) = named(&stage, &name).await.expect("it is there");
    let scene = hatch(&stage).await;
    sleep(Duration::from_mins(10)).await;
    let own = stage.machines_of(NAME).await;
    assert_eq!(
        own.iter().map(|vm| (vm.name.as_str(), vm.notes.as_str())).collect::<Vec<_>>(),
        [(&*name, &*notes)]
    );

    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.until("a worker has it", async || !stage.lab.job(&job).await.workers.is_empty()).await;
    let claimed = stage.vms().await.remove(&id).expect("it is still there");
    assert_eq!(claimed.name, stage.lab.job(&job).await.worker_name);
    // As the Go hatchery would have written it.
    let (_, worker) = found(2);
    assert_eq!(shape(&claimed.notes), shape(&worker));
    assert_eq!(claimed.mark()["created"], "2031-02-03T03:15:10.032247556Z");
    assert_eq!(claimed.mark()["ip_address"], "10.99.0.1");
    stage.all_jobs_end().await;
    stage.until("it is gone", async || !stage.vms().await.contains_key(&id)).await;
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_we_write_reads_like_what_the_go_hatchery_writes() {
    let stage = stage(1);
    let scene = hatch(&stage).await;
    let warm = async || stage.machines_of(NAME).await.into_iter().find(|vm| !vm.on);
    stage.until("a warm machine is ready", async || warm().await.is_some()).await;
    let warm = warm().await.expect("it is ready");
    let (name, notes) = found(1);
    assert_eq!(shape(&warm.notes), shape(&notes));
    let mark = warm.mark();
    let text = |key: &str| mark[key].as_str().expect("text").to_owned();
    let expected = notes
        .replace(&name, &warm.name)
        .replace("2031-02-03T03:15:10.032247556Z", &text("created"))
        .replace("10.99.0.1", &text("ip_address"));
    // Ours stand at the end, and the Go hatchery does not mind them.
    assert!(warm.notes.starts_with(expected.trim_end_matches('}')), "{}\n{expected}", warm.notes);
    assert!(warm.name.starts_with("provision-v2-ip-10-99-0-"), "{}", warm.name);
    scene.stop().await;
    stage.lab.close().await;
}

/// The keys in their order, without ours.
fn shape(notes: &str) -> Vec<String> {
    // Values hold no commas, colons after quotes, or quotes.
    let keys = notes.trim_matches(['{', '}']).split(",\"").map(|member| member.split('"'));
    let keys = keys.filter_map(|mut parts| parts.find(|part| !part.is_empty()).map(str::to_owned));
    keys.filter(|key| !key.starts_with("rookery_")).collect()
}

#[tokio::test(start_paused = true)]
async fn workers_of_the_go_hatchery_are_cleaned_whatever_their_notes_look_like() {
    let at = "\"created\":\"2031-02-03T04:05:06Z\"";
    let never = "\"worker_start_time\":\"0001-01-01T00:00:00Z\"";
    let own = "\"hatchery_name\":\"rig-vsphere\"";
    let (name, notes) = found(2);
    let cases = [
        // As found: it started some time ago.
        (name.clone(), notes.clone(), true),
        (name, notes, false),
        // Claimed by an older one, which left the mark of a warm machine.
        (
            "brave-curie".to_owned(),
            format!(
                "{{{own},\"worker_name\":\"provision-v2-ip-10-99-0-1-old\",\"provisioning\":true,\"vmware_model_path\":\"debian12\",{at},{never},\"ip_address\":\"10.99.0.1\"}}"
            ),
            true,
        ),
        // From before there was a time of the start.
        (
            "calm-curie".to_owned(),
            format!(
                "{{{own},\"worker_name\":\"calm-curie\",\"vmware_model_path\":\"debian12\",{at},\"job_id\":\"b5b12a13-27f8-496b-b950-90325de33ede\"}}"
            ),
            true,
        ),
        // For V1 jobs.
        (
            "kind-curie".to_owned(),
            format!(
                "{{{own},\"worker_name\":\"kind-curie\",\"worker_model_path\":\"shared.infra/deb\",\"worker_model_last_modified\":\"1700000000\",{at},{never},\"job_id\":\"12\"}}"
            ),
            false,
        ),
        (
            "register-kind-curie".to_owned(),
            format!(
                "{{{own},\"worker_name\":\"register-kind-curie\",\"register_only\":true,\"worker_model_path\":\"shared.infra/deb\",\"worker_model_last_modified\":\"1700000000\",{at},{never}}}"
            ),
            true,
        ),
    ];
    for (name, notes, on) in cases {
        let stage = stage(0);
        put(&stage, &name, &notes, on).await;
        let (id, _) = named(&stage, &name).await.expect("it is there");
        let scene = hatch(&stage).await;
        // It is none of the warm ones.
        stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
        stage.all_jobs_end().await;
        let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
        assert_eq!(jobs[0].status, Status::Success, "{name}: {jobs:#?}");
        assert_ne!(jobs[0].worker_name, name);
        stage.until(&format!("{name} is gone"), async || !stage.vms().await.contains_key(&id)).await;
        scene.stop().await;
        stage.lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_the_go_hatchery_has_just_started_is_left_alone_and_counted() {
    let stage = stage(0);
    let (name, notes) = found(2);
    let notes = notes.replace("2031-02-03T03:16:04.901653732Z", "2031-02-03T04:05:06Z");
    put(&stage, &name, &notes, true).await;
    let scene = hatch(&stage).await;
    sleep(Duration::from_mins(5)).await;
    assert!(named(&stage, &name).await.is_some());
    let report = scene.hatchery.published.report.borrow().clone();
    assert_eq!((report.ledger.size.cpus, report.counts.starting), (2, 1), "{report:?}");
    stage.until("it is gone", async || named(&stage, &name).await.is_none()).await;
    scene.stop().await;
    stage.lab.close().await;
}
