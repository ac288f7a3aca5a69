//! What is not ours stays as it is, whatever goes wrong; and what is not known for certain costs nobody a machine.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{Config, Control as Cds, Fault, HatcheryConsumer, Job, Model, NewJob, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Finding, Govc, Vm, Wire};
use rookery_vim_sim::{Action, Control, FaultSpec, Incident, Remains, Rule, Span};
use serde_json::Value;
use tokio::time::sleep;

/// Machines of all kinds that are not ours. The first is called as the hatchery would call its first worker.
const FOREIGN: &str = r#"
[[datacenter.cluster]]
name = "C1"
[[datacenter.cluster.host]]
name = "esx-9"
memory = "512GiB"

[[datacenter.vm]]
name = "mighty-and-fearless-mendel"
compute = "C1"

[[datacenter.vm]]
name = "backed-up"
compute = "C1"
on = true
annotation = '{"backup":"daily"}'

[[datacenter.vm]]
name = "braces"
compute = "C1"
annotation = '{}'

[[datacenter.vm]]
name = "provision-v2-ip-10-9-0-3-lonely-curie"
compute = "C1"
annotation = '{"hatchery_name":"hatchery-other","worker_name":"provision-v2-ip-10-9-0-3-lonely-curie","provisioning":true,"vmware_model_path":"debian12","created":"2020-01-01T00:00:00Z","worker_start_time":"0001-01-01T00:00:00Z","ip_address":"10.9.0.3"}'

[[datacenter.vm]]
name = "provision-v2-nobody"
compute = "C1"

[[datacenter.vm]]
name = "finished-and-foreign"
compute = "C1"
annotation = '{"hatchery_name":"hatchery-other","worker_name":"finished-and-foreign","vmware_model_path":"debian12","created":"2020-01-01T00:00:00Z","worker_start_time":"2020-01-01T00:00:00Z","job_id":"b5b12a13-27f8-496b-b950-90325de33ede"}'

[[datacenter.vm]]
name = "running-and-foreign"
compute = "C1"
on = true
annotation = '{"hatchery_name":"hatchery-lab-2","worker_name":"running-and-foreign","vmware_model_path":"debian12","created":"2020-01-01T00:00:00Z","worker_start_time":"2020-01-01T00:00:00Z"}'

[[datacenter.vm]]
name = "without-files"
compute = "C1"
orphaned = true

[[datacenter.vm]]
name = "old-tmp"
compute = "C1"
annotation = '{"hatchery_name":"hatchery-other","worker_model_path":"shared.infra/old","model":true,"created":"2020-01-01T00:00:00Z","worker_start_time":"0001-01-01T00:00:00Z"}'

[[datacenter.vm]]
name = "marked-template"
compute = "C1"
template = true
annotation = '{"model":true}'

[[datacenter.vm]]
name = "foreign-template"
compute = "C1"
template = true
annotation = '{"hatchery_name":"hatchery-other","model":true,"created":"2020-01-01T00:00:00Z","worker_start_time":"0001-01-01T00:00:00Z"}'
"#;

/// Machines that nothing is told of. What nobody can read is that the first is ours, and long over.
const ORPHANS: &str = r#"
[[datacenter.vm]]
name = "lost-worker"
compute = "C1"
orphaned = true
annotation = '{"hatchery_name":"hatchery-lab","worker_name":"lost-worker","vmware_model_path":"debian12","created":"2031-02-03T03:30:00Z","worker_start_time":"2031-02-03T03:30:00Z"}'

[[datacenter.vm]]
name = "provision-v2-ip-10-9-0-1-lost"
compute = "C1"
orphaned = true
"#;

const SETTINGS: &str =
    "resourcePool = \"/DC0/host/C0/Resources\"\niprange = \"10.9.0.0/28\"\ngateway = \"10.9.0.14\"\n";
const WARM: &str = "[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 2\n";

fn stage(tables: &str, models: Vec<Model>) -> Stage {
    stage_with("", tables, models)
}

fn stage_with(machines: &str, tables: &str, models: Vec<Model>) -> Stage {
    let options = LabOptions::default();
    let second = HatcheryConsumer {
        name: "hatchery-two".to_owned(),
        token: "two-token".into(),
        region: Some("default".to_owned()),
        ..HatcheryConsumer::default()
    };
    let options = LabOptions {
        // Its host goes down in one of the stories.
        model: options.model.replace("name = \"jumphost\"", "name = \"jumphost\"\ncompute = \"C1\"")
            + FOREIGN
            + machines,
        cds: Config { models, hatcheries: vec![second], ..Config::default() },
        settings: SETTINGS.to_owned(),
        tables: tables.to_owned(),
        ..options
    };
    Stage::set(options)
}

