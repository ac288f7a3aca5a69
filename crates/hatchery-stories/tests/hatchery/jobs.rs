//! A job goes all the way: queue, machine, guest program, worker, log, result.

use std::collections::BTreeSet;
use std::time::Duration;

use rookery_cds_sim::{CodeModel, Config, NewJob, Requirement, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Wire, eventually};
use serde_json::json;
use tokio::time::sleep;

use super::witness::{machines, nonce, pool, probe, ran, reported, warm, was_told, with_cards};

/// The keys that the Go hatchery writes, in its order, and ours behind them.
const KEYS: [&str; 9] = [
    "hatchery_name",
    "worker_name",
    "vmware_model_path",
    "created",
    "worker_start_time",
    "job_id",
    "ip_address",
    "rookery_template",
    "rookery_instance",
];

#[tokio::test(start_paused = true)]
async fn warm_machines_of_two_models_are_claimed_for_v2_jobs() {
    let lab = Lab::paused(LabOptions {
        settings: "iprange = \"192.0.2.8/29\"\ngateway = \"192.0.2.1\"\n".to_owned(),
        tables: pool("debian12", 1) + &pool("rocky9", 1),
        ..with_cards()
    });
    let scene = lab.hatch().await;
    let before = warm(&lab, &scene, 2).await;
    for (path, template) in [(Lab::DEBIAN, "debian12"), (Lab::ROCKY, "rocky9")] {
        let before =
            before.iter().find(|machine| machine.mark("vmware_model_path") == template).expect("a warm one");
        let address = before.given();
        let name = format!("provision-v2-ip-{}-", address.replace('.', "-"));
        assert!(before.name.starts_with(&name) && !before.is_on, "{before:?}");
        assert_eq!(before.mark("provisioning"), true);
        assert_eq!(before.mark("worker_name"), before.name.as_str());
        assert_eq!(before.mark("worker_start_time"), "0001-01-01T00:00:00Z");
        assert!(before.mark("job_id").is_null(), "{before:?}");

        let nonce = nonce();
        let job = lab.v2_job(path, &probe(&nonce)).await;
        let (job, after) = ran(&lab, &job, &nonce).await;
        assert_eq!(after.id, before.id, "the warm machine was taken");
        assert_eq!(after.keys(), KEYS, "{}", after.notes);
        assert_eq!(after.given(), address);
        for kept in ["created", "vmware_model_path", "rookery_template", "rookery_instance"] {
            assert_eq!(after.mark(kept), before.mark(kept), "{kept}");
        }
        let started = after.mark("worker_start_time");
        let started: jiff::Timestamp = started.as_str().expect("text").parse().expect("a time");
        assert!(started.duration_since(job.queued).unsigned_abs().as_secs() < 60, "{started}");
        assert_eq!(job.attempts.len(), 1, "{job:#?}");
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn v2_jobs_of_two_models_run_in_fresh_clones_with_dhcp() {
    let lab = Lab::start(with_cards()).await;
    let scene = lab.hatch().await;
    for (path, template) in [(Lab::DEBIAN, "debian12"), (Lab::ROCKY, "rocky9")] {
        let nonce = nonce();
        let job = lab.v2_job(path, &probe(&nonce)).await;
        let (_, machine) = ran(&lab, &job, &nonce).await;
        assert_eq!(machine.mark("vmware_model_path"), template);
        let expected: Vec<&str> = KEYS.into_iter().filter(|key| *key != "ip_address").collect();
        assert_eq!(machine.keys(), expected, "{}", machine.notes);
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fresh_clones_get_addresses_of_several_networks_in_their_order() {
    let networks = r#"
[[networks]]
iprange = "192.0.2.10/31"
gateway = "192.0.2.1"
subnetMask = "255.255.255.0"
[[networks]]
iprange = "198.51.100.8/30"
gateway = "198.51.100.9"
subnetMask = "255.255.255.0"
"#;
    let lab = Lab::start(LabOptions { tables: networks.to_owned(), ..with_cards() }).await;
    let mut jobs = Vec::new();
    for _ in 0..4 {
        let nonce = nonce();
        // Long enough to be seen running.
        jobs.push((lab.v2_job(Lab::DEBIAN, &format!("{}\nsleep 2", probe(&nonce))).await, nonce));
    }
    let scene = lab.hatch().await;
    let shown = async || {
        let on = machines(&lab).await.into_iter().filter(|machine| machine.is_on);
        on.filter(|machine| machine.address.as_deref() == Some(&machine.given())).count()
    };
    eventually("four guests have the addresses that they were given", async || shown().await == 4).await;
    let mut given = BTreeSet::new();
    for (job, nonce) in &jobs {
        given.insert(ran(&lab, job, nonce).await.1.given());
    }
    let expected = ["192.0.2.10", "192.0.2.11", "198.51.100.10", "198.51.100.8"].map(str::to_owned);
    assert_eq!(given, BTreeSet::from(expected), "the gateway is not given");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn v1_jobs_run_on_models_of_repositories_by_name_and_by_default() {
    let defaults = format!(
        "[[defaultWorkerModelsV2]]\nworkerModelV2 = \"{}@main\"\n\
         [[defaultWorkerModelsV2]]\nworkerModelV2 = \"{}@main\"\nbinaries = [\"git\"]\n",
        Lab::DEBIAN,
        Lab::ROCKY
    );
    let lab = Lab::start(LabOptions { tables: defaults, ..LabOptions::default() }).await;
    let scene = lab.hatch().await;
    let git = vec![Requirement::new("binary", "git", "git")];
    for (model, requirements, template) in [
        (Some(format!("{}@main", Lab::ROCKY)), vec![], "rocky9"),
        (None, vec![], "debian12"),
        (None, git, "rocky9"),
    ] {
        let nonce = nonce();
        let job = lab.enqueue(NewJob { model, requirements, ..NewJob::v1(&probe(&nonce)) }).await;
        let (_, machine) = ran(&lab, &job, &nonce).await;
        assert_eq!(machine.mark("vmware_model_path"), template);
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_token_of_a_protocol_its_jobs_are_left_alone() {
    let options = LabOptions { v1: false, ..LabOptions::default() };
    let stage = Stage::set(options);
    let v1 = NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("true") };
    let v1 = stage.lab.enqueue(v1).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let v2 = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    sleep(Duration::from_hours(1)).await;
    assert_eq!(stage.lab.job(&v2).await.status, Status::Success);
    let v1 = stage.lab.job(&v1).await;
    assert_eq!((v1.status, v1.attempts, v1.infos), (Status::Waiting, vec![], vec![]));
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_program_has_its_configuration_and_what_is_injected_and_nothing_else() {
    let tables = r#"
[commonConfiguration.provision]
injectEnvVars = ["PROXY=http://proxy:3128/?a=b", "EMPTY="]
[[models]]
modelVMWare = "debian12"
preStartScript = "echo was-first >/tmp/first"
"#;
    let lab = Lab::start(LabOptions { tables: tables.to_owned(), ..LabOptions::default() }).await;
    let scene = lab.hatch().await;
    // The parent of the worker is what the tools started.
    let script = "read -r _ _ _ started _ </proc/$PPID/stat\n\
         tr '\\0' '|' </proc/$started/environ; echo\n\
         tr '\\0' '|' </proc/$started/cmdline; echo\n\
         cat /tmp/first";
    let nonce = nonce();
    let job = lab.v2_job(Lab::DEBIAN, &format!("{}\n{script}", probe(&nonce))).await;
    let (job, _) = ran(&lab, &job, &nonce).await;
    let after = job.logs.split_once("guest=vm-").expect("a guest").1;
    let (_, told) = after.split_once('\n').expect("lines");
    let (environment, rest) = told.split_once('\n').expect("lines");
    let entries: Vec<&str> = environment.trim_end_matches('|').split('|').collect();
    let names: Vec<&str> = entries.iter().filter_map(|entry| Some(entry.split_once('=')?.0)).collect();
    assert_eq!(names, ["CDS_CONFIG", "EMPTY", "PROXY"], "{environment}");
    assert_eq!(entries[1..], ["EMPTY=", "PROXY=http://proxy:3128/?a=b"]);
    assert!(rest.starts_with("/bin/sh|-c|\"/bin/echo\" -n ;#!/bin/sh\nif command -v curl "), "{rest}");
    let end = "\nPATH=$PATH worker 1>/tmp/worker.log 2>&1;\nsudo shutdown -h now|\nwas-first\n";
    assert!(rest.ends_with(end), "{rest}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_finished_machine_goes_after_the_grace_period_and_its_address_is_free_again() {
    let lab = Lab::paused(LabOptions {
        settings: "finishedWorkerGracePeriod = 1\niprange = \"192.0.2.10/32\"\ngateway = \"192.0.2.1\"\n"
            .to_owned(),
        ..with_cards()
    });
    let scene = lab.hatch().await;
    let (first, second) = (nonce(), nonce());
    // The first one takes so long that the second one is seen waiting.
    let jobs = [first.as_str(), second.as_str()].map(|nonce| format!("sleep 3\n{}", probe(nonce)));
    let jobs = [lab.v2_job(Lab::DEBIAN, &jobs[0]).await, lab.v2_job(Lab::DEBIAN, &jobs[1]).await];
    reported(&scene, "one job waits for an address", |report| {
        report.waiting.values().any(|why| why.to_string() == "none of the 1 configured addresses is free")
    })
    .await;
    for job in &jobs {
        assert_eq!(lab.ended(job).await.status, Status::Success);
    }
    eventually("both machines are gone", async || {
        machines(&lab).await.iter().all(|machine| machine.mark("hatchery_name").is_null())
    })
    .await;
    let [one, other] = [lab.job(&jobs[0]).await, lab.job(&jobs[1]).await];
    assert!(one.logs.contains(&first) && other.logs.contains(&second));
    assert_ne!(one.worker_name, other.worker_name);
    assert_eq!((one.releases, other.releases), (0, 0), "jobs that are over are not released");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_is_not_resolved_is_refused_by_name() {
    let path = "PRJ/github/org/app/alma9";
    let spec = json!({ "image": "alma9", "username": "root", "password": "${{ secrets.guest }}" });
    let cds = Config {
        code_models: vec![CodeModel { spec, ..CodeModel::vsphere(path, "alma9") }],
        ..Config::default()
    };
    let options = LabOptions::default();
    let alma = options.model.replace("name = \"rocky9\"", "name = \"alma9\"");
    let alma = alma.split_once("name = \"alma9\"").expect("a template").1.split("[[").next().expect("it");
    let model = format!("{}\n[[datacenter.vm]]\nname = \"alma9\"{alma}", options.model);
    let lab = Lab::paused(LabOptions { model, cds, ..options });
    let scene = lab.hatch().await;
    let job = lab.v2_job(path, "true").await;
    let why = "the password for guests of model alma9, from the model itself, still contains a placeholder";
    eventually("the users of the job are told", async || was_told(&lab.job(&job).await, why)).await;
    let told = lab.job(&job).await;
    assert_eq!((told.status, told.attempts.len()), (Status::Waiting, 0), "{told:#?}");
    assert!(!format!("{told:?}").contains("secrets.guest"));
    let report = scene.hatchery.published.report.borrow().clone();
    assert!(
        report.waiting.values().any(|line| line.is_permanent() && line.to_string().contains(why)),
        "{report:?}"
    );
    scene.stop().await;
    lab.close().await;
}

// Their jobs waited, too, and were told the reason of the other model.
#[tokio::test(start_paused = true)]
async fn a_model_that_cannot_be_used_does_not_concern_others_of_the_same_template() {
    let model = |name: &str, password: &str| CodeModel {
        spec: json!({ "image": "alma9", "username": "debian", "password": password }),
        ..CodeModel::vsphere(&format!("PRJ/github/org/app/{name}"), "alma9")
    };
    let code_models = vec![model("broken", "${{ secrets.guest }}"), model("whole", "guest-secret")];
    let options = LabOptions::default();
    let alma = "\n[[datacenter.vm]]\nname = \"alma9\"\ntemplate = true\nsnapshots = [\"base\"]\n";
    let (model, cds) = (format!("{}{alma}", options.model), Config { code_models, ..Config::default() });
    let options = LabOptions { model, cds, ..options };
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let (why, lab) = ("still contains a placeholder", &stage.lab);
    let broken = lab.v2_job("PRJ/github/org/app/broken", "true").await;
    stage.until("the users of the job are told", async || was_told(&lab.job(&broken).await, why)).await;
    let whole = lab.v2_job("PRJ/github/org/app/whole", "true").await;
    stage.until("the other job ends", async || lab.job(&whole).await.status == Status::Success).await;
    assert!(!was_told(&lab.job(&whole).await, why));
    assert_eq!(lab.job(&broken).await.status, Status::Waiting);
    scene.stop().await;
    stage.lab.close().await;
}
