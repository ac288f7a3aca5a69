//! Sizes: who asks for which, who gets which, and what becomes of warm machines of another size.

use std::collections::BTreeMap;

use rookery_cds_sim::{CodeModel, Config, Model, NewJob, Requirement, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage};
use rookery_kit::{Wire, eventually};
use serde_json::{Value, json};

use super::history::{line, lives, told, why};

const SIZES: &str = "
[flavors.small]
cpus = 1
memoryMB = 1024
[flavors.Large]
cpus = 4
memoryMB = 4096
";

/// A V2 model whose spec names a flavor.
const SPEC_LARGE: &str = "PRJ/github/org/app/large-spec";

fn sized(settings: &str) -> LabOptions {
    let spec = CodeModel {
        spec: json!({ "image": "debian12", "flavor": "large" }),
        ..CodeModel::vsphere(SPEC_LARGE, "debian12")
    };
    LabOptions {
        settings: format!("{settings}\n"),
        tables: SIZES.to_owned(),
        cds: Config { code_models: vec![spec], ..Config::default() },
        ..LabOptions::default()
    }
}

fn job(model: &str, flavor: Option<&str>) -> NewJob {
    NewJob { flavor: flavor.map(str::to_owned), ..NewJob::v2("sleep 1000", model, "default") }
}

fn v1_job(model: &str, flavor: Option<&str>) -> NewJob {
    let required = flavor.map(|flavor| Requirement::new("flavor", flavor, flavor));
    NewJob {
        model: Some(format!("{model}@main")),
        requirements: required.into_iter().collect(),
        ..NewJob::v1("sleep 1000")
    }
}

/// The machine that a job's worker runs in, as govc sees it: its id, CPUs and memory.
async fn machine_of(lab: &Lab, job: &str) -> (String, i64, i64) {
    eventually("the job is built", async || lab.job(job).await.status == Status::Building).await;
    let name = lab.job(job).await.worker_name;
    let vms = lab.govc().vms(&["name", "config.hardware.numCPU", "config.hardware.memoryMB"]).await;
    let number = |vm: &BTreeMap<String, Value>, path: &str| vm[path].as_i64().expect("a number");
    let vm = vms.iter().find(|(_, vm)| vm["name"] == *name);
    let (id, vm) = vm.unwrap_or_else(|| panic!("there is no {name}"));
    (id.clone(), number(vm, "config.hardware.numCPU"), number(vm, "config.hardware.memoryMB"))
}

