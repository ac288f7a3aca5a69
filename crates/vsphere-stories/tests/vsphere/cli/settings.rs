//! Where settings come from, and what never comes out again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Program, Proxy, Vcsim, VcsimOptions};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;

use super::{json, printed, refused};

/// A file that only its owner can read.
fn private_file(folder: &TempDir, name: &str, text: &str) -> String {
    let file = folder.path().join(name);
    fs::write(&file, text).expect("a temporary file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    file.to_str().expect("a plain path").to_owned()
}

/// The effective value of a key and where it came from.
fn setting<'a>(settings: &'a Value, key: &str) -> (Option<&'a str>, Option<&'a str>) {
    let mut rows = settings.as_array().expect("a list").iter();
    let row = rows.find(|row| row["key"] == key).unwrap_or_else(|| panic!("no {key} in {settings}"));
    (row["value"].as_str(), row["origin"].as_str())
}

#[tokio::test]
async fn each_layer_beats_the_one_below_and_says_so() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2)).await;
    let folder = TempDir::new().expect("a temporary folder");
    let endpoint = vcsim.socket();
    let toml = |user: &str| {
        format!(
            "[vcenter]\nendpoint = \"{endpoint}\"\nuser = \"{user}\"\npassword = \"pass\"\ninsecure = true\n"
        )
    };
    let file = private_file(&folder, "rookery.toml", &toml("user"));
    let wrong = private_file(&folder, "wrong.toml", &(toml("wrong") + "call-timeout = \"7s\"\n"));
    let from = |file: &str| format!("file {file}");

    let shown = async |program: &Program| json(program.clone().and(&["settings", "-o", "json"]).run().await);
    let listed = async |program: &Program| program.clone().and(&["vm", "ls", "-o", "json"]).run().await.code;

    let program = Program::new(&["--config", &file]);
    let settings = shown(&program).await;
    assert_eq!(setting(&settings, "vcenter.call-timeout"), (Some("15s"), Some("default")));
    assert_eq!(setting(&settings, "vcenter.user"), (Some("user"), Some(from(&file).as_str())));
    assert_eq!(setting(&settings, "vcenter.password"), (Some("***"), Some(from(&file).as_str())));
    assert_eq!(setting(&settings, "vcenter.datacenter"), (None, None));
    assert_eq!(listed(&program).await, Some(0), "the file is enough");

    let program = Program::new(&["--config", &wrong]);
    assert_eq!(
        setting(&shown(&program).await, "vcenter.call-timeout"),
        (Some("7s"), Some(from(&wrong).as_str()))
    );
    assert_eq!(listed(&program).await, Some(3), "the user is wrong");
    let program = program.with("GOVC_USERNAME", "user");
    let expected = (Some("user"), Some("environment GOVC_USERNAME"));
    assert_eq!(setting(&shown(&program).await, "vcenter.user"), expected);
    assert_eq!(listed(&program).await, Some(0), "the environment beats the file");
    let program = program.with("ROOKERY_VCENTER__USER", "wrong");
    let expected = (Some("wrong"), Some("environment ROOKERY_VCENTER__USER"));
    assert_eq!(setting(&shown(&program).await, "vcenter.user"), expected);
    assert_eq!(listed(&program).await, Some(3), "our own variable beats govc's");

    let flags = ["--user", "user"];
    let settings = json(program.clone().and(&["settings", "-o", "json"]).and(&flags).run().await);
    assert_eq!(setting(&settings, "vcenter.user"), (Some("user"), Some("flag --user")));
    let listed = program.and(&["vm", "ls", "DC0*0"]).and(&flags).run().await;
    assert!(printed(listed).contains("DC0_H0_VM0"), "a flag beats all");
}

