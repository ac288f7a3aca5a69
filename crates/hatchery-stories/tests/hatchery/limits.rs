//! No limit is ever passed, and none holds more back than it says.

use jiff::SignedDuration;
use rookery_cds_sim::{Config, Model, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Wire, eventually};
use rookery_vim_sim::Span;

use super::history::{Life, line, lives, lives_by, peak, workers_did};

/// A lab with these limits and slow guests. Finished machines stay for an hour.
fn limited(provision: &str) -> LabOptions {
    let mut options = LabOptions {
        settings: "finishedWorkerGracePeriod = 3600\n".to_owned(),
        tables: format!("[commonConfiguration.provision]\n{provision}\n"),
        ..LabOptions::default()
    };
    options.vcenter.guests.tools = Span::Constant(SignedDuration::from_millis(300));
    options
}

async fn burst(lab: &Lab, count: usize, script: &str) -> Vec<String> {
    let mut jobs = Vec::new();
    for _ in 0..count {
        jobs.push(lab.v2_job(Lab::DEBIAN, script).await);
    }
    jobs
}

async fn succeed(lab: &Lab, jobs: &[String]) {
    for job in jobs {
        let ended = lab.ended(job).await;
        assert_eq!(ended.status, Status::Success, "{ended:#?}");
        assert_eq!(ended.attempts.len(), 1, "{ended:#?}");
    }
}

fn awake(lives: impl IntoIterator<Item = Life>) -> usize {
    peak(lives.into_iter().filter_map(|life| life.awake()))
}

