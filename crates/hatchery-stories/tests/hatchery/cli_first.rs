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
    let password = home.keep("password", Vcsim::PASSWORD);
    let guest = home.keep("guest", "guest-secret\n");
    let (vcenter, user, cds) = (lab.world.url.as_str(), Vcsim::USER, lab.cds_url.as_str());
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
