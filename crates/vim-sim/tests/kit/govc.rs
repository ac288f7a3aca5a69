//! A vCenter in this process, and VMware's own command line to look at it.

use std::path::{Path, PathBuf};
use std::process::Output;

use jiff::Timestamp;
use rookery_daemon::Supervisor;
use rookery_vim_sim::server::{Blobs, Running};
use rookery_vim_sim::{Clock, Counts, Model, Settings};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::Command;

/// It runs as long as this lives.
pub(crate) struct Sim {
    address: String,
    supervisor: Supervisor,
    _folder: tempfile::TempDir,
}

impl Sim {
    /// A small one: a host that stands alone, and a cluster.
    pub(crate) async fn start(settings: Settings) -> Self {
        let world =
            Model::uniform(Counts::default()).build(settings, Timestamp::UNIX_EPOCH).expect("a model");
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::in_folder(&folder.path().join("blobs")).expect("a folder");
        let supervisor = Supervisor::new();
        let running = Running::start(world, Clock::manual(Timestamp::UNIX_EPOCH), blobs, &supervisor);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        supervisor.spawn("vCenter for a test", running.serve(listener, None));
        Self { address, supervisor, _folder: folder }
    }

    /// Runs govc as somebody.
    async fn govc(&self, user: &str, arguments: &[&str]) -> Output {
        let command = Command::new(tool("govc"))
            .args(arguments)
            .env_clear()
            .env("HOME", "/nonexistent")
            .env("GOVC_URL", format!("http://{}/sdk", self.address))
            .env("GOVC_USERNAME", user)
            .env("GOVC_PASSWORD", "secret")
            .env("GOVC_PERSIST_SESSION", "false")
            .output();
        command.await.expect("govc starts")
    }

    /// Runs govc, which must succeed; its output.
    pub(crate) async fn run_as(&self, user: &str, arguments: &[&str]) -> String {
        let output = self.govc(user, arguments).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{user}: govc {arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("govc prints text").trim_end().to_owned()
    }

    /// Runs govc, which must fail; what it says.
    pub(crate) async fn refused(&self, user: &str, arguments: &[&str]) -> String {
        let output = self.govc(user, arguments).await;
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success(), "{user}: govc {arguments:?} succeeded: {said}");
        String::from_utf8(output.stderr).expect("govc prints text")
    }

    /// The answer as JSON.
    #[allow(dead_code, reason = "not every test has use for it")]
    pub(crate) async fn json_as(&self, user: &str, arguments: &[&str]) -> Value {
        let mut with_json = vec![arguments[0], "-json"];
        with_json.extend(&arguments[1..]);
        let text = self.run_as(user, &with_json).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("govc {arguments:?}: {error}: {text}"))
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.supervisor.token().cancel();
    }
}

/// A real component that `cargo xtask tools` has built. Its absence is a failure, never a skip.
fn tool(name: &str) -> PathBuf {
    let folder = std::env::var_os("ROOKERY_TOOLS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"), PathBuf::from);
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing: run `cargo xtask tools`", path.display());
    path
}
