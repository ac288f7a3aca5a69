//! `rookery vm snapshot`.

use rookery_kit::{Govc, Program, Terminal, Vcsim, VcsimOptions, eventually, rookery};
use serde_json::{Value, json};

use super::{json, printed, refused};

const VM: &str = "DC0_H0_VM0";

/// The snapshots of the VM with their paths, as govc tells them.
async fn tree(govc: &Govc) -> Vec<String> {
    let told = govc.run(&["snapshot.tree", "-vm", VM, "-f"]).await;
    // A line of "." is where the VM stands.
    told.lines().map(str::trim).filter(|line| *line != ".").map(str::to_owned).collect()
}

/// What the program lists: names, with whether the VM stands on them now.
async fn listed(vcsim: &Vcsim) -> Vec<(String, bool)> {
    let rows = json(rookery(vcsim, &["vm", "snapshot", "ls", VM, "-o", "json"]).await);
    let row = |row: &Value| (row["name"].as_str().expect("a name").to_owned(), row["current"] == true);
    rows.as_array().expect("a list").iter().map(row).collect()
}

#[tokio::test]
async fn snapshots_are_taken_listed_gone_back_to_and_removed() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let govc = Govc::new(&vcsim);
    for (arguments, name) in [
        (&["vm", "snapshot", "take", VM, "base"][..], "base"),
        (&["vm", "snapshot", "take", VM, "before"], "before"),
        (&["vm", "snapshot", "take", VM, "after"], "after"),
    ] {
        let told = printed(rookery(&vcsim, arguments).await);
        assert!(told.starts_with(&format!("{VM}: snapshot {name} is snapshot-")), "{told}");
    }
    assert_eq!(tree(&govc).await, ["base", "base/before", "base/before/after"]);
    let of = |names: &[&str], current: &str| -> Vec<_> {
        names.iter().map(|name| ((*name).to_owned(), *name == current)).collect()
    };
    assert_eq!(listed(&vcsim).await, of(&["base", "before", "after"], "after"));

    let told = printed(rookery(&vcsim, &["vm", "snapshot", "revert", VM, "base", "--yes"]).await);
    assert!(told.starts_with(&format!("{VM}: reverted to snapshot base (snapshot-")), "{told}");
    assert_eq!(listed(&vcsim).await, of(&["base", "before", "after"], "base"));
    printed(rookery(&vcsim, &["vm", "snapshot", "take", VM, "aside"]).await);
    assert_eq!(tree(&govc).await, ["base", "base/before", "base/before/after", "base/aside"]);
    let table = printed(rookery(&vcsim, &["vm", "snapshot", "ls", VM, "-o", "table=name,current"]).await);
    assert_eq!(
        table.lines().map(str::trim_end).collect::<Vec<_>>(),
        ["NAME       CURRENT", "base       no", "  before   no", "    after  no", "  aside    yes"]
    );

    // One alone: what stood on it stands on what it stood on.
    let removed = json(rookery(&vcsim, &["vm", "snapshot", "rm", VM, "before", "--yes", "-o", "json"]).await);
    assert_eq!((&removed["outcome"], &removed["action"]), (&json!("done"), &json!("snapshot_remove")));
    assert_eq!(tree(&govc).await, ["base", "base/after", "base/aside"]);
    let told = printed(rookery(&vcsim, &["vm", "snapshot", "rm", VM, "base", "--children", "--yes"]).await);
    assert!(told.ends_with(" and 2 below it removed\n"), "{told}");
    assert_eq!(json(rookery(&vcsim, &["vm", "snapshot", "ls", VM, "-o", "json"]).await), json!([]));
    assert_eq!(govc.run(&["snapshot.tree", "-vm", VM]).await, "");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_unclear_or_not_confirmed_changes_no_snapshot() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    for name in ["base", "twin", "twin"] {
        govc.run(&["snapshot.create", "-vm", VM, name]).await;
    }
    let before = tree(&govc).await;
    for action in ["revert", "rm"] {
        let unknown = ["vm", "snapshot", action, VM, "bass", "--yes"];
        refused(rookery(&vcsim, &unknown).await, 7, &["has no snapshot \"bass\"", "\"base\""]);
        let several = ["vm", "snapshot", action, VM, "twin", "--yes"];
        refused(rookery(&vcsim, &several).await, 7, &["several snapshots", "give the id of one: snapshot-"]);
        refused(rookery(&vcsim, &["vm", "snapshot", action, VM, "base"]).await, 9, &["use --yes"]);
    }
    refused(
        rookery(&vcsim, &["vm", "snapshot", "take", VM]).await,
        2,
        &["name the VM, and then the snapshot"],
    );
    // As it was once said.
    let old = ["vm", "snapshot", VM, "base"];
    refused(rookery(&vcsim, &old).await, 2, &["unrecognized subcommand", "rookery vm snapshot"]);
    let both = ["vm", "snapshot", "take", VM, "base", "--all-matching", "*"];
    refused(rookery(&vcsim, &both).await, 2, &["either named, or all"]);
    assert_eq!(tree(&govc).await, before);

    let program = Program::against(&vcsim, &["vm", "snapshot", "revert", VM, "base"]);
    let terminal = Terminal::start(&program.with("TERM", "xterm"), 150, 10);
    eventually("it asks", async || terminal.screen().contains("to snapshot base of ")).await;
    terminal.press("n");
    terminal.press("Enter");
    eventually("it has ended", async || terminal.exit_code() == Some(9)).await;
    assert!(terminal.screen().contains("error: nothing was reverted"), "{}", terminal.screen());
}
