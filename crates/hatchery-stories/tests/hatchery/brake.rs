//! The brake: what is unusually much waits for a person.

use std::time::Duration;

use rookery_cds_sim::{NewJob, Status};
use rookery_hatchery::plan::braked::Waiting;
use rookery_hatchery::run::Policy;
use rookery_hatchery::surface::control::{Answer, Request};
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage};
use rookery_kit::{Cable, Finding, Vm, Wire};
use rookery_vim_sim::{Action, Control, FaultSpec, Rule};
use tokio::time::sleep;

use super::history::{asked, line};
use super::old_news::{machine, names};
use super::witness::pool;

fn stage(machines: &[String], settings: &str, tables: &str) -> Stage {
    let options = LabOptions::default();
    let model = options.model.clone() + &machines.concat();
    let (settings, tables) = (settings.to_owned(), tables.to_owned());
    Stage::set(LabOptions { model, settings, tables, ..options })
}

async fn waiting(scene: &Scene) -> Vec<Waiting> {
    match scene.hatchery.control_state().answer(Request::Status).await {
        Answer::Status(status) => status.braked,
        odd @ (Answer::Explained(_)
        | Answer::Jobs(_)
        | Answer::Done(_)
        | Answer::Refused(_)
        | Answer::Unclear(_)) => panic!("{odd:?}"),
    }
}

