//! `--all-matching`.

use std::collections::BTreeMap;

use rookery_kit::{Govc, Program, Terminal, Vcsim, VcsimOptions, eventually, rookery};

use super::{printed, refused};

/// `web-1` and `web-2` are on, `web-3` is off, `web-4` is a template, `db-1` is on.
async fn world() -> (Vcsim, Govc) {
    let vcsim = Vcsim::start(VcsimOptions::tls(5)).await;
    let govc = Govc::new(&vcsim);
    for (number, name) in ["web-1", "web-2", "web-3", "web-4", "db-1"].iter().enumerate() {
        govc.run(&["object.rename", &format!("/DC0/vm/DC0_H0_VM{number}"), name]).await;
    }
    govc.run(&["vm.power", "-off", "web-3", "web-4"]).await;
    govc.run(&["vm.markastemplate", "web-4"]).await;
    (vcsim, govc)
}

async fn powers(govc: &Govc) -> BTreeMap<String, bool> {
    let vms = govc.vms(&["name", "runtime.powerState"]).await.into_values();
    let name = |vm: &BTreeMap<_, serde_json::Value>| vm["name"].as_str().expect("a name").to_owned();
    vms.map(|vm| (name(&vm), vm["runtime.powerState"] == "poweredOn")).collect()
}

fn expected(on: &[&str]) -> BTreeMap<String, bool> {
    ["db-1", "web-1", "web-2", "web-3", "web-4"].map(|name| (name.to_owned(), on.contains(&name))).into()
}

#[tokio::test]
async fn all_that_fit_are_changed_but_no_template_and_only_if_that_is_confirmed() {
    let (vcsim, govc) = world().await;
    let before = powers(&govc).await;
    let unasked = rookery(&vcsim, &["vm", "power", "off", "--all-matching", "web-*"]).await;
    assert_eq!((unasked.code, unasked.stdout.as_str()), (Some(9), ""), "{unasked:?}");
    let list: Vec<_> = unasked.stderr.lines().take(4).map(|line| line.split_whitespace().take(2)).collect();
    let list: Vec<Vec<_>> = list.into_iter().map(Iterator::collect).collect();
    assert_eq!(list, [["NAME", "POWER"], ["web-1", "on"], ["web-2", "on"], ["web-3", "off"]]);
    assert!(unasked.stderr.contains("error: nothing was changed") && unasked.stderr.contains("use --yes"));
    // Only who asks for a pattern gets one.
    refused(rookery(&vcsim, &["vm", "power", "off", "web-*"]).await, 7, &["there is no VM \"web-*\""]);
    let both = ["vm", "power", "off", "db-1", "--all-matching", "web-*"];
    refused(rookery(&vcsim, &both).await, 2, &["cannot be used with"]);
    let nobody = ["vm", "power", "off", "--all-matching", "WEB-*", "--yes"];
    refused(rookery(&vcsim, &nobody).await, 7, &["no VM fits \"WEB-*\""]);
    let running = ["vm", "destroy", "--all-matching", "web-*", "--yes"];
    refused(rookery(&vcsim, &running).await, 1, &["\"web-1\" is not off, \"web-2\" is not off"]);
    assert_eq!(powers(&govc).await, before);

    let snapshots = ["vm", "snapshot", "take", "--all-matching", "web-*", "base", "--yes", "-o", "name"];
    let mut names: Vec<_> = printed(rookery(&vcsim, &snapshots).await).lines().map(str::to_owned).collect();
    names.sort();
    assert_eq!(names, ["web-1", "web-2", "web-3", "web-4"], "a template is what clones are linked to");
    let told = printed(rookery(&vcsim, &["vm", "power", "off", "--all-matching", "web-*", "--yes"]).await);
    assert_eq!(told.lines().count(), 3, "{told}");
    assert_eq!(powers(&govc).await, expected(&["db-1"]));
    let told = printed(rookery(&vcsim, &["vm", "destroy", "--all-matching", "web-*", "--yes"]).await);
    assert_eq!(told.lines().count(), 3, "{told}");
    let left: Vec<_> = powers(&govc).await.into_keys().collect();
    assert_eq!(left, ["db-1", "web-4"]);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_came_after_the_list_and_what_has_another_name_since_is_left_alone() {
    let (vcsim, govc) = world().await;
    printed(rookery(&vcsim, &["vm", "power", "off", "web-1", "web-2"]).await);
    let program = Program::against(&vcsim, &["vm", "destroy", "--all-matching", "web-*"]);
    let terminal = Terminal::start(&program.with("TERM", "xterm"), 120, 20);
    eventually("it asks", async || terminal.screen().contains("destroy them with all files (3 VMs)? [y/N]"))
        .await;
    // The codes of a bold header once stood there in letters.
    let header = terminal.screen().lines().next().map(str::to_owned).expect("a list");
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["NAME", "POWER", "ID"]);
    govc.run(&["vm.clone", "-vm", "db-1", "-on=false", "web-5"]).await;
    govc.run(&["object.rename", "/DC0/vm/web-2", "precious"]).await;
    terminal.press("y");
    terminal.press("Enter");
    eventually("it has ended", async || terminal.exit_code() == Some(8)).await;
    let screen = terminal.screen();
    assert!(screen.contains("it is called \"precious\" now"), "{screen}");
    let left: Vec<_> = powers(&govc).await.into_keys().collect();
    assert_eq!(left, ["db-1", "precious", "web-4", "web-5"]);
}
