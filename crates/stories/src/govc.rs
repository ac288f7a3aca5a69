use serde_json::Value;
use tokio::process::Command;

use crate::{Vcsim, tool};

/// VMware's own command line: the witness that asserts what the product did.
#[derive(Debug, Clone)]
pub struct Govc {
    url: String,
}

impl Govc {
    /// A witness of one simulator.
    pub fn new(vcsim: &Vcsim) -> Self {
        Self { url: format!("{}/sdk", vcsim.address()) }
    }

    /// Runs a command that must succeed; its output.
    pub async fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(tool("govc"))
            .args(arguments)
            .env_clear()
            .env("HOME", "/nonexistent")
            .env("GOVC_URL", &self.url)
            .env("GOVC_USERNAME", Vcsim::USER)
            .env("GOVC_PASSWORD", Vcsim::PASSWORD)
            .env("GOVC_INSECURE", "true")
            .env("GOVC_PERSIST_SESSION", "false")
            .output()
            .await
            .expect("govc starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "govc {arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("govc prints text")
    }

    /// The same as JSON.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        let mut with_json = vec![arguments[0], "-json"];
        with_json.extend(&arguments[1..]);
        let text = self.run(&with_json).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("govc {arguments:?}: {error}: {text}"))
    }

    /// One property of one object, as text.
    pub async fn property(&self, object: &str, path: &str) -> String {
        self.run(&["object.collect", "-s", object, path]).await.trim_end_matches('\n').to_owned()
    }

    /// The keys of all sessions but its own.
    pub async fn sessions(&self) -> Vec<String> {
        let listing = self.run(&["session.ls"]).await;
        let foreign = listing.lines().skip(1).filter(|line| !line.contains("govc"));
        foreign.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    }
}
