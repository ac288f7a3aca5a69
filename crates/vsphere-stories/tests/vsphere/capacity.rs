use rookery_daemon::Supervisor;
use rookery_kit::{Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim::MoRef;
use rookery_vim_client::{Bytes, Capacity, HostConnection, Limit, Mhz, capacity};
use serde_json::Value;

/// What govc says of each object.
type Listed<'a> = Vec<(MoRef, &'a Value)>;

fn listed<'a>(answer: &'a Value, list: &str) -> Listed<'a> {
    let objects = answer[list].as_array().unwrap_or_else(|| panic!("no {list} in {answer}"));
    objects.iter().map(|object| (reference(&object["self"]), object)).collect()
}

fn reference(value: &Value) -> MoRef {
    let text = |member: &str| value[member].as_str().unwrap_or_else(|| panic!("{value} is no reference"));
    MoRef::new(text("type"), text("value"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn mhz(value: &Value) -> Mhz {
    Mhz(number(value))
}

fn bytes(value: &Value) -> Bytes {
    Bytes(number(value))
}

fn megabytes(value: &Value) -> Bytes {
    Bytes(number(value) << 20)
}

#[tokio::test]
async fn the_room_that_there_is_is_read_in_one_call_and_is_what_govc_shows() {
    let world = VcsimOptions::default().with("-tls=false").with("-host=2").with("-ds=2");
    let vcsim = Vcsim::start(world).await;
    let govc = Govc::new(&vcsim);
    let nested = "/DC0/host/DC0_C0/Resources/nested";
    govc.run(&["pool.create", "-cpu.limit=-1", "-mem.limit=512", nested]).await;
    vcsim.lose_host("DC0_C0_H1").await;
    let pools = govc.json(&["pool.info", "/DC0/host/*/Resources", nested]).await;
    let hosts = govc.json(&["host.info", "/DC0/host/*/*"]).await;
    let datastores = govc.json(&["datastore.info"]).await;
    let (pools, hosts) = (listed(&pools, "resourcePools"), listed(&hosts, "hostSystems"));
    let datastores = listed(&datastores, "datastores");
    assert_eq!((pools.len(), hosts.len(), datastores.len()), (3, 3, 2));
    let clusters: Vec<MoRef> =
        pools.iter().filter(|(_, p)| p["name"] == "Resources").map(|(_, p)| reference(&p["owner"])).collect();

    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let ours = connect(proxy.address()).await;
    ours.inventory.complete().await.expect("it loads");
    let mut all: Vec<MoRef> =
        [&pools, &hosts, &datastores].into_iter().flatten().map(|o| o.0.clone()).collect();
    all.extend(clusters.clone());
    // One that is gone, and one that has no capacity.
    all.extend([MoRef::new("HostSystem", "host-ghost"), ours.client.content().root_folder.clone()]);
    let reads = || proxy.exchanges().iter().filter(|e| e.method.contains("RetrieveProperties")).count();
    let before = reads();
    let found = capacity(&ours.client, &all).await.expect("an answer");
    assert_eq!(reads() - before, 1, "however many objects");

    check_pools(&found, &pools);
    check_hosts(&found, &hosts);
    check_datastores(&found, &datastores);
    assert_eq!(found.clusters.len(), 2);
    for id in &clusters {
        check_cluster(&found, id, &govc).await;
    }
    ours.close().await;
}

fn check_pools(found: &Capacity, pools: &Listed<'_>) {
    assert_eq!(found.pools.len(), pools.len());
    for (id, theirs) in pools {
        let (ours, config, runtime) = (&found.pools[id], &theirs["config"], &theirs["runtime"]);
        assert_eq!(ours.owner, Some(reference(&theirs["owner"])));
        assert_eq!(ours.cpu.reservation, Some(mhz(&config["cpuAllocation"]["reservation"])));
        assert_eq!(ours.cpu.max_usage, Some(mhz(&runtime["cpu"]["maxUsage"])));
        assert_eq!(ours.cpu.usage, Some(mhz(&runtime["cpu"]["overallUsage"])));
        assert_eq!(ours.cpu.unreserved_for_vm, Some(mhz(&runtime["cpu"]["unreservedForVm"])));
        let memory = &config["memoryAllocation"];
        assert_eq!(ours.memory.reservation, Some(megabytes(&memory["reservation"])));
        let unlimited = memory["limit"] == -1;
        let limit = if unlimited { Limit::Unlimited } else { Limit::AtMost(megabytes(&memory["limit"])) };
        assert_eq!(ours.memory.limit, Some(limit));
        assert_eq!(ours.memory.expandable, memory["expandableReservation"].as_bool());
        assert_eq!(ours.memory.max_usage, Some(bytes(&runtime["memory"]["maxUsage"])));
        assert_eq!(ours.memory.reservation_used, Some(bytes(&runtime["memory"]["reservationUsed"])));
        assert_eq!(ours.memory.unreserved_for_pool, Some(bytes(&runtime["memory"]["unreservedForPool"])));
    }
    let (nested, _) =
        pools.iter().find(|(_, pool)| pool["name"] == "nested").expect("the one that govc made");
    assert_eq!(found.pools[nested].cpu.limit, Some(Limit::Unlimited));
    assert_eq!(found.pools[nested].memory.limit, Some(Limit::AtMost(Bytes(512 << 20))));
}

fn check_hosts(found: &Capacity, hosts: &Listed<'_>) {
    assert_eq!(found.hosts.len(), hosts.len(), "the ghost is not among them");
    for (id, theirs) in hosts {
        let (ours, hardware) = (&found.hosts[id], &theirs["summary"]["hardware"]);
        assert_eq!(ours.cpu, Some(Mhz(number(&hardware["cpuMhz"]) * number(&hardware["numCpuCores"]))));
        assert_eq!(ours.threads, Some(number(&hardware["numCpuThreads"])));
        assert_eq!(ours.memory, Some(bytes(&hardware["memorySize"])));
        let used = &theirs["summary"]["quickStats"];
        assert_eq!(ours.cpu_used, Some(mhz(&used["overallCpuUsage"])));
        assert_eq!(ours.memory_used, Some(megabytes(&used["overallMemoryUsage"])));
        let connected = theirs["runtime"]["connectionState"] == "connected";
        assert_eq!(ours.connection == Some(HostConnection::Connected), connected);
        assert_eq!(ours.in_maintenance, theirs["runtime"]["inMaintenanceMode"].as_bool());
    }
    let lost = [HostConnection::Disconnected, HostConnection::NotResponding].map(Some);
    assert_eq!(found.hosts.values().filter(|host| lost.contains(&host.connection)).count(), 1);
}

fn check_datastores(found: &Capacity, datastores: &Listed<'_>) {
    assert_eq!(found.datastores.len(), datastores.len());
    for (id, theirs) in datastores {
        let (ours, summary) = (&found.datastores[id], &theirs["summary"]);
        assert_eq!(ours.capacity, Some(bytes(&summary["capacity"])));
        assert_eq!(ours.free, Some(bytes(&summary["freeSpace"])));
        // govc leaves a 0 out.
        let uncommitted = summary["uncommitted"].as_u64().map(Bytes);
        assert_eq!(ours.uncommitted.filter(|bytes| bytes.0 > 0), uncommitted);
        assert_eq!(ours.accessible, Some(true));
        assert_eq!(ours.in_maintenance, Some(false));
        assert_eq!(ours.kind.as_deref(), summary["type"].as_str());
    }
}

async fn check_cluster(found: &Capacity, id: &MoRef, govc: &Govc) {
    let theirs = async |path: &str| govc.property(&id.to_string(), path).await.parse::<u64>().ok();
    let ours = &found.clusters[id];
    assert_eq!(ours.total_cpu, theirs("summary.totalCpu").await.map(Mhz));
    assert_eq!(ours.effective_cpu, theirs("summary.effectiveCpu").await.map(Mhz));
    assert_eq!(ours.total_memory, theirs("summary.totalMemory").await.map(Bytes));
    // In bytes, as vcsim has it, or in megabytes like vCenter.
    let effective = theirs("summary.effectiveMemory").await.expect("a number");
    assert!([effective, effective << 20].map(|bytes| Some(Bytes(bytes))).contains(&ours.effective_memory));
    assert!(ours.effective_memory > Some(Bytes(1 << 30)) && ours.effective_memory <= ours.total_memory);
    assert_eq!(ours.hosts, theirs("summary.numHosts").await);
    assert_eq!(ours.effective_hosts, theirs("summary.numEffectiveHosts").await);
    assert_eq!(ours.demand, None, "this server does not fill it in");
}
