//! What carries our mark and is not, or no longer where, what we made.

use rookery_fleet::{Ownership, Power};
use rookery_fleet_vsphere::{ActError, ClaimError, Proof, Refusal};
use rookery_hatchery::machine::{ClaimSpec, Journal, Observer};
use rookery_kit::{Vcsim, VcsimOptions};
use rookery_vim_client::{Ceilings, Governor, Machines, Tasks};

use super::*;

fn proof(name: &str) -> Proof {
    Proof { owner: OWNER.clone(), name: name.to_owned(), now: jiff::Timestamp::UNIX_EPOCH, power: None }
}

/// Nothing is done to a VM, and each time for that reason.
async fn untouchable(world: &World, machine: &MachineId, name: &str, expected: Refusal) {
    let before = world.everything().await;
    let acts = [
        world.hands.delete(machine, &proof(name)).await,
        world.hands.start(machine, &OWNER, name).await,
        world.hands.mark_anew(machine, &OWNER, |_| pooled()).await,
        world.hands.rename(machine, &OWNER, "other").await,
        world.hands.unclaim(machine, &OWNER, POOLED, &pooled()).await,
        world.hands.make_template(machine, &OWNER, "base").await,
    ];
    for act in acts {
        assert!(matches!(&act, Err(ActError::Refused { why, .. }) if *why == expected), "{act:?}");
    }
    let claimed = world.hands.claim(&ClaimSpec { was: name.to_owned(), ..world.claim(machine).await }).await;
    assert!(matches!(&claimed, Err(ClaimError::Changed { why, .. }) if *why == expected), "{claimed:?}");
    world.govc.run(&["vm.power", "-on", name]).await;
    let stopped = world.hands.stop(machine, &OWNER, name).await;
    assert!(matches!(&stopped, Err(ActError::Refused { why, .. }) if *why == expected), "{stopped:?}");
    world.govc.run(&["vm.power", "-off", name]).await;
    assert_eq!(before, world.everything().await);
}

#[tokio::test]
async fn a_copy_that_somebody_makes_of_our_vm_is_nobodys_and_the_vm_stays_ours() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let vm = world.pooled().await;
    // vcsim gives whatever it copies notes of its own; other servers copy them.
    world.govc.run(&["vm.clone", "-vm", POOLED, "-on=false", "copy"]).await;
    let notes = world.property(&vm, "config.annotation").await;
    world.govc.run(&["vm.change", "-vm", "copy", "-annotation", &notes]).await;
    world.ours.inventory.until(|all| all.named("copy").next().is_some()).await.expect("it is seen");
    let copy = world.named("copy");
    let mut observer = Observer::new(world.ours.inventory.clone(), mark::recogniser());
    rookery_kit::eventually("the notes are seen", || {
        let view = observer.view(jiff::Timestamp::UNIX_EPOCH);
        let owned = view.machines.get(&copy).map(|machine| &machine.recognised.ownership);
        std::future::ready(matches!(owned, Some(Ownership::Copied(_))))
    })
    .await;
    let view = observer.view(jiff::Timestamp::UNIX_EPOCH);
    assert!(view.machines.get(&vm).is_some_and(|machine| machine.mark_of(&OWNER).is_some()));
    untouchable(&world, &copy, "copy", Refusal::Copy).await;
    world.hands.stop(&copy, &OWNER, "copy").await.expect("it is off");
    assert_eq!(world.asked("PowerOffVM_Task"), 0, "nobody tells a copy to go off");
    world.hands.claim(&world.claim(&vm).await).await.expect("the original is claimed");

    // Both because somebody says so, and only what is a copy.
    let unmarked = world.hands.unmark(&vm, &OWNER, mark::unmarked_notes(&OWNER)).await;
    let is_ours =
        |act: &Result<(), ActError>| matches!(act, Err(ActError::Refused { why: Refusal::NoCopy, .. }));
    assert!(is_ours(&unmarked), "{unmarked:?}");
    world.proxy.lose("ReconfigVM_Task");
    world.hands.adopt_copy(&copy, &OWNER).await.expect("adopted");
    assert_eq!(world.mark(&copy).await, pooled(), "it is written for the copy now");
    assert!(is_ours(&world.hands.adopt_copy(&copy, &OWNER).await), "it is ours already");
    world.govc.run(&["vm.change", "-vm", "copy", "-annotation", &notes]).await;
    world.proxy.lose("ReconfigVM_Task");
    world.hands.unmark(&copy, &OWNER, mark::unmarked_notes(&OWNER)).await.expect("unmarked");
    assert_eq!(
        world.property(&copy, "config.annotation").await,
        "once a copy of a machine of the hatchery h1"
    );
    world.ours.close().await;
}

