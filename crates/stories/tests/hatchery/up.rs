//! `rookery up`: both simulators, a hatchery and a stream of jobs in one program.

use std::collections::BTreeMap;
use std::path::Path;

use rookery_stories::{Govc, Program, Terminal, eventually};
use serde_json::Value;
use tempfile::TempDir;

/// Runs to the end, however long that takes as long as something is said; what was said, and the exit code.
async fn run(arguments: &[&str]) -> (String, Option<i32>) {
    let mut up = Program::new(&["up"]).and(arguments).with("PATH", "/usr/bin:/bin").start();
    let mut said = String::new();
    loop {
        let line = up.line().await;
        said = format!("{said}{line}\n");
        if line.starts_with("recounted") || line.starts_with("wrong") {
            break;
        }
    }
    let outcome = up.end().await;
    (said + &outcome.stdout + &outcome.stderr, outcome.code)
}

fn read(folder: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(name)).expect("a dump");
    serde_json::from_str(&text).expect("JSON")
}

/// How many jobs have which status, by the CDS itself.
fn statuses(folder: &Path) -> BTreeMap<String, usize> {
    let dump = read(folder, "cds.json");
    let mut counts = BTreeMap::new();
    for job in dump["jobs"].as_object().expect("jobs").values() {
        *counts.entry(job["status"].as_str().expect("a status").to_owned()).or_default() += 1;
    }
    counts
}

/// The VMs that the vCenter still has: name, power, notes.
fn machines(folder: &Path) -> BTreeMap<String, (String, Value)> {
    let dump = read(folder, "vcenter.json");
    let vms = dump["store"]["vms"].as_object().expect("VMs");
    let seen = vms.iter().map(|(id, vm)| {
        let name = dump["store"]["entities"][id]["name"].as_str().expect("a name").to_owned();
        let notes = vm["annotation"].as_str().expect("notes");
        let power = vm["power"].as_str().expect("a power state").to_owned();
        (name, (power, serde_json::from_str(notes).unwrap_or(Value::Null)))
    });
    seen.collect()
}

/// Besides what was there before and the template of the V1 model there are only machines that wait, each with its own
/// address.
fn nothing_leaked(folder: &Path) {
    let mut addresses = BTreeMap::new();
    for (name, (power, notes)) in machines(folder) {
        if notes["hatchery_name"] != "nest" {
            assert!(
                ["debian-12", "rocky-9", "web-0", "web-1", "jumphost"].contains(&name.as_str()),
                "{name}"
            );
            continue;
        }
        assert_eq!(power, "poweredOff", "{name}");
        let address = notes["ip_address"].as_str().unwrap_or_default().to_owned();
        if notes["model"] == true {
            assert_eq!((name.as_str(), address.as_str()), ("builder", ""), "{notes}");
            continue;
        }
        assert!(name.starts_with("provision-") && notes["provisioning"] == true, "{name}: {notes}");
        let other = addresses.insert(address, name.clone());
        assert_eq!(other, None, "{name} has the same address");
    }
    assert!(!addresses.contains_key("") && addresses.len() <= 6, "{addresses:?}");
}

#[tokio::test]
async fn fifty_jobs_succeed_and_both_simulators_bear_it_out() {
    let folder = TempDir::new().expect("a folder");
    let dump = folder.path().to_str().expect("text");
    let (said, code) = run(&["--jobs", "50", "--exit", "--dump", dump]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("recounted    50 results, 50 of them good"), "{said}");
    assert_eq!(statuses(folder.path()), BTreeMap::from([("Success".to_owned(), 50)]), "{said}");
    nothing_leaked(folder.path());
}

#[tokio::test]
async fn a_job_that_fails_makes_it_fail_and_is_named() {
    let folder = TempDir::new().expect("a folder");
    let dump = folder.path().to_str().expect("text");
    let arguments = ["--jobs", "6", "--exit", "--guests", "scripted", "--fail-every", "5", "--dump", dump];
    let (said, code) = run(&arguments).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("is Fail; it said last: this one is meant to fail"), "{said}");
    let expected = BTreeMap::from([("Fail".to_owned(), 1), ("Success".to_owned(), 5)]);
    assert_eq!(statuses(folder.path()), expected, "{said}");
    nothing_leaked(folder.path());
}

#[tokio::test]
async fn with_trouble_on_both_sides_every_job_has_a_result_and_nothing_is_left() {
    let folder = TempDir::new().expect("a folder");
    let dump = folder.path().to_str().expect("text");
    let arguments =
        ["--jobs", "50", "--exit", "--guests", "scripted", "--faults", "--seed", "7", "--dump", dump];
    let (said, code) = run(&arguments).await;
    assert_eq!(code, Some(0), "{said}");
    let found = statuses(folder.path());
    assert!(
        found.keys().all(|status| ["Success", "Fail", "Stopped"].contains(&status.as_str())),
        "{found:?}"
    );
    assert_eq!(found.values().sum::<usize>(), 50, "{found:?}");
    nothing_leaked(folder.path());
}

