//! Whatever happens, no session stays behind.

use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{
    Govc, Program, Proxy, Running, Vcsim, VcsimOptions, connect, eventually, rookery, start_rookery,
};

use super::{id_of, power_of};

const NAME: &str = "DC0_H0_VM0";

#[tokio::test]
async fn every_command_leaves_as_many_sessions_as_it_found() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2)).await;
    let govc = Govc::new(&vcsim);
    let held = connect(vcsim.address()).await;
    let before = govc.sessions().await;
    assert_eq!(before.len(), 1, "somebody else's");
    for (arguments, code) in [
        (&["vm", "ls"][..], 0),
        (&["vm", "ls", "no such VM"], 0),
        (&["vm", "info", NAME], 0),
        (&["vm", "info", "no such VM"], 7),
        (&["vm", "power", "off", NAME], 0),
        (&["vm", "power", "reboot", NAME], 1),
        (&["vm", "power", "on", NAME, "no such VM"], 7),
        (&["vm", "rename", NAME, "other"], 0),
        (&["vm", "rename", "other", "DC0_H0_VM1"], 1),
        (&["vm", "ls", "--datacenter", "DC7"], 7),
        (&["doctor"], 0),
        (&["doctor", "--pool", "no such pool"], 1),
        (&["up", "--exit"], 0),
        (&["settings"], 0),
        (&["vm", "ls", "--no-such-flag"], 2),
    ] {
        let outcome = rookery(&vcsim, arguments).await;
        assert_eq!(outcome.code, Some(code), "{arguments:?}: {outcome:?}");
        assert_eq!(govc.sessions().await, before, "after {arguments:?}");
    }
    held.close().await;
}

/// Interrupts a program whose work is not done.
async fn interrupted(running: Running, govc: &Govc, what: &str) {
    running.signal("INT");
    let outcome = running.end().await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(130), ""), "{what}: {outcome:?}");
    assert!(outcome.stderr.ends_with("interrupted\n"), "{what}: {outcome:?}");
    assert_eq!(govc.sessions().await, Vec::<String>::new(), "{what}");
}

#[tokio::test]
async fn an_interrupt_during_a_slow_load_ends_the_session() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1).with("-method-delay=CreateContainerView:3000")).await;
    let govc = Govc::new(&vcsim);
    for arguments in [
        &["vm", "ls"][..],
        &["vm", "info", NAME],
        &["vm", "power", "off", NAME],
        &["doctor"],
        &["up", "--exit"],
    ] {
        let running = start_rookery(&vcsim, arguments);
        eventually("it is logged in", || async { govc.sessions().await.len() == 1 }).await;
        interrupted(running, &govc, &format!("{arguments:?}")).await;
    }
    let id = id_of(&govc, NAME).await;
    assert_eq!(power_of(&govc, &id).await, "poweredOn", "what was not begun is not done");
    // What is meant to be ended by a signal has ended well.
    for arguments in [&["vm", "watch"][..], &["up"]] {
        let running = start_rookery(&vcsim, arguments);
        eventually("it is logged in", || async { govc.sessions().await.len() == 1 }).await;
        running.signal("TERM");
        assert_eq!(running.end().await.code, Some(0), "{arguments:?}");
        assert_eq!(govc.sessions().await, Vec::<String>::new(), "{arguments:?}");
    }
}

#[tokio::test]
async fn an_interrupt_during_the_login_ends_the_session_that_comes_of_it() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-method-delay=Login:1500")).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let running = Program::against(&vcsim, &["vm", "ls"]).with("GOVC_URL", proxy.address()).start();
    let called =
        |method: &'static str| proxy.exchanges().into_iter().any(|exchange| exchange.method == method);
    eventually("it asks to log in", || async { called("Login") }).await;
    interrupted(running, &govc, "during the login").await;
    assert!(called("Logout"), "the login was on its way and had to be undone");
}

#[tokio::test]
async fn a_second_interrupt_does_not_wait_for_anybody() {
    let vcsim =
        Vcsim::start(VcsimOptions::plain(1).with("-method-delay=Logout:60000,DestroyView:60000")).await;
    let mut running = start_rookery(&vcsim, &["vm", "watch"]);
    assert!(running.remark().await.starts_with("watching "));
    // Signals that follow each other closely count as one, so the second one has to come later.
    let mut signals = 0;
    while !running.ends_within(Duration::from_millis(400)).await {
        running.signal("INT");
        signals += 1;
        assert!(signals < 100, "it never ends");
    }
    assert_eq!(signals, 2);
    let outcome = running.end().await;
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.stderr.contains("second stop signal"), "{outcome:?}");
}

/// A pager that waits for a key: the pipe is full and nobody reads.
#[tokio::test]
async fn a_reader_that_does_not_read_does_not_keep_the_session() {
    let vcsim = Vcsim::start(VcsimOptions::plain(150).with("-autostart=false")).await;
    let govc = Govc::new(&vcsim);
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let program = Program::against(&vcsim, &["vm", "ls", "-o", "json"]);
    let mut running = program.with("GOVC_URL", format!("{}/sdk", proxy.address())).start();
    // Two pages of VMs and the poll that follows them: from then on it prints.
    let polls = || proxy.exchanges().iter().filter(|e| e.method == "WaitForUpdatesEx").count();
    eventually("all is loaded", || async { polls() >= 3 }).await;
    running.signal("TERM");
    assert!(running.ends_within(Duration::from_secs(60)).await, "a signal is heard");
    eventually("the session is gone", || async { govc.sessions().await.is_empty() }).await;
}
