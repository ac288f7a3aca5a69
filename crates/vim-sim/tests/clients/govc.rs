//! The commands of `govc` that people use on VMs, each with what it must print.

use rookery_vim_sim::Counts;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::server::Server;

async fn server() -> Server {
    Server::start(Counts { datastores: 2, pools: 1, ..Counts::default() }).await
}

/// The one line of an output that begins like that, without its beginning.
#[track_caller]
fn line<'o>(output: &'o str, beginning: &str) -> &'o str {
    let found = output.lines().find_map(|line| line.trim().strip_prefix(beginning));
    found.unwrap_or_else(|| panic!("no line begins with {beginning:?} in {output}")).trim()
}

#[tokio::test]
async fn govc_looks_around() {
    let server = server().await;
    let about = server.govc(&["about"]).await;
    assert_eq!(line(&about, "API type:"), "VirtualCenter");
    assert_eq!(line(&about, "API version:"), "7.0.3.0");
    assert_eq!(server.govc(&["ls"]).await, "/DC0/vm\n/DC0/host\n/DC0/datastore\n/DC0/network\n");
    let vms = server.govc(&["ls", "/DC0/vm"]).await;
    assert_eq!(vms.lines().count(), 4, "{vms}");
    assert!(vms.contains("/DC0/vm/DC0_H0_VM0\n"), "{vms}");
    assert_eq!(server.govc(&["find", "/", "-type", "m"]).await.lines().count(), 4);
    assert_eq!(
        server.govc(&["find", "/", "-type", "h", "-name", "DC0_C0_H1"]).await,
        "/DC0/host/DC0_C0/DC0_C0_H1\n"
    );
    let on = server.govc(&["find", "/", "-type", "m", "-runtime.powerState", "poweredOn"]).await;
    assert_eq!(on.lines().count(), 4, "{on}");
    server.stop().await;
}

#[tokio::test]
async fn govc_tells_of_vms_hosts_pools_and_devices() {
    let server = server().await;
    let info = server.govc(&["vm.info", "-r", "DC0_H0_VM0"]).await;
    assert_eq!(line(&info, "Name:"), "DC0_H0_VM0");
    assert_eq!(line(&info, "Power state:"), "poweredOn");
    assert_eq!(line(&info, "Host:"), "DC0_H0");
    assert_eq!(line(&info, "Network:"), "VM Network");
    assert_eq!(line(&info, "CPU:"), "1 vCPU(s)");
    let ip = line(&info, "IP address:").to_owned();
    assert_eq!(server.govc(&["vm.ip", "DC0_H0_VM0"]).await.trim(), ip);
    assert_eq!(server.govc(&["vm.ip", "-a", "DC0_H0_VM0"]).await.trim(), ip);
    let whole = server.govc(&["vm.info", "-json", "DC0_H0_VM0"]).await;
    assert!(
        whole.contains("\"powerState\":\"poweredOn\"") || whole.contains("\"powerState\": \"poweredOn\""),
        "{whole}"
    );
    let host = server.govc(&["host.info", "-host", "DC0_C0_H0"]).await;
    assert_eq!(line(&host, "Name:"), "DC0_C0_H0");
    assert_eq!(line(&host, "State:"), "connected");
    let pool = server.govc(&["pool.info", "DC0_C0/Resources"]).await;
    assert_eq!(line(&pool, "Name:"), "Resources");
    let devices = server.govc(&["device.info", "-vm", "DC0_H0_VM0"]).await;
    for label in ["Hard disk 1", "Network adapter 1", "SCSI controller 0", "IDE 0"] {
        assert!(devices.contains(label), "{devices}");
    }
    let mac = server.govc(&["device.info", "-vm", "DC0_H0_VM0", "ethernet-0"]).await;
    assert!(line(&mac, "MAC Address:").starts_with("00:50:56:"), "{mac}");
    let paths = ["object.collect", "-s", "vm/DC0_H0_VM0", "runtime.powerState"];
    assert_eq!(server.govc(&paths).await, "poweredOn\n");
    let cluster = server.govc(&["object.collect", "-s", "host/DC0_C0", "summary.numHosts"]).await;
    assert_eq!(cluster, "3\n");
    server.stop().await;
}

