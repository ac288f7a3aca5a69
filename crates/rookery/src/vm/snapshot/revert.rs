//! `rookery vm snapshot revert`.

use std::time::Duration;

use anyhow::Context as _;
use rookery_daemon::settings::duration;

use super::One;
use crate::Ending;
use crate::output::{Did, Out, printable};
use crate::session::Session;
use crate::vm::changing::{Changing, subject};
use crate::vm::power::order;
use crate::vm::words::{moment, power_of};

/// The arguments of `vm snapshot revert`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    one: One,
    /// How long to wait for it
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    changing: Changing,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let (vm, _, snapshot) = args.one.find(session).await?;
    let (name, id) = (&snapshot.name, snapshot.id.id());
    let did = if args.changing.dry_run {
        Ok(Did::planned(format!("would be reverted to snapshot {name} ({id})")).giving(id))
    } else {
        let of = format!("{} ({}, {})", printable(&vm.name), vm.id.id(), printable(power_of(vm)));
        let to = format!("snapshot {} of {}", printable(name), moment(snapshot.created));
        let lost = "all changes since then that are in no other snapshot are lost";
        let question = format!("revert {of} to {to}? {lost}");
        args.one.confirm(session, vm, question, "nothing was reverted").await?;
        let what = format!("revert to snapshot {id} of");
        let reverted = session.machines().revert_to_snapshot(&snapshot.id, args.wait);
        let reverted = session.orders.during(order(&what, vm), reverted).await;
        let reverted = reverted.with_context(|| format!("{:?} was not reverted", vm.name));
        reverted.map(|()| Did::done(format!("reverted to snapshot {name} ({id})")).giving(id))
    };
    let mut report = args.changing.report(out);
    report.tell(subject(vm, "snapshot_revert"), did).await?;
    Ok(report.ending())
}
