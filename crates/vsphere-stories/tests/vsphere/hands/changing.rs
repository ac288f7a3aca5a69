use std::time::Duration;

use rookery_fleet::Hardware;
use rookery_fleet::MachineId;
use rookery_fleet_vsphere::hands::ClaimProgress;
use rookery_fleet_vsphere::{ActError, ClaimError, Fixed, Proof, Refusal};
use rookery_hatchery::machine::{ClaimSpec, CloneSpec};
use rookery_hatchery::mark::Mark;
use rookery_kit::{VcsimOptions, eventually};
use rookery_vim_client::{Priority, WaitError};

use super::{OWNER, POOLED, WORKER, World, pooled};

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_clone_has_its_mark_size_and_address_whether_or_not_the_answer_came() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let template = world.template().await;
    let mark = Mark { ip_address: "192.0.2.17".to_owned(), ..pooled() };
    let address = Fixed {
        ip: "192.0.2.17".parse().expect("an address"),
        mask: "255.255.255.0".parse().expect("a mask"),
        gateway: "192.0.2.1".parse().ok(),
        dns: vec!["192.0.2.53".parse().expect("an address")],
    };
    let fixed = CloneSpec {
        hardware: Hardware::new(3, 512),
        address: Some(address),
        power_on: true,
        ..world.wish(template.clone(), WORKER, mark.clone())
    };
    let vm = world.hands.clone_vm(&fixed).await.expect("cloned");
    for (path, expected) in [
        ("name", WORKER),
        ("config.hardware.numCPU", "3"),
        ("config.hardware.memoryMB", "512"),
        ("runtime.powerState", "poweredOn"),
    ] {
        assert_eq!(world.property(&vm, path).await, expected, "{path}");
    }
    assert_eq!(world.mark(&vm).await, mark);
    let its_address = async || world.property(&vm, "guest.ipAddress").await == "192.0.2.17";
    eventually("the guest is set up", its_address).await;

    // Without an address the guest is set up all the same, and asks for one.
    let stock = world.hands.with_priority(Priority::Stock);
    let dhcp = CloneSpec { power_on: true, ..world.wish(template.clone(), POOLED, pooled()) };
    let vm = stock.clone_vm(&dhcp).await.expect("cloned");
    assert_eq!(world.mark(&vm).await, pooled());
    let history = world.govc.run(&["events", "-n", "100", &format!("VirtualMachine:{vm}")]).await;
    assert!(history.contains("ustomization"), "{history}");

    let asked = world.asked("CloneVM_Task");
    world.proxy.lose("CloneVM_Task");
    let vm = world.hands.clone_vm(&world.wish(template, "nest", pooled())).await.expect("found again");
    assert_eq!((world.mark(&vm).await, world.asked("CloneVM_Task") - asked), (pooled(), 1));

    let taken = world.hands.clone_vm(&fixed).await.expect_err("there is one of that name");
    let judged = (taken.left_behind.clone(), taken.unfinished.is_some(), taken.is_fault_of_template());
    assert_eq!(judged, (None, false, false), "{taken:?}");
    let ghost = world.wish(MachineId::new("vm-ghost"), "egg", pooled());
    let missing = world.hands.clone_vm(&ghost).await.expect_err("there is no template");
    assert!(missing.is_fault_of_template() && missing.left_behind.is_none(), "{missing:?}");
    world.ours.close().await;
}

