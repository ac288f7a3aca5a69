use rookery_kit::{Govc, Program, Terminal, Vcsim, VcsimOptions, eventually, rookery};

use super::printed;

#[tokio::test]
async fn history_snapshot_and_removal_are_as_govc_sees_them() {
    let vcsim = Vcsim::start(VcsimOptions::plain(3)).await;
    let govc = Govc::new(&vcsim);
    printed(rookery(&vcsim, &["vm", "power", "off", "DC0_H0_VM0", "DC0_H0_VM1"]).await);

    let kind = "VmPoweredOffEvent";
    let told = printed(rookery(&vcsim, &["vm", "events", "DC0_H0_VM0", "--kind", kind, "-o", "json"]).await);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let theirs = govc.run(&["events", "-n", "1000", "-type", kind, "/DC0/vm/DC0_H0_VM0"]).await;
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told}");
    assert!(theirs.contains(told[0]["message"].as_str().expect("words")), "{theirs}");
    let all = printed(rookery(&vcsim, &["vm", "events", "DC0_H0_VM0", "--since", "1h"]).await);
    assert!(all.lines().count() > 5 && all.starts_with("TIME"), "{all}");

    for _ in 0..2 {
        let taken = printed(rookery(&vcsim, &["vm", "snapshot", "take", "DC0_H0_VM0", "base"]).await);
        assert!(taken.starts_with("DC0_H0_VM0: snapshot base is snapshot-"), "{taken}");
    }
    assert_eq!(govc.run(&["snapshot.tree", "-vm", "DC0_H0_VM0"]).await.matches("base").count(), 1);

    // One that runs spares all; so does a standard input that is no terminal.
    for (code, arguments, why) in [
        (1, &["vm", "destroy", "--yes", "DC0_H0_VM0", "DC0_H0_VM2"][..], "\"DC0_H0_VM2\" is not off"),
        (7, &["vm", "destroy", "--yes", "DC0_H0_VM0", "DC0_H0_VM7"], "there is no VM \"DC0_H0_VM7\""),
        (9, &["vm", "destroy", "DC0_H0_VM0"], "use --yes"),
    ] {
        let refused = rookery(&vcsim, arguments).await;
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(govc.run(&["find", "/", "-type", "m"]).await.lines().count(), 3);

    printed(rookery(&vcsim, &["vm", "destroy", "--yes", "DC0_H0_VM0", "DC0_H0_VM1"]).await);
    assert_eq!(govc.run(&["find", "/", "-type", "m"]).await.trim(), "/DC0/vm/DC0_H0_VM2");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

/// While somebody thought about the question, the VM could become something else: it was destroyed all the same, or lost what
/// it had written. Only a pattern was looked at again.
#[tokio::test]
async fn a_vm_that_has_another_name_when_the_answer_comes_is_left_alone() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    let (name, other) = ("DC0_H0_VM0", "precious");
    govc.run(&["vm.power", "-off", name]).await;
    govc.run(&["snapshot.create", "-vm", name, "base"]).await;
    for line in [
        &["vm", "destroy", name][..],
        &["vm", "snapshot", "revert", name, "base"],
        &["vm", "snapshot", "rm", name, "base"],
    ] {
        let terminal = Terminal::start(&Program::against(&vcsim, line).with("TERM", "xterm"), 150, 20);
        eventually("it asks", async || terminal.screen().contains("[y/N]")).await;
        govc.run(&["object.rename", &format!("/DC0/vm/{name}"), other]).await;
        terminal.press("y");
        terminal.press("Enter");
        eventually("it has ended", async || terminal.exit_code() == Some(1)).await;
        let screen = terminal.screen();
        let told = "error: DC0_H0_VM0: nothing was done to it: it is called \"precious\" now";
        assert!(screen.contains(told), "{screen}");
        govc.run(&["object.rename", &format!("/DC0/vm/{other}"), name]).await;
    }
    assert_eq!(govc.run(&["snapshot.tree", "-vm", name]).await.matches("base").count(), 1);
    let tasks = govc.run(&["tasks", "-n", "100", &format!("/DC0/vm/{name}")]).await;
    assert!(!tasks.to_lowercase().contains("revert"), "{tasks}");
}

/// It once said that vCenter goes on with what it was asked to do.
#[tokio::test]
async fn an_interrupt_at_the_question_says_that_nothing_was_changed() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let govc = Govc::new(&vcsim);
    printed(rookery(&vcsim, &["vm", "power", "off", "DC0_H0_VM0"]).await);
    let program = Program::against(&vcsim, &["vm", "destroy", "DC0_H0_VM0"]);
    let terminal = Terminal::start(&program, 100, 20);
    eventually("it asks", || async { terminal.screen().contains("with all files? [y/N]") }).await;
    terminal.press("C-c");
    eventually("it has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    assert_eq!(terminal.exit_code(), Some(130), "{screen}");
    assert!(screen.lines().any(|line| line == "cancelled; nothing was changed"), "{screen}");
    assert!(!screen.contains("carry out"), "{screen}");
    assert_eq!(govc.run(&["find", "/", "-type", "m"]).await.lines().count(), 1);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}
