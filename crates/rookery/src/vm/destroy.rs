//! `rookery vm destroy`: there is no way back, so nothing happens by accident.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rookery_daemon::settings::duration;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{Vm, WaitError};
use tokio::time::Instant;

use super::changing::{Changing, Targets, still_as_listed, to_each};
use super::power::order;
use crate::Ending;
use crate::output::{Did, Out, confirm, printable};
use crate::session::Session;

/// The arguments of `vm destroy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    targets: Targets,
    /// How long to wait for each
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    pub(super) changing: Changing,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let Args { targets, wait, changing } = args;
    let chosen = targets.choose(&session.first)?;
    check_off(&chosen)?;
    let report = changing.report(out);
    if changing.dry_run {
        let planned = async |_: &Vm| Ok(Did::planned("would be destroyed with all files"));
        return to_each(chosen, "destroy", planned, report).await;
    }
    let matching = &targets.matching;
    matching.ask("destroy them with all files", &chosen).await?;
    if matching.all_matching.is_none() && !matching.yes {
        let name = |vm: &Arc<Vm>| format!("{} ({})", printable(&vm.name), vm.id.id());
        let names = chosen.iter().map(name).collect::<Vec<_>>().join(", ");
        confirm(format!("destroy {names} with all files?"), "nothing was destroyed").await?;
    }
    let work = async |vm: &Vm| {
        still_as_listed(session, vm).await?;
        session.orders.during(order("destroy", vm), destroy(session, vm, *wait)).await?;
        Ok(Did::done("destroyed"))
    };
    to_each(chosen, "destroy", work, report).await
}

/// A machine that runs is in use, whatever was typed.
fn check_off(chosen: &[Arc<Vm>]) -> anyhow::Result<()> {
    let in_use: Vec<_> = chosen
        .iter()
        .filter(|vm| vm.power != Some(PowerState::Off))
        .map(|vm| format!("{:?} is not off", vm.name))
        .collect();
    if in_use.is_empty() {
        return Ok(());
    }
    bail!("nothing was destroyed: {}; `rookery vm power off` stops a VM", in_use.join(", "))
}

async fn destroy(session: &Session, vm: &Vm, wait: Duration) -> anyhow::Result<()> {
    let deadline = Instant::now() + wait;
    session.machines().destroy(&vm.id, wait).await?;
    let left = deadline.saturating_duration_since(Instant::now());
    match session.inventory.wait_for(&vm.id, left, |_| None::<()>).await {
        Err(WaitError::Gone { .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error)
            .context("vCenter accepted the request, but still lists the VM; look again with `rookery vm ls`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{running, shared, vm};
    use super::*;

    #[test]
    fn only_what_is_known_to_be_off_is_destroyed() {
        let mut off = vm("vm-1", "old");
        off.power = Some(PowerState::Off);
        let mut unknown = vm("vm-2", "fresh");
        unknown.power = None;
        assert!(check_off(&shared([off.clone()])).is_ok());
        let error = check_off(&shared([off, unknown, running("vm-3", "busy", "192.0.2.1")])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "nothing was destroyed: \"fresh\" is not off, \"busy\" is not off; `rookery vm power off` stops a VM"
        );
    }
}