#[tokio::test]
async fn govc_makes_changes_and_destroys_vms() {
    let server = server().await;
    let place = ["-ds", "LocalDS_1", "-pool", "DC0_C0/Resources", "-net", "VM Network"];
    let mut create =
        vec!["vm.create", "-on=false", "-c", "2", "-m", "512", "-g", "ubuntu64Guest", "-disk", "1GB"];
    create.extend(place);
    create.push("fresh");
    server.govc(&create).await;
    let info = server.govc(&["vm.info", "-r", "fresh"]).await;
    assert_eq!(line(&info, "Memory:"), "512MB");
    assert_eq!(line(&info, "CPU:"), "2 vCPU(s)");
    assert_eq!(line(&info, "Storage:"), "LocalDS_1");
    assert_eq!(line(&info, "Guest name:"), "Ubuntu Linux (64-bit)");
    assert_eq!(line(&info, "Power state:"), "poweredOff");
    server
        .govc(&[
            "vm.change",
            "-vm",
            "fresh",
            "-c",
            "3",
            "-m",
            "1024",
            "-annotation",
            "changed",
            "-e",
            "guestinfo.a=b",
        ])
        .await;
    let changed = server
        .govc(&["object.collect", "-s", "vm/fresh", "config.annotation", "config.hardware.numCPU"])
        .await;
    assert!(changed.contains("changed") && changed.contains('3'), "{changed}");
    assert_eq!(line(&server.govc(&["vm.info", "-e", "fresh"]).await, "guestinfo.a:"), "b");
    server.govc(&["vm.power", "-on", "fresh"]).await;
    let refused = server.try_govc(&["vm.power", "-on", "fresh"]).await.expect_err("it is on");
    assert!(refused.contains("current state (Powered on)"), "{refused}");
    let refused = server.try_govc(&["vm.change", "-vm", "fresh", "-m", "2048"]).await.expect_err("it is on");
    assert!(refused.contains("current state (Powered on)"), "{refused}");
    server.govc(&["vm.power", "-s", "-wait", "fresh"]).await;
    server.govc(&["object.rename", "vm/fresh", "stale"]).await;
    server.govc(&["vm.markastemplate", "stale"]).await;
    assert_eq!(server.govc(&["object.collect", "-s", "vm/stale", "config.template"]).await, "true\n");
    let refused =
        server.try_govc(&["vm.power", "-on", "stale"]).await.expect_err("a template does not start");
    assert!(refused.contains("not supported"), "{refused}");
    server.govc(&["vm.destroy", "stale"]).await;
    assert_eq!(server.govc(&["find", "/", "-type", "m", "-name", "stale"]).await, "");
    server.stop().await;
}

