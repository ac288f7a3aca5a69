//! `rookery vm`: list, inspect, watch and change VMs.

mod arguments;
mod change;
mod changing;
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
mod pick;
mod power;
mod progress;
mod rename;
mod row;
mod run;
mod site;
mod snapshot;
mod top;
mod upload;
mod watch;
mod words;

use clap::Subcommand;

use crate::Ending;
use crate::cli::{Connect, GuestLogin};
#[cfg(feature = "hatchery")]
use crate::hatchery::Holding;
use crate::output::{Out, remark};
use crate::session::{Orders, with_session};
use crate::settings::Loaded;

pub(crate) use arguments::WrongArguments;
#[cfg(feature = "hatchery")]
pub(crate) use arguments::name as one_line;
pub use change::{Event, changes};
pub use glob::Glob;
pub use pick::{PickError, pick};
pub use row::Row;
pub(crate) use top::{Fleet, show as show_fleet};

/// Whom a command about VMs turns to.
#[derive(Debug, Subcommand)]
pub enum Asking {
    #[command(flatten)]
    Vcenter(Command),
    #[cfg(feature = "hatchery")]
    #[command(flatten)]
    Hatchery(Holding),
}

/// What to do with the VMs of a vCenter.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List VMs by name
    Ls(OnVcenter<ls::Args>),
    /// Show all that is known of one VM
    Info(OnVcenter<info::Args>),
    /// Print changes as they happen, until Ctrl-C
    Watch(OnVcenter<watch::Args>),
    /// Show VMs, their state and what happens to them on a live page, until q or Ctrl-C
    Top(OnVcenter<top::Args>),
    /// Change the power state of VMs, and wait until it is done
    Power(OnVcenter<power::Args>),
    /// Rename a VM, and wait until it is done
    Rename(OnVcenter<rename::Args>),
    /// Show what happened to a VM, newest first
    Events(OnVcenter<events::Args>),
    /// Clone a VM or template, and wait until it is done
    Clone(Box<OnVcenter<clone::Args>>),
    /// Create a VM without a template, and wait until it is done
    Create(Box<OnVcenter<create::Args>>),
    /// Take, list, go back to and remove snapshots
    Snapshot {
        /// What to do.
        #[command(subcommand)]
        command: snapshot::Command,
    },
    /// Remove VMs that are off, with all their files
    Destroy(OnVcenter<destroy::Args>),
    /// Print the address under which a VM's guest can be reached, as soon as it has one
    Ip(OnVcenter<ip::Args>),
    /// Run a program inside a VM's guest
    Run(OnVcenter<InGuest<run::Args>>),
    /// Copy a file into a VM's guest
    Upload(OnVcenter<InGuest<upload::Args>>),
    /// Copy a file out of a VM's guest
    Download(OnVcenter<InGuest<download::Args>>),
}

/// The arguments of a command, and how to reach vCenter.
#[derive(Debug, clap::Args)]
pub struct OnVcenter<A: clap::Args> {
    #[command(flatten)]
    args: A,
    #[command(flatten)]
    connect: Connect,
}

/// The arguments of a command, and who acts inside the guest.
#[derive(Debug, clap::Args)]
pub struct InGuest<A: clap::Args> {
    #[command(flatten)]
    args: A,
    #[command(flatten)]
    login: GuestLogin,
}

impl Command {
    /// What vCenter's list of sessions shows, and how to reach vCenter.
    fn session(&self) -> (&'static str, &Connect) {
        match self {
            Self::Ls(on) => ("vm ls", &on.connect),
            Self::Info(on) => ("vm info", &on.connect),
            Self::Watch(on) => ("vm watch", &on.connect),
            Self::Top(on) => ("vm top", &on.connect),
            Self::Power(on) => ("vm power", &on.connect),
            Self::Rename(on) => ("vm rename", &on.connect),
            Self::Events(on) => ("vm events", &on.connect),
            Self::Clone(on) => ("vm clone", &on.connect),
            Self::Create(on) => ("vm create", &on.connect),
            Self::Snapshot { command } => command.session(),
            Self::Destroy(on) => ("vm destroy", &on.connect),
            Self::Ip(on) => ("vm ip", &on.connect),
            Self::Run(on) => ("vm run", &on.connect),
            Self::Upload(on) => ("vm upload", &on.connect),
            Self::Download(on) => ("vm download", &on.connect),
        }
    }

