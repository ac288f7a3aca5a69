//! `rookery vm clone` and `rookery vm create`.

use rookery_kit::{Govc, Program, Terminal, Vcsim, VcsimOptions, eventually, rookery};
use serde_json::Value;

use super::{id_of, power_of, printed, refused};

const UUID: &str = "564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b";

async fn world(options: VcsimOptions) -> (Vcsim, Govc) {
    let vcsim = Vcsim::start(options).await;
    let govc = Govc::new(&vcsim);
    (vcsim, govc)
}

async fn check(govc: &Govc, id: &str, expected: &[(&str, &str)]) {
    for (path, expected) in expected {
        assert_eq!(govc.property(&format!("VirtualMachine:{id}"), path).await, *expected, "{path}");
    }
}

async fn devices(govc: &Govc, vm: &str, class: &str) -> Vec<Value> {
    let info = govc.json(&["device.info", "-vm", vm]).await;
    let devices = info["devices"].as_array().expect("a list").iter();
    devices.filter(|device| device["type"] == class).cloned().collect()
}

async fn cards(govc: &Govc, vm: &str) -> Vec<Value> {
    let info = govc.json(&["device.info", "-vm", vm]).await;
    let devices = info["devices"].as_array().expect("a list").iter();
    devices.filter(|device| device["macAddress"].is_string()).cloned().collect()
}

async fn number_of_vms(govc: &Govc) -> usize {
    govc.run(&["find", "/", "-type", "m"]).await.lines().count()
}

