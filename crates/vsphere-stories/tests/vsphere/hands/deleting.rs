use rookery_fleet_vsphere::hands::TemplateProof;
use rookery_fleet_vsphere::{ActError, Bounds, Proof, Refusal};
use rookery_hatchery::machine::{Journal, Observer};
use rookery_hatchery::mark::{self, Mark};
use rookery_kit::VcsimOptions;

use super::{OWNER, POOLED, World, pooled};

fn template_proof(name: &str) -> TemplateProof<fn(&Mark) -> bool> {
    TemplateProof { owner: OWNER.clone(), name: name.to_owned(), accepts: |mark| mark.model }
}

fn proof(name: &str) -> Proof {
    Proof { owner: OWNER.clone(), name: name.to_owned(), now: jiff::Timestamp::UNIX_EPOCH, power: None }
}

#[tokio::test]
async fn a_vm_is_deleted_with_its_proof_even_if_no_answer_comes() {
    let world = World::start(VcsimOptions::plain(2)).await;
    let vm = world.pooled().await;
    world.govc.run(&["vm.power", "-on", POOLED]).await;
    world.proxy.lose("PowerOffVM_Task");
    world.proxy.lose("Destroy_Task");
    assert!(!world.hands.is_gone(&vm).await.expect("told"));
    world.hands.delete(&vm, &proof(POOLED)).await.expect("deleted");
    assert!(world.hands.is_gone(&vm).await.expect("told"));
    world.hands.delete(&vm, &proof(POOLED)).await.expect("gone already");
    assert_eq!((world.asked("PowerOffVM_Task"), world.asked("Destroy_Task")), (1, 1));
    let left = world.govc.run(&["find", "/", "-type", "m"]).await;
    let mut left: Vec<_> = left.lines().collect();
    left.sort_unstable();
    assert_eq!(left, ["/DC0/vm/DC0_H0_VM0", "/DC0/vm/DC0_H0_VM1"]);
    world.ours.close().await;
}

// What is read told that it was gone, which asked for the next reading: each VM was read twice a minute for ever.
#[tokio::test]
async fn a_vm_that_was_gone_before_we_were_told_is_read_once_and_forgotten() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let vm = world.pooled().await;
    world.govc.run(&["vm.destroy", POOLED]).await;
    let journal = Journal::default();
    let hands = world.hands.clone().with_journal(journal.clone());
    let mut observer =
        Observer::beside(world.ours.inventory.clone(), mark::recogniser(), Bounds::default(), journal);
    let mut view = |second| {
        let now = jiff::Timestamp::from_second(second).expect("a moment");
        let view = observer.view(now);
        (!view.machines.contains(&vm), observer.overdue(now))
    };
    while !view(0).0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    hands.delete(&vm, &proof(POOLED)).await.expect("gone already");
    assert_eq!(view(1), (true, vec![]));
    assert_eq!(view(31), (true, vec![vm.clone()]));
    hands.read_back(&vm).await.expect("read");
    assert_eq!(view(62), (true, vec![]));
    assert_eq!(view(93), (true, vec![]), "it is forgotten");
    world.ours.close().await;
}

#[tokio::test]
async fn what_is_not_ours_not_named_so_or_a_template_is_not_deleted_nor_stopped() {
    let world = World::start(VcsimOptions::plain(3)).await;
    let (foreign, template) = (world.named("DC0_H0_VM1"), world.template().await);
    let refused = async |machine, name: &str, expected: Refusal| {
        let before = world.everything().await;
        match world.hands.delete(machine, &proof(name)).await {
            Err(ActError::Refused { why, .. }) => assert_eq!(why, expected),
            other => panic!("{expected}: {other:?}"),
        }
        let as_template = world.hands.delete_template(machine, &template_proof(name)).await;
        assert!(matches!(as_template, Err(ActError::Refused { .. })), "{as_template:?}");
        assert_eq!(before, world.everything().await, "{expected}");
    };
    let of = |found: Option<&str>| Refusal::Foreign {
        owner: OWNER.name().to_owned(),
        found: found.map(str::to_owned),
    };
    let annotate = async |text: &str| {
        world.govc.run(&["vm.change", "-vm", "DC0_H0_VM1", "-annotation", text]).await;
    };
    refused(&foreign, "DC0_H0_VM1", of(None)).await;
    annotate("{\"hatchery_name\":\"h2\",\"worker_name\":\"DC0_H0_VM1\"}").await;
    refused(&foreign, "DC0_H0_VM1", of(Some("h2"))).await;
    annotate("{\"note\":\"from a backup tool\"}").await;
    refused(&foreign, "DC0_H0_VM1", of(None)).await;
    annotate(&Mark { model: true, ..pooled() }.write()).await;
    refused(&foreign, "DC0_H0_VM1", Refusal::Protected).await;
    annotate(&pooled().write()).await;
    let renamed = Refusal::Name { expected: POOLED.to_owned(), found: "DC0_H0_VM1".to_owned() };
    refused(&foreign, POOLED, renamed).await;
    refused(&template, "DC0_H0_VM0", Refusal::Template).await;
    assert_eq!((world.asked("PowerOffVM_Task"), world.asked("Destroy_Task")), (0, 0));
    world.ours.close().await;
}

/// Stopping takes time; whoever takes the VM over meanwhile keeps it.
#[tokio::test]
async fn a_vm_that_becomes_another_while_it_is_stopped_is_not_deleted() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let vm = world.named("DC0_H0_VM0");
    world.govc.run(&["vm.change", "-vm", "DC0_H0_VM0", "-annotation", &pooled().write()]).await;
    let mut stopping = world.proxy.hold("PowerOffVM_Task");
    let rescue = async {
        stopping.arrived().await;
        world.govc.run(&["vm.change", "-vm", "DC0_H0_VM0", "-annotation", "mine now"]).await;
        drop(stopping);
    };
    let proof = proof("DC0_H0_VM0");
    let (deleted, ()) = tokio::join!(world.hands.delete(&vm, &proof), rescue);
    let kept = matches!(&deleted, Err(ActError::Refused { why: Refusal::Foreign { .. }, .. }));
    assert!(kept, "{deleted:?}");
    assert_eq!(world.property(&vm, "config.annotation").await, "mine now");
    world.ours.close().await;
}
