//! A simulated vCenter on a port of its own, and `govc` to drive it.

use std::path::PathBuf;
use std::time::Duration;

use rookery_daemon::{Clock, Supervisor};
use rookery_vim_sim::server::{Blobs, Running};
use rookery_vim_sim::{Counts, Model, Settings};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::Command;

pub(crate) const VM: &str = "DC0_H0_VM0";
pub(crate) const OTHER: &str = "DC0_H0_VM1";

pub(crate) struct Sim {
    pub(crate) running: Running,
    pub(crate) folder: TempDir,
    url: String,
    supervisor: Supervisor,
}

/// What a command said, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Sim {
    pub(crate) async fn start(settings: Settings) -> Self {
        let clock = Clock::system();
        let model = Model::uniform(Counts { clusters: 0, ..Counts::default() });
        let world = model.build(settings, clock.now()).unwrap();
        let folder = TempDir::new().unwrap();
        let supervisor = Supervisor::new();
        let blobs = Blobs::in_folder(&folder.path().join("blobs")).unwrap();
        let running = Running::start(world, rookery_vim_sim::Clock::wall(clock), blobs, &supervisor);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://user:pass@{}/sdk", listener.local_addr().unwrap());
        supervisor.spawn("listener", running.clone().serve(listener, None));
        Self { running, folder, url, supervisor }
    }

    pub(crate) async fn govc(&self, arguments: &[&str]) -> Said {
        let output = Command::new(tool("govc"))
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("GOVC_URL", &self.url)
            .env("GOVC_INSECURE", "true")
            .env("GOVC_PERSIST_SESSION", "false")
            .env("GOVC_GUEST_LOGIN", "ci:secret")
            .current_dir(self.folder.path())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The same server under its name instead of its address.
    pub(crate) fn by_name(mut self) -> Self {
        self.url = self.url.replace("127.0.0.1", "localhost");
        self
    }

    /// What a command said that must have gone well.
    pub(crate) async fn said(&self, arguments: &[&str]) -> String {
        let said = self.govc(arguments).await;
        assert_eq!(said.code, 0, "govc {arguments:?}: {said:?}");
        said.output
    }

    /// Why a command was refused.
    pub(crate) async fn refused(&self, arguments: &[&str]) -> String {
        let said = self.govc(arguments).await;
        assert_ne!(said.code, 0, "govc {arguments:?}: {said:?}");
        said.errors
    }

    pub(crate) async fn power(&self, vm: &str) -> String {
        self.said(&["object.collect", "-s", &format!("/DC0/vm/{vm}"), "runtime.powerState"])
            .await
            .trim()
            .to_owned()
    }

    /// Waits until a VM has that power state.
    pub(crate) async fn wait_for_power(&self, vm: &str, state: &str) {
        while self.power(vm).await != state {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn stop(self) {
        self.supervisor.shutdown(Duration::ZERO).await.ok();
        assert_eq!(self.supervisor.panics(), 0);
    }
}

/// A real component that `cargo xtask tools` has built. Its absence is a failure, never a skip.
fn tool(name: &str) -> PathBuf {
    let folder = std::env::var_os("ROOKERY_TOOLS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools")),
        PathBuf::from,
    );
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing: run `cargo xtask tools`", path.display());
    path
}
