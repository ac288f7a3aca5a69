//! `rookery vm rename`.

use std::time::Duration;

use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::{Problems, duration};
use rookery_vim::{FaultKind, MoRef};
use rookery_vim_client::{OperationError, Snapshot, Vm};
use tokio::time::Instant;

use super::arguments::{self, WrongArguments};
use super::changing::{Changing, subject};
use super::pick;
use super::power::{is_open, order};
use crate::Ending;
use crate::output::{Did, Out, printable};
use crate::session::Session;

/// The arguments of `vm rename`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    #[arg(value_name = "OLD")]
    vm: String,
    /// Its new name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    new: String,
    /// How long to wait for it
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    pub(super) changing: Changing,
}

impl Args {
    pub(super) fn check(&self) -> Result<String, WrongArguments> {
        let mut problems = Problems::new();
        let name = problems.keep("NEW", arguments::name(&self.new));
        WrongArguments::unless(problems, name)
    }
}

/// Why a VM does not have the name that it was to have.
#[derive(Debug, thiserror::Error)]
enum RenameError {
    #[error("{old:?} cannot be renamed: the name {new:?} is taken{}", holder(.by.as_ref()))]
    Taken { old: String, new: String, by: Option<MoRef> },
    #[error("{old:?} was not renamed to {new:?}")]
    Refused { old: String, new: String, source: OperationError },
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    let mut report = args.changing.report(out);
    report.tell(subject(vm, "rename"), rename(session, vm, args).await).await?;
    Ok(report.ending())
}

async fn rename(session: &Session, vm: &Vm, args: &Args) -> anyhow::Result<Did> {
    let (old, new) = (vm.name.clone(), args.new.clone());
    if old == new {
        return Ok(Did::unchanged("has this name already").giving(new));
    }
    if let Some(by) = neighbour(&session.first, vm, &new) {
        return Err(RenameError::Taken { old, new, by: Some(by) }.into());
    }
    if args.changing.dry_run {
        return Ok(Did::planned(format!("would be renamed to {new}")).giving(new));
    }
    let what = format!("rename to {}:", printable(&new));
    session.orders.during(order(&what, vm), ordered(session, vm, new.clone(), args.wait)).await?;
    Ok(Did::done(format!("renamed to {new}")).giving(new))
}

async fn ordered(session: &Session, vm: &Vm, new: String, wait: Duration) -> anyhow::Result<()> {
    let deadline = Instant::now() + wait;
    let ordered = session.machines().rename(&vm.id, &new, wait).await;
    if let Err(error) = &ordered
        && !is_open(error)
    {
        return Err(refusal(session, vm, new, error.clone()).into());
    }
    let left = deadline.saturating_duration_since(Instant::now());
    let seen = session.inventory.wait_for(&vm.id, left, |vm| (vm.name == new).then_some(())).await;
    if let (Err(_), Err(source)) = (&seen, ordered) {
        return Err(RenameError::Refused { old: vm.name.clone(), new, source }.into());
    }
    seen.with_context(|| {
        format!(
            "vCenter accepted the request, but does not show the new name; look with `rookery vm info {}`",
            vm.id.id()
        )
    })?;
    Ok(())
}

/// Another VM of that name in the same folder. Elsewhere the name may be used again.
fn neighbour(snapshot: &Snapshot, vm: &Vm, name: &str) -> Option<MoRef> {
    let same_place = |other: &Vm| other.id != vm.id && other.parent == vm.parent;
    snapshot.named(name).find(|other| same_place(other)).map(|other| other.id.clone())
}

fn refusal(session: &Session, vm: &Vm, new: String, error: OperationError) -> RenameError {
    let old = vm.name.clone();
    let elsewhere =
        || session.inventory.snapshot().named(&new).find(|other| other.id != vm.id).map(|vm| vm.id.clone());
    let kind = error.fault().map(rookery_vim::Fault::kind);
    match kind {
        Some(FaultKind::DuplicateName) => RenameError::Taken { old, by: elsewhere(), new },
        // vcsim says that the argument is wrong, which also means other things: only with a holder it is this.
        Some(FaultKind::InvalidArgument) if elsewhere().is_some() => {
            RenameError::Taken { old, by: elsewhere(), new }
        }
        Some(_) | None => RenameError::Refused { old, new, source: error },
    }
}

fn holder(by: Option<&MoRef>) -> String {
    by.map(|id| format!(" by {}", id.id())).unwrap_or_default()
}
