//! `rookery up`: a hatchery at work between two simulators, or the live fleet of a vCenter that somebody named.

mod desk;
mod fleet_page;
mod follow;
mod guests;
mod nest;
mod page;
mod recount;
mod samples;
mod screen;
mod summary;
mod tally;
mod trouble;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use crate::Ending;
use crate::cli::Connect;
use crate::output::Out;
use crate::settings::Loaded;

/// How often a job is fed if nobody says, without an end and with one.
const STREAM: f64 = 2.0;
const BATCH: f64 = 0.1;

/// The arguments of `up`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Feed this many sample jobs, and not one every few seconds
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroU64>,
    /// End when all jobs have, with a table and a recount; without --jobs print one summary and end
    #[arg(long)]
    exit: bool,
    /// Feed a job every so many seconds [default: 2, with --jobs 0.1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    every: Option<Duration>,
    /// Make each K-th job fail
    #[arg(long, value_name = "K")]
    fail_every: Option<NonZeroU64>,
    /// Let both simulators get into trouble: lost answers, errors, slow and failing tasks, ended sessions
    #[arg(long)]
    faults: bool,
    /// What the sample jobs, the simulators and their trouble are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// What runs in the simulated guests
    #[arg(long, value_name = "HOW", default_value = "auto")]
    guests: guests::Wish,
    /// Write what both simulators hold in the end into this folder
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// How to reach a vCenter, if its fleet is to be shown.
    #[command(flatten)]
    pub(crate) connect: Connect,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "a number of seconds is expected, such as 0.5".to_owned())
}

pub(crate) async fn run(loaded: &Loaded, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    if loaded.names_a_vcenter() && args.jobs.is_none() {
        return fleet_page::show(loaded.vcenter()?, args.exit, out).await;
    }
    follow::run(args, loaded.default_file.as_deref(), out).await
}

impl Args {
    fn pace(&self) -> Duration {
        let usual = if self.jobs.is_some() { BATCH } else { STREAM };
        self.every.unwrap_or(Duration::from_secs_f64(usual))
    }
}