#[tokio::test]
async fn a_claim_marks_sizes_and_renames_and_can_be_taken_back() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let vm = world.pooled().await;
    let (before, marks) = (world.everything().await, world.asked("ReconfigVM_Task"));
    let claim = world.claim(&vm).await;
    // Whichever answers are lost, each is done once.
    for (lost, round) in [("ReconfigVM_Task", 1), ("Rename_Task", 2)] {
        world.proxy.lose(lost);
        world.hands.claim(&claim).await.unwrap_or_else(|error| panic!("{lost}: {error:?}"));
        world.hands.claim(&claim).await.expect("it is done already");
        let size = claim.resize.expect("a size");
        for (path, expected) in [
            ("name", WORKER),
            ("config.hardware.numCPU", size.cpus.expect("CPUs").to_string().as_str()),
            ("config.hardware.memoryMB", size.memory_mb.expect("memory").to_string().as_str()),
            ("runtime.powerState", "poweredOff"),
        ] {
            assert_eq!(world.property(&vm, path).await, expected, "{path}");
        }
        assert_eq!(world.mark(&vm).await, claim.mark);
        world.proxy.lose(lost);
        world.hands.unclaim(&vm, &OWNER, POOLED, &pooled()).await.expect("taken back");
        world.hands.unclaim(&vm, &OWNER, POOLED, &pooled()).await.expect("it is back already");
        assert_eq!(world.property(&vm, "name").await, POOLED);
        assert_eq!(world.mark(&vm).await, pooled());
        let asked = (world.asked("ReconfigVM_Task") - marks, world.asked("Rename_Task"));
        assert_eq!(asked, (2 * round, 2 * round));
    }
    let mut after = world.everything().await;
    let hardware = before[vm.as_str()]["config.hardware"].clone();
    after.get_mut(vm.as_str()).expect("the VM").insert("config.hardware".to_owned(), hardware);
    assert_eq!(before, after, "only its size is another");
    world.ours.close().await;
}

#[tokio::test]
async fn a_claim_whose_name_is_taken_says_that_the_vm_is_marked() {
    let world = World::start(VcsimOptions::plain(2)).await;
    let vm = world.pooled().await;
    let taken = ClaimSpec { name: "DC0_H0_VM1".to_owned(), ..world.claim(&vm).await };
    let error = world.hands.claim(&taken).await.expect_err("another has the name");
    // vcsim says in other words that the name is taken.
    assert_eq!(error.progress(), ClaimProgress::Marked, "{error:?}");
    assert_eq!(world.property(&vm, "name").await, POOLED);
    assert_eq!(world.mark(&vm).await.job_id, "4711");
    world.hands.unclaim(&vm, &OWNER, POOLED, &pooled()).await.expect("taken back");
    assert_eq!(world.mark(&vm).await, pooled());
    world.ours.close().await;
}

#[tokio::test]
async fn what_was_changed_by_hand_is_not_claimed() {
    let world = World::start(VcsimOptions::plain(2)).await;
    let vm = world.pooled().await;
    let claim = world.claim(&vm).await;
    let refused = async |expected: Refusal| {
        let before = world.everything().await;
        match world.hands.claim(&claim).await {
            Err(ClaimError::Changed { why, .. }) => assert_eq!(why, expected),
            other => panic!("{expected}: {other:?}"),
        }
        assert_eq!(before, world.everything().await, "{expected}");
    };
    let annotate = async |text: &str| {
        world.govc.run(&["vm.change", "-vm", POOLED, "-annotation", text]).await;
    };
    let foreign = |found: Option<&str>| Refusal::Foreign {
        owner: OWNER.name().to_owned(),
        found: found.map(str::to_owned),
    };
    annotate("keep this one!").await;
    refused(foreign(None)).await;
    annotate(&Mark { hatchery_name: "h2".to_owned(), ..pooled() }.write()).await;
    refused(foreign(Some("h2"))).await;
    annotate(&Mark { job_id: "4710".to_owned(), ..pooled() }.write()).await;
    refused(Refusal::Edited).await;
    annotate(&Mark { vmware_model_path: "other".to_owned(), ..pooled() }.write()).await;
    refused(Refusal::Edited).await;
    annotate(&pooled().write()).await;
    world.govc.run(&["vm.power", "-on", POOLED]).await;
    refused(Refusal::NotOff).await;
    world.govc.run(&["vm.power", "-off", POOLED]).await;
    world.govc.run(&["object.rename", &format!("/DC0/vm/{POOLED}"), "mine"]).await;
    refused(Refusal::Name { expected: POOLED.to_owned(), found: "mine".to_owned() }).await;
    world.govc.run(&["vm.markastemplate", "mine"]).await;
    refused(Refusal::Template).await;
    world.govc.run(&["vm.destroy", "mine"]).await;
    let gone = world.hands.claim(&claim).await;
    assert!(matches!(gone, Err(ClaimError::Gone { .. })), "{gone:?}");
    world.ours.close().await;
}

