//! `rookery sim`: the systems that Rookery talks to, simulated.

mod cds;
mod embedded;
mod vcenter;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Subcommand;
use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::Ending;
use crate::output::Out;
pub(crate) use embedded::Embedded;

/// What a program in a guest that is run on this machine can reach, for whoever is about to let strangers run some.
pub(crate) const REACH_OF_LOCAL_GUESTS: &str = "They share its network: everything that this machine reaches, its own services on 127.0.0.1 included. They read \
     files that anybody may read, and those of the user who runs this (of nobody, if that is root) outside /home, \
     /root, /tmp, /var/tmp and /usr/local. For programs that you do not trust, use a throw-away machine.";

/// How long connections get to end.
const LINGER: Duration = Duration::from_secs(1);

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

/// What tells a simulated server from all others.
pub(crate) fn instance() -> anyhow::Result<u64> {
    SysRng.try_next_u64().context("the system gives no random numbers")
}

/// A secret that nobody guesses.
pub(crate) fn token() -> anyhow::Result<String> {
    Ok(format!("{:016x}{:016x}", instance()?, instance()?))
}

/// Listens there, and gives the address.
pub(crate) async fn listen(at: SocketAddr) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(at).await.with_context(|| format!("cannot listen on {at}"))?;
    let address = listener.local_addr().context("the listener has no address")?;
    Ok((listener, address))
}

/// What is to be simulated, from a TOML or JSON file.
fn read_model<M: DeserializeOwned>(file: &Path, what: &str) -> anyhow::Result<M> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let what = || format!("{} is not a model of a {what}", file.display());
    if file.extension().is_some_and(|ending| ending == "json") {
        serde_json::from_str(&text).with_context(what)
    } else {
        toml::from_str(&text).with_context(what)
    }
}

/// Waits until whoever started this has gone.
async fn stdin_closes() {
    let mut stdin = tokio::io::stdin();
    let mut buffer = [0; 256];
    while stdin.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}
