//! Room: of the resource pool, and of the settings. Whoever finds none waits with numbers, and vCenter never has to
//! refuse anything.

use rookery_cds_sim::{Control, Fault, NewJob, Status, Trouble};
use rookery_hatchery::surface::control::Request;
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Wire, eventually};
use rookery_vim_sim::{Action, FaultSpec, Rule};

use super::history::{asked, events, line, lives, peak, told, trouble, why};

const POOL: &str = "\n[[datacenter.cluster.pool]]\nname = \"ci\"\n";

/// A lab whose machines go into the pool `ci`, which has these limits.
fn pooled(limits: &str) -> LabOptions {
    let mut options = LabOptions { settings: "resourcePool = \"ci\"\n".to_owned(), ..LabOptions::default() };
    let at = options.model.find("[[datacenter.vm]]").expect("the model has machines");
    options.model.insert_str(at, &format!("{POOL}{limits}\n"));
    options
}

fn limited(settings: &str) -> LabOptions {
    LabOptions { settings: format!("{settings}\n"), ..LabOptions::default() }
}

async fn nothing_was_refused(lab: &Lab) {
    let refused: Vec<_> = events(lab)
        .await
        .into_iter()
        .filter(|(_, words)| words.contains("nsufficient") || words.contains("ailed"))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let tasks = lab.govc().run(&["tasks", "-n", "1000"]).await;
    assert!(!tasks.contains("error"), "{tasks}");
}

