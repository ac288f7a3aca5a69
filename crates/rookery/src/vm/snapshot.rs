//! `rookery vm snapshot`.

use std::time::Duration;

use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::{Problems, duration};

use super::arguments::{self, WrongArguments};
use super::pick;
use super::power::order;
use crate::Ending;
use crate::output::{Out, printable};
use crate::session::Session;

/// The arguments of `vm snapshot`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    pub(super) vm: String,
    /// The snapshot's name; one that is there already will do
    #[arg(value_name = "SNAPSHOT", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// How long to wait for it
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
}

impl Args {
    pub(super) fn check(&self) -> Result<String, WrongArguments> {
        let mut problems = Problems::new();
        let name = problems.keep("SNAPSHOT", arguments::name(&self.name));
        WrongArguments::unless(problems, name)
    }
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    let what = format!("snapshot {} of", printable(&args.name));
    let taken = session.machines().snapshot(&vm.id, &args.name, args.wait);
    let taken = session.orders.during(order(&what, vm), taken).await;
    let snapshot = taken.with_context(|| {
        format!(
            "no snapshot {:?} of {:?} was seen; look with `rookery vm events {}`",
            args.name,
            vm.name,
            vm.id.id()
        )
    })?;
    out.line(&format!("{}: snapshot {} is {}", printable(&vm.name), printable(&args.name), snapshot.id()))
        .await?;
    Ok(Ending::Done)
}
