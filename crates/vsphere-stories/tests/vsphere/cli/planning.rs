//! `--dry-run`.

use rookery_kit::{Govc, Program, Vcsim, VcsimOptions, rookery};

use super::{id_of, json, printed, refused};

const VM: &str = "DC0_H0_VM0";

/// All that any command here could have changed, as govc tells it.
async fn world_of(govc: &Govc) -> String {
    let paths = ["name", "runtime.powerState", "config.changeVersion", "snapshot"];
    format!("{:?}{}", govc.vms(&paths).await, govc.run(&["tasks", "-n", "1000"]).await)
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_done_and_does_nothing() {
    let vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    let govc = Govc::new(&vcsim);
    govc.run(&["vm.power", "-off", "DC0_H0_VM2"]).await;
    govc.run(&["snapshot.create", "-vm", VM, "base"]).await;
    let uuid = "564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b";
    printed(rookery(&vcsim, &["vm", "create", "there", "--uuid", uuid]).await);
    let before = world_of(&govc).await;
    for (line, action, outcome) in [
        ("power off DC0_H0_VM0", "power_off", "planned"),
        ("power off DC0_H0_VM2", "power_off", "unchanged"),
        ("power reset --all-matching *VM0", "power_reset", "planned"),
        ("rename DC0_H0_VM0 other", "rename", "planned"),
        ("rename DC0_H0_VM0 DC0_H0_VM0", "rename", "unchanged"),
        ("clone DC0_H0_VM0 copy", "clone", "planned"),
        ("create new", "create", "planned"),
        ("create there --uuid 564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b", "create", "unchanged"),
        ("snapshot take DC0_H0_VM0 next", "snapshot_take", "planned"),
        ("snapshot take DC0_H0_VM0 base", "snapshot_take", "unchanged"),
        ("snapshot revert DC0_H0_VM0 base", "snapshot_revert", "planned"),
        ("snapshot rm DC0_H0_VM0 base", "snapshot_remove", "planned"),
        ("destroy DC0_H0_VM2", "destroy", "planned"),
    ] {
        let arguments: Vec<_> = ["vm"].into_iter().chain(line.split(' ')).collect();
        let told = rookery(&vcsim, &[&arguments[..], &["--dry-run", "-o", "json"]].concat()).await;
        let told = json(told);
        assert_eq!((&told["action"], &told["outcome"]), (&action.into(), &outcome.into()), "{line}: {told}");
    }
    let line = printed(rookery(&vcsim, &["vm", "power", "off", VM, "--dry-run"]).await);
    assert_eq!(line, format!("{VM}: would be turned off, is on\n"));

    // What the real run would refuse.
    let clone = ["vm", "clone", VM, "DC0_H0_VM1", "--dry-run"];
    refused(
        rookery(&vcsim, &clone).await,
        1,
        &["the name \"DC0_H0_VM1\" is taken by ", &id_of(&govc, "DC0_H0_VM1").await],
    );
    let unclear = ["vm", "clone", VM, "copy", "--datastore", "nowhere", "--dry-run"];
    refused(rookery(&vcsim, &unclear).await, 7, &["no datastore \"nowhere\""]);
    refused(
        rookery(&vcsim, &["vm", "create", "there", "--dry-run"]).await,
        1,
        &["has that name in the folder"],
    );
    refused(rookery(&vcsim, &["vm", "destroy", VM, "--dry-run"]).await, 1, &["is not off"]);
    refused(rookery(&vcsim, &["vm", "power", "reset", "DC0_H0_VM2", "--dry-run"]).await, 1, &["it is off"]);
    refused(rookery(&vcsim, &["vm", "power", "off", "nobody", "--dry-run"]).await, 7, &["no VM \"nobody\""]);
    assert_eq!(world_of(&govc).await, before);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_dry_run_in_a_guest_starts_and_writes_nothing() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2).with_guests()).await;
    let govc = Govc::new(&vcsim);
    govc.give_guest(VM).await;
    vcsim.silence_guest("DC0_H0_VM1").await;
    let remote = vcsim.guest_folder().join("eggs");
    let remote = remote.to_str().expect("a plain path");
    let as_worker = |arguments: &[&str]| {
        let (command, rest) = arguments.split_at(2);
        Program::against(&vcsim, &[command, &["-o", "json"], rest].concat())
            .with("ROOKERY_GUEST__USER", "worker")
            .with("ROOKERY_GUEST__PASSWORD", "nest")
    };
    let upload = json(as_worker(&["vm", "upload", "--dry-run", VM, "/etc/hostname", remote]).run().await);
    assert_eq!((&upload["action"], &upload["outcome"]), (&"upload".into(), &"planned".into()), "{upload}");
    let piped = json(as_worker(&["vm", "upload", "--dry-run", VM, "-", remote]).run().await);
    assert_eq!(
        (&piped["outcome"], &piped["value"]),
        (&"planned".into(), &serde_json::Value::Null),
        "{piped}"
    );
    let touch = ["--", "/usr/bin/touch", remote];
    let run = json(as_worker(&["vm", "run", "--dry-run", VM]).and(&touch).run().await);
    assert_eq!((&run["action"], &run["outcome"]), (&"run".into(), &"planned".into()), "{run}");
    let missing = as_worker(&["vm", "upload", "--dry-run", VM, "/nonexistent/eggs", remote]).run().await;
    refused(missing, 1, &["/nonexistent/eggs cannot be read"]);
    let bare = as_worker(&["vm", "run", "--dry-run", "DC0_H0_VM1", "--", "/bin/true"]).run().await;
    refused(bare, 1, &["VMware Tools do not run"]);
    let mixed = as_worker(&["vm", "run", VM, "--", "/bin/true"]).run().await;
    refused(mixed, 2, &["--output: standard output is that of the program"]);
    assert_eq!(govc.guest_file(VM, "worker:nest", remote).await, None);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}
