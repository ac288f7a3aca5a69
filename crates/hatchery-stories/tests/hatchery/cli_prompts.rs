//! What commands ask at a terminal, and what becomes of it if somebody presses Ctrl-C instead of an answer.

use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Program, Terminal, Vcsim, eventually};
use serde_json::Value;

use super::home::Home;
use super::old_news::machine;

/// Starts a program, waits until its terminal shows something, and presses Ctrl-C once.
async fn interrupted(program: &Program, at: &str) -> Terminal {
    let terminal = Terminal::start(program, 150, 30);
    eventually(at, || async { terminal.screen().contains(at) }).await;
    terminal.press("C-c");
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    assert_eq!(terminal.exit_code(), Some(130), "{screen}");
    assert!(screen.contains("cancelled; nothing was changed\ninterrupted\n"), "{screen}");
    assert!(!screen.contains("second stop signal"), "{screen}");
    terminal
}

// At a question the process died without a word, and the terminal went on to hide what was typed.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_interrupted_leaves_the_terminal_as_it_was() {
    let home = Home::without_settings();
    let init = |more: &[&str]| home.program(&["hatchery", "init"]).and(more);
    interrupted(&init(&[]), "vCenter's address:").await;
    let vcenter = ["--endpoint", "127.0.0.1:1", "--user", "me"];
    let terminal = interrupted(&init(&vcenter), "the password (not shown):").await;
    terminal.press("typed-behind-it");
    eventually("what is typed is shown", || async { terminal.screen().contains("typed-behind-it") }).await;
    assert!(!std::fs::exists(home.path()).expect("the folder is there"));
}

// Behind the session the first Ctrl-C was not heard, and the second one ended the process with a line of the log.
#[tokio::test(flavor = "multi_thread")]
async fn a_choice_behind_the_session_hears_the_first_signal_and_secrets_are_not_shown() {
    let options = LabOptions::default();
    let model = options.model.replace("networks = [\"VM Network\"]", "networks = [\"VM Network\", \"ci\"]");
    let lab = Lab::start(LabOptions { model, ..options }).await;
    let home = Home::without_settings();
    let init = home
        .program(&["hatchery", "init", "--endpoint", &lab.world.url, "--user", Vcsim::USER])
        .and(&["--name", Lab::NAME, "--cds", &lab.cds_url])
        .with("CDS_TOKEN_V2", "v2-token");
    let password = home.keep("password", Vcsim::PASSWORD);
    interrupted(&init.clone().and(&["--password-file", &password]), "which network, by number or name:")
        .await;

    let terminal = Terminal::start(&init, 150, 30);
    eventually("it asks", || async { terminal.screen().contains("the password (not shown):") }).await;
    terminal.press(Vcsim::PASSWORD);
    terminal.press("Enter");
    eventually("it asks", || async { terminal.screen().contains("which network") }).await;
    terminal.press("2");
    terminal.press("Enter");
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    assert_eq!(terminal.exit_code(), Some(0), "{screen}");
    assert!(screen.lines().any(|line| line == "the password (not shown):"), "{screen}");
    let text = std::fs::read_to_string(home.path()).expect("it is written");
    assert!(text.contains("networkString = \"ci\"\n"), "{text}");
    lab.close().await;
}

// It died without a word as well. Programs were not told what became of what they confirmed.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_back_is_confirmed_by_people_and_by_programs() {
    // Their workers have never registered.
    let old =
        |name: &str| machine(name, true, |mark| mark["worker_start_time"] = "2020-02-03T03:06:06Z".into());
    let options = LabOptions::default();
    let model = options.model.clone() + &["a", "b", "c"].map(old).concat();
    let lab = Lab::start(LabOptions { model, ..options }).await;
    let home = Home::of(&lab);
    let daemon = home.started().await;
    let confirm = |more: &[&str]| home.program(&["hatchery", "confirm"]).and(more);
    let json = async |more: &[&str]| {
        let outcome = confirm(more).and(&["-o", "json"]).run().await;
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        serde_json::from_str::<Value>(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
    };
    let held = async || json(&["--dry-run"]).await["waiting"].as_array().map_or(0, Vec::len);
    eventually("they are held back", async || held().await == 3).await;
    interrupted(&confirm(&[]), "let these 3 through? [y/N]").await;
    let declined = confirm(&["-o", "json"]).run().await;
    assert_eq!((declined.code, declined.stdout.as_str()), (Some(9), ""), "{}", declined.stderr);
    assert!(declined.stderr.contains("machine"), "who is asked sees what it is about: {}", declined.stderr);

    let dry = json(&["--dry-run"]).await;
    assert_eq!((&dry["outcome"], &dry["dry_run"]), (&"planned".into(), &true.into()), "{dry:#}");
    let done = json(&["--yes"]).await;
    let keys: Vec<_> = done.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["action", "dry_run", "hatchery", "message", "outcome", "waiting"]);
    assert_eq!((&done["action"], &done["outcome"]), (&"confirm".into(), &"done".into()), "{done:#}");
    let message = done["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("3 of 3 held back are let through"), "{done:#}");
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    // No worker was at work in them.
    lab.close().await;
}
