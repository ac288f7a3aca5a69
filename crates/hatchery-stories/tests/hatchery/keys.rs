//! Keys of the settings that no other story turns: what each does, and what happens without it.

use std::collections::BTreeSet;
use std::time::Duration;

use rookery_cds_sim::{CodeModel, Control as Cds, Fault, NewJob, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage};
use rookery_kit::{Govc, Vm, Wire};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

const WARM: &str = "[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 3\n";

/// With these settings at the top of the file, and these in tables of their own.
fn stage(settings: &str, tables: &str) -> Stage {
    stage_of(LabOptions { settings: settings.to_owned(), tables: tables.to_owned(), ..LabOptions::default() })
}

fn stage_of(options: LabOptions) -> Stage {
    Stage::set(options)
}

/// Starts a hatchery with a setting more in a table of its file.
async fn hatch(stage: &Stage, table: &str, setting: &str) -> Scene {
    let head = format!("[{table}]\n");
    stage.hatch_with(&Wire::default(), &[(&head, &format!("{head}{setting}"))]).await
}

async fn trouble(stage: &Stage, path: &str, trouble: Trouble) {
    let fault = Fault { times: None, ..Fault::next(0, path, trouble) };
    stage.lab.cds.control(Cds::AddFault(fault)).await.expect("CDS runs");
}

/// Where the machine of a worker is and what its card is, as `govc` shows it: its path, pool, the file of its disk, the
/// network, the class of its card, and whether its disk stands on another one.
async fn worker_at(settings: &str) -> ([String; 5], bool) {
    let options = LabOptions::default();
    let more = [
        ("networks = [\"VM Network\"]", "networks = [\"VM Network\", \"lan\"]"),
        (
            "capacity = \"8TiB\"",
            "capacity = \"8TiB\"\n[[datacenter.datastore]]\nname = \"slow\"\ncapacity = \"8TiB\"",
        ),
        ("memory = \"512GiB\"", "memory = \"512GiB\"\n[[datacenter.cluster.pool]]\nname = \"ci\""),
        (
            "snapshots = [\"base\"]",
            "snapshots = [\"base\"]\nnetworks = [\"VM Network\"]\ndatastore = \"fast\"",
        ),
    ];
    let model = more.iter().fold(options.model.clone(), |model, (old, new)| model.replace(old, new));
    let stage = stage_of(LabOptions { model, settings: settings.to_owned(), ..options });
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    stage.all_jobs_end().await;
    let worker = stage.lab.job(&job).await.worker_name;
    let shown = stage.witness(async |govc: &Govc| look_at(govc, &worker).await).await;
    scene.stop().await;
    stage.lab.close().await;
    shown
}

async fn look_at(govc: &Govc, worker: &str) -> ([String; 5], bool) {
    let path = govc.run(&["find", "/DC0/vm", "-type", "m", "-name", worker]).await.trim().to_owned();
    let pool = govc.property(&path, "resourcePool").await;
    let devices = govc.json(&["device.info", "-vm", &path]).await;
    let devices = devices["devices"].as_array().expect("a list").clone();
    let device =
        |key: &str| devices.iter().find(|device| device["backing"][key].is_string()).expect("a device");
    let (disk, card) = (device("fileName"), device("deviceName"));
    let text = |value: &Value| value.as_str().expect("text").replace(worker, "W");
    let told = [
        path.replace(worker, "W"),
        govc.property(&pool, "name").await,
        text(&disk["backing"]["fileName"]),
        text(&card["backing"]["deviceName"]),
        text(&card["type"]),
    ];
    (told, !disk["backing"]["parent"].is_null())
}

#[tokio::test(start_paused = true)]
async fn machines_are_where_and_as_the_settings_say() {
    let plain = "datastoreString = \"fast\"\nnetworkString = \"VM Network\"\n";
    let (told, stands) = Box::pin(worker_at(plain)).await;
    assert_eq!(told, ["/DC0/vm/W", "Resources", "[fast] W/W.vmdk", "VM Network", "VirtualVmxnet3"]);
    assert!(stands, "on the template's snapshot");
    let others = "datastoreString = \"slow\"\nnetworkString = \"lan\"\nresourcePool = \"ci\"\nfolder = \"workers\"\n\
                  cardClass = \"e1000e\"\ncardName = \"vmxnet2\"\n";
    let (told, stands) = Box::pin(worker_at(others)).await;
    assert_eq!(told, ["/DC0/vm/workers/W", "ci", "[slow] W/W.vmdk", "lan", "VirtualE1000e"]);
    assert!(!stands, "nothing there can be stood on");
}