/// The last part of a path.
fn name_in(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[tokio::test]
async fn a_clone_is_as_it_was_said_and_otherwise_as_its_source() {
    let (vcsim, govc) = world(VcsimOptions::tls(1).with("-ds=2").with("-pool=1")).await;
    govc.run(&["folder.create", "/DC0/vm/a team"]).await;
    let plain = printed(rookery(&vcsim, &["vm", "clone", "DC0_H0_VM0", "plain"]).await);
    let id = id_of(&govc, "plain").await;
    assert_eq!(plain, format!("plain: cloned as {id}\n"));
    let source = id_of(&govc, "DC0_H0_VM0").await;
    for path in ["parent", "resourcePool", "datastore", "config.hardware.memoryMB", "network"] {
        let theirs = govc.property(&format!("VirtualMachine:{source}"), path).await;
        check(&govc, &id, &[(path, &theirs)]).await;
    }
    check(&govc, &id, &[("runtime.powerState", "poweredOff")]).await;

    let arguments = [
        "vm",
        "clone",
        &source,
        "full",
        "--folder",
        "a team",
        "--host",
        "DC0_H0",
        "--datastore",
        "LocalDS_1",
        "--network",
        "DC0_DVPG0",
        "--cpus",
        "3",
        "--memory",
        "512MiB",
        "--annotation",
        "mine",
        "--set",
        "guestinfo.nest=twigs & moss",
        "--disks",
        "copy",
        "--ip",
        "192.0.2.17/24",
        "--gateway",
        "192.0.2.1",
        "--dns",
        "192.0.2.53",
        "--domain",
        "example.com",
        "--on",
    ];
    let full = printed(rookery(&vcsim, &arguments).await);
    let id = id_of(&govc, "full").await;
    assert_eq!(full, format!("full: cloned as {id}\n"));
    let expected = [
        ("runtime.powerState", "poweredOn"),
        ("config.annotation", "mine"),
        ("config.hardware.numCPU", "3"),
        ("config.hardware.memoryMB", "512"),
        ("guest.ipAddress", "192.0.2.17"),
    ];
    check(&govc, &id, &expected).await;
    let settings =
        govc.json(&["object.collect", &format!("VirtualMachine:{id}"), "config.extraConfig"]).await;
    assert!(settings.to_string().contains("twigs & moss"), "{settings}");
    let files = govc.property(&format!("VirtualMachine:{id}"), "config.files.vmPathName").await;
    assert!(files.starts_with("[LocalDS_1] "), "{files}");
    assert_eq!(govc.run(&["find", "/DC0/vm/a team", "-type", "m"]).await, "/DC0/vm/a team/full\n");
    let [of_source] = &cards(&govc, "DC0_H0_VM0").await[..] else { panic!("its source has one card") };
    let [card] = &cards(&govc, "full").await[..] else { panic!("it has one card") };
    assert_eq!(card["type"], of_source["type"]);
    assert!(card["backing"]["port"]["portgroupKey"].is_string(), "{card}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());

    govc.run(&["pool.create", "/DC0/host/DC0_H0/Resources/nests"]).await;
    printed(
        rookery(&vcsim, &["vm", "create", "nested", "--pool", "nests", "--datastore", "LocalDS_0"]).await,
    );
    printed(rookery(&vcsim, &["vm", "clone", "nested", "beside", "--host", "DC0_H0"]).await);
    let pool = govc.property("/DC0/vm/beside", "resourcePool").await;
    assert_eq!(govc.property(&pool, "name").await, "nests");

    // A template has no pool to share.
    govc.run(&["vm.markastemplate", "plain"]).await;
    let pool = ["--pool", "DC0_H0/Resources"];
    printed(rookery(&vcsim, &[&["vm", "clone", "plain", "hatched"], &pool[..]].concat()).await);
    let id = id_of(&govc, "hatched").await;
    let pool = govc.property("/DC0/host/DC0_H0", "resourcePool").await;
    check(&govc, &id, &[("resourcePool", &pool), ("config.template", "false")]).await;
}

#[tokio::test]
async fn a_new_vm_is_as_it_was_said() {
    let (vcsim, govc) = world(VcsimOptions::tls(1)).await;
    let image = tempfile::NamedTempFile::new().expect("a temporary file");
    // govc sends an empty file without its length, which a vCenter does not take.
    std::fs::write(image.path(), "boots").expect("it takes text");
    let path = image.path().to_str().expect("a path");
    govc.run(&["datastore.mkdir", "-ds", "LocalDS_0", "iso"]).await;
    govc.run(&["datastore.upload", "-ds", "LocalDS_0", path, "iso/x.iso"]).await;

    // In a world with one of each the rest is obvious.
    printed(rookery(&vcsim, &["vm", "create", "plain"]).await);
    let id = id_of(&govc, "plain").await;
    check(&govc, &id, &[("runtime.powerState", "poweredOff"), ("config.hardware.memoryMB", "1024")]).await;

    let arguments = [
        "vm",
        "create",
        "full",
        "--guest-id",
        "rhel8_64Guest",
        "--firmware",
        "efi",
        "--cpus",
        "2",
        "--memory",
        "4GiB",
        "--disk",
        "40GiB",
        "--disk",
        "1GiB",
        "--nic",
        "VM Network",
        "--nic",
        "DC0_DVPG0",
        "--iso",
        "[LocalDS_0] iso/x.iso",
        "--cdrom",
        "sata",
        "--boot",
        "cdrom,disk,network2",
        "--uuid",
        UUID,
        "--annotation",
        "mine",
        "--set",
        "disk.enableUUID=TRUE",
        "--on",
    ];
    let full = printed(rookery(&vcsim, &arguments).await);
    let id = id_of(&govc, "full").await;
    assert_eq!(full, format!("full: created as {id}\n"));
    let expected = [
        ("runtime.powerState", "poweredOn"),
        ("config.uuid", UUID),
        ("config.guestId", "rhel8_64Guest"),
        ("config.firmware", "efi"),
        ("config.annotation", "mine"),
        ("config.hardware.numCPU", "2"),
        ("config.hardware.memoryMB", "4096"),
    ];
    check(&govc, &id, &expected).await;
    let sizes: Vec<_> =
        devices(&govc, "full", "VirtualDisk").await.iter().map(|d| d["capacityInKB"].clone()).collect();
    assert_eq!(sizes, [40 << 20, 1 << 20]);
    assert_eq!(devices(&govc, "full", "VirtualVmxnet3").await.len(), 2);
    let [drive] = &devices(&govc, "full", "VirtualCdrom").await[..] else { panic!("it has one drive") };
    assert_eq!(drive["backing"]["fileName"], "[LocalDS_0] iso/x.iso");
    let boot = govc.run(&["device.ls", "-vm", "full", "-boot"]).await;
    let order: Vec<_> = boot.lines().filter_map(|line| line.split(['-', ' ']).next()).collect();
    assert_eq!(order, ["cdrom", "disk", "ethernet"], "{boot}");

    // With its UUID the command may be repeated; without, the name is taken.
    assert_eq!(printed(rookery(&vcsim, &arguments).await), full);
    refused(rookery(&vcsim, &["vm", "create", "full"]).await, 1, &["\"full\" was not created", &id]);
    assert_eq!(number_of_vms(&govc).await, 3);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_wrong_or_unclear_is_told_at_once_and_nothing_is_made() {
    let (vcsim, govc) = world(VcsimOptions::default().with("-dc=2").with("-ds=2").with("-tls=false")).await;
    let before = number_of_vms(&govc).await;
    let datastores = govc.run(&["find", "/DC1/datastore", "-type", "s"]).await;
    let [first, second] = &datastores.lines().collect::<Vec<_>>()[..] else { panic!("two: {datastores}") };
    let wrong = ["vm", "create", "x", "--cpus", "none", "--memory", "8GB", "--boot", "floppy"];
    refused(rookery(&vcsim, &wrong).await, 2, &["3 problems", "--cpus", "--memory", "--boot"]);
    let wrong = ["vm", "clone", "x", "y", "--ip", "192.0.2.17", "--dhcp"];
    refused(rookery(&vcsim, &wrong).await, 2, &["2 problems", "--ip", "--dhcp"]);
    refused(rookery(&vcsim, &["vm", "clone", "x", ""]).await, 2, &["--help"]);
    refused(rookery(&vcsim, &["vm", "clone", "nobody", "y"]).await, 7, &["there is no VM \"nobody\""]);

    let unclear = refused(rookery(&vcsim, &["vm", "create", "x"]).await, 7, &["nothing was made"]);
    for candidate in ["name a datacenter", "/DC0, /DC1", "/DC0/host/DC0_C0/Resources", second] {
        assert!(unclear.contains(candidate), "{candidate} is not in {unclear}");
    }
    let unclear =
        ["vm", "clone", "DC1_H0_VM0", "y", "--network", "none", "--datastore", "LocalDS_9", "--folder", "f"];
    let words = ["no network \"none\"", "no datastore \"LocalDS_9\"", second, "no folder \"f\""];
    let told = refused(rookery(&vcsim, &unclear).await, 7, &words);
    assert!(!told.contains("/DC0/") && !told.contains("hint:"), "only its own datacenter counts: {told}");
    assert_eq!(number_of_vms(&govc).await, before);

    // What is named makes the rest clear.
    let clear =
        ["vm", "create", "x", "--datacenter", "DC1", "--host", "DC1_H0", "--datastore", name_in(second)];
    printed(rookery(&vcsim, &clear).await);
    assert_eq!(govc.run(&["find", "/DC1/vm", "-type", "m", "-name", "x"]).await, "/DC1/vm/x\n");
    let clear = [
        "vm",
        "create",
        "y",
        "--folder",
        "DC1/vm",
        "--pool",
        "DC1_C0/Resources",
        "--datastore",
        name_in(first),
    ];
    printed(rookery(&vcsim, &clear).await);
    let pool = govc.property("/DC1/vm/y", "resourcePool").await;
    assert_eq!(govc.property("/DC1/host/DC1_C0", "resourcePool").await, pool);
}

#[tokio::test]
async fn a_datastore_cluster_can_be_named_like_a_datastore() {
    let (vcsim, govc) = world(VcsimOptions::plain(1).with("-ds=2").with("-pod=1")).await;
    govc.run(&["object.mv", "/DC0/datastore/LocalDS_1", "/DC0/datastore/DC0_POD0"]).await;
    printed(rookery(&vcsim, &["vm", "clone", "DC0_H0_VM0", "a", "--datastore", "DC0_POD0"]).await);
    printed(rookery(&vcsim, &["vm", "create", "b", "--disk", "1GiB", "--datastore", "DC0_POD0"]).await);
    for name in ["a", "b"] {
        let id = id_of(&govc, name).await;
        let files = govc.property(&format!("VirtualMachine:{id}"), "config.files.vmPathName").await;
        assert!(files.starts_with("[LocalDS_1] "), "{files}");
    }
}

#[tokio::test]
async fn a_terminal_shows_what_is_going_on_until_it_is_done() {
    let (vcsim, govc) = world(VcsimOptions::plain(1).with("-task-delay=CloneVm:4000")).await;
    let program = Program::against(&vcsim, &["vm", "clone", "DC0_H0_VM0", "slow"]);
    let terminal = Terminal::start(&program, 80, 10);
    eventually("it shows what it does", || async { terminal.screen().contains("cloning slow …") }).await;
    eventually("it ends", || async { terminal.exit_code() == Some(0) }).await;
    let id = id_of(&govc, "slow").await;
    let screen = terminal.screen();
    assert!(screen.starts_with(&format!("slow: cloned as {id}\n")), "{screen}");
    assert_eq!(power_of(&govc, &id).await, "poweredOff");
}