async fn confirm(scene: &Scene, list: &[Waiting]) -> String {
    let list = list.iter().map(|one| one.subject.clone()).collect();
    match scene.hatchery.control_state().answer(Request::Confirm { list }).await {
        Answer::Done(told) => told,
        odd @ (Answer::Status(_)
        | Answer::Explained(_)
        | Answer::Jobs(_)
        | Answer::Refused(_)
        | Answer::Unclear(_)) => panic!("{odd:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn running_machines_that_are_unusually_many_go_when_a_person_has_seen_the_list_and_no_others() {
    // Nobody registers in them, and they have run for an hour.
    let old =
        |name: &str, on| machine(name, on, |mark| mark["worker_start_time"] = "2031-02-03T03:06:06Z".into());
    let stage = stage(&[old("a", true), old("b", true), old("c", true), old("over", false)], "", "");
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    sleep(Duration::from_mins(30)).await;
    assert_eq!(names(&stage).await, ["a", "b", "c"], "what is off goes on");
    let list = waiting(&scene).await;
    assert_eq!(list.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(list[0].why.starts_with("its worker has not registered for 1h"), "{}", list[0].why);
    let told = line(&scene, "Brake").expect("it is told");
    assert_eq!(told, "WARN: 3 wait for a person: `rookery hatchery confirm` shows them");
    let metrics = scene.hatchery.published.metrics_text();
    assert!(metrics.contains("rookery_hatchery_braked{what=\"machine\"} 3\n"));

    assert_eq!(
        confirm(&scene, &list[..2]).await,
        "2 of 2 held back are let through: they may be deleted or disabled within 10 minutes"
    );
    sleep(Duration::from_mins(5)).await;
    assert_eq!(names(&stage).await, ["c"], "exactly that list");
    sleep(Duration::from_mins(20)).await;
    assert_eq!(names(&stage).await, [""; 0], "it is the only one in ten minutes");
    assert_eq!(line(&scene, "Brake"), None);
    scene.stop().await;
    stage.lab.close().await;
}

fn address(machine: &Vm) -> String {
    machine.mark()["ip_address"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn machines_that_vanish_are_neither_replaced_nor_robbed_of_their_addresses_until_a_person_says_so() {
    let addresses = "iprange = \"10.9.0.0/29\"\ngateway = \"10.9.0.254\"\nworkerProvisioningPoolSize = 4\n";
    let foreign = "[[datacenter.vm]]\nname = \"foreign\"\n".to_owned();
    let stage = stage(&[foreign], addresses, &pool("debian12", 4));
    let (vcenter, cds) = (Cable::default(), Cable::default());
    let start = stage.hatch_on(1, Policy::Refuse, &vcenter, &cds);
    let scene = start.acts().await.expect("the hatchery starts");
    let warm = |count| scene.hatchery.published.report.borrow().counts.warm == count;
    stage.until("all are warm", async || warm(4)).await;
    let mut before = stage.machines_of(Lab::NAME).await;
    let left = before.pop().expect("there are four");
    // One by one they would not be many yet. The first change answers the wait that is under way; those that follow come
    // in one piece.
    vcenter.cut();
    stage
        .witness(async |govc| {
            govc.run(&["vm.change", "-vm", "foreign", "-annotation", "something else"]).await;
            for machine in &before {
                govc.run(&["vm.destroy", &machine.name]).await;
            }
        })
        .await;
    vcenter.mend();
    sleep(Duration::from_mins(30)).await;
    assert_eq!(names(&stage).await, [left.name], "nothing is made in their place");
    let told = line(&scene, "Cleaning").expect("it is told");
    assert!(told.contains("VMs have vanished from the inventory"), "{told}");

    // One takes the warm machine that is left, the other one is cloned.
    let jobs = [stage.lab.v2_job(Lab::DEBIAN, "true").await, stage.lab.v2_job(Lab::DEBIAN, "true").await];
    stage.all_jobs_end().await;
    for job in &jobs {
        assert_eq!(stage.lab.job(job).await.status, Status::Success);
    }
    let theirs: Vec<_> = before.iter().map(address).collect();
    let given: Vec<_> = stage.machines_of(Lab::NAME).await.iter().map(address).collect();
    assert!(given.len() > 1 && given.iter().all(|address| !theirs.contains(address)), "{given:?} {theirs:?}");

    let list = waiting(&scene).await;
    assert_eq!(list.len(), 3, "{list:?}");
    confirm(&scene, &list).await;
    stage.until("all are warm again", async || warm(4)).await;
    assert_eq!((line(&scene, "Cleaning"), line(&scene, "Brake")), (None, None));
    scene.stop().await;
    stage.lab.close().await;
}

// Who may not read a VM any more is shown an inventory without it, and told so only when asked for that very VM.
#[tokio::test(start_paused = true)]
async fn a_worker_is_not_disabled_until_vcenter_says_that_its_machine_is_gone() {
    let mut stage = stage(&[], "", "");
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let v1 = NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("true") };
    let job = stage.lab.enqueue(v1).await;
    let listed =
        || scene.hatchery.published.report.borrow().workers.iter().any(|worker| worker.status == "Building");
    while stage.lab.job(&job).await.status != Status::Building || !listed() {
        sleep(Duration::from_secs(1)).await;
    }
    let worker = stage.lab.job(&job).await.worker_name;
    let vms = stage.vms().await;
    let (id, _) = vms.iter().find(|(_, vm)| vm.name == worker).expect("its machine");
    let target = id.trim_start_matches("VirtualMachine:").to_owned();
    stage.witness(async |govc| govc.run(&["vm.destroy", &worker]).await).await;
    let hidden = Action::Fault(FaultSpec::new("NoPermission", "a rule of the story"));
    let hidden = Rule { method: "RetrieveProperties*".to_owned(), target, ..Rule::new(hidden) };
    stage.lab.world.ask(Control::AddRule(hidden)).await;
    // CDS is asked for its workers every minute, and twice before one is disabled.
    sleep(Duration::from_mins(4)).await;
    assert_eq!(asked(&stage.lab, "POST", "/disable").await, 0);
    stage.lab.world.ask(Control::ClearRules).await;
    sleep(Duration::from_mins(4)).await;
    assert_eq!(asked(&stage.lab, "POST", "/disable").await, 1);
    scene.stop().await;
    assert!(matches!(stage.lab.findings()[..], [Finding::CutDown { .. }]), "{:?}", stage.lab.findings());
    stage.lab.close_with_findings().await;
}
