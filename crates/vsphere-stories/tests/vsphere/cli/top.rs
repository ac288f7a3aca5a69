//! `rookery vm top`.

use std::time::Duration;

use rookery_kit::{Govc, Program, Terminal, Vcsim, VcsimOptions, eventually, only_on_vcsim, start_rookery};

use super::printed;

/// Waits until a text can be seen; the whole screen then.
async fn shows(terminal: &Terminal, text: &str) -> String {
    let what = format!("the screen shows {text:?}");
    eventually(&what, || async { terminal.screen().contains(text) }).await;
    terminal.screen()
}

async fn ended(terminal: &Terminal) -> String {
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    assert_eq!(terminal.exit_code(), Some(0), "{screen}");
    assert!(terminal.shows_cursor(), "{screen}");
    screen
}

#[tokio::test]
async fn the_page_has_each_vm_its_changes_and_a_summary_at_the_end() {
    let vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    let govc = Govc::new(&vcsim);
    let terminal = Terminal::start(&Program::against(&vcsim, &["vm", "top", "DC0_H0_*"]), 100, 30);
    let screen = shows(&terminal, "VMs          3: 3 on, 0 off, 0 suspended").await;
    assert!(screen.contains("inventory    complete, confirmed ") && !terminal.shows_cursor(), "{screen}");
    govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    let screen = shows(&terminal, "changed  DC0_H0_VM1  power on → off").await;
    assert!(screen.contains("VMs          3: 2 on, 1 off, 0 suspended"), "{screen}");
    terminal.press("2");
    let screen = shows(&terminal, "NAME ").await;
    let row = screen.lines().find(|line| line.starts_with("DC0_H0_VM1 ")).expect("its row");
    assert!(row.contains(" off ") && row.contains("MiB") && row.contains("Resources"), "{screen}");
    // However small it is, all of it can be reached.
    terminal.resize(40, 10);
    shows(&terminal, "[2 Machines(3)]").await;
    terminal.press("End");
    shows(&terminal, "DC0_H0_VM2").await;
    terminal.resize(100, 30);
    terminal.press("q");
    let screen = ended(&terminal).await;
    assert!(screen.contains(&format!("watched {} for ", vcsim.address())), "{screen}");
    assert!(screen.contains("; VMs 3: 2 on, 1 off, 0 suspended") && !screen.contains("NAME "), "{screen}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_the_terminal_showed_before_is_there_again() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let wrong = Program::against(&vcsim, &["vm", "top"]).with("GOVC_PASSWORD", "wrong");
    let terminal = Terminal::start(&wrong, 100, 30);
    eventually("the program has ended", || async { terminal.exit_code() == Some(3) }).await;
    assert!(terminal.screen().starts_with("error: "), "{}", terminal.screen());
    assert!(terminal.shows_cursor());
}

#[tokio::test]
async fn a_terminal_that_takes_no_pages_gets_lines() {
    if only_on_vcsim() {
        return;
    }
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let dumb = Program::against(&vcsim, &["vm", "top"]).with("TERM", "dumb");
    let terminal = Terminal::start(&dumb, 100, 30);
    let screen = shows(&terminal, "questions    none").await;
    assert!(screen.starts_with("Rookery ") && !screen.contains("[1 Overview]"), "{screen}");
    Govc::new(&vcsim).run(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    shows(&terminal, "changed  DC0_H0_VM0  power on → off").await;
    terminal.press("C-c");
    ended(&terminal).await;
}

// It learned of it with the next change alone, and kept its session meanwhile.
#[tokio::test]
async fn in_a_pipe_it_ends_with_its_reader_although_nothing_happens() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    for command in [["vm", "top"].as_slice(), &["up"]] {
        let mut running = start_rookery(&vcsim, command);
        while !running.line().await.starts_with("questions ") {}
        running.hang_up();
        assert!(running.ends_within(Duration::from_secs(60)).await, "{command:?}");
        assert_eq!(printed(running.end().await), "");
        assert_eq!(Govc::new(&vcsim).sessions().await, Vec::<String>::new());
    }
}
