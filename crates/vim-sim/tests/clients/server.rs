//! A simulator on a free port, over TLS.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rookery_daemon::{Clock, Supervisor};
use rookery_vim_sim::server::{Blobs, Identity, Running};
use rookery_vim_sim::{Counts, Model, Settings};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::Command;

pub(super) struct Server {
    port: u16,
    supervisor: Supervisor,
    pub(super) scratch: TempDir,
}

impl Server {
    pub(super) async fn start(counts: Counts) -> Self {
        let scratch = TempDir::new().expect("a folder");
        let identity = Identity::self_signed(&["localhost", "127.0.0.1"]).expect("an identity");
        let settings = Settings {
            host_certificate: Some(identity.pem()),
            login: Some(("user".to_owned(), "pass".to_owned())),
            guest_login: Some(rookery_vim_sim::Login {
                user: "root".to_owned(),
                password: "secret".to_owned(),
            }),
            ..Settings::default()
        };
        let clock = Clock::system();
        let world = Model::uniform(counts).build(settings, clock.now()).expect("a world");
        let supervisor = Supervisor::new();
        let blobs = Blobs::in_folder(&scratch.path().join("blobs")).expect("a folder");
        let running = Running::start(world, rookery_vim_sim::Clock::wall(clock), blobs, &supervisor);
        let tls = identity.acceptor();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        supervisor.spawn("listener", running.serve(listener, Some(tls.expect("an identity"))));
        Self { port, supervisor, scratch }
    }

    /// A command of `govc`, ready to start.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(tool("govc"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.scratch.path())
            .env("GOVC_URL", format!("https://127.0.0.1:{}/sdk", self.port))
            .env("GOVC_USERNAME", "user")
            .env("GOVC_PASSWORD", "pass")
            .env("GOVC_INSECURE", "true")
            .env("GOVC_PERSIST_SESSION", "false")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// What it printed, or what it complained of.
    pub(super) async fn try_govc(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.command(arguments).output().await.expect("govc starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("govc prints text");
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    pub(super) async fn govc(&self, arguments: &[&str]) -> String {
        self.try_govc(arguments).await.unwrap_or_else(|error| panic!("govc {arguments:?}: {error}"))
    }

    /// Lets a script run to its end, which must be a good one.
    pub(super) async fn python(&self, script: &str) {
        let told = python(script, &self.port.to_string()).await;
        assert!(told.ends_with("all is well\n"), "{script} ended early: {told}");
    }

    pub(super) async fn stop(self) {
        self.supervisor.shutdown(std::time::Duration::ZERO).await.ok();
    }
}

/// What a script prints.
pub(super) async fn python(script: &str, argument: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pyvmomi").join(script);
    let output = Command::new(tool("pyvmomi").join("bin/python"))
        .args(["-B"])
        .arg(&script)
        .arg(argument)
        .env_clear()
        .output()
        .await
        .expect("python starts");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}{error}", script.display());
    told
}

/// A real component that `cargo xtask tools` has built. Its absence is a failure, never a skip.
fn tool(name: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a workspace");
    let folder =
        std::env::var_os("ROOKERY_TOOLS").map_or_else(|| workspace.join("target/tools"), PathBuf::from);
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing: run `cargo xtask tools`", path.display());
    path
}
