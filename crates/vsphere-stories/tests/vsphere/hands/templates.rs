use rookery_fleet::MachineId;
use rookery_fleet_vsphere::hands::TemplateProof;
use rookery_fleet_vsphere::{ActError, LinkedClones};
use rookery_hatchery::mark::{self, Mark};
use rookery_kit::{VcsimOptions, eventually, on_our_simulator};

use super::{OWNER, POOLED, World, pooled};

#[tokio::test]
async fn a_template_is_made_once_and_goes_when_nothing_stands_on_its_disks() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let template = world.named("DC0_H0_VM0");
    let mark = Mark { model: true, ..pooled() };
    world.govc.run(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    world.govc.run(&["vm.change", "-vm", "DC0_H0_VM0", "-annotation", &mark.write()]).await;
    world.proxy.lose("CreateSnapshot_Task");
    world.proxy.lose("MarkAsTemplate");
    world.hands.make_template(&template, &OWNER, "base").await.expect("a template");
    world.hands.make_template(&template, &OWNER, "base").await.expect("it is one already");
    assert_eq!(world.property(&template, "config.template").await, "true");
    let tree = world.govc.run(&["snapshot.tree", "-vm", "DC0_H0_VM0"]).await;
    assert_eq!((tree.matches("base").count(), world.asked("CreateSnapshot_Task")), (1, 1), "{tree}");

    let proof = |owner: &str| TemplateProof {
        owner: mark::owner(owner),
        name: "DC0_H0_VM0".to_owned(),
        accepts: |mark: &Mark| mark.model,
    };
    let owned_by =
        |to: &'static str| move |mark: &Mark| Mark { hatchery_name: to.to_owned(), ..mark.clone() };
    let refused = world.hands.adopt_template(&template, &proof("h3"), owned_by("h2")).await;
    assert!(matches!(refused, Err(ActError::Refused { .. })), "{refused:?}");
    for (from, to) in [("h1", "h2"), ("h2", "h1")] {
        world.hands.adopt_template(&template, &proof(from), owned_by(to)).await.expect("adopted");
        let notes = world.property(&template, "config.annotation").await;
        assert!(notes.contains(to), "{notes}");
    }

    assert_eq!(world.hands.linked_clones(&template).await, LinkedClones::None);
    let proof = proof("h1");
    let child = world.hands.clone_vm(&world.wish(template.clone(), POOLED, pooled())).await.expect("cloned");
    let disks = world.govc.json(&["device.info", "-vm", POOLED, "disk-*"]).await;
    let linked = disks["devices"][0]["backing"]["parent"].is_object();
    assert_eq!(linked, on_our_simulator(), "vcsim gives clones a disk of their own, and ours does not");
    if linked {
        assert_eq!(world.hands.linked_clones(&template).await, LinkedClones::Vm(child.clone()));
        let before = world.everything().await;
        let kept = world.hands.delete_template(&template, &proof).await;
        let parent =
            matches!(&kept, Err(ActError::StillParent { why: LinkedClones::Vm(by), .. }) if *by == child);
        assert!(parent, "{kept:?}");
        assert_eq!(before, world.everything().await);
    }
    world.govc.run(&["vm.destroy", POOLED]).await;
    assert_eq!(world.hands.linked_clones(&template).await, LinkedClones::None);
    world.proxy.lose("Destroy_Task");
    world.hands.delete_template(&template, &proof).await.expect("deleted");
    world.hands.delete_template(&template, &proof).await.expect("gone already");
    assert_eq!(world.govc.run(&["find", "/", "-type", "m"]).await, "");
    let unknown = world.hands.linked_clones(&template).await;
    assert!(matches!(unknown, LinkedClones::Unknown(_)), "{unknown:?}");
    world.ours.close().await;
}

#[tokio::test]
async fn a_clone_that_has_not_ended_is_seen_on_its_template() {
    let world = World::start(VcsimOptions::plain(2).with("-task-delay=CloneVm:3000")).await;
    let template = world.template().await;
    let templates = [template.clone(), world.named("DC0_H0_VM1"), MachineId::new("vm-ghost")];
    let running = async || world.hands.running_clones(&templates).await.expect("an answer");
    assert_eq!(running().await, []);
    let wish = world.wish(template.clone(), POOLED, pooled());
    let watching = async {
        eventually("the clone is seen", async || !running().await.is_empty()).await;
        let seen = running().await;
        assert_eq!(seen.iter().map(|clone| clone.template.as_ref()).collect::<Vec<_>>(), [Some(&template)]);
        let clones = world.hands.linked_clones(&template).await;
        assert!(matches!(clones, LinkedClones::Unknown(_)), "{clones:?}");
    };
    let (cloned, ()) = tokio::join!(world.hands.clone_vm(&wish), watching);
    cloned.expect("cloned");
    assert_eq!(running().await, []);
    world.ours.close().await;
}

#[tokio::test]
async fn clones_are_listed_whatever_they_are_made_from() {
    let world = World::start(VcsimOptions::plain(2).with("-task-delay=CloneVm:3000")).await;
    let listed = async || world.hands.clone_tasks().await.expect("an answer");
    let before = listed().await;
    assert!(before.session_since.is_some(), "{before:?}");
    assert_eq!(before.clones, []);
    // A plain VM.
    let wish = world.wish(world.named("DC0_H0_VM1"), POOLED, pooled());
    let watching = async {
        let open =
            async || listed().await.clones.into_iter().filter(|clone| !clone.ended).collect::<Vec<_>>();
        eventually("the clone is listed", async || !open().await.is_empty()).await;
        let seen = open().await;
        assert!(seen.len() == 1 && seen[0].queued.is_some(), "{seen:?}");
    };
    let (cloned, ()) = tokio::join!(world.hands.clone_vm(&wish), watching);
    let made = cloned.expect("cloned");
    let over = listed().await.clones;
    assert!(over.iter().all(|clone| clone.ended), "{over:?}");
    assert!(over.iter().any(|clone| clone.made.as_ref() == Some(&made)), "{over:?}");
    world.ours.close().await;
}

#[tokio::test]
async fn a_clone_that_is_not_made_in_time_is_cancelled() {
    let world = World::start(VcsimOptions::plain(1).with("-task-delay=CloneVm:3000")).await;
    let template = world.template().await;
    let wish = world.wish(template, POOLED, pooled());
    let until = tokio::time::sleep(std::time::Duration::from_millis(500));
    let failed = world.hands.clone_vm_by(&wish, until).await.expect_err("there was no time");
    assert!(failed.is_transient() && world.asked("CancelTask") == 1, "{failed:?}");
    assert_eq!((&failed.left_behind, &failed.unfinished), (&None, &None), "its task has ended");
    world.ours.close().await;
}
