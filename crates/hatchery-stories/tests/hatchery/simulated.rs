//! The simulated CDS as people start it: the real program, which is told over HTTP what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Program, eventually};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::home::Home;

/// A model file of a simulated CDS that knows the hatchery of the lab and one of its models.
pub(super) const MODEL: &str = r#"
[[builtin]]
name = "hatchery"
token = "v1-token"
[[hatcheries]]
name = "hatchery-lab"
token = "v2-token"
region = "default"
[[code-models]]
path = "PRJ/github/org/app/debian12"
default-branch = true
spec = { image = "debian12" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_simulated_cds_serves_alone() {
    let lab = Lab::start(LabOptions::default()).await;
    let folder = TempDir::new().expect("a folder");
    let model = folder.path().join("cds.toml");
    fs::write(&model, MODEL).expect("a file");
    let arguments = ["sim", "cds", "--listen", "127.0.0.1:0", "--model", &model.to_string_lossy()];
    let mut cds = Program::new(&arguments).start();
    let line = cds.line().await;
    let url = line.strip_prefix("serving ").expect("where it serves");
    let home = Home::with(&lab.settings_text().replace(&lab.cds_url, url));
    let check = home.program(&["hatchery", "check"]).run().await;
    assert!(check.stdout.contains("V1 sign-in: signed in"), "{}{}", check.stdout, check.stderr);
    cds.signal("TERM");
    assert_eq!(cds.end().await.code, Some(0));
    lab.close().await;
}

/// Asks the simulated CDS at that address as whoever runs it: the status and what was said. None if it hung up.
async fn command(address: &str, method: &str, path: &str, body: &str) -> Option<(u16, Value)> {
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("it serves");
    let request = format!(
        "{method} {path} HTTP/1.0\r\nhost: cds\r\nauthorization: Bearer open\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_injected_into_a_simulated_cds_over_its_control_api() {
    let lab = Lab::start(LabOptions::default()).await;
    let folder = TempDir::new().expect("a folder");
    let (model, token) = (folder.path().join("cds.toml"), folder.path().join("token"));
    fs::write(&model, MODEL).expect("a file");
    fs::write(&token, "open\n").expect("a file");
    fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).expect("a private file");
    let mut cds = Program::new(&["sim", "cds", "--listen", "127.0.0.1:0"])
        .and(&["--model", &model.to_string_lossy(), "--control-token-file", &token.to_string_lossy()])
        .start();
    let url = cds.line().await.strip_prefix("serving ").expect("where it serves").to_owned();
    let address = url.strip_prefix("http://").expect("an address");
    let ok = async |method: &str, path: &str, body: &str| {
        let (status, said) = command(address, method, path, body).await.expect("an answer");
        assert_eq!(status, 200, "{method} {path}: {said}");
        said
    };

    // Each trouble, as it is written.
    for (trouble, expected) in [
        (r#"{"error":{"status":500,"id":1}}"#, Some(500)),
        (r#"{"html":{"status":502}}"#, Some(502)),
        (r#""maintenance""#, Some(503)),
        (r#"{"slow":{"milliseconds":300}}"#, Some(200)),
        (r#""lost-reply""#, None),
        (r#""dropped""#, None),
    ] {
        let fault = format!(r#"{{"path":"/mon/*","times":1,"trouble":{trouble}}}"#);
        ok("POST", "/control/faults", &fault).await;
        let began = std::time::Instant::now();
        let answer = command(address, "GET", "/mon/version", "").await;
        assert_eq!(answer.map(|(status, _)| status), expected, "{trouble}");
        assert!(!trouble.contains("slow") || began.elapsed().as_millis() >= 300, "it came at once");
        ok("GET", "/mon/version", "").await;
    }

    // A hatchery lives through what happens to sessions and connections.
    let home = Home::with(&lab.settings_text().replace(&lab.cds_url, &url));
    let daemon = home.started().await;
    let seen = async |path: &str, status: u16| {
        let requests = ok("GET", "/control/requests", "").await;
        let of = |entry: &&Value| entry["path"] == path && entry["status"] == status;
        requests.as_array().expect("a list").iter().filter(of).count()
    };
    for (control, body, path, status) in [
        ("/control/sockets/drop", "", "/v2/hatchery/ws", 101),
        ("/control/sockets/close", "", "/ws", 101),
        ("/control/restart", r#"{"keep-sessions":true}"#, "/v2/hatchery/ws", 101),
        ("/control/sessions/expire", "", "/v2/auth/consumer/hatchery/signin", 200),
        ("/control/restart", "{}", "/auth/consumer/builtin/signin", 200),
    ] {
        eventually("it is there", async || seen(path, status).await > 0).await;
        let before = seen(path, status).await;
        ok("POST", control, body).await;
        eventually("it comes back", async || seen(path, status).await > before).await;
    }

    let job = format!(r#"{{"protocol":"v2","script":"true","model":{:?},"region":"default"}}"#, Lab::DEBIAN);
    let id = ok("POST", "/control/jobs", &job).await["id"].as_str().expect("an id").to_owned();
    let path = format!("/control/jobs/{id}");
    eventually("the job succeeds", async || ok("GET", &path, "").await["status"] == "Success").await;
    assert_eq!(command(address, "POST", &format!("{path}/stop"), "").await.expect("an answer").0, 409);
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    cds.signal("TERM");
    assert_eq!(cds.end().await.code, Some(0));
    lab.close().await;
}
