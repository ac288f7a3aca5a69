//! What programs read: the keys of each command's JSON, and formats and columns.

use std::fs;

use rookery_kit::{Program, Terminal, Vcsim, VcsimOptions, eventually, rookery};
use serde_json::Value;
use tempfile::TempDir;

use super::{json, printed, refused};

const VM: &str = "DC0_H0_VM0";
const RESULT: &str = "name id action outcome detail value";
const ROW: &str = "id name template power ip cpus memory_mb host folder resource_pool connection question boot_time \
                   created uuid instance_uuid pending_customization tools guest_operations_ready guest_host_name \
                   guest_state nics annotation unreadable";

/// The keys of an object in their order, as they stand in the text.
fn keys(text: &str) -> Vec<String> {
    let value: serde_json::Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let value = value.get(0).cloned().unwrap_or(value);
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {text}"));
    let mut keys: Vec<_> = object.keys().cloned().collect();
    keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
    keys
}

#[tokio::test]
async fn every_command_has_the_keys_that_are_documented() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2)).await;
    let info = format!("{ROW} host_name folder_name resource_pool_name datastores disks snapshots mark");
    for (line, expected) in [
        ("vm ls", ROW),
        ("vm info DC0_H0_VM0", &info),
        ("vm events DC0_H0_VM0", "key time kind user message"),
        ("vm snapshot take DC0_H0_VM0 base", RESULT),
        ("vm snapshot ls DC0_H0_VM0", "id name description created power parent current"),
        ("vm snapshot revert DC0_H0_VM0 base --yes", RESULT),
        ("vm snapshot rm DC0_H0_VM0 base --yes", RESULT),
        ("vm power off DC0_H0_VM0", RESULT),
        ("vm rename DC0_H0_VM0 DC0_H0_VM0", RESULT),
        ("vm clone DC0_H0_VM0 copy", RESULT),
        ("vm create new", RESULT),
        ("vm destroy copy --yes", RESULT),
        ("doctor", "group check about state seen advice"),
        ("settings", "key value origin about"),
    ] {
        let arguments: Vec<_> = line.split(' ').chain(["-o", "json"]).collect();
        let text = printed(rookery(&vcsim, &arguments).await);
        assert_eq!(
            keys(&text).join(" "),
            expected.split_whitespace().collect::<Vec<_>>().join(" "),
            "{line}"
        );
        let arguments: Vec<_> = line.split(' ').chain(["-o", "table=surely"]).collect();
        refused(rookery(&vcsim, &arguments).await, 2, &["--help"]);
    }
}

#[tokio::test]
async fn of_several_each_has_a_result_of_its_own() {
    let vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    printed(rookery(&vcsim, &["vm", "power", "off", "DC0_H0_VM1"]).await);
    let suspend = ["vm", "power", "suspend", "-o", "json", VM, "DC0_H0_VM1", "DC0_H0_VM2"];
    let outcome = rookery(&vcsim, &suspend).await;
    assert_eq!(outcome.code, Some(8), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("error: ").count(), 1, "{outcome:?}");
    let mut told: Vec<(String, String)> = outcome
        .stdout
        .lines()
        .map(|line| {
            let result: Value = serde_json::from_str(line).expect("one object on a line");
            let text = |key: &str| result[key].as_str().expect("a text").to_owned();
            (text("name"), text("outcome"))
        })
        .collect();
    told.sort();
    let of = |number: u32, outcome: &str| (format!("DC0_H0_VM{number}"), outcome.to_owned());
    assert_eq!(told, [of(0, "done"), of(1, "failed"), of(2, "done")]);
    let again = json(rookery(&vcsim, &["vm", "power", "suspend", "-o", "json", VM]).await);
    assert_eq!(again["outcome"], "unchanged");
}

#[tokio::test]
async fn columns_are_chosen_and_names_stand_alone() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2)).await;
    let table = printed(rookery(&vcsim, &["vm", "ls", "-o", "table=power,name,cpus"]).await);
    let expected = ["POWER  NAME        CPU", "on     DC0_H0_VM0  1", "on     DC0_H0_VM1  1"];
    assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    let names = printed(rookery(&vcsim, &["vm", "ls", "-o", "name"]).await);
    assert_eq!(names, "DC0_H0_VM0\nDC0_H0_VM1\n");
    assert_eq!(printed(rookery(&vcsim, &["vm", "info", VM, "-o", "name"]).await), "DC0_H0_VM0\n");
    let nobody = rookery(&vcsim, &["vm", "ls", "nobody", "-o", "name"]).await;
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(0), ""));
    // Before anything is asked of a vCenter.
    let unknown = ["vm", "ls", "-o", "table=name,size", "--endpoint", "vc.invalid"];
    refused(
        rookery(&vcsim, &unknown).await,
        2,
        &["there is no column \"size\"; there are: name, power, ip,"],
    );
}

#[tokio::test]
async fn colours_are_for_terminals_that_want_them() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let shown = async |program: Program| {
        let terminal = Terminal::start(&program, 120, 20);
        eventually("it has ended", async || terminal.exit_code().is_some()).await;
        terminal.colours()
    };
    let program = |arguments: &[&str]| Program::against(&vcsim, arguments).with("TERM", "xterm-256color");
    let table = shown(program(&["vm", "ls"])).await;
    assert!(table.contains("\u{1b}[1mNAME") && table.contains("\u{1b}[32mon"), "{table:?}");
    let error = shown(program(&["vm", "info", "nobody"])).await;
    assert!(
        error.contains("\u{1b}[31m") || error.contains("\u{1b}[1m\u{1b}[31m") || error.contains("31m"),
        "{error:?}"
    );
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        for arguments in [&["vm", "ls"][..], &["vm", "info", "nobody"]] {
            let plain = shown(program(arguments).with(name, value)).await;
            assert!(!plain.contains('\u{1b}'), "{name}: {plain:?}");
        }
    }
    let piped = rookery(&vcsim, &["vm", "info", "nobody"]).await;
    assert!(piped.stderr.starts_with("error: there is no VM"), "{piped:?}");
}

#[tokio::test]
async fn a_file_comes_from_standard_input_and_goes_to_standard_output() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1).with_guests()).await;
    let govc = rookery_kit::Govc::new(&vcsim);
    govc.give_guest(VM).await;
    let here = TempDir::new().expect("a folder");
    let (local, remote) = (here.path().join("eggs"), vcsim.guest_folder().join("eggs"));
    let remote = remote.to_str().expect("a plain path");
    let content: String = (0..300_000).map(|number: u32| number.to_string() + "\n").collect();
    fs::write(&local, &content).expect("written");
    let as_worker = |arguments: &[&str]| {
        Program::against(&vcsim, arguments)
            .with("ROOKERY_GUEST__USER", "worker")
            .with("ROOKERY_GUEST__PASSWORD", "nest")
    };
    let upload = as_worker(&["vm", "upload", "-o", "json", VM, "-", remote]).reading(&local);
    assert_eq!(json(upload.run().await)["value"], content.len().to_string());
    assert!(govc.guest_file(VM, "worker:nest", remote).await.as_deref() == Some(&content));
    let download = as_worker(&["vm", "download", VM, remote, "-"]).run().await;
    assert_eq!((download.code, download.stdout == content), (Some(0), true), "{}", download.stderr);
    assert_eq!(download.stderr, format!("{VM}: {} bytes in -\n", content.len()));
    let missing = as_worker(&["vm", "download", VM, "/nonexistent/eggs", "-"]).run().await;
    refused(missing, 1, &["cannot read /nonexistent/eggs"]);
}