#[tokio::test]
async fn what_has_the_name_of_a_lost_clone_and_is_another_vm_is_left_alone() {
    let world = World::start(VcsimOptions::plain(2)).await;
    let template = world.template().await;
    world.govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    let before = world.everything().await;
    // It never arrives, and somebody has given the name away.
    world.proxy.refuse("CloneVM_Task", hyper::StatusCode::SERVICE_UNAVAILABLE);
    let lost = CloneSpec { power_on: true, ..world.wish(template, "DC0_H0_VM1", pooled()) };
    let failure = world.hands.clone_vm(&lost).await.expect_err("it was not made");
    assert!(failure.left_behind.is_none(), "{failure:?}");
    assert!(failure.unfinished.is_some(), "its own may still come: {failure:?}");
    assert_eq!(before, world.everything().await, "it was started, or marked as ours");
    world.ours.close().await;
}

#[tokio::test]
async fn what_was_changed_while_a_deletion_waited_for_its_turn_is_not_deleted() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let vm = world.pooled().await;
    let governor = Governor::new(Ceilings { total: 1, ..Ceilings::default() });
    let tasks = Tasks::start(world.ours.client.clone(), &world.ours.supervisor);
    let machines = Machines::new(world.ours.client.clone(), tasks, governor.clone());
    let hands = hands(&world.ours, &world.site, machines.clone());
    let turn = machines.in_turn("something else".to_owned()).await;
    let name = proof(POOLED);
    let meanwhile = async {
        let waits = || std::future::ready(governor.waiting().len() == 1);
        rookery_kit::eventually("the deletion waits", waits).await;
        world.govc.run(&["vm.change", "-vm", POOLED, "-annotation", "keep this one!"]).await;
        drop(turn);
    };
    let (deleted, ()) = tokio::join!(hands.delete(&vm, &name), meanwhile);
    let refused = matches!(&deleted, Err(ActError::Refused { why: Refusal::Foreign { .. }, .. }));
    assert!(refused, "{deleted:?}");
    assert_eq!(world.property(&vm, "name").await, POOLED);
    world.ours.close().await;
}

#[tokio::test]
async fn a_vm_that_somebody_has_moved_is_left_alone() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    Govc::new(&vcsim).run(&["folder.create", "/DC0/vm/nests", "/DC0/vm/attic"]).await;
    let names = SiteNames { folder: Some("nests".to_owned()), ..names() };
    let world = World::at(vcsim, &names).await;
    let vm = world.pooled().await;
    world.govc.run(&["object.mv", &format!("/DC0/vm/nests/{POOLED}"), "/DC0/vm/attic"]).await;
    untouchable(&world, &vm, POOLED, Refusal::Outside).await;
    let bounds = world.site.bounds.clone();
    assert!(bounds.folder.is_some() && bounds.pool.is_none(), "the settings name a folder alone");
    let mut observer =
        Observer::beside(world.ours.inventory.clone(), mark::recogniser(), bounds, Journal::default());
    rookery_kit::eventually("it is seen outside", || {
        let view = observer.view(jiff::Timestamp::UNIX_EPOCH);
        std::future::ready(view.machines.get(&vm).is_some_and(|machine| machine.is_outside))
    })
    .await;
    world.govc.run(&["object.mv", &format!("/DC0/vm/attic/{POOLED}"), "/DC0/vm/nests"]).await;
    world.hands.delete(&vm, &proof(POOLED)).await.expect("back in its place it is ours");
    world.ours.close().await;
}

#[tokio::test]
async fn a_vm_whose_power_was_the_reason_goes_only_with_that_power() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let vm = world.pooled().await;
    let off = Proof { power: Some(Power::Off), ..proof(POOLED) };
    world.govc.run(&["vm.power", "-on", POOLED]).await;
    let refused = world.hands.delete(&vm, &off).await;
    let changed = matches!(&refused, Err(ActError::Refused { why: Refusal::Power, .. }));
    assert!(changed, "somebody has started it: {refused:?}");
    assert_eq!(world.property(&vm, "runtime.powerState").await, "poweredOn");
    let on = Proof { power: Some(Power::On), ..off };
    world.hands.delete(&vm, &on).await.expect("it runs, as it did");
    world.ours.close().await;
}
