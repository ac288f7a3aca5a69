//! Whoever copies a VM copies its notes, and people move VMs: what carries our mark is not always ours to touch.

use std::time::Duration;

use rookery_cds_sim::NewJob;
use rookery_hatchery::plan::WhyApart;
use rookery_hatchery::surface::control::{Answer, Request};
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage};
use rookery_kit::{Vm, Wire};
use tokio::time::sleep;

use super::history::line;
use super::witness::pool;

fn stage(settings: &str, tables: &str) -> Stage {
    let (settings, tables) = (settings.to_owned(), tables.to_owned());
    Stage::set(LabOptions { settings, tables, ..LabOptions::default() })
}

/// What is left alone, as the status lists it.
async fn left_alone(scene: &Scene) -> Vec<(String, WhyApart)> {
    match scene.hatchery.control_state().answer(Request::Status).await {
        Answer::Status(status) => status.apart.into_iter().map(|one| (one.name, one.why)).collect(),
        odd @ (Answer::Explained(_)
        | Answer::Jobs(_)
        | Answer::Done(_)
        | Answer::Refused(_)
        | Answer::Unclear(_)) => panic!("{odd:?}"),
    }
}

async fn told(scene: &Scene, request: Request) -> Result<String, String> {
    match scene.hatchery.control_state().answer(request).await {
        Answer::Done(told) => Ok(told),
        Answer::Refused(why) | Answer::Unclear(why) => Err(why),
        odd @ (Answer::Status(_) | Answer::Explained(_) | Answer::Jobs(_)) => panic!("{odd:?}"),
    }
}

async fn named(stage: &Stage, name: &str) -> Option<(String, Vm)> {
    stage.vms().await.into_iter().find(|(_, vm)| vm.name == name)
}

/// The first warm machine that is ready, when there are so many.
async fn warm(stage: &Stage, scene: &Scene, count: usize) -> (String, Vm) {
    let is_warm = async || scene.hatchery.published.report.borrow().counts.warm == count;
    stage.until("there are warm machines", is_warm).await;
    stage.vms().await.into_iter().find(|(_, vm)| vm.name.starts_with("provision-")).expect("a warm machine")
}

/// Copies a VM, with its notes.
async fn copy(stage: &Stage, vm: &Vm, name: &str) {
    stage.hasten().await;
    stage.witness(async |govc| govc.run(&["vm.clone", "-vm", &vm.name, "-on=false", name]).await).await;
    let (_, made) = named(stage, name).await.expect("it is copied");
    assert_eq!(made.notes, vm.notes, "whoever copies a VM copies its notes");
}

