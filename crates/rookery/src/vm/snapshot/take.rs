//! `rookery vm snapshot take`.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::{Problems, duration};
use rookery_vim_client::Vm;

use crate::Ending;
use crate::output::{Did, Out, printable};
use crate::session::Session;
use crate::vm::WrongArguments;
use crate::vm::arguments;
use crate::vm::changing::{Changing, Matching, all_matching, to_each};
use crate::vm::pick::pick_all;
use crate::vm::power::order;

const ACTION: &str = "snapshot_take";

/// The arguments of `vm snapshot take`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The VM by its name or its id, and the snapshot's name; with --all-matching the snapshot's name alone
    #[arg(required = true, num_args = 1..=2, value_name = "[VM] SNAPSHOT")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    words: Vec<String>,
    #[command(flatten)]
    matching: Matching,
    /// How long to wait for each
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    changing: Changing,
}

impl Args {
    /// The VM, unless a pattern says which, and the snapshot's name.
    fn words(&self) -> (&[String], &str) {
        self.words.split_last().map_or((&[], ""), |(name, vm)| (vm, name))
    }

    pub(super) fn check(&self) -> Result<(), WrongArguments> {
        let mut problems = Problems::new();
        let (vm, name) = self.words();
        match (vm, &self.matching.all_matching) {
            ([], None) => problems.push("SNAPSHOT", "name the VM, and then the snapshot"),
            ([_, ..], Some(_)) => {
                problems.push("VM", "the VMs are either named, or all that --all-matching means");
            }
            ([_, ..], None) | ([], Some(_)) => drop(problems.keep("SNAPSHOT", arguments::name(name))),
        }
        WrongArguments::unless(problems, Some(()))
    }
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let Args { matching, wait, changing, .. } = args;
    let (vm, name) = args.words();
    let chosen = match &matching.all_matching {
        Some(pattern) => all_matching(session.first.vms(), pattern, |_| true)?,
        None => pick_all(&session.first.vms().collect::<Vec<_>>(), vm)?,
    };
    if !changing.dry_run {
        matching.ask(&format!("take a snapshot {name:?} of each of them"), &chosen).await?;
    }
    let work = async |vm: &Vm| {
        let machines = session.machines();
        matching.check(session, vm).await?;
        let known = machines.snapshots(&vm.id).await?;
        let is = |id: &str| format!("snapshot {name} is {id}");
        if let Some(there) = known.iter().find(|one| one.name == name) {
            return Ok(Did::unchanged(is(there.id.id())).giving(there.id.id()));
        }
        if changing.dry_run {
            return Ok(Did::planned(format!("a snapshot {name} would be taken")));
        }
        let what = format!("snapshot {} of", printable(name));
        let taken =
            session.orders.during(order(&what, vm), machines.take_snapshot(&vm.id, name, *wait)).await;
        let taken = taken.map_err(|error| {
            anyhow::Error::new(error).context(format!("no snapshot of {:?} was seen", vm.name))
        })?;
        Ok(Did::done(is(taken.id())).giving(taken.id()))
    };
    to_each(chosen, ACTION, work, changing.report(out)).await
}
