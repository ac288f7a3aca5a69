//! What CDS is told of registrations that fail: the truth, and each failure once. It leaves a model alone that has failed
//! more than five times in a row.

use std::time::Duration;

use rookery_cds_sim::{Config, Control as Cds, Entry, Fault, Model, Trouble};
use rookery_hatchery::surface::control::{Answer, Request};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Govc, Wire};
use rookery_vim_sim::{Action, Control, FaultSpec, Rule};
use tokio::time::timeout;

fn stage() -> Stage {
    stage_with("")
}

/// With more machines in the vCenter.
fn stage_with(machines: &str) -> Stage {
    let deb = Model {
        name: "deb".to_owned(),
        image: "debian12".to_owned(),
        user: "debian".to_owned(),
        password: "guest-secret".to_owned(),
        need_registration: true,
        ..Model::default()
    };
    let cds = Config { models: vec![deb], ..Config::default() };
    let options = LabOptions { cds, ..LabOptions::default() };
    let model = format!("{}{machines}", options.model);
    Stage::set(LabOptions { model, ..options })
}

async fn trouble(stage: &Stage, fault: Fault) {
    stage.lab.cds.control(Cds::AddFault(fault)).await.expect("CDS runs");
}

/// Calls about the machine of the registering worker fail.
async fn refuse(stage: &Stage, method: &str, count: Option<u64>) {
    let action = Action::Fault(FaultSpec::new("SystemError", "a rule of the story"));
    let (method, target) = (method.to_owned(), "register-*".to_owned());
    let rule = Rule { method, target, count, ..Rule::new(action) };
    stage.lab.world.ask(Control::AddRule(rule)).await;
}

/// How often CDS was told that the model failed.
async fn failures(stage: &Stage) -> usize {
    let told = |entry: &&Entry| entry.method == "PUT" && entry.path.ends_with("/deb/error");
    stage.lab.cds.requests().await.expect("CDS runs").iter().filter(told).count()
}

/// How many workers have told what the model can do.
async fn sign_ins(stage: &Stage) -> usize {
    let told = |entry: &&Entry| entry.path == "/auth/consumer/worker/signin" && entry.status == 200;
    stage.lab.cds.requests().await.expect("CDS runs").iter().filter(told).count()
}

/// Waits until the model is registered and nothing of it is left but its template.
async fn is_registered(stage: &Stage) {
    stage
        .until("the model is registered and its worker's machine is gone", async || {
            sign_ins(stage).await == 1 && stage.machines_of(Lab::NAME).await.is_empty()
        })
        .await;
}

// Each try to delete the machine was told to CDS as one more failure of the model.
#[tokio::test(start_paused = true)]
async fn a_worker_that_does_not_register_is_one_failure_however_often_its_deletion_is_tried() {
    let stage = stage();
    trouble(&stage, Fault::next(1, "/auth/consumer/worker/signin", Trouble::Error { status: 401, id: 10 }))
        .await;
    refuse(&stage, "Destroy_Task", Some(4)).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    is_registered(&stage).await;
    assert_eq!(failures(&stage).await, 1);
    scene.stop().await;
    stage.lab.close().await;
}

