//! `rookery up`: a hatchery at work between two simulators, or between a simulator and the real thing; or the live fleet
//! of a vCenter that somebody named.

#[cfg(feature = "hatchery")]
mod endpoint_kind;
#[cfg(feature = "hatchery")]
mod follow;
#[cfg(feature = "hatchery")]
mod hatchery;
#[cfg(feature = "hatchery")]
mod part;
#[cfg(feature = "hatchery")]
mod stack;
#[cfg(all(feature = "hatchery", feature = "sim"))]
mod vcenter;

use crate::Ending;
use crate::cli::{Connect, GuestLogin};
use crate::output::Out;
use crate::settings::Loaded;
use crate::vm::{Fleet, show_fleet};
#[cfg(feature = "hatchery")]
use hatchery::flags::Real;
#[cfg(all(feature = "hatchery", feature = "sim"))]
use hatchery::flags::Simulated;

/// What works and what does not yet, in as many words as it takes.
const ROAD: [&str; 2] = [
    "Works now    the CDS hatchery, this live view, `rookery vm`, `rookery doctor`, `rookery sim`",
    "Comes later  HyperShift agents, cluster pools, the tenant API",
];

/// The arguments of `up`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[cfg(all(feature = "hatchery", feature = "sim"))]
    #[command(flatten)]
    simulated: Simulated,
    #[cfg_attr(
        all(feature = "hatchery", feature = "sim"),
        doc = "With --jobs: end when all jobs have, with a table and a recount, and with code 1 if one failed or something \
               is left; without --jobs: print the page once and end"
    )]
    #[cfg_attr(not(all(feature = "hatchery", feature = "sim")), doc = "Print the page once and end")]
    #[arg(long)]
    exit: bool,
    #[cfg(feature = "hatchery")]
    #[command(flatten)]
    real: Real,
    /// Who acts in guests, if no file says it.
    #[cfg(all(feature = "hatchery", feature = "sim"))]
    #[command(flatten)]
    guest: GuestLogin,
    /// How to reach a vCenter, if its machines are to be shown.
    #[command(flatten)]
    connect: Connect,
}

pub(crate) async fn run(loaded: &Loaded, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    #[cfg(feature = "hatchery")]
    {
        hatchery::flags::check(args)?;
        if args.starts_parts(loaded) {
            return stack::run(args, loaded, out).await;
        }
        #[cfg(feature = "sim")]
        hatchery::flags::check_for_live_view(args, loaded.settings.origin("vcenter.endpoint"))?;
    }
    let fleet = Fleet { purpose: "up", pattern: None, hints: &ROAD, once: args.exit };
    show_fleet(loaded.vcenter()?, &fleet, out).await
}

impl Args {
    /// How to reach the vCenter that is named, whichever of the two flags names it.
    pub(crate) fn connect(&self) -> Connect {
        #[cfg(feature = "hatchery")]
        if self.real.vcenter.is_some() {
            return Connect { endpoint: self.real.vcenter.clone(), ..self.connect.clone() };
        }
        self.connect.clone()
    }

    pub(crate) fn guest(&self) -> GuestLogin {
        #[cfg(all(feature = "hatchery", feature = "sim"))]
        return self.guest.clone();
        #[cfg(not(all(feature = "hatchery", feature = "sim")))]
        GuestLogin::default()
    }
}
