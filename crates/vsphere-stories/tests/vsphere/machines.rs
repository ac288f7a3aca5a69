use std::time::Duration;

use rookery_kit::{Govc, Vcsim, VcsimOptions, connect};
use rookery_vim::FaultKind;
use rookery_vim::MoRef;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{Change, OperationError, PowerChange, TaskError};

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn power_changes_are_done_when_the_call_returns() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let vm = ours.inventory.complete().await.expect("it loads").vms().next().expect("one VM").id.clone();
    let object = format!("VirtualMachine:{}", vm.id());
    for (change, state) in [
        (PowerChange::Off, "poweredOff"),
        (PowerChange::Off, "poweredOff"),
        (PowerChange::On, "poweredOn"),
        (PowerChange::On, "poweredOn"),
        (PowerChange::Reset, "poweredOn"),
        (PowerChange::Suspend, "suspended"),
        (PowerChange::On, "poweredOn"),
        (PowerChange::ShutdownGuest, "poweredOff"),
        (PowerChange::ShutdownGuest, "poweredOff"),
    ] {
        ours.machines
            .power(&vm, change, PATIENCE)
            .await
            .unwrap_or_else(|error| panic!("{change:?}: {error:?}"));
        assert_eq!(govc.property(&object, "runtime.powerState").await, state, "after {change:?}");
    }
    ours.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_guest_without_tools_is_not_asked_to_reboot() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1).without_tools()).await;
    let ours = connect(vcsim.address()).await;
    let vm = ours.inventory.complete().await.expect("it loads").vms().next().expect("one VM").id.clone();
    let error = ours.machines.power(&vm, PowerChange::RebootGuest, PATIENCE).await.expect_err("no tools");
    assert_eq!(error.fault().map(rookery_vim::Fault::kind), Some(FaultKind::ToolsUnavailable));
    ours.close().await;

    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let ours = connect(vcsim.address()).await;
    let vm = ours.inventory.complete().await.expect("it loads").vms().next().expect("one VM").id.clone();
    // So vcsim has them run; ours has them anyway.
    let tools = ("SET.guest.toolsRunningStatus".to_owned(), "guestToolsRunning".to_owned());
    let change = Change { extra_config: vec![tools], ..Change::default() };
    ours.machines.reconfigure(&vm, change, PATIENCE).await.expect("changed");
    ours.machines.power(&vm, PowerChange::RebootGuest, PATIENCE).await.expect("the guest is asked to");
    ours.close().await;
}

#[tokio::test]
async fn a_task_that_fails_says_why() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let vm = snapshot.vms().next().expect("a VM").id.clone();

    ours.machines.power(&vm, PowerChange::Off, PATIENCE).await.expect("it is on");
    let error = ours.machines.power(&vm, PowerChange::Suspend, PATIENCE).await.expect_err("it is off");
    let fault = error.fault().expect("a fault");
    assert_eq!(fault.kind(), FaultKind::InvalidPowerState);
    assert_eq!(fault.field("existingState"), Some(PowerState::Off.as_str()));

    let taken = &snapshot.vms().nth(1).expect("another VM").name;
    let error = ours.machines.rename(&vm, taken, PATIENCE).await.expect_err("the name is taken");
    assert!(matches!(error, OperationError::Task(TaskError::Failed(_))), "{error:?}");

    let ghost = MoRef::new("VirtualMachine", "vm-ghost");
    let error = ours.machines.rename(&ghost, "x", PATIENCE).await.expect_err("there is no such VM");
    assert!(matches!(&error, OperationError::Call(call) if call.is_not_found()), "{error:?}");
    ours.close().await;
}

#[tokio::test]
async fn many_slow_tasks_are_waited_for_together() {
    let vcsim = Vcsim::start(VcsimOptions::plain(30).with("-task-delay=PowerOff:700")).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let mut waiting = tokio::task::JoinSet::new();
    for vm in snapshot.vms().cloned() {
        let machines = ours.machines.clone();
        waiting.spawn(async move { machines.power(&vm.id, PowerChange::Off, PATIENCE).await });
    }
    while let Some(done) = waiting.join_next().await {
        done.expect("no panic").expect("powered off");
    }
    let listing = govc.run(&["find", "/DC0/vm", "-type", "m", "-runtime.powerState", "poweredOff"]).await;
    assert_eq!(listing.lines().count(), 30);
    ours.close().await;
}

#[tokio::test]
async fn a_task_that_outlives_its_deadline_is_not_called_failed() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-task-delay=PowerOff:3000")).await;
    let ours = connect(vcsim.address()).await;
    let vm = ours.inventory.complete().await.expect("it loads").vms().next().expect("one VM").id.clone();
    let error =
        ours.machines.power(&vm, PowerChange::Off, Duration::from_millis(100)).await.expect_err("too slow");
    assert!(matches!(error, OperationError::Task(TaskError::TimedOut { .. })), "{error:?}");
    // Its effect comes all the same, and is seen.
    let off = |vm: &rookery_vim_client::Vm| (vm.power == Some(PowerState::Off)).then_some(());
    ours.inventory.wait_for(&vm, PATIENCE, off).await.expect("it goes off");
    ours.close().await;
}

#[tokio::test]
async fn a_vm_is_reconfigured_made_a_template_and_destroyed() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let machines = &ours.machines;
    let vm = ours.inventory.complete().await.expect("it loads").vms().next().expect("a VM").id.clone();
    let object = format!("VirtualMachine:{}", vm.id());

    let running = machines.destroy(&vm, PATIENCE).await.expect_err("it runs");
    assert_eq!(running.fault().map(rookery_vim::Fault::kind), Some(FaultKind::InvalidPowerState));
    machines.power(&vm, PowerChange::Off, PATIENCE).await.expect("off");
    let change = Change {
        name: Some("a/b 100%".to_owned()),
        annotation: Some("{\"a\": \"<&>\"}\r\nline two".to_owned()),
        instance_uuid: None,
        cpus: Some(5),
        memory_mb: Some(2048),
        extra_config: vec![("guestinfo.nest".to_owned(), "twigs & <moss>".to_owned())],
    };
    machines.reconfigure(&vm, change, PATIENCE).await.expect("reconfigured");
    for (path, expected) in [
        ("name", "a%2fb 100%25"),
        ("config.annotation", "{\"a\": \"<&>\"}\r\nline two"),
        ("config.hardware.numCPU", "5"),
        ("config.hardware.memoryMB", "2048"),
    ] {
        assert_eq!(govc.property(&object, path).await, expected, "{path}");
    }
    let info = govc.json(&["object.collect", &object, "config.extraConfig"]).await;
    assert!(info.to_string().contains("twigs & <moss>"), "{info}");

    let snapshot = machines.snapshot(&vm, "base", PATIENCE).await.expect("a snapshot");
    assert_eq!(snapshot.kind(), "VirtualMachineSnapshot");
    assert!(govc.property(&object, "snapshot.currentSnapshot").await.contains(snapshot.id()));

    machines.mark_as_template(&vm).await.expect("a template");
    assert_eq!(govc.property(&object, "config.template").await, "true");
    machines.mark_as_template(&vm).await.expect("it is one already");

    machines.destroy(&vm, PATIENCE).await.expect("destroyed");
    machines.destroy(&vm, PATIENCE).await.expect("gone already");
    let left = govc.run(&["find", "/", "-type", "m"]).await;
    assert_eq!(left.lines().count(), 1, "{left}");
    ours.close().await;
}
