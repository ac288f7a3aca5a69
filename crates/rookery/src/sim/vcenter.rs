//! `rookery sim vcenter`.

mod control_file;
mod ctl;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rookery_daemon::Supervisor;
use rookery_vim::Hidden;
use rookery_vim_client::Thumbprint;
use rookery_vim_sim::server::{Identity, exec};
use rookery_vim_sim::{Change, Clock, Counts, Durations, GuestTimes, Login, Model, Settings, Span};
use tokio_util::sync::CancellationToken;

use super::{Embedded, LINGER, REACH_OF_LOCAL_GUESTS, instance, read_model, stdin_closes, token};
use crate::Ending;
use crate::output::{Out, remark};
use crate::session::signals;
use control_file::ControlFile;

/// The arguments of `sim vcenter`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8989")]
    listen: SocketAddr,
    /// Speak plain HTTP
    #[arg(long, conflicts_with_all = ["cert_file", "key_file"])]
    no_tls: bool,
    /// The certificate to show, as PEM [default: a new one that nobody trusts]
    #[arg(long, value_name = "FILE", requires = "key_file")]
    cert_file: Option<PathBuf>,
    /// Its key, as PEM
    #[arg(long, value_name = "FILE", requires = "cert_file")]
    key_file: Option<PathBuf>,
    /// The only user that may log in [default: anybody]
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,
    /// That user's password; this is a simulator, so it is no secret
    #[arg(long, value_name = "TEXT", requires = "user")]
    password: Option<String>,
    /// The user of every guest; a model file can name others [default: anybody]
    #[arg(long, value_name = "NAME", requires = "guest_password")]
    guest_user: Option<String>,
    /// That user's password
    #[arg(long, value_name = "TEXT", requires = "guest_user")]
    guest_password: Option<String>,
    /// Run the programs of guests on this machine instead of simulating them: they cannot change it, but share its
    /// network and read its files
    #[arg(long)]
    allow_local_exec: bool,
    /// End when standard input closes
    #[arg(long)]
    until_stdin_closes: bool,
    /// Write a file by which `rookery sim vcenter ctl` can inspect and change it
    #[arg(long, value_name = "FILE")]
    control_file: Option<PathBuf>,
    /// Durations, limits and guests as JSON, see docs/simulator-control.md
    #[arg(long, value_name = "JSON", value_parser = change)]
    set: Option<Change>,
    /// The seed of all that is random
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    inventory: Inventory,
    #[command(flatten)]
    times: Times,
}

/// What to do with one that runs.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Inspect a running simulated vCenter, and change how it behaves
    Ctl(ctl::Args),
}

fn change(text: &str) -> Result<Change, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Inventory")]
struct Inventory {
    /// A model file (TOML or JSON) instead of the numbers below
    #[arg(long, value_name = "FILE", conflicts_with = "vms")]
    model: Option<PathBuf>,
    /// Datacenters
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    datacenters: usize,
    /// Clusters in each datacenter
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    clusters: usize,
    /// Hosts in each cluster
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    cluster_hosts: usize,
    /// Hosts in each datacenter that stand alone
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    standalone_hosts: usize,
    /// Resource pools in each cluster
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pools: usize,
    /// Datastores in each datacenter
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    datastores: usize,
    /// Datastore clusters in each datacenter
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    datastore_clusters: usize,
    /// Distributed port groups in each datacenter
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    portgroups: usize,
    /// VMs in each cluster and on each host that stands alone
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    vms: usize,
    /// Leave the VMs off
    #[arg(long)]
    off: bool,
}

/// How long things take: `5s`, `1s..3s` (between), `~2s` (about) or `exp 2s` (mostly short).
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Time (default: everything at once)")]
struct Times {
    /// Cloning, without the copying of disks
    #[arg(long, value_name = "TIME", default_value = "0s")]
    clone_time: Span,
    /// Copying a GiB of a disk
    #[arg(long, value_name = "TIME", default_value = "0s")]
    copy_time: Span,
    /// Powering on and off
    #[arg(long, value_name = "TIME", default_value = "0s")]
    power_time: Span,
    /// Reconfiguring, creating, snapshots, destroying
    #[arg(long, value_name = "TIME", default_value = "0s")]
    task_time: Span,
    /// From power on until the tools run
    #[arg(long, value_name = "TIME", default_value = "0s")]
    boot_time: Span,
    /// Time passes so many times faster than it does
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, conflicts_with = "manual_time")]
    time_scale: f64,
    /// Time stands still until `ctl advance`
    #[arg(long, requires = "control_file")]
    manual_time: bool,
}

