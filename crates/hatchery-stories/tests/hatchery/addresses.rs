//! Addresses: none is given twice, and none that is not ours to give.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rookery_cds_sim::Status;
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::eventually;
use rookery_vim_sim::{Control, Incident};

use super::witness::{clones_run, control, machines, named, nonce, probe, reported, slow_down, with_cards};

/// All but the network's own two, the gateway and the name server: twelve.
const TWELVE: &str = r#"iprange = "192.0.2.0/28"
gateway = "192.0.2.1"
subnetMask = "255.255.255.240"
dns = "192.0.2.2"
finishedWorkerGracePeriod = 1
"#;
const MANY: &str = "[commonConfiguration.provision]\nmaxWorker = 40\nmaxConcurrentProvisioning = 40\n";

fn lab_with(settings: &str, model: &str) -> Lab {
    let options = with_cards();
    let model = format!("{}{model}", options.model);
    Lab::paused(LabOptions { settings: settings.to_owned(), tables: MANY.to_owned(), model, ..options })
}

/// The addresses that machines were given, with their machines.
async fn given(lab: &Lab) -> BTreeMap<String, Vec<String>> {
    let mut given = BTreeMap::<String, Vec<String>>::new();
    for machine in machines(lab).await.into_iter().filter(|machine| !machine.given().is_empty()) {
        given.entry(machine.given()).or_default().push(machine.name);
    }
    given
}

#[tokio::test(start_paused = true)]
async fn no_address_is_given_twice_in_a_burst_of_jobs() {
    let lab = lab_with(TWELVE, "");
    let mut jobs = Vec::new();
    for _ in 0..30 {
        let nonce = nonce();
        jobs.push((lab.v2_job(Lab::DEBIAN, &probe(&nonce)).await, nonce));
    }
    let scene = lab.hatch().await;
    reported(&scene, "some wait for an address", |report| {
        report.waiting.values().any(|why| why.to_string() == "none of the 12 configured addresses is free")
    })
    .await;
    let used = RefCell::new(BTreeSet::new());
    eventually("all jobs have ended", async || {
        for (address, names) in given(&lab).await {
            assert_eq!(names.len(), 1, "{address} was given to {names:?}");
            used.borrow_mut().insert(address);
        }
        let ended = lab.cds.jobs().await.expect("the CDS runs");
        ended.iter().all(|job| job.status.is_final())
    })
    .await;
    let range: BTreeSet<String> = (3..15).map(|last| format!("192.0.2.{last}")).collect();
    assert_eq!(used.into_inner(), range, "all of them, and no other");
    let mut workers = BTreeSet::new();
    for (job, nonce) in jobs {
        let job = lab.job(&job).await;
        assert_eq!(job.status, Status::Success, "{job:#?}");
        assert!(job.logs.contains(&nonce), "{job:#?}");
        workers.insert(job.worker_name);
    }
    assert_eq!(workers.len(), 30, "one machine for each job");
    eventually("all machines are gone", async || given(&lab).await.is_empty()).await;
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_others_have_is_not_given() {
    let settings = "iprange = \"192.0.2.0/29\"\ngateway = \"192.0.2.1\"\nsubnetMask = \"255.255.255.248\"\n";
    // Another hatchery's, by its notes; somebody else may call a VM what they like.
    let vms = r#"
[[datacenter.vm]]
name = "provision-v2-ip-192-0-2-3-somebodys"
annotation = '{"hatchery_name":"theirs","provisioning":true}'
[[datacenter.vm]]
name = "provision-v2-ip-192-0-2-4-nobodys"
"#;
    let lab = lab_with(settings, vms);
    let addresses = Some(vec![IpAddr::from([192, 0, 2, 2])]);
    let vm = "jumphost".to_owned();
    let incident = Incident::SetGuest { vm, tools: None, operations: None, addresses, host_name: None };
    control(&lab, Control::Do(incident)).await;
    for _ in 0..4 {
        lab.v2_job(Lab::DEBIAN, "sleep 3").await;
    }
    let scene = lab.hatch().await;
    eventually("three have addresses", async || given(&lab).await.len() == 3).await;
    reported(&scene, "the fourth waits for one", |report| {
        report.waiting.values().any(|why| why.to_string() == "none of the 5 configured addresses is free")
    })
    .await;
    let given: Vec<String> = given(&lab).await.into_keys().collect();
    assert_eq!(given, ["192.0.2.4", "192.0.2.5", "192.0.2.6"]);
    assert!(named(&lab, "provision-v2-ip-192-0-2-3-somebodys").await.is_some());
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_address_is_not_given_again_while_a_clone_of_a_former_life_takes_it() {
    let lab = lab_with("iprange = \"192.0.2.8/29\"\ngateway = \"192.0.2.1\"\n", "");
    slow_down(&lab, "50s", "0s").await;
    lab.v2_job(Lab::DEBIAN, "true").await;
    let scene = lab.hatch().await;
    eventually("a clone runs", async || clones_run(&lab).await == 1).await;
    scene.crash().await;
    slow_down(&lab, "0s", "0s").await;
    let scene = lab.hatch().await;
    let nonce = nonce();
    let job = lab.v2_job(Lab::ROCKY, &format!("echo {nonce}")).await;
    reported(&scene, "the job waits for the clone", |report| {
        report.waiting.values().any(|line| line.as_str() == "address")
    })
    .await;
    assert_eq!(clones_run(&lab).await, 1, "it still runs");
    control(&lab, Control::Advance(jiff::SignedDuration::from_secs(50))).await;
    let job = lab.ended(&job).await;
    assert!(job.status == Status::Success && job.logs.contains(&nonce), "{job:#?}");
    let given = given(&lab).await;
    assert_eq!(given.keys().collect::<Vec<_>>(), ["192.0.2.8", "192.0.2.9"]);
    assert!(given.values().all(|names| names.len() == 1), "{given:?}");
    scene.stop().await;
    lab.close().await;
}