fn held(mark: &Mark) -> Mark {
    let hold_until = "2126-11-15T12:00:00Z".parse().ok();
    Mark { hold_until, hold_reason: "look at it".to_owned(), hold_wish: "7f".to_owned(), ..mark.clone() }
}

#[tokio::test]
async fn a_vm_that_is_kept_says_so_and_keeps_the_rest_of_its_mark() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let vm = world.pooled().await;
    // Somebody changed it since it was looked at.
    let edited = Mark { flavor: "large".to_owned(), ..pooled() };
    world.govc.run(&["vm.change", "-vm", POOLED, "-annotation", &edited.write()]).await;
    let before = world.asked("ReconfigVM_Task");
    world.proxy.lose("ReconfigVM_Task");
    world.hands.mark_anew(&vm, &OWNER, held).await.expect("kept");
    world.hands.mark_anew(&vm, &OWNER, held).await.expect("kept already");
    let kept = held(&edited);
    let until = kept.hold_until.expect("a time");
    assert_eq!((world.mark(&vm).await, world.asked("ReconfigVM_Task")), (kept, before + 1));
    let now = "2126-11-15T11:59:59Z".parse().expect("a time");
    let proof = Proof { owner: OWNER.clone(), name: POOLED.to_owned(), now, power: None };
    let refused = world.hands.delete(&vm, &proof).await;
    assert!(matches!(&refused, Err(ActError::Refused { why: Refusal::Held { .. }, .. })), "{refused:?}");
    world.hands.delete(&vm, &Proof { now: until, ..proof }).await.expect("deleted");
    world.ours.close().await;
}

#[tokio::test]
async fn marks_and_names_of_others_stay_as_they_are() {
    let world = World::start(VcsimOptions::plain(2)).await;
    let vm = world.named("DC0_H0_VM0");
    for notes in ["", "a database", "{\"hatchery_name\":\"h2\"}", "{}"] {
        world.govc.run(&["vm.change", "-vm", "DC0_H0_VM0", "-annotation", notes]).await;
        let before = world.everything().await;
        let acts = [
            world.hands.mark_anew(&vm, &OWNER, |_| pooled()).await,
            world.hands.rename(&vm, &OWNER, POOLED).await,
            world.hands.mark_anew(&vm, &OWNER, held).await,
            world.hands.unclaim(&vm, &OWNER, POOLED, &pooled()).await,
            world.hands.make_template(&vm, &OWNER, "base").await,
        ];
        for act in acts {
            let foreign = matches!(&act, Err(ActError::Refused { why: Refusal::Foreign { .. }, .. }));
            assert!(foreign, "{notes:?}: {act:?}");
        }
        assert_eq!(before, world.everything().await, "{notes:?}");
    }
    world.govc.run(&["vm.change", "-vm", "DC0_H0_VM0", "-annotation", &pooled().write()]).await;
    let mark = Mark { hold_reason: "look at it".to_owned(), ..pooled() };
    world.proxy.lose("ReconfigVM_Task");
    world.hands.mark_anew(&vm, &OWNER, |_| mark.clone()).await.expect("marked");
    world.hands.mark_anew(&vm, &OWNER, |_| mark.clone()).await.expect("marked already");
    assert_eq!((world.mark(&vm).await, world.asked("ReconfigVM_Task")), (mark, 1));
    world.proxy.lose("Rename_Task");
    world.hands.rename(&vm, &OWNER, "nest/1").await.expect("renamed");
    world.hands.rename(&vm, &OWNER, "nest/1").await.expect("renamed already");
    let renamed = (world.property(&vm, "name").await, world.asked("Rename_Task"));
    assert_eq!(renamed, ("nest%2f1".to_owned(), 1));
    let taken = world.hands.rename(&vm, &OWNER, "DC0_H0_VM1").await;
    assert!(matches!(taken, Err(ActError::Failed { .. })), "{taken:?}");
    world.ours.close().await;
}

