//! `rookery vm power`.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use rookery_daemon::settings::duration;
use rookery_vim::objects::{PowerState, ToolsRunning};
use rookery_vim_client::{OperationError, PowerChange, TaskError, Vm};
use tokio::time::Instant;

use super::changing::{Changing, Targets, to_each};
use super::words::{power_of, power_word};
use crate::Ending;
use crate::output::{Did, Out, printable};
use crate::session::Session;

/// The arguments of `vm power`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do
    #[arg(value_enum)]
    action: Action,
    #[command(flatten)]
    targets: Targets,
    /// How long to wait for each
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    pub(super) changing: Changing,
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

    /// What results call it.
    fn name(self) -> &'static str {
        match self {
            Self::On => "power_on",
            Self::Off => "power_off",
            Self::Reset => "power_reset",
            Self::Suspend => "power_suspend",
            Self::Shutdown => "power_shutdown",
            Self::Reboot => "power_reboot",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::On => "turn them on",
            Self::Off => "turn them off at once",
            Self::Reset => "reset them",
            Self::Suspend => "suspend them",
            Self::Shutdown => "shut their guests down",
            Self::Reboot => "restart their guests",
        }
    }

    fn planned(self) -> &'static str {
        match self {
            Self::On => "turned on",
            Self::Off => "turned off",
            Self::Reset | Self::Suspend | Self::Shutdown | Self::Reboot => self.done(),
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
    let Args { action, targets, changing, .. } = args;
    let chosen = targets.choose(&session.first)?;
    let report = changing.report(out);
    if changing.dry_run {
        return to_each(chosen, action.name(), async |vm| would(*action, vm), report).await;
    }
    targets.matching.ask(action.question(), &chosen).await?;
    let named = action.to_possible_value();
    let what = format!("power {}", named.as_ref().map_or("", |named| named.get_name()));
    let work = async |vm: &Vm| {
        targets.matching.check(session, vm).await?;
        session.orders.during(order(&what, vm), change(session, vm, args)).await?;
        let was_so = action.goal().is_some() && vm.power == action.goal();
        Ok(if was_so { Did::unchanged(action.done()) } else { Did::done(action.done()) })
    };
    to_each(chosen, action.name(), work, report).await
}

/// What is asked of a VM, and how to look whether it was done.
pub(super) fn order(what: &str, vm: &Vm) -> String {
    let id = vm.id.id();
    format!(
        "{what} {} ({id}); look with `rookery vm info {id}` and `rookery vm events {id}`",
        printable(&vm.name)
    )
}

/// What would be done, or what vCenter would refuse.
fn would(action: Action, vm: &Vm) -> anyhow::Result<Did> {
    if vm.is_template() {
        bail!("it is a template, which has no power");
    }
    if action.goal().is_some() && vm.power == action.goal() {
        return Ok(Did::unchanged(format!("is {} already", power_of(vm))));
    }
    let is_off = matches!(vm.power, Some(PowerState::Off | PowerState::Suspended));
    let has_tools = vm.guest.tools != Some(ToolsRunning::NotRunning);
    let (needs_on, needs_tools) = match action {
        Action::On | Action::Off => (false, false),
        Action::Reset | Action::Suspend => (true, false),
        Action::Shutdown | Action::Reboot => (true, true),
    };
    if needs_on && is_off {
        bail!("it is {}", power_of(vm));
    }
    if needs_tools && !has_tools {
        bail!("VMware Tools do not run in its guest");
    }
    Ok(Did::planned(format!("would be {}, is {}", action.planned(), power_of(vm))))
}

async fn change(session: &Session, vm: &Vm, args: &Args) -> anyhow::Result<()> {
    let (action, wait) = (args.action, args.wait);
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

#[cfg(test)]
mod tests {
    use super::super::tests::{running, vm};
    use super::*;

    fn check(action: Action, vm: &Vm, expected: Result<Did, &str>) {
        let would = would(action, vm).map_err(|error| error.to_string());
        assert_eq!(would, expected.map_err(str::to_owned), "{action:?}");
    }

    #[test]
    fn what_would_be_done_is_told_and_what_cannot_be_is_refused() {
        let (off, mut on) = (vm("vm-1", "a"), running("vm-1", "a", ""));
        check(Action::On, &off, Ok(Did::planned("would be turned on, is off")));
        check(Action::Off, &off, Ok(Did::unchanged("is off already")));
        check(Action::Shutdown, &off, Ok(Did::unchanged("is off already")));
        for action in [Action::Reset, Action::Suspend, Action::Reboot] {
            check(action, &off, Err("it is off"));
        }
        check(Action::Off, &on, Ok(Did::planned("would be turned off, is on")));
        check(Action::Reset, &on, Ok(Did::planned("would be reset, is on")));
        check(Action::Reboot, &on, Ok(Did::planned("would be asked to reboot, is on")));
        on.guest.tools = Some(ToolsRunning::NotRunning);
        check(Action::Reboot, &on, Err("VMware Tools do not run in its guest"));
        check(Action::Off, &on, Ok(Did::planned("would be turned off, is on")));
        let mut template = vm("vm-1", "a");
        template.config.template = Some(true);
        check(Action::On, &template, Err("it is a template, which has no power"));
    }
}
