//! The one binary: what a person or a script says to Rookery, and what it answers.
//!
//! Everything here is a thin shell over the other crates: it reads settings, connects, shows, and maps outcomes to
//! exit codes. It never decides what should happen to a VM that nobody named, it never writes to standard output but
//! through [`output`] (a page of `live` has the terminal to itself), and it never leaves a session behind on vCenter: all
//! work happens inside [`session::with_vcenter`].
//!
//! Start with [`main`], then [`cli`] (what can be said), [`settings`] (where answers to "which vCenter" come from) and
//! one command, such as `vm/ls.rs`.

pub mod cli;
mod complete;
pub mod doctor;
pub mod exit;
mod failure;
mod guest_user;
#[cfg(feature = "hatchery")]
pub mod hatchery;
#[cfg_attr(
    not(all(feature = "hatchery", feature = "sim")),
    expect(dead_code, unused_imports, reason = "without jobs there is less to show")
)]
mod live;
mod man;
#[cfg(feature = "operator")]
pub mod operator;
pub mod output;
mod proxies;
pub mod session;
pub mod settings;
#[cfg(feature = "sim")]
pub mod sim;
mod up;
pub mod vcenter;
mod version;
pub mod vm;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use rookery_daemon::telemetry::{self, Filter};
use tokio::runtime;

use cli::{Cli, Command, GuestLogin};
use output::{Out, Paint};
use settings::{Loaded, Sources};

/// The version, and behind a plus the commit that the program was built from, if that is known.
pub const VERSION: &str = env!("ROOKERY_VERSION");

/// How long a process that ends waits for its last lines to be written.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How a command ended, if not with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// Something failed, and the user has been told.
    Failed,
    /// A signal came before all was done.
    Interrupted,
    /// With this code, and the user knows why: that of a program in a guest, or of an [`exit::Exit`].
    Exited(u8),
}

/// Reads the command line of this process, does what it says, and tells the [`exit`] code; or that of a program in a
/// guest.
pub fn main() -> ExitCode {
    Paint::look_at_outputs();
    let cli = Cli::of_this_process();
    let code = catch_unwind(AssertUnwindSafe(|| failure::exit_code(start(cli))));
    telemetry::flush(LAST_WORDS);
    code.unwrap_or_else(|_| failure::panicked())
}

fn start(cli: Cli) -> anyhow::Result<Ending> {
    let filter = telemetry::init(&cli.telemetry())?;
    telemetry::log_panics();
    let filter = Some(filter).filter(|_| !cli.general.says_what_to_log());
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime cannot be started")?;
    let ending = runtime.block_on(Box::pin(run(cli, filter)));
    // Not by dropping it: that would wait for a name lookup that hangs.
    runtime.shutdown_background();
    ending
}

#[cfg_attr(
    not(feature = "hatchery"),
    expect(unused_variables, reason = "only a daemon changes what it logs")
)]
async fn run(cli: Cli, filter: Option<Filter>) -> anyhow::Result<Ending> {
    let out = &mut Out::stdout();
    let load = |connect, guest: Option<&GuestLogin>| -> Loaded {
        let sources = Sources::of_this_process(cli.general.config.clone(), connect);
        let loaded = settings::load(&Sources { guest: guest.cloned().unwrap_or_default(), ..sources });
        loaded.warnings().for_each(|warning| tracing::warn!(warning, "settings"));
        loaded
    };
    match cli.command {
        Command::Doctor(args) => doctor::run(&load(args.connect.clone(), None), &args, out).await,
        Command::Up(args) => up::run(&load(args.connect(), Some(&args.guest())), &args, out).await,
        Command::Vm { command: vm::Asking::Vcenter(command) } => {
            vm::run(&load(command.connect().clone(), command.guest()), command, out).await
        }
        #[cfg(feature = "hatchery")]
        Command::Vm { command: vm::Asking::Hatchery(command) } => hatchery::holding(&command, out).await,
        Command::Version(args) => version::run(&args, out).await,
        Command::Completions(args) => complete::run(&args, out).await,
        Command::Complete(asked) => complete::answer(&asked, out).await,
        Command::Man(args) => man::run(&args, out).await,
        Command::Settings(args) => settings::show(&load(args.connect.clone(), None), &args, out).await,
        #[cfg(feature = "hatchery")]
        Command::Hatchery { command } => hatchery::run(command, filter, out).await,
        #[cfg(feature = "hatchery")]
        Command::Explain(args) => hatchery::explain(&args, out).await,
        #[cfg(feature = "operator")]
        Command::Operator { command } => operator::run(command, out).await,
        #[cfg(feature = "sim")]
        Command::Sim { command } => sim::run(command, out).await,
    }
}
