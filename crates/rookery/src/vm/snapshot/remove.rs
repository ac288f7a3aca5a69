//! `rookery vm snapshot rm`.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rookery_daemon::settings::duration;
use rookery_vim::MoRef;
use rookery_vim_client::{Vm, VmSnapshot};

use super::{One, descendants};
use crate::Ending;
use crate::output::{Did, Out, printable};
use crate::session::Session;
use crate::vm::changing::{Changing, subject};
use crate::vm::power::order;

/// The arguments of `vm snapshot rm`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    one: One,
    /// Remove the snapshots below it, too
    #[arg(long)]
    children: bool,
    /// How long to wait for it; merging large disks takes long
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    changing: Changing,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let (vm, snapshots, snapshot) = args.one.find(session).await?;
    let doomed = doomed(&snapshots, &snapshot, args.children);
    let what = described(&snapshot, doomed.len());
    let did = if args.changing.dry_run {
        Ok(Did::planned(format!("{what} would be removed")))
    } else {
        let of = format!("{} ({})", printable(&vm.name), vm.id.id());
        let question = format!("remove {} of {of}? nobody can go back to it then", printable(&what));
        args.one.confirm(session, vm, question, "nothing was removed").await?;
        remove(session, vm, &snapshot, &doomed, args).await.map(|()| Did::done(format!("{what} removed")))
    };
    let mut report = args.changing.report(out);
    report.tell(subject(vm, "snapshot_remove"), did.map(|did| did.giving(snapshot.id.id()))).await?;
    Ok(report.ending())
}

/// What goes: the snapshot, and those that stand on it if they are to go, too.
fn doomed<'s>(snapshots: &'s [VmSnapshot], snapshot: &'s VmSnapshot, children: bool) -> BTreeSet<&'s MoRef> {
    let above = if children { descendants(snapshots, &snapshot.id) } else { Vec::new() };
    above.into_iter().chain([snapshot]).map(|one| &one.id).collect()
}

fn described(snapshot: &VmSnapshot, count: usize) -> String {
    let this = format!("snapshot {} ({})", snapshot.name, snapshot.id.id());
    if count > 1 { format!("{this} and {} below it", count - 1) } else { this }
}

async fn remove(
    session: &Session,
    vm: &Vm,
    snapshot: &VmSnapshot,
    doomed: &BTreeSet<&MoRef>,
    args: &Args,
) -> anyhow::Result<()> {
    if args.children {
        // vCenter removes whatever stands on it then: it must be what was counted.
        let now = session.machines().snapshots(&vm.id).await?;
        if self::doomed(&now, snapshot, true) != *doomed {
            bail!("nothing was removed: the snapshots below it have changed meanwhile");
        }
    }
    let what = format!("remove snapshot {} of", snapshot.id.id());
    let removed = session.machines().remove_snapshot(&snapshot.id, args.children, args.wait);
    let removed = session.orders.during(order(&what, vm), removed).await;
    removed.with_context(|| format!("snapshot {:?} of {:?} was not removed", snapshot.name, vm.name))
}

#[cfg(test)]
mod tests {
    use super::super::tests::forest;
    use super::*;

    #[test]
    fn children_go_only_if_they_are_meant() {
        let snapshots = forest();
        let [base, before, ..] = &snapshots[..] else { panic!("four") };
        let count = |snapshot, children| doomed(&snapshots, snapshot, children).len();
        assert_eq!((count(base, true), count(base, false), count(before, true)), (4, 1, 2));
        assert_eq!(described(base, 1), "snapshot base (s-1)");
        assert_eq!(described(base, 4), "snapshot base (s-1) and 3 below it");
    }
}
