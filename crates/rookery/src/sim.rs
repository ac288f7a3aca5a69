//! `rookery sim`: the systems that Rookery talks to, simulated.

mod embedded;
mod vcenter;

use clap::Subcommand;

use crate::Ending;
use crate::output::Out;
pub(crate) use embedded::Embedded;

/// What to simulate.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A vCenter, for govc, pyvmomi, Rookery and whatever else speaks to one
    Vcenter(Box<vcenter::Args>),
}

pub(crate) async fn run(command: Command, out: &mut Out) -> anyhow::Result<Ending> {
    match command {
        Command::Vcenter(args) => vcenter::run(&args, out).await,
    }
}
