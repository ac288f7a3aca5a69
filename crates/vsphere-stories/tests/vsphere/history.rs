use std::time::Duration;

use rookery_kit::{Govc, Vcsim, VcsimOptions, connect};
use rookery_vim::MoRef;
use rookery_vim_client::{EventFilter, PowerChange, events, latest_events};

const PATIENCE: Duration = Duration::from_secs(60);

/// vcsim hands out ten events unless it is asked for more; a history is longer than that.
#[tokio::test]
async fn history_is_read_to_its_end_newest_first() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    let vm = snapshot.named("DC0_H0_VM1").next().expect("it is there").id.clone();
    let began = rookery_vim::methods::CurrentTime { this: rookery_vim::envelope::service_instance() };
    let began = ours.client.call(&began).await.expect("vCenter's time");
    for _ in 0..8 {
        ours.machines.power(&vm, PowerChange::Off, PATIENCE).await.expect("off");
        ours.machines.power(&vm, PowerChange::On, PATIENCE).await.expect("on");
    }
    let kinds = vec!["VmPoweredOffEvent".to_owned(), "VmStartingEvent".to_owned()];
    let filter = EventFilter { about: vm.clone(), kinds, since: Some(began) };
    let found = events(&ours.client, &filter).await.expect("a history");
    assert_eq!(found.len(), 16);
    assert!(found.is_sorted_by(|a, b| a.key > b.key && a.at >= b.at), "newest first");
    let sequence: Vec<_> = found.iter().map(|e| e.kind.as_str()).collect();
    assert_eq!(sequence, ["VmStartingEvent", "VmPoweredOffEvent"].repeat(8));
    assert!(found.iter().all(|e| e.vm.as_ref() == Some(&vm) && e.message.is_some() && e.user.is_some()));

    // The end of it, and whether that is all.
    let told = |most: usize| latest_events(&ours.client, &filter, most);
    let latest = told(usize::MAX).await.expect("a history");
    let keys =
        |events: &[rookery_vim_client::Event]| events.iter().map(|event| event.key).collect::<Vec<_>>();
    assert_eq!((keys(&latest.events), latest.complete), (keys(&found), true));
    let latest = told(1).await.expect("a history");
    assert!(!latest.complete && keys(&latest.events).starts_with(&[found[0].key]), "{latest:?}");

    // All of it, about everything, is what govc shows; its own login comes on top.
    let all = EventFilter { about: MoRef::new("Folder", "group-d1"), kinds: Vec::new(), since: None };
    let all = events(&ours.client, &all).await.expect("a history");
    let ours_told = all.iter().rev().filter_map(|event| event.message.clone());
    let theirs = govc.run(&["events", "-n", "1000"]).await;
    let theirs_told =
        theirs.lines().filter_map(|line| Some(line.split_once("] [")?.1.split_once("] ")?.1.to_owned()));
    let about_vms = |message: &String| message.contains("DC0_H0_VM");
    let ours_told: Vec<_> = ours_told.filter(about_vms).collect();
    assert!(ours_told.len() > 30);
    assert_eq!(ours_told, theirs_told.filter(about_vms).collect::<Vec<_>>());
    ours.close().await;
}
