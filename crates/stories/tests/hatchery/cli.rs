//! The hatchery as people start it: the real program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rookery_cds_sim::Status;
use rookery_stories::{Lab, LabOptions, Program, Running, Vcsim};
use tempfile::TempDir;

/// A folder with a settings file, and with all that the program keeps while it runs.
struct Desk {
    folder: TempDir,
    file: PathBuf,
}

impl Desk {
    fn of(lab: &Lab) -> Self {
        Self::with(&lab.settings_text())
    }

    fn with(text: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join("hatchery.toml");
        let desk = Self { folder, file };
        desk.write(text);
        desk
    }

    fn write(&self, text: &str) {
        fs::write(&self.file, text).expect("a file");
        fs::set_permissions(&self.file, PermissionsExt::from_mode(0o600)).expect("a private file");
    }

    /// A command that works with the file and the folder.
    fn program(&self, arguments: &[&str]) -> Program {
        let runtime = self.folder.path().to_string_lossy().into_owned();
        Program::new(arguments)
            .and(&["-c", &self.file.to_string_lossy()])
            .with("ROOKERY_RUNTIME_DIR", runtime)
    }

    fn run(&self) -> Program {
        self.program(&["hatchery", "run", "--listen", "127.0.0.1:0"])
    }

    /// Starts the daemon and waits until it serves.
    async fn started(&self) -> Running {
        let mut running = self.run().start();
        let line = running.line().await;
        assert!(line.starts_with("hatchery \"hatchery-lab\" serves http://127.0.0.1:"), "{line}");
        running
    }
}

/// What the CDS was asked to do, without its answers.
async fn asked(lab: &Lab) -> Vec<String> {
    let requests = lab.cds.requests().await.expect("the CDS runs");
    requests.iter().map(|entry| format!("{} {}", entry.method, entry.path)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_serves_a_job_and_signs_out_at_a_signal() {
    let lab = Lab::start(LabOptions::default()).await;
    let desk = Desk::of(&lab);
    let daemon = desk.started().await;
    let job = lab.v2_job(Lab::DEBIAN, "echo nonce-8f31").await;
    let ended = lab.ended(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    assert!(ended.logs.contains("nonce-8f31"), "{ended:#?}");
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let asked = asked(&lab).await;
    assert!(asked.contains(&"POST /auth/consumer/signout".to_owned()), "{asked:#?}");
    for secret in ["v1-token", "v2-token", "guest-secret", Vcsim::PASSWORD] {
        assert!(!outcome.stderr.contains(secret), "{}", outcome.stderr);
    }
    lab.close().await;
}