/// The template got a drive after its snapshot was taken: a machine that stands on the snapshot has none.
#[tokio::test(start_paused = true)]
async fn machines_stand_on_the_newest_snapshot_or_are_made_of_the_template_as_it_is() {
    for (setting, drives) in [("", 0), ("diskMove = \"auto\"\n", 0), ("diskMove = \"seed\"\n", 1)] {
        let stage = stage(setting, "");
        stage
            .witness(async |govc: &Govc| {
                govc.run(&["vm.markasvm", "-host", "esx-1", "debian12"]).await;
                govc.run(&["device.cdrom.add", "-vm", "debian12"]).await;
                govc.run(&["vm.markastemplate", "debian12"]).await;
            })
            .await;
        let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
        let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
        stage.all_jobs_end().await;
        let worker = stage.lab.job(&job).await.worker_name;
        let found =
            stage.witness(async |govc: &Govc| govc.json(&["device.info", "-vm", &worker]).await).await;
        let devices = found["devices"].as_array().expect("a list");
        let count = devices.iter().filter(|device| device["type"] == "VirtualCdrom").count();
        assert_eq!(count, drives, "{setting}: {devices:#?}");
        scene.stop().await;
        stage.lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_heartbeats_in_a_row_may_fail() {
    for (setting, patience) in [("", 300), ("maxHeartbeatFailures = 2\n", 60)] {
        let stage = stage("", "");
        let scene = hatch(&stage, "commonConfiguration.api", setting).await;
        // The first one is taken.
        stage.until("a heartbeat came", async || beats(&stage).await > 0).await;
        trouble(&stage, "/services/heartbeat", Trouble::Html { status: 502 }).await;
        let begun = Instant::now();
        timeout(Duration::from_hours(1), scene.hatchery.over.cancelled()).await.expect("it gives up");
        let lasted = begun.elapsed().as_secs();
        assert!((patience..patience + 60).contains(&lasted), "{setting}: {lasted} s");
        scene.stop().await;
        stage.lab.close().await;
    }
}

// It stayed an alarm until somebody started the hatchery anew, whatever token SIGHUP had brought.
#[tokio::test(start_paused = true)]
async fn a_heartbeat_of_v2_that_cds_takes_again_is_no_alarm_any_more() {
    let stage = stage("", "");
    let fault = Fault::next(2, "/v2/hatchery/heartbeat", Trouble::Error { status: 403, id: 11 });
    stage.lab.cds.control(Cds::AddFault(fault)).await.expect("CDS runs");
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let shown = || {
        let lines = scene.hatchery.published.status().lines;
        lines.into_iter().find(|line| line.component == "goroutine/V2heartbeat").map(|line| line.value)
    };
    stage.until("it is an alarm", async || shown().as_deref() == Some("NOT running")).await;
    stage.until("it is none any more", async || shown().as_deref() == Some("Running")).await;
    scene.stop().await;
    stage.lab.close().await;
}

async fn beats(stage: &Stage) -> usize {
    let all = stage.lab.cds.requests().await.expect("CDS runs");
    all.iter().filter(|entry| entry.path == "/services/heartbeat").count()
}

#[tokio::test(start_paused = true)]
async fn jobs_of_other_systems_are_served_where_the_settings_name_them() {
    for (setting, served) in [("", false), ("osArch = [\"linux/amd64\", \"linux/arm64\"]\n", true)] {
        let mut options = LabOptions::default();
        let path = "PRJ/github/org/app/arm";
        let osarch = "linux/arm64".to_owned();
        options.cds.code_models.push(CodeModel { osarch, ..CodeModel::vsphere(path, "debian12") });
        let stage = stage_of(options);
        let scene = hatch(&stage, "commonConfiguration", setting).await;
        let arm = stage.lab.v2_job(path, "true").await;
        let usual = stage.lab.v2_job(Lab::DEBIAN, "true").await;
        stage
            .until("the usual job ends", async || stage.lab.job(&usual).await.status == Status::Success)
            .await;
        sleep(Duration::from_mins(5)).await;
        assert_eq!(stage.lab.job(&arm).await.status == Status::Success, served, "{setting}");
        scene.stop().await;
        stage.lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_cds_is_waited_for_as_long_as_the_settings_say() {
    for (setting, served) in [("", false), ("requestTimeout = 20\n", true)] {
        let stage = stage("", "");
        let scene = hatch(&stage, "commonConfiguration.api", setting).await;
        trouble(&stage, "/v2/worker", Trouble::Slow { milliseconds: 15_000 }).await;
        let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
        sleep(Duration::from_mins(5)).await;
        let job = stage.lab.job(&job).await;
        assert_eq!(job.status == Status::Success, served, "{setting}: {job:#?}");
        scene.stop().await;
        stage.lab.close().await;
    }
}

async fn pooled(stage: &Stage) -> Vec<Vm> {
    let own = stage.machines_of(Lab::NAME).await;
    own.into_iter().filter(|vm| !vm.on && vm.mark()["provisioning"] == true).collect()
}

/// Which warm machines there are after hours, and how few there were at the least.
async fn hours_of_warmth(settings: &str) -> (BTreeSet<String>, BTreeSet<String>, usize) {
    let stage = stage(&format!("workerProvisioningPoolSize = 3\n{settings}"), WARM);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage.until("all are warm", async || pooled(&stage).await.len() == 3).await;
    let names = |vms: Vec<Vm>| vms.into_iter().map(|vm| vm.name).collect::<BTreeSet<_>>();
    let before = names(pooled(&stage).await);
    let mut fewest = 3;
    sleep(Duration::from_mins(58)).await;
    for _ in 0..120 {
        sleep(Duration::from_secs(5)).await;
        fewest = fewest.min(pooled(&stage).await.len());
    }
    stage.until("all are warm again", async || pooled(&stage).await.len() == 3).await;
    let after = names(pooled(&stage).await);
    scene.stop().await;
    stage.lab.close().await;
    (before, after, fewest)
}

#[tokio::test(start_paused = true)]
async fn warm_machines_are_replaced_when_they_are_as_old_as_the_settings_say_and_so_many_at_once() {
    let (before, after, fewest) = Box::pin(hours_of_warmth("")).await;
    assert_eq!((before, fewest), (after, 3), "they do not age");
    let (before, after, fewest) = Box::pin(hours_of_warmth("warmMaxAge = 3600\n")).await;
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    assert_eq!(fewest, 2, "one by one");
    let (_, _, fewest) = Box::pin(hours_of_warmth("warmMaxAge = 3600\nrefreshBudget = 3\n")).await;
    assert!(fewest < 2, "{fewest}");
}

#[tokio::test(start_paused = true)]
async fn cds_is_told_where_the_hatchery_is() {
    for (setting, url) in
        [("", "http://localhost:8086"), ("url = \"https://h.example.org\"\n", "https://h.example.org")]
    {
        let stage = stage("", "");
        let scene = hatch(&stage, "commonConfiguration", setting).await;
        let all = stage.lab.cds.requests().await.expect("CDS runs");
        let v1 = all.iter().find(|entry| entry.path == "/auth/consumer/builtin/signin").expect("a sign-in");
        assert_eq!(v1.body["service"]["http_url"], url, "{}", v1.body);
        let v2 =
            all.iter().find(|entry| entry.path.ends_with("/consumer/hatchery/signin")).expect("a sign-in");
        assert_eq!(v2.body["http_url"], url, "{}", v2.body);
        scene.stop().await;
        stage.lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_of_models_come_before_those_of_guests() {
    let models =
        "[[models]]\nmodelVMWare = \"debian12\"\nusername = \"debian\"\npassword = \"guest-secret\"\n";
    for (tables, served) in [("", false), (models, true)] {
        let stage = stage("", tables);
        let wrong = (
            "modelVMWare = \"debian12\"\nusername = \"debian\"\npassword = \"guest-secret\"\n[[guest",
            "modelVMWare = \"debian12\"\nusername = \"debian\"\npassword = \"wrong\"\n[[guest",
        );
        let scene = stage.hatch_with(&Wire::default(), &[wrong]).await;
        let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
        sleep(Duration::from_mins(4)).await;
        let job = stage.lab.job(&job).await;
        assert_eq!(job.status == Status::Success, served, "{tables}: {job:#?}");
        scene.stop().await;
        stage.lab.close().await;
    }
}