#[tokio::test(start_paused = true)]
async fn a_copy_of_a_warm_machine_is_neither_counted_nor_claimed_nor_deleted_and_is_told_of() {
    let stage = stage("", &pool("debian12", 1));
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let (id, original) = warm(&stage, &scene, 1).await;
    copy(&stage, &original, "provision-v2-copy").await;
    let before = named(&stage, "provision-v2-copy").await;
    sleep(Duration::from_mins(30)).await;
    assert_eq!(warm(&stage, &scene, 1).await.0, id, "the original is warm, and alone");
    assert_eq!(left_alone(&scene).await, [("provision-v2-copy".to_owned(), WhyApart::Copy)]);
    let line = line(&scene, "SetApart").expect("it is told");
    assert_eq!(line, "WARN: VMs left alone: 1; `rookery hatchery status` tells why");

    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.until("a worker has it", async || !stage.lab.job(&job).await.workers.is_empty()).await;
    let claimed = stage.vms().await.remove(&id).expect("it is still there");
    assert_eq!(claimed.name, stage.lab.job(&job).await.worker_name);
    let adopted = told(&scene, Request::AdoptVm { vm: "provision-v2-copy".to_owned() }).await;
    let refused = adopted.expect_err("the original is there");
    assert!(refused.contains(&claimed.name), "{refused}");
    stage.all_jobs_end().await;
    stage.until("it is gone", async || !stage.vms().await.contains_key(&id)).await;
    assert_eq!(named(&stage, "provision-v2-copy").await, before, "nobody has touched the copy");

    let told = told(&scene, Request::Unmark { vm: "provision-v2-copy".to_owned() }).await;
    assert!(told.expect("done").ends_with("no longer carries the mark of this hatchery"));
    stage.until("nothing is left alone", async || left_alone(&scene).await.is_empty()).await;
    let (_, copy) = named(&stage, "provision-v2-copy").await.expect("it stays");
    assert_eq!(copy.notes, format!("once a copy of a machine of the hatchery {}", Lab::NAME));
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_takes_the_place_of_its_original_when_somebody_says_so() {
    let stage = stage("", &pool("debian12", 1));
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let (_, original) = warm(&stage, &scene, 1).await;
    copy(&stage, &original, "provision-v2-restored").await;
    stage.witness(async |govc| govc.run(&["vm.destroy", &original.name]).await).await;
    let seen = async || left_alone(&scene).await.len() == 1 && named(&stage, &original.name).await.is_none();
    stage.until("the copy is alone", seen).await;
    stage.until("it is replaced", async || scene.hatchery.published.report.borrow().counts.warm == 1).await;
    let adopt = async || told(&scene, Request::AdoptVm { vm: "provision-v2-restored".to_owned() }).await;
    stage.until("it is adopted", async || adopt().await.is_ok()).await;
    let (_, adopted) = named(&stage, "provision-v2-restored").await.expect("it is there");
    assert_ne!(adopted.mark()["rookery_instance"], original.mark()["rookery_instance"]);
    stage.until("nothing is left alone", async || left_alone(&scene).await.is_empty()).await;
    let refused = told(&scene, Request::Unmark { vm: "provision-v2-restored".to_owned() }).await;
    assert!(refused.expect_err("it is ours").contains("is no copy"));
    // There are two now, and one is wished for.
    stage.until("one goes", async || stage.machines_of(Lab::NAME).await.len() == 1).await;
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_older_than_itself_or_there_twice_is_left_alone() {
    let stage = stage("", "");
    let notes = |worker: &str, started: &str| {
        format!(
            "{{\"hatchery_name\":\"{}\",\"worker_name\":\"{worker}\",\"vmware_model_path\":\"debian12\",\"created\":\"{started}\",\"worker_start_time\":\"{started}\"}}",
            Lab::NAME
        )
    };
    stage.hasten().await;
    let planted = [
        ("restored", notes("brave-curie", "2031-02-03T02:05:06Z")),
        ("swift-noether", notes("swift-noether", "2031-02-03T04:00:00Z")),
        ("swift-noether-2", notes("swift-noether", "2031-02-03T04:00:00Z")),
        ("calm-euler", notes("calm-euler", "2031-02-03T04:00:00Z")),
    ];
    for (name, notes) in &planted {
        stage
            .witness(async |govc| {
                govc.run(&["vm.clone", "-vm", "debian12", "-on=false", name]).await;
                govc.run(&["vm.change", "-vm", name, "-annotation", notes]).await;
            })
            .await;
    }
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    stage.until("the worker that is over goes", async || named(&stage, "calm-euler").await.is_none()).await;
    sleep(Duration::from_hours(2)).await;
    let mut alone = left_alone(&scene).await;
    alone.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("restored", WhyApart::Copy),
        ("swift-noether", WhyApart::Disputed),
        ("swift-noether-2", WhyApart::Disputed),
    ];
    assert_eq!(alone, expected.map(|(name, why)| (name.to_owned(), why)));
    // A person knows which of the two it is. The other one is still nobody's to touch.
    told(&scene, Request::AdoptVm { vm: "swift-noether".to_owned() }).await.expect("adopted");
    stage
        .until("the worker that is over goes", async || named(&stage, "swift-noether").await.is_none())
        .await;
    sleep(Duration::from_hours(2)).await;
    for name in ["restored", "swift-noether-2"] {
        assert!(named(&stage, name).await.is_some(), "{name}");
    }
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_warm_machine_that_somebody_moves_away_is_left_alone_and_replaced() {
    let stage = stage("folder = \"nests\"\n", &pool("debian12", 1));
    stage.witness(async |govc| govc.run(&["folder.create", "/DC0/vm/nests", "/DC0/vm/attic"]).await).await;
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let (id, moved) = warm(&stage, &scene, 1).await;
    let place = format!("/DC0/vm/nests/{}", moved.name);
    stage.witness(async |govc| govc.run(&["object.mv", &place, "/DC0/vm/attic"]).await).await;
    let replaced = async || stage.machines_of(Lab::NAME).await.len() == 2;
    stage.until("it is replaced", replaced).await;
    assert_eq!(left_alone(&scene).await, [(moved.name.clone(), WhyApart::Outside)]);
    let job = stage.lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "default")).await;
    stage.until("a worker has it", async || !stage.lab.job(&job).await.workers.is_empty()).await;
    stage.all_jobs_end().await;
    sleep(Duration::from_hours(1)).await;
    assert_eq!(stage.vms().await.remove(&id), Some(moved), "nobody has touched it");
    scene.stop().await;
    stage.lab.close().await;
}