impl Args {
    fn settings(&self) -> Settings {
        let times = &self.times;
        let task = times.task_time;
        let mut settings = Settings {
            seed: self.seed,
            login: self.user.clone().zip(self.password.clone()),
            guest_login: (self.guest_user.clone().zip(self.guest_password.clone()))
                .map(|(user, password)| Login { user, password }),
            allow_local_exec: self.allow_local_exec,
            https: !self.no_tls,
            durations: Durations {
                create: task,
                clone: times.clone_time,
                copy_per_gib: times.copy_time,
                reconfigure: task,
                power: times.power_time,
                snapshot: task,
                destroy: task,
                file: task,
                ..Durations::default()
            },
            guests: GuestTimes { tools: times.boot_time, ..GuestTimes::default() },
            ..Settings::default()
        };
        if let Some(change) = self.set.clone() {
            settings.durations = change.durations.unwrap_or(settings.durations);
            settings.guests = change.guests.unwrap_or(settings.guests);
            settings.limits = change.limits.unwrap_or(settings.limits);
        }
        settings
    }

    fn clock(&self) -> Clock {
        let wall = rookery_daemon::Clock::system();
        if self.times.manual_time {
            Clock::manual(wall.now())
        } else {
            Clock::scaled(wall, self.times.time_scale)
        }
    }

    fn model(&self) -> anyhow::Result<Model> {
        let inventory = &self.inventory;
        match &inventory.model {
            Some(file) => read_model(file, "vCenter"),
            None => Ok(Model::uniform(Counts {
                datacenters: inventory.datacenters,
                clusters: inventory.clusters,
                cluster_hosts: inventory.cluster_hosts,
                standalone_hosts: inventory.standalone_hosts,
                pools: inventory.pools,
                datastores: inventory.datastores,
                pods: inventory.datastore_clusters,
                portgroups: inventory.portgroups,
                vms: inventory.vms,
                on: !inventory.off,
            })),
        }
    }

    fn identity(&self) -> anyhow::Result<Option<Identity>> {
        if self.no_tls {
            return Ok(None);
        }
        let host = self.listen.ip().to_string();
        match (&self.cert_file, &self.key_file) {
            (Some(cert), Some(key)) => Ok(Some(Identity::from_pem(&read(cert)?, &read(key)?)?)),
            _ => Ok(Some(Identity::self_signed(&["localhost", &host])?)),
        }
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    if let Some(Command::Ctl(args)) = &args.command {
        return ctl::run(args, out).await;
    }
    if !args.listen.ip().is_loopback() && args.user.is_none() {
        bail!(
            "--listen {} is not a loopback address: name a --user and a --password, or everybody may log in",
            args.listen
        );
    }
    // Before anything is made that should not be left behind.
    signals::heeding(async |stop| serve(args, stop, out).await).await
}

async fn serve(args: &Args, stop: &CancellationToken, out: &mut Out) -> anyhow::Result<Ending> {
    if args.allow_local_exec {
        if !args.listen.ip().is_loopback() {
            bail!(
                "--allow-local-exec runs what clients send on this machine: --listen {} must be a loopback address",
                args.listen
            );
        }
        exec::check().await?;
        remark(&format!("programs of guests run on this machine. {REACH_OF_LOCAL_GUESTS}"));
    }
    let mut settings = Settings { instance: instance()?, ..args.settings() };
    let identity = args.identity()?;
    let thumbprint = identity.as_ref().map(|identity| Thumbprint::of(identity.certificate()).to_string());
    let token = token()?;
    if args.control_file.is_some() {
        settings.control_token = Some(Hidden(token.clone()));
    }
    let supervisor = Supervisor::new();
    let served =
        Embedded::start(&args.model()?, settings, args.listen, identity, args.clock(), &supervisor).await?;
    let control = ControlFile { address: served.address.clone(), thumbprint, token };
    let _written = args.control_file.as_deref().map(|file| control.write(file)).transpose()?;
    out.line(&format!("serving {}", served.address)).await?;
    tokio::select! {
        () = stop.cancelled() => {}
        () = stdin_closes(), if args.until_stdin_closes => {}
    }
    // Who is still connected is cut off.
    supervisor.shutdown(LINGER).await.ok();
    Ok(Ending::Done)
}
