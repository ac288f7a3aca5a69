//! `rookery vm`: list, inspect, watch and change VMs.

mod arguments;
mod change;
mod clone;
mod create;
mod destroy;
mod download;
mod events;
mod glob;
mod guest;
mod info;
mod ip;
mod ls;
mod marks;
mod outcome;
mod pick;
mod power;
mod progress;
mod rename;
mod row;
mod run;
mod site;
mod snapshot;
mod upload;
mod watch;
mod words;

use clap::Subcommand;

use crate::Ending;
use crate::cli::{Connect, GuestLogin};
#[cfg(feature = "hatchery")]
use crate::hatchery::{Holding, holding};
use crate::output::{Out, remark};
use crate::session::with_session;
use crate::settings::Loaded;

pub(crate) use arguments::WrongArguments;
pub use change::{Event, changes};
pub use glob::Glob;
pub use pick::{PickError, pick};
pub use row::Row;

/// What to do with VMs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List VMs by name
    Ls(ls::Args),
    /// Show all that is known of one VM
    Info(info::Args),
    /// Print changes as they happen, until Ctrl-C
    Watch(watch::Args),
    /// Change the power state of VMs, and wait until it is done
    Power(power::Args),
    /// Rename a VM, and wait until it is done
    Rename(rename::Args),
    /// Show what happened to a VM, newest first
    Events(events::Args),
    /// Clone a VM or template, and wait until it is done
    Clone(Box<clone::Args>),
    /// Create a VM without a template, and wait until it is done
    Create(Box<create::Args>),
    /// Take a snapshot of a VM's disks, as a base for linked clones
    Snapshot(snapshot::Args),
    /// Remove VMs that are off, with all their files
    Destroy(destroy::Args),
    /// Print the address under which a VM's guest can be reached, as soon as it has one
    Ip(ip::Args),
    /// Run a program inside a VM's guest
    Run(run::Args),
    /// Copy a file into a VM's guest
    Upload(upload::Args),
    /// Copy a file out of a VM's guest
    Download(download::Args),
    #[cfg(feature = "hatchery")]
    #[command(flatten)]
    Holding(Holding),
}

impl Command {
    /// How to reach vCenter; none if a hatchery does.
    pub(crate) fn connect(&self) -> Option<&Connect> {
        Some(match self {
            Self::Ls(args) => &args.connect,
            Self::Info(args) => &args.connect,
            Self::Watch(args) => &args.connect,
            Self::Power(args) => &args.connect,
            Self::Rename(args) => &args.connect,
            Self::Events(args) => &args.connect,
            Self::Clone(args) => &args.connect,
            Self::Create(args) => &args.connect,
            Self::Snapshot(args) => &args.connect,
            Self::Destroy(args) => &args.connect,
            Self::Ip(args) => &args.connect,
            Self::Run(args) => &args.connect,
            Self::Upload(args) => &args.connect,
            Self::Download(args) => &args.connect,
            #[cfg(feature = "hatchery")]
            Self::Holding(_) => return None,
        })
    }

    pub(crate) fn guest(&self) -> Option<&GuestLogin> {
        match self {
            Self::Run(args) => Some(&args.login),
            Self::Upload(args) => Some(&args.login),
            Self::Download(args) => Some(&args.login),
            Self::Ls(_)
            | Self::Info(_)
            | Self::Watch(_)
            | Self::Power(_)
            | Self::Rename(_)
            | Self::Events(_)
            | Self::Clone(_)
            | Self::Create(_)
            | Self::Snapshot(_)
            | Self::Destroy(_)
            | Self::Ip(_) => None,
            #[cfg(feature = "hatchery")]
            Self::Holding(_) => None,
        }
    }
}

pub(crate) async fn run(loaded: &Loaded, command: Command, out: &mut Out) -> anyhow::Result<Ending> {
    #[cfg(feature = "hatchery")]
    if let Command::Holding(command) = &command {
        return holding(command, out).await;
    }
    let vcenter = loaded.vcenter_or_advice()?;
    let ended = match command {
        #[cfg(feature = "hatchery")]
        Command::Holding(_) => None,
        Command::Ls(args) => {
            with_session(vcenter, "vm ls", async |session| ls::run(session, &args, out).await).await?
        }
        Command::Info(args) => {
            with_session(vcenter, "vm info", async |session| info::run(session, &args, out).await).await?
        }
        Command::Watch(args) => {
            let watched =
                with_session(vcenter, "vm watch", async |session| watch::run(session, &args, out).await);
            // Only a signal ends it, and that is how it is meant to end.
            watched.await?.or(Some(Ending::Done))
        }
        Command::Power(args) => {
            with_session(vcenter, "vm power", async |session| power::run(session, &args, out).await)
                .await?
                .or_else(warn_of_late_effects)
        }
        Command::Rename(args) => {
            with_session(vcenter, "vm rename", async |session| rename::run(session, &args, out).await)
                .await?
                .or_else(warn_of_late_effects)
        }
        Command::Events(args) => {
            with_session(vcenter, "vm events", async |session| events::run(session, &args, out).await).await?
        }
        Command::Clone(args) => {
            let wanted = args.check()?;
            with_session(vcenter, "vm clone", async |session| clone::run(session, wanted, out).await)
                .await?
                .or_else(warn_of_late_effects)
        }
        Command::Create(args) => {
            let wanted = args.check()?;
            with_session(vcenter, "vm create", async |session| create::run(session, wanted, out).await)
                .await?
                .or_else(warn_of_late_effects)
        }
        Command::Snapshot(args) => {
            with_session(vcenter, "vm snapshot", async |session| snapshot::run(session, &args, out).await)
                .await?
                .or_else(warn_of_late_effects)
        }
        Command::Destroy(args) => {
            with_session(vcenter, "vm destroy", async |session| destroy::run(session, &args, out).await)
                .await?
                .or_else(warn_of_late_effects)
        }
        Command::Ip(args) => {
            with_session(vcenter, "vm ip", async |session| ip::run(session, &args, out).await).await?
        }
        Command::Run(args) => {
            let user = loaded.guest_user()?;
            with_session(vcenter, "vm run", async |session| run::run(session, user, &args, out).await)
                .await?
                .or_else(warn_of_programs)
        }
        Command::Upload(args) => {
            let user = loaded.guest_user()?;
            with_session(vcenter, "vm upload", async |session| upload::run(session, user, &args, out).await)
                .await?
        }
        Command::Download(args) => {
            let user = loaded.guest_user()?;
            with_session(vcenter, "vm download", async |session| {
                download::run(session, user, &args, out).await
            })
            .await?
        }
    };
    Ok(ended.unwrap_or(Ending::Interrupted))
}

fn warn_of_late_effects() -> Option<Ending> {
    remark("vCenter goes on with what it was already asked to do");
    None
}

fn warn_of_programs() -> Option<Ending> {
    remark("a program that has started goes on inside the guest, and what it prints stays in files there");
    None
}

#[cfg(test)]
pub(crate) mod tests;
