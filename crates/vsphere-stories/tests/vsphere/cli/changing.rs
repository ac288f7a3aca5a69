//! `rookery vm power`.

use rookery_kit::{Govc, Vcsim, VcsimOptions, eventually, rookery, start_rookery};

use super::{id_of, power_of, printed, refused};

const NAMES: [&str; 3] = ["DC0_H0_VM0", "DC0_H0_VM1", "DC0_H0_VM2"];

async fn world(options: VcsimOptions) -> (Vcsim, Govc, Vec<String>) {
    let vcsim = Vcsim::start(options).await;
    let govc = Govc::new(&vcsim);
    let mut ids = Vec::new();
    for name in NAMES {
        ids.push(id_of(&govc, name).await);
    }
    (vcsim, govc, ids)
}

async fn powers(govc: &Govc, ids: &[String]) -> Vec<String> {
    let mut powers = Vec::new();
    for id in ids {
        powers.push(power_of(govc, id).await);
    }
    powers
}

#[tokio::test]
async fn several_vms_are_changed_and_the_change_is_done_when_the_program_ends() {
    let (vcsim, govc, ids) = world(VcsimOptions::tls(3)).await;
    for (action, told, power) in [
        // What is so already is fine.
        ("on", "on", "poweredOn"),
        ("off", "off", "poweredOff"),
        ("off", "off", "poweredOff"),
        ("shutdown", "shut down", "poweredOff"),
        ("on", "on", "poweredOn"),
        ("reset", "reset", "poweredOn"),
        ("suspend", "suspended", "suspended"),
        ("suspend", "suspended", "suspended"),
        ("on", "on", "poweredOn"),
        ("shutdown", "shut down", "poweredOff"),
    ] {
        let text = printed(rookery(&vcsim, &["vm", "power", action, NAMES[0], &ids[2]]).await);
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, [format!("{}: {told}", NAMES[0]), format!("{}: {told}", NAMES[2])], "{action}");
        assert_eq!(powers(&govc, &ids).await, [power, "poweredOn", power], "after {action}");
    }
    let tasks = govc.run(&["tasks", "-n", "100", "/DC0/vm/DC0_H0_VM0"]).await;
    // To vcsim the task is `Reset`, to others `ResetVM`.
    let resets: Vec<_> = tasks.lines().filter(|line| line.starts_with("Reset")).collect();
    assert!(matches!(resets.as_slice(), [one] if one.contains("success")), "{tasks}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_vm_that_is_named_twice_is_changed_once() {
    let (vcsim, govc, ids) = world(VcsimOptions::plain(3)).await;
    let text = printed(rookery(&vcsim, &["vm", "power", "off", NAMES[1], &ids[1], NAMES[1]]).await);
    assert_eq!(text, "DC0_H0_VM1: off\n");
    assert_eq!(powers(&govc, &ids).await, ["poweredOn", "poweredOff", "poweredOn"]);
}

#[tokio::test]
async fn one_unclear_name_among_several_changes_nothing() {
    let (vcsim, govc, ids) = world(VcsimOptions::plain(3)).await;
    let arguments = ["vm", "power", "off", NAMES[0], "vm-missing", NAMES[1], "nobody"];
    let words = ["nothing was changed", "there is no VM \"vm-missing\"", "there is no VM \"nobody\""];
    refused(rookery(&vcsim, &arguments).await, 7, &words);
    assert_eq!(powers(&govc, &ids).await, ["poweredOn"; 3]);
    for wrong in [&["vm", "power", "off"][..], &["vm", "power", "off", ""], &["vm", "power", "explode", "x"]]
    {
        refused(rookery(&vcsim, wrong).await, 2, &["--help"]);
    }
}

#[tokio::test]
async fn who_cannot_be_changed_does_not_hold_up_the_others() {
    let (vcsim, govc, ids) = world(VcsimOptions::plain(3)).await;
    govc.run(&["vm.power", "-off", NAMES[1]]).await;
    let outcome = rookery(&vcsim, &["vm", "power", "suspend", NAMES[0], NAMES[1], NAMES[2]]).await;
    assert_eq!(outcome.code, Some(8), "{outcome:?}");
    let mut lines: Vec<_> = outcome.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["DC0_H0_VM0: suspended", "DC0_H0_VM2: suspended"]);
    assert_eq!(outcome.stderr.matches("error: ").count(), 1, "{outcome:?}");
    assert!(outcome.stderr.starts_with("error: DC0_H0_VM1: "), "{outcome:?}");
    assert_eq!(powers(&govc, &ids).await, ["suspended", "poweredOff", "suspended"]);
}

#[tokio::test]
async fn a_slow_task_is_waited_for() {
    let (vcsim, govc, ids) = world(VcsimOptions::plain(3).with("-task-delay=PowerOff:1500")).await;
    printed(rookery(&vcsim, &["vm", "power", "off", NAMES[0], NAMES[1], NAMES[2]]).await);
    assert_eq!(powers(&govc, &ids).await, ["poweredOff"; 3]);
}

/// The first line that nobody read ended the command with 0, whatever became of the others.
#[tokio::test]
async fn a_reader_that_leaves_ends_no_change_half_way() {
    let (vcsim, govc, ids) = world(VcsimOptions::plain(3)).await;
    govc.run(&["vm.power", "-off", NAMES[1]]).await;
    let line = ["vm", "power", "suspend", NAMES[0], NAMES[1], NAMES[2], "-o", "json"];
    let mut unread = start_rookery(&vcsim, &line);
    unread.hang_up();
    let ended = unread.end().await;
    assert_eq!(ended.code, Some(8), "{ended:?}");
    assert!(ended.stderr.starts_with("error: DC0_H0_VM1: "), "{ended:?}");
    assert_eq!(powers(&govc, &ids).await, ["suspended", "poweredOff", "suspended"]);
}

#[tokio::test]
async fn a_wait_that_is_too_short_is_told_and_the_effect_comes_all_the_same() {
    let (vcsim, govc, ids) = world(VcsimOptions::plain(3).with("-task-delay=PowerOff:4000")).await;
    let outcome = rookery(&vcsim, &["vm", "power", "off", "--wait", "1s", NAMES[0]]).await;
    refused(outcome, 1, &["error: DC0_H0_VM0: the task", "did not end within 1 s"]);
    assert_eq!(powers(&govc, &ids[..1]).await, ["poweredOn"], "it has not happened yet");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
    eventually("it is off", || async { power_of(&govc, &ids[0]).await == "poweredOff" }).await;
    refused(
        rookery(&vcsim, &["vm", "power", "on", "--wait", "soon", NAMES[0]]).await,
        2,
        &["--wait <DURATION>"],
    );
}

#[tokio::test]
async fn an_interrupted_change_says_what_may_still_happen() {
    let (vcsim, govc, ids) = world(VcsimOptions::plain(3).with("-task-delay=PowerOff:4000")).await;
    let running = start_rookery(&vcsim, &["vm", "power", "off", NAMES[0]]);
    let asked = || async { govc.run(&["tasks"]).await.to_lowercase().contains("poweroff") };
    eventually("vCenter was asked", asked).await;
    running.signal("INT");
    let outcome = running.end().await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(130), ""));
    let id = &ids[0];
    let left = format!(
        "vCenter may still carry out what it was asked to do:\n  power off {} ({id}); look with `rookery vm info {id}` \
         and `rookery vm events {id}`\ninterrupted\n",
        NAMES[0]
    );
    assert_eq!(outcome.stderr, left);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
    eventually("it is off", || async { power_of(&govc, &ids[0]).await == "poweredOff" }).await;
}