#[tokio::test]
async fn govc_clones_customizes_and_takes_snapshots() {
    let server = server().await;
    server.govc(&["snapshot.create", "-vm", "DC0_H0_VM0", "-m=false", "base"]).await;
    server.govc(&["snapshot.create", "-vm", "DC0_H0_VM0", "-m=false", "next"]).await;
    assert_eq!(server.govc(&["snapshot.tree", "-vm", "DC0_H0_VM0"]).await, "base\n  next\n  .\n");
    server
        .govc(&[
            "vm.clone",
            "-on=false",
            "-vm",
            "DC0_H0_VM0",
            "-ds",
            "LocalDS_0",
            "-pool",
            "DC0_H0/Resources",
            "-c",
            "4",
            "-m",
            "2048",
            "-annotation",
            "a clone",
            "full",
        ])
        .await;
    let info = server.govc(&["vm.info", "full"]).await;
    assert_eq!(line(&info, "Memory:"), "2048MB");
    assert_eq!(server.govc(&["object.collect", "-s", "vm/full", "config.annotation"]).await, "a clone\n");
    server
        .govc(&[
            "vm.clone",
            "-on=false",
            "-vm",
            "DC0_H0_VM0",
            "-ds",
            "LocalDS_0",
            "-pool",
            "DC0_H0/Resources",
            "-link",
            "-snapshot",
            "base",
            "linked",
        ])
        .await;
    let disk = server.govc(&["device.info", "-vm", "linked", "disk-*"]).await;
    assert_eq!(line(&disk, "Parent:"), "[LocalDS_0] DC0_H0_VM0/DC0_H0_VM0.vmdk");
    server.govc(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    let refused =
        server.try_govc(&["vm.destroy", "DC0_H0_VM0"]).await.expect_err("a clone stands on its disk");
    assert!(refused.contains("in use"), "{refused}");
    server.govc(&["snapshot.revert", "-vm", "DC0_H0_VM0", "base"]).await;
    server.govc(&["snapshot.remove", "-vm", "DC0_H0_VM0", "*"]).await;
    assert_eq!(server.govc(&["snapshot.tree", "-vm", "DC0_H0_VM0"]).await, "");
    let customize = [
        "vm.customize",
        "-vm",
        "full",
        "-ip",
        "10.9.8.7",
        "-netmask",
        "255.255.255.0",
        "-gateway",
        "10.9.8.1",
        "-name",
        "host-of-full",
        "-type",
        "Linux",
    ];
    server.govc(&customize).await;
    server.govc(&["vm.power", "-on", "full"]).await;
    assert_eq!(server.govc(&["vm.ip", "full"]).await, "10.9.8.7\n");
    assert_eq!(server.govc(&["object.collect", "-s", "vm/full", "guest.hostName"]).await, "host-of-full\n");
    server.stop().await;
}

#[tokio::test]
async fn govc_reads_events_tasks_and_sessions() {
    let server = server().await;
    server.govc(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    server.govc(&["object.rename", "vm/DC0_H0_VM0", "renamed"]).await;
    let events = server.govc(&["events", "vm/renamed"]).await;
    let order = ["is powered on", "is stopping", "is powered off", "Renamed DC0_H0_VM0 to renamed"];
    let places: Vec<_> =
        order.iter().map(|text| events.find(text).unwrap_or_else(|| panic!("{text} in {events}"))).collect();
    assert!(places.is_sorted(), "{events}");
    let typed = server.govc(&["events", "-type", "VmRenamedEvent", "/"]).await;
    assert_eq!(typed.lines().count(), 1, "{typed}");
    let tasks = server.govc(&["tasks", "-l"]).await;
    assert!(tasks.contains("PowerOffVM_Task") || tasks.contains("PowerOff"), "{tasks}");
    assert!(tasks.contains("renamed") || tasks.contains("DC0_H0_VM0"), "{tasks}");
    // With a time, a state or a place it reads the history.
    for filter in [["-b", "1h"], ["-s", "success"], ["-r", "vm"]] {
        let tasks = server.govc(&["tasks", "-l", filter[0], filter[1]]).await;
        assert_eq!(tasks.lines().count(), 3, "a heading and two tasks: {tasks}");
    }
    let failed = server.govc(&["tasks", "-s", "error"]).await;
    assert_eq!(failed.lines().count(), 1, "nothing failed: {failed}");
    let sessions = server.govc(&["session.ls"]).await;
    assert_eq!(sessions.lines().count(), 2, "every session but its own was closed: {sessions}");
    let refused = server.try_govc(&["session.rm", "nobody"]).await.expect_err("there is no such session");
    assert!(refused.contains("not found"), "{refused}");
    server.stop().await;
}

#[tokio::test]
async fn govc_ends_the_session_of_another() {
    let server = server().await;
    // It logs in, prints what has happened so far and waits for more.
    let mut other = server.command(&["events", "-f", "vm/DC0_H0_VM0"]).spawn().expect("govc starts");
    let output = other.stdout.take().expect("its output is piped");
    let first = BufReader::new(output).lines().next_line().await.expect("text");
    assert!(first.is_some(), "the other one is logged in");
    let sessions = server.govc(&["session.ls"]).await;
    assert_eq!(sessions.lines().count(), 3, "a heading, the other one and its own: {sessions}");
    let first = sessions.lines().nth(1).and_then(|line| line.split_whitespace().next()).expect("a key");
    server.govc(&["session.rm", first]).await;
    let ended = other.wait().await.expect("it can be waited for");
    assert!(!ended.success(), "its wait was refused");
    server.stop().await;
}

#[tokio::test]
async fn govc_keeps_files_on_datastores() {
    let server = server().await;
    let (given, got) = (server.scratch.path().join("given.iso"), server.scratch.path().join("got.iso"));
    let content: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(&given, &content).expect("a file");
    let path = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let free = server.govc(&["object.collect", "-s", "datastore/LocalDS_1", "summary.freeSpace"]).await;
    server.govc(&["datastore.mkdir", "-ds", "LocalDS_1", "isos"]).await;
    server.govc(&["datastore.upload", "-ds", "LocalDS_1", &path(&given), "isos/a file+plus.iso"]).await;
    let listing = server.govc(&["datastore.ls", "-ds", "LocalDS_1", "-l", "isos"]).await;
    assert!(listing.contains("a file+plus.iso") && listing.contains("1.1MB"), "{listing}");
    assert_eq!(server.govc(&["datastore.ls", "-ds", "LocalDS_1"]).await.trim(), "isos");
    let less = server.govc(&["object.collect", "-s", "datastore/LocalDS_1", "summary.freeSpace"]).await;
    let bytes = |text: &str| text.trim().parse::<usize>().expect("a number");
    assert_eq!(bytes(&free) - bytes(&less), content.len());
    server.govc(&["datastore.download", "-ds", "LocalDS_1", "isos/a file+plus.iso", &path(&got)]).await;
    assert_eq!(std::fs::read(&got).expect("a file"), content);
    server.govc(&["datastore.mv", "-ds", "LocalDS_1", "isos/a file+plus.iso", "isos/b.iso"]).await;
    server.govc(&["datastore.cp", "-ds", "LocalDS_1", "isos/b.iso", "isos/c.iso"]).await;
    server.govc(&["datastore.rm", "-ds", "LocalDS_1", "isos/b.iso"]).await;
    server.govc(&["datastore.download", "-ds", "LocalDS_1", "isos/c.iso", &path(&got)]).await;
    assert_eq!(std::fs::read(&got).expect("a file"), content, "a copy outlives what it was copied from");
    let refused =
        server.try_govc(&["datastore.rm", "-ds", "LocalDS_1", "isos/b.iso"]).await.expect_err("it is gone");
    assert!(refused.contains("not found"), "{refused}");
    server.govc(&["datastore.rm", "-ds", "LocalDS_1", "isos"]).await;
    assert_eq!(
        server.govc(&["object.collect", "-s", "datastore/LocalDS_1", "summary.freeSpace"]).await,
        free
    );
    server.stop().await;
}

#[tokio::test]
async fn govc_makes_pools_that_refuse_what_does_not_fit() {
    let server = server().await;
    server.govc(&["pool.create", "-mem.limit", "1024", "DC0_C0/Resources/small"]).await;
    let info = server.govc(&["pool.info", "DC0_C0/Resources/small"]).await;
    assert_eq!(line(&info, "Name:"), "small");
    assert!(
        line(&info, "Mem Limit:").contains("1024") || line(&info, "Mem Limit:").contains("1.0GB"),
        "{info}"
    );
    for name in ["one", "two"] {
        server
            .govc(&[
                "vm.create",
                "-on=false",
                "-m",
                "600",
                "-disk",
                "1GB",
                "-ds",
                "LocalDS_0",
                "-pool",
                "DC0_C0/Resources/small",
                "-net",
                "VM Network",
                name,
            ])
            .await;
    }
    server.govc(&["vm.power", "-on", "one"]).await;
    let refused =
        server.try_govc(&["vm.power", "-on", "two"]).await.expect_err("600 and 600 are more than 1024");
    assert!(refused.contains("Memory resources"), "{refused}");
    server.govc(&["vm.power", "-off", "one"]).await;
    server.govc(&["vm.power", "-on", "two"]).await;
    server.govc(&["pool.destroy", "DC0_C0/Resources/small"]).await;
    let pool = server.govc(&["object.collect", "-s", "vm/two", "resourcePool"]).await;
    let root = server.govc(&["object.collect", "-s", "host/DC0_C0", "resourcePool"]).await;
    assert_eq!(pool, root, "what was in a pool goes to the pool around it");
    server.stop().await;
}

#[tokio::test]
async fn what_an_unregistered_vm_leaves_takes_space_until_it_is_removed() {
    let server = server().await;
    let free = async || line(&server.govc(&["datastore.info", "LocalDS_0"]).await, "Free:").to_owned();
    let before = free().await;
    let words =
        "vm.create -on=false -disk 40GB -disk.eager -ds LocalDS_0 -pool DC0_H0/Resources -net DC0_DVPG0 egg";
    server.govc(&words.split_whitespace().collect::<Vec<_>>()).await;
    let during = free().await;
    assert_ne!(before, during);
    server.govc(&["vm.unregister", "egg"]).await;
    assert_eq!(free().await, during);
    let files = server.govc(&["datastore.ls", "-ds", "LocalDS_0", "egg"]).await;
    assert!(files.contains("egg.vmx") && files.contains(".vmdk"), "{files}");
    server.govc(&["datastore.rm", "-ds", "LocalDS_0", "egg"]).await;
    assert_eq!(free().await, before);
    let left = server.govc(&["datastore.ls", "-ds", "LocalDS_0"]).await;
    assert!(!left.contains("egg"), "{left}");
    server.stop().await;
}

#[tokio::test]
async fn govc_lets_a_host_go_and_takes_it_back() {
    const HOST: &str = "/DC0/host/DC0_H0/DC0_H0";
    let server = server().await;
    let state = async |path: &str, property: &str| {
        server.govc(&["object.collect", "-s", path, property]).await.trim().to_owned()
    };
    server.govc(&["host.disconnect", HOST]).await;
    assert_eq!(state(HOST, "runtime.connectionState").await, "disconnected");
    assert_eq!(state("/DC0/vm/DC0_H0_VM0", "runtime.connectionState").await, "disconnected");
    // It runs on, but nothing can be done to it.
    assert_eq!(state("/DC0/vm/DC0_H0_VM0", "runtime.powerState").await, "poweredOn");
    let refused = server.try_govc(&["vm.power", "-off", "DC0_H0_VM0"]).await.expect_err("out of reach");
    assert!(refused.contains("it is disconnected"), "{refused}");
    server.try_govc(&["host.disconnect", HOST]).await.expect_err("it is let go already");

    server.govc(&["host.reconnect", HOST]).await;
    assert_eq!(state(HOST, "runtime.connectionState").await, "connected");
    server.govc(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    let events = server.govc(&["events", HOST]).await;
    for told in ["Disconnected from DC0_H0 in DC0", "Connected to DC0_H0 in DC0"] {
        assert!(events.contains(told), "{events}");
    }
    server.stop().await;
}
