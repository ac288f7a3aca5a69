//! `rookery operator`: the Kubernetes fronts.

mod crds;

use clap::Subcommand;

use crate::Ending;
use crate::output::Out;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the definitions of all custom resources, for `kubectl apply --server-side -f -`
    Crds(crds::Args),
}

pub(crate) async fn run(command: Command, out: &mut Out) -> anyhow::Result<Ending> {
    match command {
        Command::Crds(args) => crds::run(&args, out).await,
    }
}
