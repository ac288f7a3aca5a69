//! `rookery up`.

use rookery_kit::{
    Govc, Program, Terminal, Vcsim, VcsimOptions, eventually, only_on_vcsim, rookery, start_rookery,
};

use super::printed;

#[tokio::test]
async fn one_summary_counts_what_govc_counts() {
    let vcsim = Vcsim::start(VcsimOptions::tls(7)).await;
    let govc = Govc::new(&vcsim);
    let vm = |number: usize| format!("DC0_H0_VM{number}");
    govc.run(&["vm.power", "-off", &vm(0), &vm(1), &vm(2)]).await;
    govc.run(&["vm.markastemplate", &vm(0)]).await;
    govc.run(&["vm.power", "-suspend", &vm(3)]).await;
    let about = govc.json(&["about"]).await["about"].take();

    let page = printed(rookery(&vcsim, &["up", "--exit"]).await);
    let lines: Vec<_> = page.lines().collect();
    assert!(lines[0].ends_with(&format!("the live fleet of {}", vcsim.address())), "{page}");
    assert!(lines[2].contains(about["fullName"].as_str().expect("a name")), "{page}");
    assert!(lines[3].starts_with("inventory    complete"), "{page}");
    assert_eq!(
        lines[4..7],
        ["VMs          6: 3 on, 2 off, 1 suspended", "templates    1", "questions    none"]
    );
    assert!(page.contains("Works now ") && page.contains("Comes later "), "{page}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn in_a_pipe_the_changes_follow_the_summary() {
    if only_on_vcsim() {
        return;
    }
    let vcsim = Vcsim::start(VcsimOptions::tls(2)).await;
    let govc = Govc::new(&vcsim);
    for signal in ["TERM", "INT"] {
        let mut running = start_rookery(&vcsim, &["up"]);
        let mut summary = running.line().await;
        while !summary.contains("Comes later") {
            summary += &running.line().await;
        }
        assert!(summary.contains("VMs          2: 2 on, 0 off, 0 suspended"), "{summary}");
        assert!(!summary.contains('\x1b'), "a pipe gets no control characters: {summary:?}");

        govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
        let line = running.line().await;
        assert!(line.ends_with(" changed  DC0_H0_VM1  power on → off"), "{line}");
        govc.run(&["vm.power", "-on", "DC0_H0_VM1"]).await;
        let line = running.line().await;
        assert!(line.ends_with(" changed  DC0_H0_VM1  power off → on"), "{line}");
        running.signal(signal);
        assert_eq!(printed(running.end().await), "", "after {signal}");
        assert_eq!(govc.sessions().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn half_a_configuration_is_not_nothing() {
    let outcome = Program::new(&["up", "--user", "me"]).run().await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
}

/// Waits until a text can be seen; the whole screen then.
async fn shows(terminal: &Terminal, text: &str) -> String {
    let what = format!("the screen shows {text:?}");
    eventually(&what, || async { terminal.screen().contains(text) }).await;
    terminal.screen()
}

#[tokio::test]
async fn in_a_terminal_there_is_a_page_until_ctrl_c() {
    let vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    let govc = Govc::new(&vcsim);
    let terminal = Terminal::start(&Program::against(&vcsim, &["up"]), 110, 30);
    let screen = shows(&terminal, "VMs          3: 3 on, 0 off, 0 suspended").await;
    assert!(screen.contains(&format!("the live fleet of {}", vcsim.address())), "{screen}");
    assert!(!terminal.shows_cursor(), "a cursor would jump about");

    govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    shows(&terminal, "VMs          3: 2 on, 1 off, 0 suspended").await;
    govc.run(&["vm.power", "-suspend", "DC0_H0_VM2"]).await;
    let screen = shows(&terminal, "VMs          3: 1 on, 1 off, 1 suspended").await;
    for (line, count) in [("the live fleet of", 1), ("VMs  ", 1), ("inventory  ", 1)] {
        assert_eq!(screen.matches(line).count(), count, "{screen}");
    }
    let place = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text:?} is not in {screen}"));
    let newest = place("changed  DC0_H0_VM2  power on → suspended");
    assert!(newest < place("changed  DC0_H0_VM1  power on → off"), "the newest comes first: {screen}");

    terminal.press("C-c");
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    assert_eq!(terminal.exit_code(), Some(0), "{}", terminal.screen());
    assert!(terminal.shows_cursor());
    let screen = terminal.screen();
    assert!(screen.contains("2 changes; VMs 3: 1 on, 1 off, 1 suspended"), "what was seen is told: {screen}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}
