use rookery_daemon::Supervisor;
use rookery_kit::{Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim::MoRef;
use rookery_vim_client::{Bytes, Mhz, pool_capacity};
use serde_json::Value;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[tokio::test]
async fn the_room_of_a_pool_is_read_in_one_call_and_is_what_govc_shows() {
    let vcsim = Vcsim::start(VcsimOptions::default().with("-tls=false").with("-host=2")).await;
    let govc = Govc::new(&vcsim);
    let nested = "/DC0/host/DC0_C0/Resources/nested";
    govc.run(&["pool.create", "-cpu.limit=-1", "-mem.limit=512", nested]).await;
    let pools = govc.json(&["pool.info", "/DC0/host/*/Resources", nested]).await;
    let pools = pools["resourcePools"].as_array().expect("pools");
    assert_eq!(pools.len(), 3);

    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    ours.inventory.complete().await.expect("it loads");
    let reads = || proxy.exchanges().iter().filter(|e| e.method.contains("RetrieveProperties")).count();
    for theirs in pools {
        let id = theirs["self"]["value"].as_str().expect("a reference");
        let before = reads();
        let found = pool_capacity(&ours.client, &MoRef::new("ResourcePool", id)).await.expect("an answer");
        assert_eq!(reads() - before, 1);
        let (found, cpu) = (found.expect("it is there"), &theirs["runtime"]["cpu"]);
        assert_eq!(found.cpu.max_usage, Some(Mhz(number(&cpu["maxUsage"]))));
        assert_eq!(found.cpu.usage, Some(Mhz(number(&cpu["overallUsage"]))));
        assert_eq!(found.cpu.unreserved_for_vm, Some(Mhz(number(&cpu["unreservedForVm"]))));
        let memory = &theirs["runtime"]["memory"];
        assert_eq!(found.memory.max_usage, Some(Bytes(number(&memory["maxUsage"]))));
        assert_eq!(found.memory.usage, Some(Bytes(number(&memory["overallUsage"]))));
        assert_eq!(found.memory.unreserved_for_vm, Some(Bytes(number(&memory["unreservedForVm"]))));
    }
    let ghost = pool_capacity(&ours.client, &MoRef::new("ResourcePool", "resgroup-ghost")).await;
    assert_eq!(ghost.expect("an answer"), None, "one that is gone");
    ours.close().await;
}
