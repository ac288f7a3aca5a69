//! Extra configuration, asked for by key.

use std::collections::BTreeSet;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Connected, Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim::MoRef;
use rookery_vim_client::{
    Change, Completeness, ExtraConfig, ExtraConfigKey, ExtraValue, Inventory, Vm, read_object,
};

/// Only ends a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(60);

fn key(text: &str) -> ExtraConfigKey {
    text.try_into().expect("a key")
}

fn keys(texts: &[&str]) -> BTreeSet<ExtraConfigKey> {
    texts.iter().map(|text| key(text)).collect()
}

async fn set(ours: &Connected, vm: &MoRef, entries: &[(&str, &str)]) {
    let extra_config = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let change = Change { extra_config, ..Change::default() };
    ours.machines.reconfigure(vm, change, PATIENCE).await.expect("reconfigured");
}

async fn sees(inventory: &Inventory, vm: &MoRef, key: &ExtraConfigKey, expected: ExtraValue<'_>) {
    let seen = |vm: &Vm| (vm.config.extra(key) == expected).then_some(());
    let waited = inventory.wait_for(vm, PATIENCE, seen).await;
    waited.unwrap_or_else(|error| panic!("{key} is never {expected:?}: {error}"));
}

#[tokio::test]
async fn entries_are_seen_set_changed_and_unset() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let first = ours.inventory.complete().await.expect("it loads");
    let vm = first.vms().next().expect("a VM").id.clone();
    let root = ours.client.content().root_folder.clone();
    let (nest, other, never) = (key("guestinfo.nest"), key("rookery.owner"), key("rookery.never"));
    set(&ours, &vm, &[("rookery.owner", "front-1 & <co>")]).await;

    let asked = keys(&["guestinfo.nest", "rookery.owner"]);
    let inventory = Inventory::start_with(ours.client.clone(), root, asked.clone(), &ours.supervisor);
    let loaded = inventory.complete().await.expect("it loads");
    let row = loaded.get(&vm).expect("it is there");
    assert_eq!(row.config.extra(&nest), ExtraValue::Unset);
    assert_eq!(row.config.extra(&other), ExtraValue::Set("front-1 & <co>"));
    assert_eq!(row.config.extra(&never), ExtraValue::Unknown, "nobody asked");
    for row in loaded.vms() {
        assert!(row.unreadable.is_empty(), "{row:?}");
    }

    set(&ours, &vm, &[("guestinfo.nest", "twigs"), ("guestinfo.unheard", "x")]).await;
    sees(&inventory, &vm, &nest, ExtraValue::Set("twigs")).await;
    govc.run(&["vm.change", "-vm", &format!("VirtualMachine:{}", vm.id()), "-e", "guestinfo.nest=moss"])
        .await;
    sees(&inventory, &vm, &nest, ExtraValue::Set("moss")).await;
    let mut paths: Vec<String> = asked.iter().map(ExtraConfigKey::path).collect();
    paths.push("config.template".to_owned());
    let read = read_object(&ours.client, &vm, &paths).await.expect("it answers").expect("it is there");
    assert_eq!(ExtraConfig::read(&asked, &read).get(&nest), ExtraValue::Set("moss"));
    set(&ours, &vm, &[("guestinfo.nest", "")]).await;
    sees(&inventory, &vm, &nest, ExtraValue::Unset).await;
    sees(&inventory, &vm, &other, ExtraValue::Set("front-1 & <co>")).await;
    let read = read_object(&ours.client, &vm, &paths).await.expect("it answers").expect("it is there");
    assert_eq!(ExtraConfig::read(&asked, &read).get(&nest), ExtraValue::Unset);
    ours.close().await;
}

#[tokio::test]
async fn keys_that_are_added_later_are_loaded_and_the_last_snapshot_stays_meanwhile() {
    let vcsim = Vcsim::start(VcsimOptions::plain(3)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    let (inventory, owner) = (&ours.inventory, key("rookery.owner"));
    let first = inventory.complete().await.expect("it loads");
    let vm = first.vms().next().expect("a VM").id.clone();
    set(&ours, &vm, &[("rookery.owner", "front-1")]).await;

    inventory.show_extra_config(&keys(&["rookery.owner"]));
    let stale = inventory
        .until(|snapshot| !matches!(snapshot.completeness(), Completeness::Complete))
        .await
        .expect("it is told");
    assert_eq!(stale.vms().len(), 3, "{:?}", stale.completeness());
    assert!(stale.trouble().is_none());
    assert_eq!(stale.get(&vm).expect("it stays").config.extra(&owner), ExtraValue::Unknown);
    let loaded = inventory.complete().await.expect("it loads again");
    assert_eq!(loaded.get(&vm).expect("it stays").config.extra(&owner), ExtraValue::Set("front-1"));

    // What is asked for already changes nothing.
    inventory.show_extra_config(&keys(&["rookery.owner"]));
    inventory.complete().await.expect("it is complete");
    ours.close().await;
    let views = proxy.exchanges().iter().filter(|e| e.method == "CreateContainerView").count();
    assert_eq!(views, 2, "one watch without the key and one with it");
}