    pub(crate) fn connect(&self) -> &Connect {
        self.session().1
    }

    pub(crate) fn guest(&self) -> Option<&GuestLogin> {
        if let Self::Run(OnVcenter { args: InGuest { login, .. }, .. })
        | Self::Upload(OnVcenter { args: InGuest { login, .. }, .. })
        | Self::Download(OnVcenter { args: InGuest { login, .. }, .. }) = self
        {
            return Some(login);
        }
        None
    }

    /// Whether a signal may leave something behind.
    fn changes_something(&self) -> bool {
        if let Self::Snapshot { command } = self {
            return command.changes();
        }
        matches!(
            self,
            Self::Power(_)
                | Self::Rename(_)
                | Self::Clone(_)
                | Self::Create(_)
                | Self::Destroy(_)
                | Self::Run(_)
        )
    }
}

pub(crate) async fn run(loaded: &Loaded, command: Command, out: &mut Out) -> anyhow::Result<Ending> {
    let vcenter = loaded.vcenter_or_advice()?;
    if let Command::Top(on) = &command {
        // Its page stays until the session has ended.
        return top::run(vcenter, &on.args, out).await;
    }
    // What is wrong with the arguments is told without a login.
    if command.guest().is_some() {
        loaded.guest_user()?;
    }
    if let Command::Clone(on) = &command {
        on.args.check()?;
    }
    if let Command::Create(on) = &command {
        on.args.check()?;
    }
    if let Command::Rename(on) = &command {
        on.args.check()?;
    }
    if let Command::Run(on) = &command {
        on.args.args.check()?;
    }
    if let Command::Upload(on) = &command {
        on.args.args.check()?;
    }
    if let Command::Download(on) = &command {
        on.args.args.check()?;
    }
    if let Command::Snapshot { command } = &command {
        command.check()?;
    }
    let mut orders = Orders::default();
    let ended = with_session(vcenter, command.session().0, async |session| {
        orders = session.orders.clone();
        match &command {
            Command::Ls(on) => ls::run(session, &on.args, out).await,
            Command::Info(on) => info::run(session, &on.args, out).await,
            Command::Watch(on) => watch::run(session, &on.args, out).await,
            Command::Power(on) => power::run(session, &on.args, out).await,
            Command::Rename(on) => rename::run(session, &on.args, out).await,
            Command::Events(on) => events::run(session, &on.args, out).await,
            Command::Clone(on) => clone::run(session, &on.args, out).await,
            Command::Create(on) => create::run(session, &on.args, out).await,
            Command::Snapshot { command } => snapshot::run(session, command, out).await,
            Command::Destroy(on) => destroy::run(session, &on.args, out).await,
            Command::Ip(on) => ip::run(session, &on.args, out).await,
            Command::Run(on) => run::run(session, loaded.guest_user()?, &on.args.args, out).await,
            Command::Upload(on) => upload::run(session, loaded.guest_user()?, &on.args.args, out).await,
            Command::Download(on) => download::run(session, loaded.guest_user()?, &on.args.args, out).await,
            // It has a session of its own.
            Command::Top(_) => Ok(Ending::Done),
        }
    });
    Ok(match ended.await? {
        Some(ending) => ending,
        // Only a signal ends it, and that is how it is meant to end.
        None if matches!(command, Command::Watch(_)) => Ending::Done,
        None => {
            if command.changes_something() {
                remark(&orders.left());
            }
            Ending::Interrupted
        }
    })
}

#[cfg(test)]
pub(crate) mod tests;
