//! `rookery up`: a hatchery at work between two simulators, or between a simulator and the real thing; or the live fleet
//! of a vCenter that somebody named.

mod choose;
mod control;
mod endpoint_kind;
mod follow;
mod guests;
mod live;
mod order;
mod overlay;
mod page;
mod recount;
mod samples;
mod screen;
mod stack;
mod summary;
mod survey;
mod tally;
mod teardown;
mod trouble;
mod watch;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use crate::Ending;
use crate::cli::{Connect, GuestLogin};
use crate::output::Out;
use crate::settings::Loaded;

/// How often a job is fed if nobody says, without an end and with one.
const STREAM: f64 = 2.0;
const BATCH: f64 = 0.1;

/// The arguments of `up`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Feed this many sample jobs, instead of going on until Ctrl-C
    #[arg(long, value_name = "N", value_parser = positive)]
    jobs: Option<NonZeroU64>,
    /// With --jobs: end when all jobs have, with a table and a recount, and with code 1 if one failed or something is
    /// left; without --jobs: print the page once and end
    #[arg(long)]
    exit: bool,
    /// Feed a job every so many seconds [default: 2, with --jobs 0.1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    every: Option<Duration>,
    /// Make each K-th job fail
    #[arg(long, value_name = "K", value_parser = positive)]
    fail_every: Option<NonZeroU64>,
    /// Let what is simulated get into trouble: lost answers, errors, slow and failing tasks, ended sessions
    #[arg(long)]
    faults: bool,
    /// What the sample jobs, the simulators and their trouble are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// What runs in the simulated guests
    #[arg(long, value_name = "HOW", default_value = "auto")]
    guests: guests::GuestMode,
    /// Write what the simulators hold in the end into this folder
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    #[command(flatten)]
    real: Real,
    /// Who acts in guests, if no file says it.
    #[command(flatten)]
    pub(crate) guest: GuestLogin,
    /// How to reach a vCenter, if its fleet is to be shown.
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// What is not simulated.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "The real thing in place of a simulator")]
struct Real {
    /// Work on this vCenter; its address may hold a user and a password, as in `GOVC_URL`
    #[arg(long, value_name = "URL", conflicts_with = "endpoint")]
    vcenter: Option<String>,
    /// Serve this CDS; tokens, key and name stand in the file of -c. Without --vcenter its jobs run on this machine, which
    /// has to be asked for with --guests real
    #[arg(long, value_name = "URL", requires = "hatchery")]
    cds: Option<String>,
    /// The hatchery's settings, as `rookery hatchery run -c` reads them; what is simulated replaces what they say of it
    #[arg(short = 'c', long, value_name = "FILE")]
    hatchery: Option<PathBuf>,
    /// Where the simulated CDS listens beside a real vCenter, whose guests must reach it [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// A template that sample jobs run on, or that the simulated vCenter has; may be given several times [default: those
    /// of the file, or all of the vCenter]
    #[arg(long = "template", value_name = "NAME")]
    templates: Vec<String>,
    /// Go on although the vCenter has machines of the name in the file: those that the simulated CDS does not know are
    /// deleted
    #[arg(long)]
    take_over: bool,
}

fn positive(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "a number of at least 1 is expected".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "a number of seconds is expected, such as 0.5".to_owned())
}

pub(crate) async fn run(loaded: &Loaded, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    endpoint_kind::check(args)?;
    let real = args.real.vcenter.is_some() || args.real.cds.is_some();
    if !real && loaded.names_a_vcenter() && args.jobs.is_none() {
        endpoint_kind::check_for_fleet(args, loaded.settings.origin("vcenter.endpoint"))?;
        return live::show(loaded.vcenter()?, args.exit, out).await;
    }
    follow::run(args, loaded, out).await
}

impl Args {
    /// How to reach the vCenter that is named, whichever of the two flags names it.
    pub(crate) fn connect(&self) -> Connect {
        let endpoint = self.real.vcenter.clone().or_else(|| self.connect.endpoint.clone());
        Connect { endpoint, ..self.connect.clone() }
    }

    fn pace(&self) -> Duration {
        let usual = if self.jobs.is_some() { BATCH } else { STREAM };
        self.every.unwrap_or(Duration::from_secs_f64(usual))
    }
}