fn v1_model() -> Model {
    Model {
        name: "deb".to_owned(),
        image: "debian12".to_owned(),
        user: "debian".to_owned(),
        password: "guest-secret".to_owned(),
        need_registration: true,
        ..Model::default()
    }
}

fn v2_job() -> NewJob {
    NewJob::v2("true", Lab::DEBIAN, "default")
}

fn v1_job() -> NewJob {
    NewJob { model: Some("shared.infra/deb".to_owned()), ..NewJob::v1("true") }
}

/// All that `govc` tells of machines that are not ours, but what changes with time.
async fn foreign(govc: &Govc) -> BTreeMap<String, BTreeMap<String, Value>> {
    let paths = [
        "name",
        "parent",
        "config",
        "runtime",
        "snapshot",
        "layoutEx",
        "resourcePool",
        "datastore",
        "network",
        "guest",
        "customValue",
        "permission",
    ];
    let mut all = govc.vms(&paths).await;
    all.retain(|_, vm| {
        let notes = vm.get("config").and_then(|config| config["annotation"].as_str()).unwrap_or_default();
        serde_json::from_str::<Value>(notes).unwrap_or_default()["hatchery_name"] != Lab::NAME
    });
    all
}

async fn rule(stage: &Stage, method: &str, probability: f64, action: Action) {
    let rule = Rule {
        method: method.to_owned(),
        probability: (probability < 1.0).then_some(probability),
        ..Rule::new(action)
    };
    let reply = stage.lab.world.vcenter.control(Control::AddRule(rule)).await.expect("the vCenter runs");
    assert_eq!(reply.status, 200, "{reply:?}");
}

async fn happens(stage: &Stage, incident: Incident) {
    let reply = stage.lab.world.vcenter.control(Control::Do(incident)).await.expect("the vCenter runs");
    assert_eq!(reply.status, 200, "{reply:?}");
}

async fn trouble(stage: &Stage, path: &str, chance: f64, trouble: Trouble) {
    let fault = Fault { chance, times: None, ..Fault::next(1, path, trouble) };
    stage.lab.cds.control(Cds::AddFault(fault)).await.expect("CDS runs");
}

/// Lets everything go wrong, again and again.
/// Everything goes wrong, and the names of machines are told that ran when a host went down.
async fn plague(stage: &Stage) -> Vec<String> {
    let mut ran = Vec::new();
    let error =
        || FaultSpec { class: "SystemError".to_owned(), message: "no".to_owned(), members: Vec::new() };
    for (method, probability, action) in [
        ("*_Task", 0.05, Action::LoseReply),
        ("*_Task", 0.03, Action::Drop),
        (
            "CloneVM_Task",
            0.1,
            Action::TaskError {
                fault: error(),
                after: Span::Constant(SignedDuration::from_secs(2)),
                remains: Remains::Nothing,
            },
        ),
        (
            "CloneVM_Task",
            0.1,
            Action::TaskError {
                fault: error(),
                after: Span::Constant(SignedDuration::from_secs(2)),
                remains: Remains::Everything,
            },
        ),
        ("*", 0.01, Action::Status { code: 503 }),
        ("*", 0.01, Action::LoseReply),
        ("*InGuest", 0.05, Action::Fault(error())),
    ] {
        rule(stage, method, probability, action).await;
    }
    for (path, chance, what) in [
        ("*", 0.02, Trouble::Error { status: 500, id: 1 }),
        ("*", 0.02, Trouble::Html { status: 502 }),
        ("*", 0.02, Trouble::LostReply),
        ("*", 0.02, Trouble::Dropped),
        ("/worker", 0.1, Trouble::Maintenance),
        ("/v2/worker", 0.1, Trouble::Error { status: 500, id: 1 }),
    ] {
        trouble(stage, path, chance, what).await;
    }
    for round in 0..8 {
        for job in [v2_job(), v1_job(), v2_job()] {
            stage.lab.enqueue(job).await;
        }
        sleep(Duration::from_secs(40)).await;
        match round {
            1 | 5 => happens(stage, Incident::ExpireSessions).await,
            2 => {
                happens(stage, Incident::Restart { down: Span::Constant(SignedDuration::from_secs(20)) })
                    .await;
            }
            3 => {
                let own = stage.machines_of(Lab::NAME).await;
                ran = own.into_iter().filter(|vm| vm.on).map(|vm| vm.name).collect();
                happens(stage, Incident::HostDown { host: "esx-1".to_owned(), restart_vms: false }).await;
            }
            4 => happens(stage, Incident::HostUp { host: "esx-1".to_owned() }).await,
            _ => drop(stage.lab.cds.control(Cds::DropSockets { politely: round % 2 == 0 }).await),
        }
        if round == 6 {
            stage.lab.cds.control(Cds::ExpireSessions).await;
            stage.lab.cds.control(Cds::Restart { keep_sessions: false }).await;
        }
        sleep(Duration::from_mins(2)).await;
    }
    stage.lab.world.vcenter.control(Control::ClearRules).await;
    stage.lab.cds.control(Cds::ClearFaults).await;
    ran
}

