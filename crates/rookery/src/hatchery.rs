//! `rookery hatchery`: the CDS hatchery for vSphere, and what people ask of it.

mod folder;
mod run;

use std::path::PathBuf;

use clap::Subcommand;
use rookery_daemon::telemetry::Filter;
use rookery_hatchery::settings::{self, Level, Log};

use crate::Ending;
use crate::output::Out;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the jobs of a CDS server with workers in VMs, until SIGTERM or Ctrl-C
    Run(run::Args),
}

/// The settings file of a hatchery.
#[derive(Debug, Clone, clap::Args)]
pub struct File {
    /// The hatchery's settings, as the Go hatchery's engine writes them or in the bare layout
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
}

impl Command {
    /// How much this command logs if the command line does not say it: a daemon's file says it.
    pub(crate) fn log(&self) -> Option<Log> {
        match self {
            // What is wrong with the file is told when it is read for good.
            Self::Run(args) => settings::load_file(&args.file.config).ok().map(|loaded| loaded.settings.log),
        }
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
    }
}
