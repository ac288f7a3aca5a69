use std::fmt;
use std::time::Duration;

use rookery_vim::MoRef;
use rookery_vim::objects::{PowerState, ToolsRunning};
use rookery_vim_client::{GuestError, Vm};

use super::command::COMMAND;
use super::plan::ExpectedAddress;

/// Why a VM did not get ready.
#[derive(Debug, thiserror::Error)]
pub enum ReadinessError {
    /// The first stage timed out.
    #[error(
        "{at} accepted no guest operations within {} s; last seen: {}; look at its console: VMware Tools \
         (open-vm-tools) must be installed in its template and start with it",
        after.as_secs_f64(), at.seen()
    )]
    NoOperations { at: Box<At>, after: Duration },
    /// The second stage timed out.
    #[error(
        "{at} did not show {wanted} within {} s; last seen: {}; look at its network, its customization, and whether \
         something answers DHCP there",
        after.as_secs_f64(), at.seen()
    )]
    NoAddress { at: Box<At>, wanted: ExpectedAddress, after: Duration },
    /// The last stage timed out; the source is why the last try failed, if one did.
    #[error(
        "{at} did not run {COMMAND} to its end within {} s; last seen: {}; check the guest's user and password, the \
         privilege VirtualMachine.GuestOperations.Execute, the guest's load, and the log of VMware Tools in it",
        after.as_secs_f64(), at.seen()
    )]
    NoCommand { at: Box<At>, after: Duration, source: Option<Box<GuestError>> },
    /// The command cannot be sent, or not to this server.
    #[error("{at} cannot be asked to run {COMMAND}; last seen: {}", at.seen())]
    CommandImpossible { at: Box<At>, source: Box<GuestError> },
    /// The VM does not exist any more.
    #[error(
        "{at} is gone while {}; last seen: {}; see the events of its folder for who removed it",
        at.stage, at.seen()
    )]
    Gone { at: Box<At> },
    /// The VM is off or suspended.
    #[error(
        "{at} is not running ({}) while {}; last seen: {}; see its events for who or what stopped it",
        power.as_str(), at.stage, at.seen()
    )]
    NotRunning { at: Box<At>, power: PowerState },
    /// The VM hangs until somebody answers.
    #[error(
        "{at} waits for an answer to a question while {}: {question:?}; last seen: {}; answer it in the vSphere \
         client",
        at.stage, at.seen()
    )]
    Question { at: Box<At>, question: String },
    /// The program stops: nothing is known against the VM.
    #[error("waiting for {at} was stopped while {}", at.stage)]
    Stopped { at: Box<At> },
}

impl ReadinessError {
    /// Which VM, at which stage, and what was last seen of it.
    pub fn at(&self) -> &At {
        match self {
            Self::NoOperations { at, .. }
            | Self::NoAddress { at, .. }
            | Self::NoCommand { at, .. }
            | Self::CommandImpossible { at, .. }
            | Self::Gone { at }
            | Self::NotRunning { at, .. }
            | Self::Question { at, .. }
            | Self::Stopped { at } => at,
        }
    }
}

/// Where waiting ended. Shows itself as the VM's name and reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    pub stage: Stage,
    pub vm: MoRef,
    /// What the inventory last showed of it, if it showed it.
    pub seen: Option<Seen>,
}

/// A stage of getting ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Operations,
    Address,
    Command,
}

/// What the inventory showed of a VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub name: String,
    pub power: Option<PowerState>,
    pub tools: Option<ToolsRunning>,
    /// Whether guest operations were accepted.
    pub operations_ready: Option<bool>,
    /// All addresses, also those that do not count.
    pub addresses: Vec<String>,
}

impl Seen {
    pub(super) fn of(vm: &Vm) -> Self {
        Self {
            name: vm.name.clone(),
            power: vm.power.clone(),
            tools: vm.guest.tools.clone(),
            operations_ready: vm.guest.operations_ready,
            addresses: vm.guest.nics.iter().flat_map(|nic| nic.ips.clone()).collect(),
        }
    }
}

impl At {
    fn seen(&self) -> String {
        self.seen.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.seen {
            Some(seen) => write!(f, "the VM {} ({})", seen.name, self.vm.id()),
            None => write!(f, "the VM {}", self.vm.id()),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Operations => "its guest operations were waited for",
            Self::Address => "its address was waited for",
            Self::Command => "a command was tried in it",
        })
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let power = self.power.as_ref().map_or("unknown", PowerState::as_str);
        let tools = self.tools.as_ref().map_or("unknown", ToolsRunning::as_str);
        let operations = match self.operations_ready {
            Some(true) => "ready",
            Some(false) => "not ready",
            None => "unknown",
        };
        write!(f, "power {power}, tools {tools}, guest operations {operations}, ")?;
        match &*self.addresses {
            [] => f.write_str("no addresses"),
            addresses => write!(f, "addresses {}", addresses.join(" ")),
        }
    }
}
