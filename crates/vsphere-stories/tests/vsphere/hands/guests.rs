use rookery_kit::{Vcsim, VcsimOptions};
use rookery_vim_client::{GuestError, GuestUser, Program};

use super::World;

const VM: &str = "DC0_H0_VM0";
const LOGIN: &str = "worker:nest";

fn shell(script: &str) -> Program {
    Program {
        path: "/bin/sh".to_owned(),
        arguments: format!("-c '{script}'"),
        environment: vec![("PATH".to_owned(), "/bin:/usr/bin".to_owned())],
        directory: None,
    }
}

#[tokio::test]
async fn a_vm_is_made_ready_and_a_program_is_launched_once() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with_guests()).await;
    let folder = vcsim.guest_folder().to_str().expect("a plain path").to_owned();
    let world = World::over(vcsim).await;
    world.govc.give_guest(VM).await;
    let vm = world.named(VM);
    let user = GuestUser { name: "worker".to_owned(), password: "nest".into() };
    // What a guest with tools shows by itself.
    let object = rookery_vim::MoRef::new("VirtualMachine", vm.as_str());
    crate::vsphere::readiness::set_operations_ready(&world.ours, &object, true).await;
    crate::vsphere::readiness::set_cards(&world.ours, &object, &[(4000, &["192.0.2.17"])]).await;
    let address = "192.0.2.17".parse().expect("an address");
    assert_eq!(world.hands.ready(&vm, Some(address), &user).await.expect("ready"), address);
    assert_eq!(world.hands.ready(&vm, None, &user).await.expect("ready"), address);
    assert_eq!(world.hands.addressed(&vm, Some(address)).await.expect("addressed"), address);
    assert_eq!(world.hands.addressed(&vm, None).await.expect("addressed"), address);

    let sizes = world.hands.disk_sizes(std::slice::from_ref(&vm)).await.expect("sizes");
    let disks = world.govc.json(&["device.info", "-vm", VM, "disk-*"]).await;
    let disks = disks["devices"].as_array().expect("disks").iter();
    let shown: u64 = disks.map(|disk| disk["capacityInKB"].as_u64().expect("a size")).sum();
    assert!(shown > 0);
    assert_eq!(sizes.get(&vm).map(|disks| disks.all_kb), Some(shown));

    let asked = world.asked("StartProgramInGuest");
    world.proxy.lose("StartProgramInGuest");
    let script = format!("echo once >>{folder}/told");
    let lost = world.hands.launch(&vm, &user, &shell(&script)).await;
    assert!(matches!(lost, Err(GuestError::MayHaveStarted { .. })), "{lost:?}");
    let told = async || world.govc.guest_file(VM, LOGIN, &format!("{folder}/told")).await;
    rookery_kit::eventually("it ran", async || told().await.is_some_and(|text| !text.is_empty())).await;
    assert_eq!((told().await.as_deref(), world.asked("StartProgramInGuest") - asked), (Some("once\n"), 1));
    assert!(world.hands.launch(&vm, &user, &shell("exit 0")).await.expect("it starts") > 0);
    world.ours.close().await;
}