// It was told when the start failed, and again when the machine of that start was deleted.
#[tokio::test(start_paused = true)]
async fn a_worker_that_could_not_be_started_is_one_failure() {
    let stage = stage();
    refuse(&stage, "StartProgramInGuest", None).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage.until("CDS is told", async || failures(&stage).await > 0).await;
    stage.lab.world.ask(Control::ClearRules).await;
    is_registered(&stage).await;
    assert_eq!(failures(&stage).await, 1);
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_registration_is_judged_by_what_cds_says_now_and_not_by_an_old_list() {
    let stage = stage();
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage
        .until("the worker has its machine", async || {
            let machines = stage.machines_of(Lab::NAME).await;
            machines.iter().any(|vm| vm.name.starts_with("register-"))
        })
        .await;
    // From here on the hatchery has a list in which the model needs to be registered.
    let list =
        Fault { times: None, ..Fault::next(0, "/worker/model/enabled", Trouble::Html { status: 502 }) };
    trouble(&stage, list).await;
    is_registered(&stage).await;
    assert_eq!(failures(&stage).await, 0);
    scene.stop().await;
    stage.lab.close().await;
}

// Nobody was told why the model was never registered.
#[tokio::test(start_paused = true)]
async fn a_foreign_machine_that_keeps_a_template_from_being_made_is_named_and_left_alone() {
    let stage = stage_with("\n[[datacenter.vm]]\nname = \"deb-tmp\"\nannotation = \"of Jane\"\n");
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let named = || {
        let report = scene.hatchery.published.report.borrow().clone();
        report.not_made.iter().any(|(_, why)| {
            why.to_string().contains("a machine that is not this hatchery's is called \"deb-tmp\"")
        })
    };
    stage.until("it is named", async || named()).await;
    for _ in 0..60 {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        assert!(named(), "it is named as long as it is there");
    }
    let machines = stage.vms().await;
    assert!(machines.values().any(|vm| vm.name == "deb-tmp" && vm.notes == "of Jane"), "{machines:?}");
    stage.witness(async |govc: &Govc| govc.run(&["vm.destroy", "deb-tmp"]).await).await;
    is_registered(&stage).await;
    assert_eq!(failures(&stage).await, 0);
    scene.stop().await;
    stage.lab.close().await;
}

/// A template of the model that a hatchery of another name made before the model was changed.
const OF_ANOTHER: &str = r#"
[[datacenter.vm]]
name = "deb"
template = true
cpus = 2
memory = "2GiB"
disks = ["10GiB"]
guest-id = "debian12_64Guest"
snapshots = ["base"]
annotation = '{"hatchery_name":"go-hatchery","worker_model_path":"shared.infra/deb","worker_model_last_modified":"1","model":true}'
"#;

#[tokio::test(start_paused = true)]
async fn an_old_template_of_another_hatchery_stays_until_somebody_adopts_it_and_while_something_hangs_on_it()
{
    let stage = stage_with(OF_ANOTHER);
    let linked = ["vm.clone", "-vm", "deb", "-snapshot", "base", "-link", "-pool", "C0/Resources"];
    let linked = [&linked[..], &["-ds", "fast", "-on=false", "leftover"]].concat();
    stage.witness(async |govc: &Govc| govc.run(&linked).await).await;
    let named = async |name: &str| {
        let vms = stage.vms().await.into_iter();
        vms.map(|(id, vm)| (id, vm.mark()["hatchery_name"].clone(), vm.name))
            .find(|(.., found)| found == name)
    };
    let (old, ..) = named("deb").await.expect("it is there");
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let waits = || {
        let report = scene.hatchery.published.report.borrow().clone();
        let is_said = |why: &str| {
            why.contains("made by the hatchery \"go-hatchery\"")
                && why.contains("`rookery hatchery adopt shared.infra/deb`")
        };
        report.not_made.iter().any(|(_, why)| is_said(&why.to_string()))
    };
    stage.until("it is said whose it is, and what to do", async || waits()).await;
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    assert!(waits(), "it is never replaced by itself");
    let untouched = Some((old.clone(), "go-hatchery".into(), "deb".to_owned()));
    assert_eq!(named("deb").await, untouched);

    let adopt = || Request::Adopt { model: "shared.infra/deb".to_owned() };
    let answer = scene.hatchery.control_state().answer(adopt()).await;
    let Answer::Done(told) = &answer else { panic!("{answer:?}") };
    let aside = told.split(' ').find(|word| word.starts_with("deb-old-vm-")).expect("its new name");
    is_registered(&stage).await;
    let (new, owner, _) = named("deb").await.expect("a new template");
    assert_eq!((owner, new == old), (Lab::NAME.into(), false));
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    let kept = Some((old, Lab::NAME.into(), aside.to_owned()));
    assert_eq!(named(aside).await, kept, "a disk of somebody else's VM stands on it");
    assert!(
        matches!(scene.hatchery.control_state().answer(adopt()).await, Answer::Refused(_)),
        "nothing is left to adopt"
    );

    stage.witness(async |govc: &Govc| govc.run(&["vm.destroy", "leftover"]).await).await;
    stage.until("it goes when nothing hangs on it", async || named(aside).await.is_none()).await;
    assert!(named("deb").await.is_some());
    scene.stop().await;
    stage.lab.close().await;
}

// A slow CDS was told by nobody that the workers of models turn to it, too.
#[tokio::test(start_paused = true)]
async fn a_worker_that_registers_a_model_counts_between_its_launch_and_its_registration() {
    let stage = stage();
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let mut report = scene.hatchery.published.report.clone();
    let launched = report.wait_for(|report| report.launches.under_way == 1);
    timeout(Duration::from_hours(1), launched).await.expect("it was counted").expect("the hatchery runs");
    is_registered(&stage).await;
    assert_eq!(report.borrow().launches.under_way, 0);
    scene.stop().await;
    stage.lab.close().await;
}