#[tokio::test]
async fn in_a_pipe_there_are_plain_lines_until_a_signal_and_then_nothing_is_left() {
    let mut up = Program::new(&["up", "--guests", "scripted", "--every", "0.2"]).start();
    let mut said = String::new();
    while !said.contains(" succeeded after ") {
        said = format!("{said}{}\n", up.line().await);
    }
    assert!(said.starts_with("Rookery "), "{said}");
    assert!(!said.contains('\x1b'), "a pipe gets no control characters: {said:?}");
    for word in [
        "addresses    0 of 62 used",
        "waits",
        "runs after",
        "--endpoint",
        "/nonexistent/.config/rookery/rookery.toml",
    ] {
        assert!(said.contains(word), "{word} is not in {said}");
    }
    // As the page tells it.
    let url = said.lines().find_map(|line| line.trim().strip_prefix("export GOVC_URL=")).expect("an address");
    let listed = Program::new(&["vm", "ls", "web-*"]).with("GOVC_URL", url).run().await;
    assert_eq!((listed.code, listed.stdout.lines().count()), (Some(0), 3), "{listed:?}");
    let template = Govc::at(url).property("/Rook/vm/templates/debian-12", "config.template").await;
    assert_eq!(template, "true");
    up.signal("INT");
    assert_eq!(up.end().await.code, Some(0));
    let gone = Program::new(&["vm", "ls"]).with("GOVC_URL", url).run().await;
    assert_eq!(gone.code, Some(1), "{gone:?}");
}

#[tokio::test]
async fn capacity_sizes_and_kept_machines_are_seen_and_the_hatchery_can_be_asked() {
    let folder = TempDir::new().expect("a folder");
    let runtime = folder.path().to_string_lossy().into_owned();
    let ask = async |arguments: &[&str]| {
        let arguments = [arguments, &["--name", "nest"]].concat();
        let outcome = Program::new(&arguments).with("ROOKERY_RUNTIME_DIR", &runtime).run().await;
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.stderr);
        outcome.stdout
    };
    let program = Program::new(&["up", "--guests", "scripted", "--every", "0.5", "--fail-every", "3"])
        .with("ROOKERY_RUNTIME_DIR", &runtime);
    let terminal = Terminal::start(&program, 150, 50);
    eventually("the page shows limits and how to ask", || async {
        let screen = terminal.screen();
        screen.contains("/16 workers, ")
            && screen.contains("/96 CPUs, ")
            && screen.contains("/196608 MB")
            && screen.contains("rookery vm hold --model debian-12")
    })
    .await;
    ask(&["vm", "hold", "--model", "rocky-9", "--for", "1h", "--reason", "curious"]).await;
    eventually("the page shows a machine that is kept", || async {
        let screen = terminal.screen();
        screen.contains(" 1 kept") && screen.contains("\nkept         ") && screen.contains("UTC: curious")
    })
    .await;
    let url = terminal.screen();
    let url = url.lines().find_map(|line| line.trim().strip_prefix("export GOVC_URL=")).expect("an address");
    eventually("a worker of a size of its own is there", || async {
        Govc::at(url).vms(&["config.annotation"]).await.values().any(|vm| {
            let notes = vm["config.annotation"].as_str().unwrap_or_default();
            serde_json::from_str(notes).is_ok_and(|mark: Value| mark["flavor"] == "small")
        })
    })
    .await;
    assert!(ask(&["hatchery", "status"]).await.contains("KEPT VM"));
    terminal.press("C-c");
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    assert_eq!(terminal.exit_code(), Some(0), "{}", terminal.screen());
}

#[tokio::test]
async fn in_a_terminal_the_summary_changes_in_place_until_ctrl_c() {
    let program = Program::new(&["up", "--guests", "scripted", "--every", "0.5"]);
    let terminal = Terminal::start(&program, 130, 40);
    eventually("jobs succeed", || async {
        let screen = terminal.screen();
        screen.contains(" succeeded after ") && screen.contains("p50 ") && screen.contains(" of 62 used")
    })
    .await;
    let screen = terminal.screen();
    for line in ["Rookery ", "\njobs  ", "\nqueue  ", "\nmachines  ", "\naddresses  ", "\nstart time  "] {
        assert_eq!(
            screen.matches(line).count() + usize::from(line == "Rookery " && !screen.starts_with(line)),
            1,
            "{screen}"
        );
    }
    assert!(!terminal.shows_cursor(), "a cursor would jump about");
    terminal.press("C-c");
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    assert_eq!(terminal.exit_code(), Some(0), "{}", terminal.screen());
    assert!(terminal.shows_cursor());
}
