//! `rookery hatchery top`, on a real terminal and in a pipe.

use rookery_cds_sim::Status;
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Terminal, eventually};

use super::home::Home;

/// Waits until a text can be seen; the whole screen then.
async fn shows(terminal: &Terminal, text: &str) -> String {
    eventually(&format!("the screen shows {text:?}"), || async { terminal.screen().contains(text) }).await;
    terminal.screen()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_jobs_machines_and_whether_the_hatchery_answers() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let daemon = home.started().await;
    // The only one that runs here needs no name.
    let terminal = Terminal::start(&home.nameless(&["hatchery", "top"]), 120, 40);
    let screen = shows(&terminal, "hatchery     hatchery-lab (version ").await;
    for name in ["\nqueue  ", "\nmachines  ", "\nworkers  ", "\naddresses  ", "nothing has happened yet"] {
        assert!(screen.contains(name), "{name} in {screen}");
    }
    assert!(!terminal.shows_cursor());

    let job = lab.v2_job(Lab::DEBIAN, "sleep 5").await;
    shows(&terminal, &format!("job {job}  is served by ")).await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    shows(&terminal, &format!("job {job}  has ended as Success")).await;
    shows(&terminal, "p50 ").await;
    terminal.press("4");
    shows(&terminal, "of 1 job, from the queue to the worker").await;

    assert_eq!(home.program(&["hatchery", "drain"]).run().await.code, Some(0));
    let waits = lab.v2_job(Lab::DEBIAN, "true").await;
    terminal.press("2");
    let screen = shows(&terminal, &format!("job {waits}  waits")).await;
    assert!(screen.contains("waiting      1 job: "), "{screen}");
    // On the smallest screen the reason can be reached.
    terminal.resize(40, 10);
    shows(&terminal, "[2 Queue(1)]").await;
    terminal.press("End");
    shows(&terminal, "↑").await;
    terminal.resize(120, 40);
    terminal.press("5");
    shows(&terminal, "drained: no new jobs are taken").await;

    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    shows(&terminal, "the hatchery does not answer: ").await;
    terminal.press("1");
    shows(&terminal, "this is what it said last").await;
    let again = home.started().await;
    shows(&terminal, "the hatchery answers again after ").await;
    shows(&terminal, "the hatchery was started anew").await;

    terminal.press("q");
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    assert_eq!(terminal.exit_code(), Some(0), "{screen}");
    assert!(terminal.shows_cursor() && !screen.contains("[1 Overview]"), "{screen}");
    assert!(
        screen.contains("watched hatchery hatchery-lab for ") && screen.contains("start time   p50 "),
        "{screen}"
    );
    again.signal("TERM");
    assert_eq!(again.end().await.code, Some(0));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_pipe_there_is_a_line_for_each_change_and_it_ends_with_its_reader() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    // Without one it ends as every question to a hatchery does.
    let outcome = home.nameless(&["hatchery", "top"]).run().await;
    let status = home.nameless(&["hatchery", "status"]).run().await;
    assert_eq!((outcome.code, &outcome.stderr), (status.code, &status.stderr));
    assert!(outcome.stderr.contains("no hatchery runs on this machine"), "{outcome:?}");

    let daemon = home.started().await;
    let mut top = home.program(&["hatchery", "top"]).start();
    let mut said = String::new();
    while !said.contains("\naddresses ") {
        said = format!("{said}{}\n", top.line().await);
    }
    assert!(said.starts_with("Rookery ") && !said.contains('\x1b'), "{said}");
    assert_eq!(home.program(&["hatchery", "drain"]).run().await.code, Some(0));
    loop {
        let line = top.line().await;
        if line.ends_with(" drained: no new jobs are taken") {
            break;
        }
    }
    // Nothing happens any more by which it could learn of it.
    top.hang_up();
    assert_eq!(top.end().await.code, Some(0));
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}
