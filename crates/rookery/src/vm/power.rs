//! `rookery vm power`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rookery_daemon::settings::duration;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{OperationError, PowerChange, TaskError, Vm};
use tokio::time::Instant;

use super::pick::pick_all;
use super::words::power_word;
use crate::output::{Out, printable};
use crate::session::Session;
use crate::{Ending, failure};

/// The arguments of `vm power`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do
    #[arg(value_enum)]
    action: Action,
    /// Their names or ids; all are changed at once, or none if one of them is unclear
    #[arg(required = true, value_name = "VM", value_parser = NonEmptyStringValueParser::new())]
    vms: Vec<String>,
    /// How long to wait for each
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
}

/// What to do with a VM's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Start it
    On,
    /// Stop it at once, as pulling the plug does
    Off,
    /// Restart it at once
    Reset,
    /// Suspend it
    Suspend,
    /// Ask the guest to shut down, and wait until it is off
    Shutdown,
    /// Ask the guest to restart; does not wait for it
    Reboot,
}

impl Action {
    fn change(self) -> PowerChange {
        match self {
            Self::On => PowerChange::On,
            Self::Off => PowerChange::Off,
            Self::Reset => PowerChange::Reset,
            Self::Suspend => PowerChange::Suspend,
            Self::Shutdown => PowerChange::ShutdownGuest,
            Self::Reboot => PowerChange::RebootGuest,
        }
    }

    /// The state that shows that it is done. A restart leaves the state as it was.
    fn goal(self) -> Option<PowerState> {
        match self {
            Self::On => Some(PowerState::On),
            Self::Off | Self::Shutdown => Some(PowerState::Off),
            Self::Suspend => Some(PowerState::Suspended),
            Self::Reset | Self::Reboot => None,
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Reset => "reset",
            Self::Suspend => "suspended",
            Self::Shutdown => "shut down",
            Self::Reboot => "asked to reboot",
        }
    }
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let chosen = pick_all(&session.first.vms().collect::<Vec<_>>(), &args.vms)?;
    let action = args.action.to_possible_value();
    let what = format!("power {}", action.as_ref().map_or("", |action| action.get_name()));
    let change = async |vm: &Vm| session.orders.during(order(&what, vm), change(session, vm, args)).await;
    to_each(chosen, args.action.done(), change, out).await
}

/// What is asked of a VM, and how to look whether it was done.
pub(super) fn order(what: &str, vm: &Vm) -> String {
    let id = vm.id.id();
    format!(
        "{what} {} ({id}); look with `rookery vm info {id}` and `rookery vm events {id}`",
        printable(&vm.name)
    )
}

/// Does something to all of them at once, and tells how each went.
pub(super) async fn to_each(
    vms: Vec<Arc<Vm>>,
    done: &str,
    work: impl AsyncFn(&Vm) -> anyhow::Result<()>,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let work = async |vm: Arc<Vm>| (work(&vm).await, vm);
    let mut running: FuturesUnordered<_> = vms.into_iter().map(work).collect();
    let mut ending = Ending::Done;
    while let Some((outcome, vm)) = running.next().await {
        match outcome {
            Ok(()) => out.line(&format!("{}: {done}", printable(&vm.name))).await?,
            Err(error) => {
                ending = Ending::Failed;
                failure::report(&error.context(vm.name.clone()));
            }
        }
    }
    Ok(ending)
}

async fn change(session: &Session, vm: &Vm, args: &Args) -> anyhow::Result<()> {
    let Args { action, wait, .. } = *args;
    let deadline = Instant::now() + wait;
    let ordered = session.machines().power(&vm.id, action.change(), wait).await;
    let outcome = match (ordered, action.goal()) {
        (Ok(()), None) => Ok(()),
        (Ok(()), Some(goal)) => arrival(session, vm, goal, deadline).await,
        // Whether it was done is not known, but can be seen.
        (Err(error), Some(goal)) if is_open(&error) => {
            arrival(session, vm, goal, deadline).await.map_err(|_| error.into())
        }
        (Err(error), Some(_) | None) => Err(error.into()),
    };
    match question(session, vm) {
        Some(question) => outcome.context(question),
        None => outcome,
    }
}

/// Whether an operation that gave no result may have been carried out all the same: then its effect decides.
pub(super) fn is_open(error: &OperationError) -> bool {
    match error {
        OperationError::Call(error) => error.may_have_happened(),
        OperationError::Task(TaskError::Unknown { .. }) => true,
        OperationError::Task(TaskError::Failed(_) | TaskError::TimedOut { .. } | TaskError::Stopped) => false,
    }
}

async fn arrival(session: &Session, vm: &Vm, goal: PowerState, deadline: Instant) -> anyhow::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let arrived = |vm: &Vm| (vm.power.as_ref() == Some(&goal)).then_some(());
    let seen = session.inventory.wait_for(&vm.id, left, arrived).await;
    seen.with_context(|| {
        let (power, id) = (power_word(&goal), vm.id.id());
        format!("vCenter accepted the request, but does not show the VM as {power}; `rookery vm events {id}` may say why")
    })
}

/// A VM that asks something hangs until a person answers: the usual reason why nothing moves.
fn question(session: &Session, vm: &Vm) -> Option<String> {
    let snapshot = session.inventory.snapshot();
    let question = snapshot.get(&vm.id)?.question.clone()?;
    Some(format!("it waits for an answer to {question:?}"))
}
