//! `rookery sim`: the systems that Rookery talks to, simulated.

mod cds;
mod embedded;
mod vcenter;

use anyhow::Context as _;
use clap::Subcommand;
use rand::TryRng as _;
use rand::rngs::SysRng;
use tokio::io::AsyncReadExt as _;

use crate::Ending;
use crate::output::Out;
pub(crate) use embedded::Embedded;

/// What a program in a guest that is run on this machine can reach, for whoever is about to let strangers run some.
pub(crate) const REACH_OF_LOCAL_GUESTS: &str = "They share its network: everything that this machine reaches, its own services on 127.0.0.1 included. They read \
     files that anybody may read, and those of the user who runs this (of nobody, if that is root) outside /home, \
     /root, /tmp, /var/tmp and /usr/local. For programs that you do not trust, use a throw-away machine.";

/// What to simulate.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A vCenter, for govc, pyvmomi, Rookery and whatever else speaks to one
    Vcenter(Box<vcenter::Args>),
    /// A CDS server with job queues, for hatcheries
    Cds(cds::Args),
}

pub(crate) async fn run(command: Command, out: &mut Out) -> anyhow::Result<Ending> {
    match command {
        Command::Vcenter(args) => vcenter::run(&args, out).await,
        Command::Cds(args) => cds::run(&args, out).await,
    }
}

/// What tells a simulated vCenter from all others.
pub(crate) fn instance() -> anyhow::Result<u64> {
    SysRng.try_next_u64().context("the system gives no random numbers")
}

/// Waits until whoever started this has gone.
async fn stdin_closes() {
    let mut stdin = tokio::io::stdin();
    let mut buffer = [0; 256];
    while stdin.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}