#[tokio::test(start_paused = true)]
async fn a_burst_has_no_more_workers_than_allowed_and_neither_foreign_nor_finished_machines_hold_it_up() {
    let mut options = limited("maxWorker = 4");
    // Workers that have signed out are forgotten at once: nothing tells that their machines may go.
    options.cds.times.deletion = 0;
    options.model.push_str("\n[[datacenter.vm]]\nname = \"theirs-#\"\ncount = 15\non = true\n");
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    let jobs = burst(&lab, 25, "true").await;
    succeed(&lab, &jobs).await;
    let (lives, ends) = (lives(&lab).await, workers_did(&lab, "signout").await);
    assert_eq!(lives.len(), 25);
    let mut workers = Vec::new();
    for job in &jobs {
        let (begun, off) = lives[&lab.job(job).await.worker_name].awake().expect("it was cloned");
        workers.push((begun, off.min(*ends.get(job).unwrap_or(&off))));
    }
    assert_eq!(peak(workers), 4);
    assert!(lives.values().all(|life| life.removed.is_none()), "all of them wait for their deletion");
    eventually("the status counts the machines", async || {
        line(&scene, "Workers").as_deref() == Some("OK: 25/4")
    })
    .await;
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_all_jobs_run_at_once() {
    let lab = Lab::paused(limited("maxWorker = 0\nmaxConcurrentProvisioning = 12"));
    let scene = lab.hatch().await;
    let jobs = burst(&lab, 12, "sleep 1000").await;
    for job in &jobs {
        eventually("the job is built", async || lab.job(job).await.status == Status::Building).await;
    }
    assert_eq!(line(&scene, "Workers").as_deref(), Some("OK: 12/unlimited"));
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_workers_are_on_their_way_than_allowed() {
    let lab = Lab::paused(limited("maxWorker = 0\nmaxConcurrentProvisioning = 3"));
    let scene = lab.hatch().await;
    let jobs = burst(&lab, 25, "sleep 2").await;
    succeed(&lab, &jobs).await;
    let (lives, sign_ins) = (lives(&lab).await, workers_did(&lab, "signin").await);
    let mut pending = Vec::new();
    for job in &jobs {
        let worker = lab.job(job).await.worker_name;
        pending.push((lives[&worker].cloned.expect("it was cloned"), sign_ins[job]));
    }
    assert_eq!(peak(pending), 3);
    assert!(awake(lives.into_values()) > 3, "who has signed in does not count any more");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn exactly_as_many_models_are_registered_at_once_as_allowed() {
    let mut options = limited("maxConcurrentRegistering = 2");
    let model = |name: &str| Model {
        name: name.to_owned(),
        image: "debian12".to_owned(),
        user: "debian".to_owned(),
        password: "guest-secret".to_owned(),
        need_registration: true,
        ..Model::default()
    };
    options.cds =
        Config { models: ["one", "two", "three", "four", "five"].map(model).into(), ..Config::default() };
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    let registers = |name: &str| name.starts_with("register-") || name.ends_with("-tmp");
    eventually("all are being registered or done", async || {
        let lives = lives(&lab).await;
        lives.iter().filter(|(name, life)| name.starts_with("register-") && life.off.is_some()).count() == 5
    })
    .await;
    let of_registrations = lives(&lab).await.into_iter().filter(|(name, _)| registers(name));
    assert_eq!(awake(of_registrations.map(|(_, life)| life)), 2);
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn warm_machines_are_made_beside_all_workers_but_only_so_many_at_once() {
    let mut options = limited("maxWorker = 1\nmaxConcurrentProvisioning = 1\nmaxConcurrentRegistering = 1");
    options.settings.push_str("workerProvisioningPoolSize = 3\n");
    options.tables.push_str("[[workerProvisioning]]\nmodelVMWare = \"rocky9\"\nnumber = 8\n");
    options.vcenter.durations.clone = Span::Constant(SignedDuration::from_millis(200));
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    eventually("the only worker runs", async || lab.job(&job).await.status == Status::Building).await;
    eventually("eight machines are warm", async || {
        lives(&lab)
            .await
            .iter()
            .filter(|(name, life)| name.starts_with("provision-v2-") && life.off.is_some())
            .count()
            == 8
    })
    .await;
    let warm = lives(&lab).await.into_iter().filter(|(name, _)| name.starts_with("provision-"));
    assert_eq!(awake(warm.map(|(_, life)| life)), 3);
    scene.stop().await;
    lab.close().await;
}

/// Eight jobs on paused time where two workers are allowed and machines run on for a while after their workers have signed
/// out. How many machines were on at once by what the vCenter remembers, and how many of them had a worker.
async fn eight_jobs(forgotten_after: i64) -> (usize, usize) {
    let mut options = LabOptions {
        tables: "[commonConfiguration.provision]\nmaxWorker = 2\nmaxConcurrentProvisioning = 2\n".to_owned(),
        ..LabOptions::default()
    };
    options.cds.times.deletion = forgotten_after;
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let jobs = burst(&stage.lab, 8, "true").await;
    stage.all_jobs_end().await;
    stage.until("all machines are gone", async || stage.machines_of(Lab::NAME).await.is_empty()).await;
    succeed(&stage.lab, &jobs).await;
    let lives = stage.witness(lives_by).await;
    assert_eq!(lives.len(), 8, "{lives:#?}");
    let ends = workers_did(&stage.lab, "signout").await;
    let mut workers = Vec::new();
    for job in &jobs {
        let (begun, off) = lives[&stage.lab.job(job).await.worker_name].awake().expect("it was cloned");
        workers.push((begun, off.min(ends[job])));
    }
    assert_eq!(stage.findings(), []);
    scene.stop().await;
    stage.lab.close().await;
    (awake(lives.into_values()), peak(workers))
}

#[tokio::test(start_paused = true)]
async fn by_what_the_vcenter_remembers_no_more_machines_are_on_than_workers_are_allowed() {
    assert_eq!(Box::pin(eight_jobs(0)).await, (2, 2));
}

// A worker that has signed out is disabled until CDS forgets it, and a disabled worker is none.
#[tokio::test(start_paused = true)]
async fn a_worker_that_has_signed_out_makes_room_though_its_machine_has_not_gone_yet() {
    let (machines, workers) = Box::pin(eight_jobs(600)).await;
    assert_eq!(workers, 2);
    assert!((3..=4).contains(&machines), "{machines}");
}
