//! What can be said on the command line.

mod examples;

use std::path::PathBuf;

use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use rookery_daemon::telemetry::{LogFormat, Telemetry};

#[cfg(feature = "hatchery")]
use crate::hatchery;
#[cfg(feature = "operator")]
use crate::operator;
#[cfg(feature = "sim")]
use crate::sim;
use crate::{complete, doctor, man, settings, up, version, vm};

/// A failing watch is told by the commands themselves, in words; the client's own warnings would repeat it.
const QUIET: &str = "warn,rookery_vim_client=error";
/// Whoever types a command line has asked for nothing yet.
const MUTE: &str = "off";
/// A hatchery's warnings would push the events of jobs off its page.
const SILENT: &str = "error";
const VERBOSE: &str = "info";
const VERY_VERBOSE: &str =
    "info,rookery=debug,rookery_daemon=debug,rookery_vim=debug,rookery_vim_client=debug";

const CONFIG_HELP: &str =
    "Settings file [env: ROOKERY_CONFIG] [default: ~/.config/rookery/rookery.toml, if it exists]";
const LOG_HELP: &str = "What to log, as in RUST_LOG: \"info,rookery_vim_client=debug\"";

/// Hatches virtual machines on demand.
#[derive(Debug, Parser)]
#[command(name = "rookery", version = crate::VERSION, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What holds for every command.
    #[command(flatten)]
    pub general: General,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See a hatchery at work between a vCenter and a CDS, simulated or real; or the live fleet of a vCenter
    Up(up::Args),
    /// List, inspect, watch and change virtual machines
    Vm {
        /// What to do with them.
        #[command(subcommand)]
        command: vm::Asking,
    },
    /// Check everything that making VMs needs, and say how to fix what is missing
    Doctor(doctor::Args),
    #[cfg(feature = "hatchery")]
    /// Serve the jobs of a CDS server with workers in VMs
    Hatchery {
        /// What to do.
        #[command(subcommand)]
        command: hatchery::Command,
    },
    #[cfg(feature = "hatchery")]
    /// Explain why a job waits, or which VM serves it
    Explain(hatchery::Explain),
    #[cfg(feature = "operator")]
    /// Serve Kubernetes with VMs
    Operator {
        /// What to do.
        #[command(subcommand)]
        command: operator::Command,
    },
    #[cfg(feature = "sim")]
    /// Simulate a system that Rookery talks to
    Sim {
        /// Which one.
        #[command(subcommand)]
        command: sim::Command,
    },
    /// Show the effective settings and where each comes from
    Settings(settings::ShowArgs),
    /// Show the version, the commit and the compiler that it was built from, and its features
    Version(version::Args),
    /// Print a script by which a shell completes commands, flags, and names of VMs, jobs and hatcheries
    Completions(complete::Args),
    /// Write a manual page for each command into a folder
    Man(man::Args),
    /// Answer the script of a shell
    #[command(name = "__complete", hide = true)]
    Complete(complete::Asked),
}

/// The definition of the command line, with examples.
pub(crate) fn command() -> clap::Command {
    examples::added(Cli::command(), "")
}

/// What holds for every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "General")]
pub struct General {
    /// The settings file that was asked for.
    #[arg(long, global = true, value_name = "FILE", help = CONFIG_HELP)]
    pub config: Option<PathBuf>,
    /// How log lines look [default: human]
    #[arg(long, global = true, value_name = "FORMAT", value_parser = log_format())]
    log_format: Option<LogFormat>,
    /// Log more to standard error; -vv logs every call
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "log")]
    verbose: u8,
    #[arg(long, global = true, value_name = "FILTER", help = LOG_HELP)]
    log: Option<String>,
}

impl Cli {
    /// Reads the command line of this process; what is wrong with it, or the help that it asks for, ends the process.
    pub(crate) fn of_this_process() -> Self {
        let mut command = command();
        let said = command.try_get_matches_from_mut(std::env::args_os());
        let read = said.and_then(|said| Self::from_arg_matches(&said));
        read.unwrap_or_else(|error| error.format(&mut command).exit())
    }

    /// What is logged, and how: what the command line says, else the file of a daemon.
    pub fn telemetry(&self) -> Telemetry {
        let (file, General { log_format, verbose, log, .. }) = (self.command.log(), &self.general);
        let filter: &str = match (log, verbose) {
            (Some(log), _) => log,
            (None, 1) => VERBOSE,
            (None, 2..) => VERY_VERBOSE,
            (None, 0) => match (&file, &self.command) {
                (Some((filter, _)), _) => filter,
                (None, Command::Up(_)) => SILENT,
                (None, Command::Complete(_)) => MUTE,
                (None, _) => QUIET,
            },
        };
        let format = log_format.or(file.map(|(_, format)| format)).unwrap_or_default();
        Telemetry { format, filter: filter.to_owned() }
    }
}

impl Command {
    fn log(&self) -> Option<(&'static str, LogFormat)> {
        #[cfg(feature = "hatchery")]
        if let Self::Hatchery { command } = self {
            return command.log().map(|log| (hatchery::filter_of(log.level), log.format));
        }
        None
    }
}

impl General {
    /// Whether the command line says how much is logged.
    pub fn says_what_to_log(&self) -> bool {
        self.log.is_some() || self.verbose > 0
    }
}

/// The names are listed for the help; the parsing is the type's own.
fn log_format() -> impl clap::builder::TypedValueParser<Value = LogFormat> {
    use clap::builder::TypedValueParser as _;
    clap::builder::PossibleValuesParser::new(["human", "json"]).try_map(|name| name.parse::<LogFormat>())
}

/// How to reach vCenter. Each has its key in the settings file and its variable.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection (see also `rookery settings`)")]
pub struct Connect {
    /// vCenter's address.
    #[arg(long, value_name = "ADDRESS", help = "vCenter's address: host, host:port or https://host/sdk")]
    pub endpoint: Option<String>,
    /// The user to log in as
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// File with the password; there is no --password, since everybody on this machine could read it
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<String>,
    /// Only the VMs of this datacenter [default: all]
    #[arg(long, value_name = "NAME")]
    pub datacenter: Option<String>,
    /// Trust the certificate authorities in this PEM file instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<String>,
    /// Trust exactly the certificate with this SHA-256 thumbprint
    #[arg(long, value_name = "HEX")]
    pub thumbprint: Option<String>,
    /// Trust any certificate
    #[arg(long)]
    pub insecure: bool,
}

/// Who acts inside a guest. Each has its key in the settings file and its variable.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Guest (see also `rookery settings`)")]
pub struct GuestLogin {
    /// Who acts inside the guest; vCenter's users mean nothing there
    #[arg(long, value_name = "NAME")]
    pub guest_user: Option<String>,
    /// File with that user's password
    #[arg(long, value_name = "FILE")]
    pub guest_password_file: Option<String>,
}

#[cfg(test)]
mod tests;
