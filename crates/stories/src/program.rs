use std::path::PathBuf;
use std::process::{Command as Build, Stdio};
use std::sync::OnceLock;

use tokio::process::{Child, Command};

use crate::Vcsim;
use crate::tools::workspace;

/// How a run of the program ended.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// The program while it runs; killed when dropped.
#[derive(Debug)]
pub struct Running(pub Child);

impl Running {
    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.0.id().expect("the program runs").to_string();
        let status = Build::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
        assert!(status.success(), "no signal {name} to {pid}");
    }
}

/// Runs the product's program against a simulator and waits for its end.
pub async fn rookery(vcsim: &Vcsim, arguments: &[&str]) -> Outcome {
    let output = command(vcsim, arguments).output().await.expect("rookery starts");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Starts the product's program against a simulator; its output is piped.
pub fn start_rookery(vcsim: &Vcsim, arguments: &[&str]) -> Running {
    let child = command(vcsim, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Running(child.expect("rookery starts"))
}

fn command(vcsim: &Vcsim, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("GOVC_URL", format!("{}/sdk", vcsim.address()))
        .env("GOVC_USERNAME", Vcsim::USER)
        .env("GOVC_PASSWORD", Vcsim::PASSWORD)
        .env("GOVC_INSECURE", "1")
        .kill_on_drop(true);
    command
}

/// The program that was built from this checkout.
fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("ROOKERY_BIN") {
            return given.into();
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status =
            Build::new(cargo).args(["build", "--quiet", "-p", "rookery"]).current_dir(workspace()).status();
        assert!(status.is_ok_and(|s| s.success()), "the program can be built");
        workspace().join("target/debug/rookery")
    })
}