/// The ids of the warm machines, once there are so many.
async fn warm(lab: &Lab, scene: &Scene, count: usize) -> Vec<String> {
    eventually("machines are warm", async || {
        let report = scene.hatchery.published.report.borrow();
        report.counts.warm == count && report.running.is_empty()
    })
    .await;
    let vms = lab.govc().vms(&["name"]).await;
    let warm =
        vms.iter().filter(|(_, vm)| vm["name"].as_str().is_some_and(|name| name.starts_with("provision-")));
    warm.map(|(id, _)| id.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_job_gets_the_size_of_whoever_speaks_first() {
    let lab = Lab::paused(sized("defaultFlavor = \"small\""));
    let scene = lab.hatch().await;
    let (small, large) = ((1, 1024), (4, 4096));
    let cases = [
        ("runs-on, in any case", job(Lab::DEBIAN, Some("LARGE")), large),
        ("runs-on before the spec", job(SPEC_LARGE, Some("small")), small),
        ("the spec", job(SPEC_LARGE, None), large),
        ("the default", job(Lab::DEBIAN, None), small),
        ("a requirement", v1_job(Lab::DEBIAN, Some("large")), large),
        ("the spec before a requirement", v1_job(SPEC_LARGE, Some("small")), large),
    ];
    for (who, job, size) in cases {
        let id = lab.enqueue(job).await;
        let (_, cpus, memory) = machine_of(&lab, &id).await;
        assert_eq!((cpus, memory), size, "{who}");
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_size_is_refused_before_the_job_is_held_and_its_user_is_told() {
    let lab = Lab::paused(sized(""));
    let scene = lab.hatch().await;
    for (asked, words) in [
        (job(Lab::DEBIAN, Some("gigantic")), "does not start a worker yet"),
        (v1_job(Lab::DEBIAN, Some("gigantic")), "MsgSpawnInfoJobError"),
    ] {
        let id = lab.enqueue(asked).await;
        eventually("its user can read why", async || told(&lab.job(&id).await).contains("gigantic")).await;
        let job = lab.job(&id).await;
        assert_eq!((job.status, job.attempts.len(), job.infos.len()), (Status::Waiting, 0, 1), "{job:#?}");
        assert!(told(&job).contains(words), "{job:#?}");
    }
    assert!(lives(&lab).await.is_empty());
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn where_no_sizes_are_configured_names_of_sizes_mean_nothing_and_that_is_said_once() {
    let lab = Lab::paused(LabOptions { tables: String::new(), ..sized("") });
    let scene = lab.hatch().await;
    for _ in 0..2 {
        let id = lab.enqueue(job(Lab::DEBIAN, Some("gigantic"))).await;
        let (_, cpus, memory) = machine_of(&lab, &id).await;
        assert_eq!((cpus, memory), (2, 2048), "as the template");
    }
    let ignored = scene.hatchery.published.report.borrow().ignored_flavors.clone();
    assert_eq!(ignored.into_iter().collect::<Vec<_>>(), [("debian12".to_owned(), "gigantic".to_owned())]);
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_warm_machine_is_taken_as_it_is_resized_or_left_alone() {
    let pool = |flavor: &str| {
        format!("{SIZES}[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 1\n{flavor}\n")
    };
    let cases = [
        ("of that very size", pool("flavor = \"large\""), "", Some("large"), true),
        ("without a size, which is resized", pool(""), "", Some("large"), true),
        ("without a size, which may not be resized", pool(""), "resizeWarm = false", Some("large"), false),
        ("of another size", pool("flavor = \"small\""), "", Some("large"), false),
        (
            "of another size, which may be resized",
            pool("flavor = \"small\""),
            "resizeNamedFlavors = true",
            Some("large"),
            true,
        ),
        ("without a size for a job without one", pool(""), "", None, true),
    ];
    for (which, tables, settings, asked, claimed) in cases {
        let lab = Lab::paused(LabOptions { tables, ..sized(settings) });
        let scene = lab.hatch().await;
        let warm = warm(&lab, &scene, 1).await;
        let id = lab.enqueue(job(Lab::DEBIAN, asked)).await;
        let (machine, cpus, memory) = machine_of(&lab, &id).await;
        assert_eq!(warm.contains(&machine), claimed, "a warm machine {which}");
        let size = if asked.is_some() { (4, 4096) } else { (2, 2048) };
        assert_eq!((cpus, memory), size, "a warm machine {which}");
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_worker_leaves_room_for_small_ones() {
    for (limit, kept) in [("maxCpus = 6", "CPU"), ("maxMemoryMB = 6144", "MB")] {
        let lab = Lab::paused(sized(&format!("{limit}\ncountSmallerFlavorToKeep = 2")));
        let scene = lab.hatch().await;
        let first = lab.enqueue(job(Lab::DEBIAN, Some("small"))).await;
        machine_of(&lab, &first).await;
        let large = lab.enqueue(job(Lab::DEBIAN, Some("large"))).await;
        eventually("the large one waits with a reason", async || {
            why(&scene, &large).is_some_and(|why| why.contains(kept))
        })
        .await;
        for _ in 0..2 {
            let small = lab.enqueue(job(Lab::DEBIAN, Some("small"))).await;
            machine_of(&lab, &small).await;
        }
        assert!(lab.job(&large).await.attempts.is_empty());
        assert!(line(&scene, "Workers").is_some_and(|line| line.starts_with("OK: 3/")));
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_size_of_a_v1_model_comes_before_that_of_its_job() {
    let model = Model {
        name: "deb".to_owned(),
        image: "debian12".to_owned(),
        flavor: "large".to_owned(),
        user: "debian".to_owned(),
        password: "guest-secret".to_owned(),
        need_registration: true,
        ..Model::default()
    };
    let plain = Model { name: "plain".to_owned(), flavor: String::new(), ..model.clone() };
    let cds = Config { models: vec![model, plain], ..Config::default() };
    let options = LabOptions { cds, tables: SIZES.to_owned(), ..LabOptions::default() };
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    for (model, required, cpus) in
        [("deb", Some("small"), 4), ("plain", Some("small"), 1), ("plain", None, 2)]
    {
        let required = required.map(|flavor: &str| Requirement::new("flavor", flavor, flavor));
        let job = NewJob {
            model: Some(format!("shared.infra/{model}")),
            requirements: required.into_iter().collect(),
            ..NewJob::v1("true")
        };
        let job = stage.lab.enqueue(job).await;
        stage.all_jobs_end().await;
        let worker = stage.lab.job(&job).await.worker_name;
        let vm = stage.vms().await.into_values().find(|vm| vm.name == worker).expect("its machine");
        assert_eq!(vm.whole["cpus"], cpus, "{model}: {vm:?}");
    }
    scene.stop().await;
    stage.lab.close().await;
}

const DISKS: &str = "
[flavors.roomy]
diskSizeGB = 20
[flavors.modest]
cpus = 1
memoryMB = 0
diskSizeGB = 5
";

/// CPUs, memory, the gigabytes of the first disk, and whether that stands on another one, as govc sees it.
async fn built(stage: &Stage, vm: &str) -> (i64, i64, i64, bool) {
    let paths = ["name", "config.hardware.numCPU", "config.hardware.memoryMB", "config.hardware.device"];
    let vms = stage.witness(async |govc| govc.vms(&paths).await).await;
    let vm = vms.values().find(|found| found["name"] == *vm).unwrap_or_else(|| panic!("there is no {vm}"));
    let devices =
        vm["config.hardware.device"].as_array().or(vm["config.hardware.device"]["_value"].as_array());
    let disk = devices.expect("devices").iter().find(|device| device["key"] == 2000).expect("a disk");
    let number = |path: &str| vm[path].as_i64().expect("a number");
    let gigabytes = disk["capacityInKB"].as_i64().expect("a size") >> 20;
    (
        number("config.hardware.numCPU"),
        number("config.hardware.memoryMB"),
        gigabytes,
        !disk["backing"]["parent"].is_null(),
    )
}

/// The machine of a job that has ended, and whether it was warm before.
async fn served(stage: &Stage, flavor: Option<&str>) -> (String, bool) {
    let flavor = flavor.map(str::to_owned);
    let job = stage.lab.enqueue(NewJob { flavor, ..NewJob::v2("true", Lab::DEBIAN, "default") }).await;
    stage.all_jobs_end().await;
    let worker = stage.lab.job(&job).await.worker_name;
    let vm = stage.vms().await.into_values().find(|vm| vm.name == worker).expect("its machine");
    let made = vm.mark()["created"].as_str().expect("a time").to_owned();
    let started = vm.mark()["worker_start_time"].as_str().expect("a time").to_owned();
    (worker, made != started)
}

#[tokio::test(start_paused = true)]
async fn a_flavor_enlarges_the_first_disk_and_leaves_the_rest_to_the_template() {
    let options = LabOptions { tables: DISKS.to_owned(), ..LabOptions::default() };
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    for (flavor, expected) in [
        // The template has 2 CPUs, 2 GiB of memory and 10 GiB of disk; its clones stand on its snapshot.
        (None, (2, 2048, 10, true)),
        (Some("roomy"), (2, 2048, 20, false)),
        (Some("modest"), (1, 2048, 10, true)),
    ] {
        let (vm, _) = served(&stage, flavor).await;
        assert_eq!(built(&stage, &vm).await, expected, "{flavor:?}");
    }
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_warm_machine_with_a_smaller_disk_is_left_for_others() {
    let pool = |flavor: &str| {
        format!("{DISKS}[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 1\n{flavor}\n")
    };
    for (of_pool, asked, was_warm, gigabytes) in
        [("", "roomy", false, 20), ("", "modest", true, 10), ("flavor = \"roomy\"", "roomy", true, 20)]
    {
        let options = LabOptions { tables: pool(of_pool), ..LabOptions::default() };
        let stage = Stage::set(options);
        let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
        stage
            .until("a machine is warm, and its disk was read", async || {
                let report = scene.hatchery.published.report.borrow();
                report.counts.warm == 1 && report.running.is_empty() && report.disks.len() == 1
            })
            .await;
        let (vm, found) = served(&stage, Some(asked)).await;
        assert_eq!(found, was_warm, "{asked} with a pool of {of_pool:?}");
        assert_eq!(built(&stage, &vm).await.2, gigabytes, "{asked} with a pool of {of_pool:?}");
        scene.stop().await;
        stage.lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_pool_size_warm_machines_are_made_side_by_side() {
    let options = LabOptions {
        settings: "workerProvisioningPoolSize = 0\n".to_owned(),
        tables: "[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 6\n".to_owned(),
        ..LabOptions::default()
    };
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage
        .until("all are under way at once", async || {
            scene.hatchery.published.report.borrow().running.len() == 6
        })
        .await;
    scene.stop().await;
    stage.lab.close().await;
}
