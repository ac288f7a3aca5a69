//! `rookery vm ip`.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::anyhow;
use rookery_daemon::settings::duration;
use rookery_vim::objects::{PowerState, ToolsRunning};
use rookery_vim_client::{Vm, WaitError};
use serde::Serialize;

use super::pick;
use super::words::power_word;
use crate::Ending;
use crate::output::{Column, Columns, Format, Out};
use crate::session::Session;

/// The arguments of `vm ip`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// How long to wait for an address, and until the VM is on [default: 3m if it is on]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    wait: Option<Duration>,
    /// All its addresses, not only the first
    #[arg(long)]
    all: bool,
    /// How to show them; table=name,ip shows these columns
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&ADDRESSES))]
    output: Format,
}

/// One address.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    id: String,
    ip: IpAddr,
}

const ADDRESSES: Columns<Row> =
    Columns { name: "name", all: &[Column::usual("name"), Column::usual("id"), Column::usual("ip")] };

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    let wait = patience(vm, args.wait)?;
    let found = session.inventory.wait_for(&vm.id, wait, addresses).await.map_err(|error| {
        let why =
            if let WaitError::TimedOut { last, .. } = &error { last.as_deref().map(reason) } else { None };
        let error = anyhow!(error);
        why.map_or(error, |why| anyhow!("{:?} has no address: {why}", vm.name))
    })?;
    let found = found.into_iter().take(if args.all { usize::MAX } else { 1 });
    let row = |ip| Row { name: vm.name.clone(), id: vm.id.id().to_owned(), ip };
    let rows: Vec<_> = found.map(row).collect();
    let shown = if args.output.is_for_people() {
        rows.iter().map(|row| row.ip.to_string()).collect::<Vec<_>>().join("\n")
    } else {
        args.output.list(&ADDRESSES, &rows)?
    };
    out.lines(&shown).await?;
    Ok(Ending::Done)
}

/// How long a guest that is on may take until it reports an address.
const USUAL: Duration = Duration::from_mins(3);

/// A VM that is off gets no address by itself.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{vm:?} has no address: it is {power}; start it with `rookery vm power on {id}`, or give --wait to wait until somebody does"
)]
struct NotOn {
    vm: String,
    id: String,
    power: String,
}

fn patience(vm: &Vm, given: Option<Duration>) -> Result<Duration, NotOn> {
    match (&vm.power, given) {
        (_, Some(wait)) => Ok(wait),
        (Some(power @ (PowerState::Off | PowerState::Suspended)), None) => {
            Err(NotOn { vm: vm.name.clone(), id: vm.id.id().to_owned(), power: power_word(power).to_owned() })
        }
        (Some(PowerState::On | PowerState::Other(_)) | None, None) => Ok(USUAL),
    }
}

/// The addresses of a VM that runs: those of one that is off are what it had.
fn addresses(vm: &Vm) -> Option<Vec<IpAddr>> {
    let running = vm.power == Some(PowerState::On);
    Some(vm.guest.addresses()).filter(|addresses| running && !addresses.is_empty())
}

fn reason(vm: &Vm) -> &'static str {
    match (&vm.power, &vm.guest.tools) {
        (Some(PowerState::On), Some(ToolsRunning::Running | ToolsRunning::ExecutingScripts)) => {
            "its guest reports none that others could use"
        }
        (Some(PowerState::On), _) => "VMware Tools, which would report it, do not run in its guest",
        (Some(PowerState::Off | PowerState::Suspended | PowerState::Other(_)) | None, _) => "it is not on",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{running, vm};
    use super::*;

    #[test]
    fn a_vm_that_is_off_has_no_address() {
        let mut vm_that_was_on = running("vm-1", "a", "10.0.0.7");
        assert_eq!(addresses(&vm_that_was_on), Some(vec!["10.0.0.7".parse().unwrap()]));
        vm_that_was_on.power = Some(PowerState::Off);
        assert_eq!(addresses(&vm_that_was_on), None);
        assert_eq!(addresses(&running("vm-1", "a", "fe80::1")), None);
    }

    #[test]
    fn a_vm_that_is_off_is_waited_for_only_if_somebody_says_how_long() {
        let minute = Duration::from_mins(1);
        let mut vm = running("vm-1", "a", "");
        assert_eq!((patience(&vm, None), patience(&vm, Some(minute))), (Ok(USUAL), Ok(minute)));
        vm.power = None;
        assert_eq!(patience(&vm, None), Ok(USUAL));
        for (power, word) in [(PowerState::Off, "off"), (PowerState::Suspended, "suspended")] {
            vm.power = Some(power);
            assert_eq!(patience(&vm, Some(minute)), Ok(minute));
            let refused = patience(&vm, None).unwrap_err().to_string();
            let expected =
                format!("\"a\" has no address: it is {word}; start it with `rookery vm power on vm-1`");
            assert!(refused.starts_with(&expected), "{refused}");
        }
    }

    #[test]
    fn what_is_in_the_way_of_an_address_is_told() {
        assert_eq!(reason(&vm("vm-1", "a")), "it is not on");
        let mut on = running("vm-1", "a", "");
        assert!(reason(&on).starts_with("VMware Tools"));
        on.guest.tools = Some(ToolsRunning::Running);
        assert!(reason(&on).starts_with("its guest reports none"));
    }
}
