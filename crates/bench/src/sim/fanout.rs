//! How long a change takes to everybody who watches.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rookery_kit::{Raw, connect};
use rookery_vim::Node;
use rookery_vim::methods::{FindByInventoryPath, ReconfigVmTask};
use rookery_vim::specs::{OptionValue, VirtualMachineConfigSpec};

use crate::server::Server;

/// Milliseconds from the order until the last of so many watchers has seen the change.
pub(crate) async fn delay(server: &Server, watchers: usize) -> f64 {
    let raw = Raw::login(&server.address).await;
    let find = FindByInventoryPath {
        this: raw.content.search_index.clone().expect("a search index"),
        inventory_path: "DC0/vm/DC0_H0_VM1".to_owned(),
    };
    let this = raw.call(&find).await.expect("it is there");
    let mut all = Vec::new();
    for _ in 0..watchers {
        all.push(connect(&server.address).await);
    }
    for watcher in &all {
        watcher.inventory.complete().await.expect("it loads");
    }
    // A value that was never there before: the number of a session that never comes again.
    let address = raw.unique();
    let spec = VirtualMachineConfigSpec {
        extra_config: vec![OptionValue {
            key: "SET.guest.ipAddress".to_owned(),
            value: Node::leaf("value", "string", address.clone()),
        }],
        ..VirtualMachineConfigSpec::default()
    };
    let waits = all.iter().map(|watcher| {
        let (this, address) = (this.clone(), address.clone());
        async move {
            let seen = |vm: &rookery_vim_client::Vm| {
                (vm.guest.ip.as_deref() == Some(address.as_str())).then_some(())
            };
            watcher.inventory.wait_for(&this, Duration::from_secs(60), seen).await.expect("it arrives");
        }
    });
    let began = Instant::now();
    let order = ReconfigVmTask { this: this.clone(), spec };
    tokio::join!(join_all(waits), raw.call(&order));
    let took = began.elapsed().as_secs_f64() * 1000.0;
    for watcher in all {
        watcher.close().await;
    }
    took
}
