//! The first settings file, as `hatchery init` writes it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rookery_cds_sim::{Fault, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Program, Vcsim};

use super::history::trouble;
use super::home::Home;

/// `hatchery init` with the addresses of the lab and all that cannot be looked up.
fn init(home: &Home, lab: &Lab) -> Program {
    init_at(home, lab, &lab.cds_url)
}

/// The same with another CDS.
fn init_at(home: &Home, lab: &Lab, cds: &str) -> Program {
    let password = home.keep("password", Vcsim::PASSWORD);
    let guest = home.keep("guest", "guest-secret\n");
    let (vcenter, user) = (lab.world.url.as_str(), Vcsim::USER);
    home.program(&["hatchery", "init", "--endpoint", vcenter, "--user", user, "--password-file", &password])
        .and(&["--name", Lab::NAME, "--cds", cds, "--guest-user", "debian", "--guest-password-file", &guest])
        .with("CDS_TOKEN", "v1-token")
        .with("CDS_TOKEN_V2", "v2-token")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_that_init_writes_passes_the_check_and_serves_a_job() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::without_settings();
    let told = init(&home, &lab).and(&["--template", "debian12"]).run().await;
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(
        told.stdout.contains("CDS takes the token for V2 jobs, of region \"default\""),
        "{}",
        told.stdout
    );
    let text = fs::read_to_string(home.path()).expect("it is written");
    for secret in [Vcsim::PASSWORD, "guest-secret", "v1-token", "v2-token", "PRIVATE KEY"] {
        assert!(
            !text.contains(&format!("\"{secret}\"")) && !told.stdout.contains(secret),
            "{secret}: {text}"
        );
    }
    for line in [
        "datacenterString = \"DC0\"",
        "datastoreString = \"fast\"",
        "networkString = \"VM Network\"",
        "modelVMWare = \"debian12\"",
        "# modelVMWare = \"rocky9\"",
        "region = \"default\"",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    for file in ["hatchery.toml", "hatchery.key.pem", "hatchery.token", "hatchery.token-v2"] {
        let mode = fs::metadata(home.folder().join(file)).expect(file).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let checked = home.program(&["hatchery", "check"]).run().await;
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);

    let again = init(&home, &lab).and(&["--template", "debian12"]).run().await;
    assert_eq!(again.code, Some(1), "{}", again.stdout);
    assert!(again.stderr.contains("is there already: --force overwrites it"), "{}", again.stderr);
    let key = || fs::read(home.folder().join("hatchery.key.pem")).expect("a key");
    let before = key();
    let forced = init(&home, &lab).and(&["--template", "debian12", "--force", "-o", "json"]).run().await;
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert!(forced.stdout.contains("\"settings\": "), "{}", forced.stdout);
    assert_eq!(key(), before, "a key that is there is used as it is");

    let daemon = home.started().await;
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_all_that_is_missing_is_told_at_once_and_nothing_is_written() {
    let options = LabOptions::default();
    let model = options.model.replace("networks = [\"VM Network\"]", "networks = [\"VM Network\", \"ci\"]");
    let lab = Lab::start(LabOptions { model, ..options }).await;
    let home = Home::without_settings();
    let password = home.keep("password", Vcsim::PASSWORD);
    let guest = home.keep("guest", "guest-secret");
    let outcome = home
        .program(&["hatchery", "init", "--endpoint", &lab.world.url, "--user", Vcsim::USER])
        .and(&["--password-file", &password, "--guest-user", "debian", "--guest-password-file", &guest])
        .run()
        .await;
    assert_eq!(outcome.code, Some(2), "{}", outcome.stdout);
    for told in [
        "5 problems in the arguments:",
        "--name: name the hatchery",
        "--cds: name CDS's API",
        "--token-v2-file: CDS needs a token",
        "--network: there are several: VM Network, ci",
        "--template: there are several: debian12, rocky9",
    ] {
        assert!(outcome.stderr.contains(told), "{told}\n{}", outcome.stderr);
    }
    assert!(!fs::exists(home.path()).expect("the folder is there"));

    let wrong = init(&home, &lab).and(&["--template", "debian12", "--network", "ci"]);
    let wrong = wrong.with("CDS_TOKEN_V2", "not-the-token").run().await;
    assert_eq!(wrong.code, Some(3), "{}", wrong.stdout);
    assert!(wrong.stderr.contains("does not take the token for V2 jobs"), "{}", wrong.stderr);
    assert!(!wrong.stderr.contains("not-the-token"), "{}", wrong.stderr);
    assert!(!fs::exists(home.path()).expect("the folder is there"), "nothing is written by halves");
    lab.close().await;
}

// While CDS was down the CDN was reported as a problem of its own.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_checked_because_of_cds_is_no_problem_of_its_own() {
    let lab = Lab::start(LabOptions::default()).await;
    let fault = Fault { times: None, ..Fault::next(0, "*", Trouble::Html { status: 502 }) };
    trouble(&lab, fault).await;
    let checked = Home::of(&lab).program(&["hatchery", "check"]).run().await;
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    assert!(checked.stdout.contains("PROBLEM  V2 sign-in: "), "{}", checked.stdout);
    let cdn = "CDN: not checked, because the sign-in to CDS failed";
    assert!(checked.stdout.contains(cdn) && !checked.stdout.contains("PROBLEM  CDN"), "{}", checked.stdout);
    lab.close().await;
}

// A CDS that was down, or spoken to in the wrong way, was said not to take the token, and the hint named a file that nobody has.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_cds_is_told_as_it_is() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::without_settings();
    let mut in_tls = Program::new(&["sim", "vcenter", "--listen", "127.0.0.1:0"]).start();
    let line = in_tls.line().await;
    let socket = line.rsplit_once("https://").and_then(|(_, rest)| rest.split(['/', ' ']).next());
    let socket = socket.unwrap_or_else(|| panic!("{line}"));
    let check = async |cds: &str, token: &str, code, words: &[&str]| {
        let told = init_at(&home, &lab, cds).and(&["--template", "debian12"]).with("CDS_TOKEN_V2", token);
        let told = told.run().await;
        assert_eq!(told.code, Some(code), "{}", told.stderr);
        assert!(words.iter().all(|word| told.stderr.contains(word)), "{words:?}: {}", told.stderr);
        assert!(!told.stderr.contains("of the file"), "{}", told.stderr);
        assert_eq!(told.stderr.contains("does not take"), code == 3, "{}", told.stderr);
    };
    let spoken = format!("{socket} answers in TLS: write https://{socket}");
    check(&format!("http://{socket}"), "v2-token", 5, &[&spoken]).await;
    check("http://127.0.0.1:1", "v2-token", 5, &["cannot be signed in to for V2 jobs", "does not accept"])
        .await;
    check(&lab.cds_url, "wrong", 3, &["does not take the token for V2 jobs (--token-v2-file)"]).await;
    lab.close().await;
}

// A line break in a name became one of the file, and what followed it settings.
#[tokio::test(flavor = "multi_thread")]
async fn names_with_control_characters_are_refused_and_do_not_become_settings() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::without_settings();
    let given = init(&home, &lab).and(&["--template", "debian12", "--region", "a\nb = 1"]).run().await;
    assert_eq!(given.code, Some(2), "{}", given.stdout);
    assert!(given.stderr.contains("control character U+000A"), "{}", given.stderr);
    lab.close().await;

    let options = LabOptions::default();
    let model = options.model.replace("\"rocky9\"", "\"rocky\\nmaxCpus = 1\"");
    let lab = Lab::start(LabOptions { model, ..options }).await;
    let told = init(&home, &lab).and(&["--template", "debian12"]).run().await;
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let text = fs::read_to_string(home.path()).expect("it is written");
    assert!(text.contains("# modelVMWare = \"rocky\\u000AmaxCpus = 1\"\n"), "{text}");
    lab.close().await;
}
