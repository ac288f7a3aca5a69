//! `rookery up`: both simulators, a hatchery and a stream of jobs in one program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rookery_daemon::signals;
use rookery_kit::{Govc, Program, Terminal, eventually};
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
    // Each script was run, and to its end.
    let jobs = read(folder.path(), "cds.json");
    let logs = jobs["jobs"].as_object().expect("jobs").values().filter_map(|job| job["logs"].as_str());
    let whole = logs.filter_map(|log| log.strip_suffix("\ndone\n")?.split_once(" number "));
    let numbers: BTreeSet<_> = whole.map(|(_, number)| number.parse::<u32>().expect("a number")).collect();
    assert_eq!(numbers, (1..=50).collect());
    nothing_leaked(folder.path());
}

#[tokio::test]
async fn a_job_that_fails_makes_it_fail_and_is_named() {
    let folder = TempDir::new().expect("a folder");
    let dump = folder.path().to_str().expect("text");
    let arguments = ["--jobs", "6", "--exit", "--guests", "scripted", "--fail-every", "5", "--dump", dump];
    let (said, code) = run(&arguments).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains(
            "should have succeeded, but ended as Fail; its log ends with: this one is meant to fail"
        ),
        "{said}"
    );
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
    // Workers meet faults, too: one whose session CDS has ended gives up, and its job fails with it.
    assert!(found.get("Success").is_some_and(|good| *good >= 40), "{found:?}");
    let trouble = said.lines().rev().find(|line| line.starts_with("trouble  ")).expect("what went wrong");
    let calls = figures(trouble, "trouble  ");
    assert!(calls.len() == 2 && calls.iter().all(|count| *count > 20), "{trouble}");
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
    for word in
        [" of 62 used", "waits", "runs after", "--endpoint", "/nonexistent/.config/rookery/rookery.toml"]
    {
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
    assert_eq!(gone.code, Some(5), "{gone:?}");
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
    eventually("the page shows limits", || async {
        let screen = terminal.screen();
        screen.contains(" of 16") && screen.contains(" of 96") && screen.contains(" of 196608 MB")
    })
    .await;
    ask(&["vm", "hold", "--model", "rocky-9", "--for", "1h", "--reason", "curious"]).await;
    eventually("the page shows a machine that is kept", || async {
        let screen = terminal.screen();
        screen.contains(" 1 kept") && screen.contains("\nkept         ") && screen.contains("UTC: curious")
    })
    .await;
    terminal.press("6");
    eventually("the page shows how to ask", || async {
        terminal.screen().contains("rookery vm hold --model debian-12")
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

/// The numbers of a line of the page; what stands beside it on a wide screen is none of it.
fn figures(screen: &str, line: &str) -> Vec<usize> {
    let rest = screen.lines().find_map(|row| row.strip_prefix(line)).unwrap_or_default().trim_start();
    let words = rest.split_once("   ").map_or(rest, |(line, _)| line);
    words.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[tokio::test]
async fn the_figures_of_the_page_are_those_of_the_vcenter() {
    let terminal = Terminal::start(&Program::new(&["up", "--guests", "scripted", "--jobs", "8"]), 130, 40);
    eventually("all jobs have ended and their machines are gone", async || {
        let screen = terminal.screen();
        // Warm, warming, starting, running, finished, kept.
        let settled = figures(&screen, "machines  ") == [6, 0, 0, 0, 0, 0];
        settled && figures(&screen, "jobs  ") == [8, 8, 8, 0] && figures(&screen, "queue  ") == [0, 0, 0]
    })
    .await;
    let page = terminal.screen();
    terminal.press("6");
    eventually("the address is there", async || terminal.screen().contains("export GOVC_URL=")).await;
    let about = terminal.screen();
    let url =
        about.lines().find_map(|line| line.trim().strip_prefix("export GOVC_URL=")).expect("an address");
    let vms = Govc::at(url).vms(&["config.annotation", "config.template", "runtime.powerState"]).await;
    let marks: Vec<Value> = vms
        .values()
        .filter(|vm| vm["config.template"] != true && vm["runtime.powerState"] == "poweredOff")
        .filter_map(|vm| serde_json::from_str(vm["config.annotation"].as_str()?).ok())
        .filter(|mark: &Value| mark["hatchery_name"] == "nest" && mark["provisioning"] == true)
        .collect();
    let addresses: BTreeSet<_> = marks.iter().filter_map(|mark| mark["ip_address"].as_str()).collect();
    assert_eq!((marks.len(), addresses.len()), (6, 6), "{marks:?}");
    assert_eq!(figures(&page, "addresses  "), [6, 62], "{page}");
}

#[tokio::test]
async fn after_the_last_job_the_page_goes_on_until_nothing_is_left() {
    let program = Program::new(&["up", "--guests", "scripted", "--jobs", "4", "--exit"]);
    let terminal = Terminal::start(&program, 130, 60);
    eventually("the page goes on", || async {
        terminal.screen().contains("all jobs have ended; waiting until their machines have gone")
    })
    .await;
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    assert_eq!(terminal.exit_code(), Some(0), "{screen}");
    assert!(
        screen.contains("P50 START") && screen.contains("\nrecounted    4 results, 4 of them good"),
        "{screen}"
    );
    assert!(!screen.contains("[1 Overview]"), "the page is gone: {screen}");
}

#[tokio::test]
async fn no_way_to_end_leaves_files_behind() {
    let folder = TempDir::new().expect("a folder");
    let left = || std::fs::read_dir(folder.path()).expect("a folder").count();
    let up = |arguments: &[&str]| {
        let place = folder.path().to_str().expect("text");
        let up = Program::new(&["up"]).and(arguments).with("PATH", "/usr/bin:/bin").with("TMPDIR", place);
        up.start()
    };
    // Whoever runs the tests with `nohup` wants them to outlive a terminal.
    let hangup = if signals::ignores_hangup() { "TERM" } else { "HUP" };
    let ways = [("scripted", "INT", Some(0)), ("real", hangup, Some(0)), ("real", "KILL", None)];
    for (guests, signal, code) in ways {
        let mut running = up(&["--every", "0.2", "--guests", guests]);
        while !running.line().await.contains(" succeeded after ") {}
        assert_ne!(left(), 0, "there is something that could be left");
        running.signal(signal);
        assert_eq!(running.end().await.code, code, "{signal}");
        assert_eq!(left() == 0, signal != "KILL", "{signal}");
    }
    // What was killed cannot tidy up; whoever comes next does.
    eventually("nothing is left", async || {
        assert_eq!(up(&["--exit", "--guests", "scripted"]).end().await.code, Some(0));
        left() == 0
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_told_before_any_job() {
    let outcome = Program::new(&["up", "--jobs", "50", "--exit", "--dump", "/proc/nowhere"]).run().await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{outcome:?}");
    assert!(outcome.stderr.contains("error: cannot make /proc/nowhere: "), "{outcome:?}");
}

#[tokio::test]
async fn in_a_terminal_there_is_a_page_until_ctrl_c_and_then_a_summary() {
    let program = Program::new(&["up", "--guests", "scripted", "--every", "0.5"]);
    let terminal = Terminal::start(&program, 130, 40);
    eventually("jobs succeed", || async {
        let screen = terminal.screen();
        screen.contains(" succeeded after ") && screen.contains("p50 ") && screen.contains(" of 62")
    })
    .await;
    let screen = terminal.screen();
    for line in ["\njobs  ", "\nqueue  ", "\nmachines  ", "\naddresses  ", "\nstart time  "] {
        assert_eq!(screen.matches(line).count(), 1, "{line} in {screen}");
    }
    assert!(screen.starts_with("Rookery ") && screen.contains("start times"), "{screen}");
    assert!(!terminal.shows_cursor(), "a cursor would jump about");
    terminal.press("C-c");
    eventually("the program has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    assert_eq!(terminal.exit_code(), Some(0), "{screen}");
    assert!(terminal.shows_cursor());
    for line in
        ["\njobs  ", "\nstart time  ", "\nmachines  ", "\nleft         nothing: both simulators are gone"]
    {
        assert!(format!("\n{screen}").contains(line), "{line} in {screen}");
    }
    assert!(screen.starts_with("ran  ") && !screen.contains("[1 Overview]"), "the page is gone: {screen}");
}

/// Waits until a text can be seen; the whole screen then.
async fn shows(terminal: &Terminal, text: &str) -> String {
    eventually(&format!("the screen shows {text:?}"), || async { terminal.screen().contains(text) }).await;
    terminal.screen()
}

// A page was cut off on small screens, and nothing led to the rest.
#[tokio::test]
async fn each_tab_and_the_help_can_be_read_at_three_sizes() {
    let program = Program::new(&["up", "--guests", "scripted", "--every", "0.2"]);
    let terminal = Terminal::start(&program, 120, 40);
    shows(&terminal, " succeeded after ").await;
    for (columns, rows) in [(120, 40), (80, 24), (40, 10), (20, 5), (120, 40)] {
        terminal.resize(columns, rows);
        for (key, tab) in
            [("2", "Queue"), ("3", "Machines"), ("4", "Starts"), ("5", "Events"), ("6", "About")]
        {
            terminal.press(key);
            // At the smallest size only the chosen tab has its name.
            shows(&terminal, &format!("[{key} {tab}")).await;
        }
        // The way to the end of the last one, which is longer than a small screen.
        terminal.press("End");
        if rows < 24 {
            shows(&terminal, "↑").await;
        }
        terminal.press("Home");
        terminal.press("?");
        shows(&terminal, "open a tab").await;
        terminal.press("Escape");
        eventually("the help is closed", || async { !terminal.screen().contains("open a tab") }).await;
        terminal.press("1");
        shows(&terminal, "[1 Overview]").await;
    }
    terminal.press("q");
    eventually("the program has ended", || async { terminal.exit_code() == Some(0) }).await;
    assert!(terminal.shows_cursor());
}

// The page learned of it with the next event alone, and there may be none for hours.
#[tokio::test]
async fn without_a_reader_it_ends_although_nothing_happens() {
    let mut up = Program::new(&["up", "--guests", "scripted", "--every", "100000"]).start();
    while !up.line().await.contains(" succeeded after ") {}
    up.hang_up();
    assert_eq!(up.end().await.code, Some(0));
}