#[tokio::test(start_paused = true)]
async fn a_pool_with_little_memory_is_never_asked_for_more_than_it_has() {
    let lab = Lab::paused(pooled("memory-limit = \"7GiB\""));
    let scene = lab.hatch().await;
    let mut jobs = Vec::new();
    for _ in 0..9 {
        jobs.push(lab.v2_job(Lab::DEBIAN, "sleep 1").await);
    }
    eventually("some job waits with numbers", async || {
        jobs.iter().any(|job| why(&scene, job).is_some_and(|why| why.contains("MB") && why.contains("2048")))
    })
    .await;
    for job in &jobs {
        let ended = lab.ended(job).await;
        assert_eq!(
            (ended.status, ended.attempts.len(), ended.releases),
            (Status::Success, 1, 0),
            "{ended:#?}"
        );
    }
    nothing_was_refused(&lab).await;
    let lives = lives(&lab).await;
    assert_eq!((lives.len(), peak(lives.values().filter_map(super::history::Life::awake))), (9, 3));
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_without_cpu_left_gets_nothing_more() {
    // Exactly what one machine of somebody else takes.
    let mut options = pooled("cpu-limit = 5200");
    options.model = options.model.replace("memory = \"512GiB\"", "memory = \"512GiB\"\nmhz = 2600");
    options.model.push_str("\n[[datacenter.vm]]\nname = \"hungry\"\non = true\npool = \"ci\"\ncpus = 2\n");
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    eventually("the job waits for CPU", async || why(&scene, &job).is_some_and(|why| why.contains("CPU")))
        .await;
    let waiting = lab.job(&job).await;
    assert_eq!((waiting.status, waiting.attempts.len()), (Status::Waiting, 0), "{waiting:#?}");
    lab.govc().run(&["vm.power", "-off", "hungry"]).await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    nothing_was_refused(&lab).await;
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_cannot_be_asked_keeps_nobody_out_and_that_is_said() {
    let stage = Stage::set(pooled("memory-limit = \"64GiB\""));
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let first = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    stage.all_jobs_end().await;
    let fault = Action::Fault(FaultSpec::new("SystemError", "a rule of the story"));
    let rule = Rule { method: "RetrieveProperties*".to_owned(), target: "ci".to_owned(), ..Rule::new(fault) };
    stage.lab.world.ask(rookery_vim_sim::Control::AddRule(rule)).await;
    let is_told = || line(&scene, "ResourcePool").is_some_and(|line| line.starts_with("WARN"));
    stage.until("the status says that the pool is not known", async || is_told()).await;
    // The pool cannot be asked while the job comes, runs and ends.
    let job = stage.lab.v2_job(Lab::DEBIAN, "true").await;
    stage.all_jobs_end().await;
    for job in [&first, &job] {
        let ended = stage.lab.job(job).await;
        assert_eq!(ended.status, Status::Success, "{ended:#?}");
    }
    assert!(is_told());
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_cpus_run_than_allowed_and_the_status_says_how_many() {
    let lab = Lab::paused(limited("maxCpus = 5\nmaxMemoryMB = 100000"));
    let scene = lab.hatch().await;
    let mut jobs = Vec::new();
    for _ in 0..3 {
        jobs.push(lab.v2_job(Lab::DEBIAN, "sleep 1000").await);
    }
    let building = async || {
        let mut building = 0;
        for job in &jobs {
            building += usize::from(lab.job(job).await.status == Status::Building);
        }
        building
    };
    eventually("two of them run", async || building().await == 2).await;
    eventually("the third waits with numbers", async || {
        jobs.iter().any(|job| why(&scene, job).is_some_and(|why| why.contains('4') && why.contains('5')))
    })
    .await;
    // Each of these has two CPUs by its template; the rest is what vCenter remembers.
    let running = lives(&lab).await;
    assert_eq!(2 * peak(running.values().filter_map(super::history::Life::awake)), 4, "{running:#?}");
    assert_eq!(line(&scene, "CPUs").as_deref(), Some("OK: 4/5"));
    assert_eq!(line(&scene, "MemoryMB").as_deref(), Some("OK: 4096/100000"));
    // A smaller one still fits.
    let small = lab.v2_job(Lab::ROCKY, "true").await;
    let small = lab.ended(&small).await;
    assert_eq!(small.status, Status::Success);
    assert_eq!(building().await, 2);
    let all = lives(&lab).await;
    let cpus = |name: &str| if name == small.worker_name { 1 } else { 2 };
    let stays = all.iter().filter_map(|(name, life)| Some((name, life.awake()?)));
    let each_cpu = stays.flat_map(|(name, stay)| std::iter::repeat_n(stay, cpus(name)));
    assert_eq!((all.len(), peak(each_cpu)), (3, 5), "{all:#?}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn two_jobs_that_come_at_once_do_not_share_the_last_slot() {
    let lab = Lab::paused(limited("maxMemoryMB = 2048"));
    // Both are known before anything is placed.
    trouble(&lab, Fault::next(1, "/v2/worker", Trouble::Slow { milliseconds: 1500 })).await;
    let scene = lab.hatch().await;
    let jobs = [lab.v2_job(Lab::DEBIAN, "sleep 1").await, lab.v2_job(Lab::DEBIAN, "sleep 1").await];
    for job in &jobs {
        let ended = lab.ended(job).await;
        assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 1), "{ended:#?}");
    }
    let lives = lives(&lab).await;
    assert_eq!(peak(lives.values().filter_map(super::history::Life::awake)), 1);
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn warm_machines_that_are_off_take_no_room() {
    let mut options = limited("maxCpus = 2\nmaxMemoryMB = 2048\nworkerProvisioningPoolSize = 1");
    options.tables = "[[workerProvisioning]]\nmodelVMWare = \"rocky9\"\nnumber = 3\n".to_owned();
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    // The last one counts as warm as soon as it is off, and as running until whoever made it has seen that.
    eventually("three machines are warm and take no room", async || {
        let is_warm = {
            let report = scene.hatchery.published.report.borrow();
            report.counts.warm == 3 && report.running.is_empty()
        };
        is_warm && line(&scene, "CPUs").as_deref() == Some("OK: 0/2")
    })
    .await;
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_is_not_burned_by_a_vcenter_that_is_full() {
    let lab = Lab::paused(LabOptions::default());
    let full = FaultSpec::new("InsufficientMemoryResourcesFault", "no memory is left on the host");
    let rule = Rule { method: "PowerOnVM_Task".to_owned(), ..Rule::new(Action::Fault(full)) };
    lab.world.ask(rookery_vim_sim::Control::AddRule(rule)).await;
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    eventually("the job was given back", async || lab.job(&job).await.releases == 1).await;
    let lists = asked(&lab, "GET", "/v2/queue/default").await;
    eventually("it was offered several times since", async || {
        scene.hatchery.control_state().answer(Request::Look).await;
        asked(&lab, "GET", "/v2/queue/default").await > lists + 3
    })
    .await;
    let waiting = lab.job(&job).await;
    assert_eq!((waiting.status, waiting.releases), (Status::Waiting, 1), "{waiting:#?}");
    assert!(told(&waiting).contains("no memory is left"), "{waiting:#?}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_waits_for_room_is_never_taken_however_often_it_is_offered() {
    let lab = Lab::paused(limited("maxCpus = 1"));
    let scene = lab.hatch().await;
    let jobs = [
        lab.v2_job(Lab::DEBIAN, "true").await,
        lab.enqueue(NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("true") }).await,
    ];
    for job in &jobs {
        eventually("the job waits", async || why(&scene, job).is_some()).await;
    }
    for _ in 0..5 {
        let lists = asked(&lab, "GET", "/v2/queue/default").await;
        lab.cds.control(Control::DropSockets { politely: true }).await.expect("the CDS runs");
        eventually("the queue is listed again", async || {
            scene.hatchery.control_state().answer(Request::Look).await;
            asked(&lab, "GET", "/v2/queue/default").await > lists
        })
        .await;
    }
    for job in &jobs {
        let job = lab.job(job).await;
        assert_eq!((job.status, job.attempts.len(), job.releases), (Status::Waiting, 0, 0), "{job:#?}");
    }
    scene.stop().await;
    lab.close().await;
}