#[tokio::test(start_paused = true)]
async fn nothing_foreign_changes_while_everything_goes_wrong() {
    let mut stage = stage(WARM, vec![v1_model()]);
    let before = stage.witness(foreign).await;
    let scene = stage.hatch_with(&Wire::default(), &[]).await;
    let ran = plague(&stage).await;
    stage.all_jobs_end().await;
    stage
        .until("only warm machines are left", async || {
            let own = stage.machines_of(Lab::NAME).await;
            own.len() == 2 && own.iter().all(|vm| !vm.on && vm.mark()["provisioning"] == true)
        })
        .await;
    scene.stop().await;
    assert!(before.len() >= 14, "{before:?}");
    let unseen = |vm: &&BTreeMap<String, Value>| vm.get("config").is_none_or(Value::is_null);
    assert_eq!(before.values().filter(unseen).count(), 1, "{before:?}");
    let after = stage.witness(foreign).await;
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (id, vm) in &before {
        for (path, value) in vm {
            assert_eq!(Some(value), after[id].get(path), "{} of {}", path, vm["name"]);
        }
    }
    let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
    assert_eq!(jobs.len(), 24);
    let good = jobs.iter().filter(|job| job.status == Status::Success).count();
    assert!(good >= 20, "{good} of 24 succeeded");
    // A job whose worker has died with its host is started again: by CDS if it is V1, else it is given back.
    let twice = |job: &&Job| job.workers.len() > 1 + (job.retry + job.releases) as usize;
    let twice: Vec<_> = jobs.iter().filter(twice).collect();
    assert!(twice.is_empty(), "{twice:#?}");
    // Only a host that goes down takes a worker at work with it.
    let of_host = |finding: &Finding| matches!(finding, Finding::CutDown { vm, .. } if ran.contains(vm));
    assert!(stage.lab.findings().iter().all(of_host), "{:?}", stage.lab.findings());
    stage.lab.close_with_findings().await;
}

