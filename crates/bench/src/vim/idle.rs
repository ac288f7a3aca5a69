//! What an idle client asks of vCenter, counted by a proxy between the two.

use std::collections::BTreeMap;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim::objects::PowerState;
use rookery_vim_client::Vm;
use tokio::time::Instant;

/// Leaves a loaded client alone for some real minutes, counts its requests, and checks that it still hears.
pub(crate) async fn count(minutes: usize) {
    let vms = 100;
    println!("\nidle for {minutes} minutes with {vms} VMs …");
    let vcsim = Vcsim::start(VcsimOptions::plain(vms)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let loaded = proxy.exchanges().len();
    tokio::time::sleep(Duration::from_secs(60 * minutes as u64)).await;

    let mut by_method = BTreeMap::<String, usize>::new();
    let exchanges = proxy.exchanges().split_off(loaded);
    for exchange in &exchanges {
        *by_method.entry(exchange.method.clone()).or_default() += 1;
    }
    let requests = exchanges.len();
    let verdict = if requests <= 6 * minutes { "reached" } else { "NOT reached" };
    println!("{requests} requests in {minutes} minutes {by_method:?} (goal ≤ 6 a minute: {verdict})");
    println!("age of the inventory: {} s", ours.inventory.snapshot().age().as_secs());

    let vm = snapshot.named("DC0_H0_VM42").next().expect("it is there").id.clone();
    let began = Instant::now();
    Govc::new(&vcsim).run(&["vm.power", "-off", "DC0_H0_VM42"]).await;
    let off = |vm: &Vm| (vm.power == Some(PowerState::Off)).then_some(());
    ours.inventory.wait_for(&vm, Duration::from_secs(60), off).await.expect("the change arrives");
    println!("a change arrived {} ms after govc was started to make it", began.elapsed().as_millis());
    ours.close().await;
    println!("sessions left behind: {}", Govc::new(&vcsim).sessions().await.len());
}
