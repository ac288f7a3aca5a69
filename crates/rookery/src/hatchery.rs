//! `rookery hatchery`: the CDS hatchery for vSphere, and what people ask of it.

mod ask;
mod check;
mod confirm;
mod exit;
mod folder;
mod holding;
mod init;
mod parts;
mod plan;
mod run;
mod sign_in;
pub(crate) mod top;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use rookery_daemon::settings::Problems;
use rookery_daemon::telemetry::Filter;
use rookery_hatchery::settings::{self, Level, Log};
use rookery_hatchery::surface::control::Request;

use crate::Ending;
use crate::output::Out;
use crate::vm::WrongArguments;
pub(crate) use ask::explain;
pub use ask::{Change, Explain, Jobs, Query, Target};
#[cfg(feature = "sim")]
pub(crate) use check::vcenter_of;
pub(crate) use folder::runtime;
pub use holding::Holding;
pub(crate) use holding::holding;
pub(crate) use parts::{hostname, parts};
pub(crate) use sign_in::{SignInError, sign_in};

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a settings file from what vCenter and CDS show, and make the key that it names
    ///
    /// What is not said by flags is looked up; of several candidates one is asked for on a terminal, else all that is
    /// missing is told at once. The file passes `rookery hatchery check`. Passwords and tokens come from files or from the
    /// environment, and the file names where they are.
    Init(Box<init::Args>),
    /// Serve the jobs of a CDS server with workers in VMs, until SIGTERM or Ctrl-C
    Run(run::Args),
    /// Look for everything that is wrong with a settings file, and with the vCenter and the CDS that it names
    ///
    /// With a token for V1 jobs it signs in as the hatchery does, which makes CDS know a service of that name. CDS
    /// keeps the region of the first sign-in: `--offline` leaves both servers alone.
    Check(check::Args),
    /// Show what the next pass would do, and why the rest waits
    ///
    /// Nothing is changed: no VM is touched, no job is taken. But the queues can only be read after a sign-in as the
    /// hatchery, which makes CDS know it. What a hatchery that runs has begun, or has seen fail, is not known here:
    /// `status` asks it.
    Plan(plan::Args),
    /// Show the state of a hatchery that runs on this machine
    Status(Query),
    /// Show a hatchery that runs on this machine, and what happens in it, on a live page, until q or Ctrl-C
    ///
    /// Queue, machines, limits, start times and events, asked for about once a second. In a pipe there is a line for each
    /// change.
    Top(top::Args),
    /// List the jobs that it knows: those that wait, those that are served, and those that ended last
    Jobs(Jobs),
    /// Stop a hatchery that runs on this machine from taking new jobs; running workers go on
    Drain(Change),
    /// Let it take jobs again
    Resume(Change),
    /// Make it read the queues of CDS now
    Look(Query),
    /// Show the unusually many deletions that it holds back, and let exactly those through
    ///
    /// A hatchery that would delete or disable more than a fifth of what runs within ten minutes, or that sees so many of
    /// its VMs vanish, has most likely been told something wrong. It waits until a person has looked. What is confirmed
    /// may be done for ten minutes; what has come since waits on.
    Confirm(confirm::Args),
    /// Take over a template of another hatchery that keeps a V1 model from being registered
    ///
    /// Such a template is older than its model, and no hatchery replaces what another one made. It becomes this
    /// hatchery's and gets another name; a new one is made in its place. The old one is deleted once it has no linked
    /// clones.
    Adopt(Adopt),
    /// Let a copy of one of the hatchery's VMs take the place of its original
    ///
    /// Whoever copies a VM copies its notes, and with them whose it is. A hatchery leaves copies alone, and `status` lists
    /// them. One whose original is gone, such as a VM that was restored from a backup, can take its place.
    AdoptVm(CopyArgs),
    /// Remove the hatchery's mark from a copy of one of its VMs, which then holds no name and no address any more
    Unmark(CopyArgs),
}

/// The arguments of `hatchery adopt-vm` and `hatchery unmark`.
#[derive(Debug, clap::Args)]
pub struct CopyArgs {
    /// The copy, by its name or its id such as vm-63
    #[arg(value_name = "VM")]
    vm: String,
    #[command(flatten)]
    change: Change,
}

/// The arguments of `hatchery adopt`.
#[derive(Debug, clap::Args)]
pub struct Adopt {
    /// The path of the V1 model, such as `group/model`
    #[arg(value_name = "MODEL")]
    model: String,
    #[command(flatten)]
    change: Change,
}

/// The settings file of a hatchery.
#[derive(Debug, Clone, clap::Args)]
pub struct File {
    /// The hatchery's settings, as the Go hatchery's engine writes them or in the bare layout
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl File {
    /// The file. It may have been named before the command as well, so that it is not required there.
    fn path(&self) -> Result<&Path, WrongArguments> {
        let mut problems = Problems::new();
        if self.config.is_none() {
            problems.push("-c", "name the settings file of the hatchery; `rookery hatchery init` writes one");
        }
        WrongArguments::unless(problems, self.config.as_deref())
    }
}

impl Command {
    /// How much this command logs if the command line does not say it: a daemon's file says it.
    pub(crate) fn log(&self) -> Option<Log> {
        let Self::Run(args) = self else { return None };
        // What is wrong with the file is told when it is read for good.
        settings::load_file(args.file.config.as_ref()?).ok().map(|loaded| loaded.settings.log)
    }
}

/// A level as a filter: what other people's crates say in detail helps nobody, and may hold secrets.
pub(crate) fn filter_of(level: Level) -> &'static str {
    match level {
        Level::Off => "off",
        Level::Error => "error",
        Level::Warn => "warn",
        Level::Info => "info",
        Level::Debug => "info,rookery=debug",
        Level::Trace => "info,rookery=trace",
    }
}

/// `filter` is given if log lines may be filtered otherwise once settings are read again.
pub(crate) async fn run(command: Command, filter: Option<Filter>, out: &mut Out) -> anyhow::Result<Ending> {
    match command {
        Command::Run(args) => run::run(&args, filter, out).await,
        Command::Check(args) => check::run(&args, out).await,
        Command::Plan(args) => plan::run(&args, out).await,
        Command::Init(args) => Box::pin(init::run(&args, out)).await,
        Command::Status(args) => ask::status(&args, out).await,
        Command::Jobs(args) => ask::jobs(&args, out).await,
        Command::Top(args) => top::run(&args, out).await,
        Command::Drain(change) => change.tell(Request::Drain, out).await,
        Command::Resume(change) => change.tell(Request::Resume, out).await,
        Command::Confirm(args) => confirm::run(&args, out).await,
        Command::Look(query) => query.tell(Request::Look, out).await,
        Command::Adopt(Adopt { model, change }) => change.tell(Request::Adopt { model }, out).await,
        Command::AdoptVm(CopyArgs { vm, change }) => change.tell(Request::AdoptVm { vm }, out).await,
        Command::Unmark(CopyArgs { vm, change }) => change.tell(Request::Unmark { vm }, out).await,
    }
}
