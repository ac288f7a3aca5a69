use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Govc, Proxy, Vcsim, VcsimOptions, connect, eventually};
use rookery_vim_client::{Blocked, Ceilings, Governor, Machines, PowerChange, Tasks};

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_vcenter_is_not_asked_for_more_tasks_at_once_than_allowed() {
    let vcsim = Vcsim::start(VcsimOptions::plain(6).with("-task-delay=PowerOff:1000")).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let governor = Governor::new(Ceilings { total: 2, ..Ceilings::default() });
    let tasks = Tasks::start(ours.client.clone(), &ours.supervisor);
    let machines = Machines::new(ours.client.clone(), tasks, governor.clone());
    let mut running = tokio::task::JoinSet::new();
    for vm in ours.inventory.complete().await.expect("it loads").vms().cloned() {
        let machines = machines.clone();
        running.spawn(async move { machines.power(&vm.id, PowerChange::Off, PATIENCE).await });
    }
    let orders = || proxy.exchanges().iter().filter(|e| e.method == "PowerOffVM_Task").count();
    let held_up = || async {
        let waiting = governor.waiting();
        let full = waiting.iter().all(|order| order.blocked == Blocked::Total);
        !waiting.is_empty() && full && governor.running() == 2 && orders() + waiting.len() == 6
    };
    eventually("two run, and those that wait are not ordered", held_up).await;
    while let Some(done) = running.join_next().await {
        done.expect("no panic").expect("powered off");
        assert!(governor.running() <= 2);
    }
    assert_eq!((orders(), governor.running(), governor.waiting().len()), (6, 0, 0));
    let off = govc.run(&["find", "/", "-type", "m", "-runtime.powerState", "poweredOff"]).await;
    assert_eq!(off.lines().count(), 6);
    ours.close().await;
}