#[tokio::test(start_paused = true)]
async fn what_nothing_is_told_of_keeps_its_name_its_address_and_its_place_and_is_left_alone() {
    let stage = stage_with(ORPHANS, WARM, Vec::new());
    let orphans = async || {
        let mut all = stage.vms().await;
        all.retain(|_, vm| vm.whole["complete"] == false);
        all
    };
    let before = orphans().await;
    assert_eq!(before.len(), 3, "{before:?}");
    let scene = stage.hatch_with(&Wire::default(), &[]).await;
    let job = stage.lab.enqueue(v2_job()).await;
    stage.all_jobs_end().await;
    sleep(Duration::from_hours(3)).await;
    assert_eq!(orphans().await, before);
    assert_eq!(stage.lab.job(&job).await.workers.len(), 1);
    let own: Vec<_> = stage.vms().await.into_values().filter(|vm| vm.whole["complete"] == true).collect();
    let own: Vec<_> = own.iter().filter(|vm| vm.mark()["hatchery_name"] == Lab::NAME).collect();
    assert_eq!(own.len(), 1, "one of the two warm machines may be the one that cannot be seen: {own:?}");
    assert_ne!(own[0].mark()["ip_address"], "10.9.0.1", "it may be in use");
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_hatchery_leaves_what_another_one_has_left_for_hours() {
    let stage = stage(WARM, Vec::new());
    let two = [(Lab::NAME, "hatchery-two"), ("v2-token", "two-token"), ("token = \"v1-token\"\n", "")];
    let wire = Wire::default();
    let scene = stage.hatch_with(&wire, &two).await;
    stage
        .until("the other one has its warm machines", async || {
            stage.machines_of("hatchery-two").await.iter().filter(|vm| !vm.on).count() == 2
        })
        .await;
    stage.lab.enqueue(v2_job()).await;
    stage.all_jobs_end().await;
    scene.crash().await;
    let left = stage.machines_of("hatchery-two").await;
    assert!(left.len() >= 2, "{left:?}");

    // The worker's machine turns itself off meanwhile; nothing else changes.
    sleep(Duration::from_mins(2)).await;
    let left = stage.machines_of("hatchery-two").await;
    let scene = stage.hatch_with(&Wire::default(), &[]).await;
    for _ in 0..3 {
        stage.lab.enqueue(v2_job()).await;
        sleep(Duration::from_mins(45)).await;
    }
    stage.all_jobs_end().await;
    scene.stop().await;
    assert_eq!(left, stage.machines_of("hatchery-two").await);
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn two_hatcheries_of_different_names_work_side_by_side() {
    let stage = stage(WARM, Vec::new());
    let two = [
        (Lab::NAME, "hatchery-two"),
        ("v2-token", "two-token"),
        ("token = \"v1-token\"\n", ""),
        ("10.9.0.0/28", "10.9.0.16/28"),
        ("10.9.0.14", "10.9.0.30"),
    ];
    let first = stage.hatch_with(&Wire::default(), &[]).await;
    let second = stage.hatch_with(&Wire::default(), &two).await;
    for number in 0..10 {
        // One of the two is always a little faster.
        first.hatchery.drain(number >= 5).await;
        stage.lab.enqueue(v2_job()).await;
        sleep(Duration::from_secs(7)).await;
    }
    stage.all_jobs_end().await;
    let in_order = async |name: &str| {
        let own = stage.machines_of(name).await;
        own.len() == 2 && own.iter().all(|vm| !vm.on)
    };
    stage
        .until("both are in order", async || in_order(Lab::NAME).await && in_order("hatchery-two").await)
        .await;
    first.stop().await;
    second.stop().await;
    let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
    assert!(jobs.iter().all(|job| job.workers.len() == 1), "{jobs:#?}");
    assert_eq!(stage.findings(), []);
    for name in [Lab::NAME, "hatchery-two"] {
        assert!(jobs.iter().any(|job| job.hatchery == name), "{name} had no job");
    }
    stage.lab.close().await;
}

/// Waits until the first job is built.
async fn works(stage: &Stage) {
    let taken = async || stage.lab.cds.jobs().await.is_some_and(|jobs| !jobs[0].workers.is_empty());
    stage.until("the worker works", taken).await;
}

/// A machine whose worker has just ended.
async fn finished(stage: &Stage) -> Vec<Vm> {
    let off = async || {
        let own = stage.machines_of(Lab::NAME).await;
        own.len() == 1 && own.iter().all(|vm| !vm.on)
    };
    stage.until("the machine of the job is off", off).await;
    stage.machines_of(Lab::NAME).await
}

#[tokio::test(start_paused = true)]
async fn half_a_list_of_workers_deletes_nothing() {
    for path in ["/worker", "/v2/worker"] {
        let stage = stage("", Vec::new());
        trouble(&stage, path, 1.0, Trouble::Error { status: 500, id: 1 }).await;
        let mut scene = stage.hatch_with(&Wire::default(), &[]).await;
        stage.lab.enqueue(v2_job()).await;
        sleep(Duration::from_mins(5)).await;
        // Without a list nobody knows how many there are: nothing is started.
        assert_eq!(stage.machines_of(Lab::NAME).await, [], "{path}");

        stage.lab.cds.control(Cds::ClearFaults).await;
        works(&stage).await;
        trouble(&stage, path, 1.0, Trouble::Html { status: 502 }).await;
        scene.crash().await;
        scene = stage.hatch_with(&Wire::default(), &[]).await;
        let left = finished(&stage).await;
        sleep(Duration::from_mins(12)).await;
        assert_eq!(left, stage.machines_of(Lab::NAME).await, "{path}");

        stage.lab.cds.control(Cds::ClearFaults).await;
        stage.until("it is gone", async || stage.machines_of(Lab::NAME).await.is_empty()).await;
        scene.stop().await;
        stage.lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_inventory_that_stands_still_deletes_nothing() {
    let stage = stage("", Vec::new());
    let scene = stage.hatch_with(&Wire::default(), &[]).await;
    stage.lab.enqueue(v2_job()).await;
    works(&stage).await;
    rule(&stage, "*", 1.0, Action::Freeze).await;
    scene.crash().await;
    let scene = stage.hatch_with(&Wire::default(), &[]).await;
    let left = finished(&stage).await;
    sleep(Duration::from_mins(12)).await;
    assert_eq!(left, stage.machines_of(Lab::NAME).await);
    assert!(scene.hatchery.published.report.borrow().stopped.is_some());

    stage.lab.world.vcenter.control(Control::ClearRules).await;
    stage.until("it is gone", async || stage.machines_of(Lab::NAME).await.is_empty()).await;
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_delete_nothing_and_it_is_shown() {
    let stage = stage("", Vec::new());
    stage.lab.world.vcenter.control(Control::Advance(SignedDuration::from_secs(90))).await;
    let scene = stage.hatch_with(&Wire::default(), &[]).await;
    stage.lab.enqueue(v2_job()).await;
    stage.all_jobs_end().await;
    let left = finished(&stage).await;
    sleep(Duration::from_mins(12)).await;
    assert_eq!(left, stage.machines_of(Lab::NAME).await);
    let told = scene.hatchery.published.report.borrow().stopped;
    assert!(told.as_ref().is_some_and(|told| told.to_string().contains("clock")), "{told:?}");
    scene.stop().await;
    stage.lab.close().await;
}