#[tokio::test]
async fn the_file_is_found_where_it_is_looked_for() {
    let home = TempDir::new().expect("a temporary folder");
    let folder = home.path().join(".config/rookery");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("rookery.toml"), "[vcenter]\ncall-timeout = \"3s\"\n").expect("a file");
    let path = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let at_home = Program::new(&["settings", "-o", "json"]).with("HOME", path(home.path()));
    let other = private_file(&home, "other.toml", "[vcenter]\ncall-timeout = \"4s\"\n");
    for (program, value) in [
        (at_home.clone(), "3s"),
        (at_home.clone().with("ROOKERY_CONFIG", &other), "4s"),
        (
            Program::new(&["settings", "-o", "json"])
                .with("XDG_CONFIG_HOME", path(&home.path().join(".config"))),
            "3s",
        ),
    ] {
        let outcome = program.run().await;
        let settings = serde_json::from_str(&outcome.stdout).expect("JSON");
        assert_eq!(setting(&settings, "vcenter.call-timeout").0, Some(value), "{outcome:?}");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stderr.contains("no vCenter is named: give --endpoint"), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_govc_url_with_everything_in_it_is_enough() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2)).await;
    let url = format!("https://user:pass@{}/sdk", vcsim.socket());
    let program = Program::new(&[]).with("GOVC_URL", &url).with("GOVC_INSECURE", "true");
    let listed = printed(program.clone().and(&["vm", "ls"]).run().await);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    let settings = json(program.and(&["settings", "-o", "json"]).run().await);
    let shown = format!("https://user:***@{}/sdk", vcsim.socket());
    assert_eq!(setting(&settings, "vcenter.endpoint"), (Some(shown.as_str()), Some("environment GOVC_URL")));
    assert_eq!(setting(&settings, "vcenter.user"), (Some("user"), Some("environment GOVC_URL")));
    assert_eq!(setting(&settings, "vcenter.password"), (Some("***"), Some("environment GOVC_URL")));
}

#[tokio::test]
async fn all_problems_are_told_at_once() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = private_file(&folder, "x.toml", "[vcenter]\nendpiont = \"vc\"\ncall-timeout = \"soon\"\n");
    let given = |command: &[&str]| {
        let program = Program::new(&["--config", &file]).and(command).and(&["--user", "me"]);
        let program = program.with("GOVC_URL", "ftp://vc/sdk").with("ROOKERY_VCENTER__THUMBPRINT", "AB:CD");
        program.with("ROOKERY_VCENTER__COLOUR", "red")
    };
    let words = [
        "error: 6 problems in the settings:\n",
        "vcenter.endpiont (file ",
        "did you mean vcenter.endpoint?",
        "vcenter.call-timeout (file ",
        "vcenter.endpoint (environment GOVC_URL): ftp:// is not supported",
        "vcenter.thumbprint (environment ROOKERY_VCENTER__THUMBPRINT): ",
        "vcenter.colour (environment ROOKERY_VCENTER__COLOUR): unknown variable",
        "vcenter.password: is not set; give --password-file, GOVC_PASSWORD",
    ];
    for command in [&["vm", "ls"][..], &["vm", "watch"], &["vm", "power", "on", "x"], &["doctor"], &["up"]] {
        refused(given(command).run().await, 2, &words);
    }
    let outcome = given(&["settings"]).run().await;
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stdout.contains("vcenter.user "), "what is right is shown: {outcome:?}");
    assert!(words.iter().all(|word| outcome.stderr.contains(word)), "{outcome:?}");
}

#[tokio::test]
async fn a_limit_of_calls_per_second_is_kept() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let began = Instant::now();
    let listing = Program::against(&vcsim, &["vm", "ls", "-o", "json"])
        .with("GOVC_URL", proxy.address())
        .with("ROOKERY_VCENTER__CALLS_PER_SECOND", "4");
    assert_eq!(json(listing.run().await).as_array().map(Vec::len), Some(2));
    let free =
        ["GET /sdk/vimServiceVersions.xml", "Login", "Logout", "WaitForUpdatesEx", "CancelWaitForUpdates"];
    let calls: Vec<_> =
        proxy.exchanges().into_iter().filter(|call| !free.contains(&call.method.as_str())).collect();
    assert!(calls.len() > 4, "{calls:?}");
    for (turn, call) in (1..).zip(&calls) {
        let came = call.at - began;
        assert!(
            came >= Duration::from_millis(250) * turn,
            "call {turn}, {}, came after {came:?}",
            call.method
        );
    }
}
