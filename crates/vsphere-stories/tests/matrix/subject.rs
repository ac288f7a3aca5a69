//! A server of either kind, and its clients.

use std::process::Stdio;

use anyhow::{Context as _, bail};
use rookery_kit::{Raw, Sim, Vcsim, VcsimOptions, tool};
use serde_json::Value;
use tokio::process::Command;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rookery,
    Vcsim,
}

/// What a feature needs beyond the usual: one datacenter, a cluster of three hosts, a host that stands alone, and two
/// VMs that are on in each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct World {
    pub(super) rookery: &'static [&'static str],
    pub(super) vcsim: &'static [&'static str],
}

/// The server that a feature is looked for in.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) address: String,
    _process: Process,
}

#[derive(Debug)]
enum Process {
    Rookery(#[expect(dead_code, reason = "it runs as long as this lives")] Sim),
    Vcsim(#[expect(dead_code, reason = "it runs as long as this lives")] Vcsim),
}

impl Subject {
    pub(super) async fn start(kind: Kind, world: World) -> Self {
        match kind {
            Kind::Rookery => {
                let sim = Sim::start(world.rookery).await;
                Self { address: sim.address().to_owned(), _process: Process::Rookery(sim) }
            }
            Kind::Vcsim => {
                let plain = VcsimOptions::default().with("-tls=false");
                let options = world.vcsim.iter().fold(plain, |options, flag| options.with(*flag));
                let vcsim = Vcsim::start(options).await;
                Self { address: vcsim.address().to_owned(), _process: Process::Vcsim(vcsim) }
            }
        }
    }

    pub(super) async fn raw(&self) -> anyhow::Result<Raw> {
        Ok(Raw::login_as(&self.address, Vcsim::USER, Vcsim::PASSWORD).await?)
    }

    /// Runs VMware's command line; what it printed.
    pub(super) async fn govc(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(tool("govc"));
        command.args(arguments).env_clear();
        self.run(command).await.with_context(|| format!("govc {arguments:?}"))
    }

    pub(super) async fn json(&self, command: &str, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut all = vec![command, "-json"];
        all.extend(arguments);
        let text = self.govc(&all).await?;
        serde_json::from_str(&text).with_context(|| text)
    }

    /// Runs a program of pyvmomi, with its connection as `content`.
    pub(super) async fn python(&self, program: &str) -> anyhow::Result<String> {
        let (_, port) = self.address.rsplit_once(':').context("a port")?;
        let connect = format!(
            "from pyVim.connect import SmartConnect, Disconnect\n\
             from pyVmomi import vim, vmodl\n\
             si = SmartConnect(protocol='http', host='127.0.0.1', port={port}, user='user', pwd='pass')\n\
             content = si.RetrieveContent()\n{program}\nDisconnect(si)\n"
        );
        let mut command = Command::new(tool("pyvmomi").join("bin/python3"));
        command.args(["-c", &connect]).env_clear();
        self.run(command).await
    }

    async fn run(&self, mut command: Command) -> anyhow::Result<String> {
        let output = command
            .env("HOME", "/nonexistent")
            .env("GOVC_URL", format!("{}/sdk", self.address))
            .env("GOVC_USERNAME", Vcsim::USER)
            .env("GOVC_PASSWORD", Vcsim::PASSWORD)
            .env("GOVC_PERSIST_SESSION", "false")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            bail!("{}", complaint.lines().last().unwrap_or_default());
        }
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }
}