#[tokio::test]
async fn a_vm_is_started_and_stopped_and_its_end_is_waited_for() {
    let world = World::start(VcsimOptions::plain(1).with("-autostart=false")).await;
    let vm = world.own("DC0_H0_VM0").await;
    world.proxy.lose("PowerOnVM_Task");
    world.hands.start(&vm, &OWNER, "DC0_H0_VM0").await.expect("started");
    world.hands.start(&vm, &OWNER, "DC0_H0_VM0").await.expect("it runs already");
    assert_eq!(world.property(&vm, "runtime.powerState").await, "poweredOn");

    // Its end is waited for although the inventory shows it off.
    world.hands.stop(&vm, &OWNER, "DC0_H0_VM0").await.expect("stopped");
    world.hands.wait_off(&vm, PATIENCE).await.expect("it is off");
    world.proxy.hold_answers("WaitForUpdatesEx");
    world.govc.run(&["vm.power", "-on", "DC0_H0_VM0"]).await;
    let early = world.hands.wait_off(&vm, Duration::from_millis(300)).await;
    assert!(matches!(early, Err(WaitError::TimedOut { .. })), "{early:?}");
    world.proxy.release_answers("WaitForUpdatesEx");
    let (off, _) = tokio::join!(
        world.hands.wait_off(&vm, PATIENCE),
        world.govc.run(&["vm.power", "-off", "DC0_H0_VM0"])
    );
    off.expect("it went off");

    let now = world.hands.server_time().await.expect("vCenter's time");
    let about = std::collections::BTreeMap::from([(vm.clone(), None)]);
    let history = world.hands.histories(&about, "provision-").await.expect("a history").remove(&vm).flatten();
    let history = history.expect("all of it was read");
    let (started, off) = (history.started.expect("a start"), history.powered_off.expect("an end"));
    assert!(started <= off && off <= now, "{history:?}, now {now}");

    world.hands.start(&vm, &OWNER, "DC0_H0_VM0").await.expect("started");
    world.proxy.lose("PowerOffVM_Task");
    world.hands.stop(&vm, &OWNER, "DC0_H0_VM0").await.expect("stopped");
    world.hands.stop(&vm, &OWNER, "DC0_H0_VM0").await.expect("it is off already");
    assert!(world.hands.is_off(&vm).await.expect("it can be read"));
    world.govc.run(&["vm.destroy", "DC0_H0_VM0"]).await;
    world.hands.stop(&vm, &OWNER, "DC0_H0_VM0").await.expect("what is gone does not run");
    let gone = world.hands.start(&vm, &OWNER, "DC0_H0_VM0").await;
    assert!(matches!(gone, Err(ActError::Gone { .. })), "{gone:?}");
    let gone = world.hands.wait_off(&vm, PATIENCE).await;
    assert!(matches!(gone, Err(WaitError::Gone { .. })), "{gone:?}");
    world.ours.close().await;
}

#[tokio::test]
async fn a_start_waits_until_vcenter_is_back() {
    let world = World::start(VcsimOptions::plain(1).with("-autostart=false")).await;
    let vm = world.own("DC0_H0_VM0").await;
    world.proxy.refuse("PowerOnVM_Task", hyper::StatusCode::SERVICE_UNAVAILABLE);
    world.hands.start(&vm, &OWNER, "DC0_H0_VM0").await.expect("started, at the second try");
    assert_eq!(world.property(&vm, "runtime.powerState").await, "poweredOn");
    assert_eq!(world.asked("PowerOnVM_Task"), 2);
    world.ours.close().await;
}
