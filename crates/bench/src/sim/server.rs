//! Either simulator as a process of its own.

use std::process::Stdio;
use std::time::Instant;

use rookery_kit::{Vcsim, VcsimOptions, resident};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ours,
    Vcsim,
}

/// A simulator that serves plain HTTP.
pub(crate) struct Server {
    pub(crate) address: String,
    /// Seconds until it served.
    pub(crate) started: f64,
    /// Whether it has stopped answering.
    pub(crate) stopped: bool,
    process: Process,
}

enum Process {
    Ours(Child),
    Vcsim(Vcsim),
}

impl Server {
    pub(crate) async fn start(kind: Kind, vms: usize) -> Self {
        let began = Instant::now();
        let (process, address) = match kind {
            Kind::Ours => start_ours(vms).await,
            Kind::Vcsim => {
                let vcsim = Vcsim::start(VcsimOptions::plain(vms).with("-autostart=false")).await;
                let address = vcsim.address().to_owned();
                (Process::Vcsim(vcsim), address)
            }
        };
        Self { address, started: began.elapsed().as_secs_f64(), stopped: false, process }
    }

    /// Resident memory in MiB.
    pub(crate) fn memory(&self) -> f64 {
        let pid = match &self.process {
            Process::Ours(child) => child.id().expect("it runs"),
            Process::Vcsim(vcsim) => vcsim.pid(),
        };
        resident(pid)
    }
}

async fn start_ours(vms: usize) -> (Process, String) {
    let program = std::env::current_exe().expect("our own path").with_file_name("rookery");
    let mut child = Command::new(program)
        .args(["sim", "vcenter", "--listen", "127.0.0.1:0", "--no-tls", "--until-stdin-closes", "--off"])
        .args(["--user", Vcsim::USER, "--password", Vcsim::PASSWORD])
        .args(["--clusters", "0", "--standalone-hosts", "1", "--vms", &vms.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the simulator starts");
    let output = child.stdout.take().expect("its output is piped");
    let line = BufReader::new(output).lines().next_line().await.expect("text").expect("it serves");
    let address = line.strip_prefix("serving ").expect("it says where").to_owned();
    (Process::Ours(child), address)
}
