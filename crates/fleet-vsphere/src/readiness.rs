//! Waiting until a VM that was started can be used, in three stages with a time-out each:
//!
//! ```text
//!  operations ──────────────► address ──────────────► command
//!  the tools accept guest     a wanted address is     `env` ran in the guest
//!  operations                 on one of its cards     and ended
//!       │                         │                       │
//!       └──── gone, not running, asks a question: fails at once, whatever the stage ────┘
//! ```
//!
//! The first two stages are conditions on the live inventory and cost no call. But the inventory may not have heard yet
//! of the VM, or of its start, that the caller has just seen succeed. So what it says against a VM fails the wait only
//! if a read of the VM says so, too.

mod command;
mod error;
mod plan;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rookery_daemon::telemetry::chain;
use rookery_vim::objects::PowerState;
use rookery_vim::{FaultKind, MoRef, Wire as _};
use rookery_vim_client::{Client, GuestError, GuestUser, Guests, Inventory, Vm, WaitError, properties_of};
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use command::{ExitCode, GiveUpReason};
use plan::{Halt, Verdict};

pub use error::{At, ReadinessError, Seen, Stage};
pub use plan::ExpectedAddress;

/// How long each stage may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOuts {
    /// Until guest operations are accepted.
    pub operations: Duration,
    /// Until the address is there.
    pub address: Duration,
    /// Until a command has run.
    pub command: Duration,
}

impl Default for TimeOuts {
    fn default() -> Self {
        Self {
            operations: Duration::from_secs(180),
            address: Duration::from_secs(180),
            command: Duration::from_secs(60),
        }
    }
}

/// Waits for VMs of one vCenter.
#[derive(Debug, Clone)]
pub struct Readiness {
    client: Client,
    guests: Guests,
    inventory: Inventory,
    time_outs: TimeOuts,
    exit_codes: ProbeExitCodes,
}

/// Exit codes of the probe other than 0. They say nothing about guest operations, and templates that cause one cause
/// many: the first is a warning.
#[derive(Debug, Clone, Default)]
struct ProbeExitCodes(Arc<AtomicBool>);

/// Why watching a VM ended early.
#[derive(Debug)]
enum Interrupted {
    Gone,
    Halted(Halt),
    TimedOut,
    Stopped,
}

impl Readiness {
    /// Waits through this inventory; only the last stage calls the server.
    pub fn new(client: Client, guests: Guests, inventory: Inventory, time_outs: TimeOuts) -> Self {
        Self { client, guests, inventory, time_outs, exit_codes: ProbeExitCodes::default() }
    }

    /// All stages, one after the other; the address by which the VM can be reached.
    pub async fn wait(
        &self,
        vm: &MoRef,
        address: ExpectedAddress,
        user: &GuestUser,
    ) -> Result<IpAddr, ReadinessError> {
        self.operations(vm).await?;
        let address = self.address(vm, address).await?;
        self.command(vm, user).await?;
        Ok(address)
    }

    /// The first stage: guest operations are accepted.
    pub async fn operations(&self, vm: &MoRef) -> Result<(), ReadinessError> {
        let (after, mut seen) = (self.time_outs.operations, None);
        let ready = self.watch(vm, after, &mut seen, plan::operations).await;
        ready.map_err(|why| {
            let at = self.at(vm, Stage::Operations, seen);
            failure(why, at, |at| ReadinessError::NoOperations { at, after })
        })
    }

    /// The second stage: the VM has the address.
    pub async fn address(&self, vm: &MoRef, wanted: ExpectedAddress) -> Result<IpAddr, ReadinessError> {
        let (after, mut seen) = (self.time_outs.address, None);
        let found = self.watch(vm, after, &mut seen, |row| plan::address(row, wanted)).await;
        found.map_err(|why| {
            let at = self.at(vm, Stage::Address, seen);
            failure(why, at, |at| ReadinessError::NoAddress { at, wanted, after })
        })
    }

    /// The last stage: a command runs in the guest and ends.
    pub async fn command(&self, vm: &MoRef, user: &GuestUser) -> Result<(), ReadinessError> {
        let (after, mut seen, mut last) = (self.time_outs.command, None, None);
        let why = tokio::select! {
            biased;
            ran = self.run(vm, user, &mut last) => {
                let exit_code = ran.or_else(|source| self.give_up(vm, source, seen, after))?;
                self.exit_codes.note(vm, exit_code);
                return Ok(());
            }
            watched = self.watch(vm, after, &mut seen, plan::still_running) => match watched {
                Ok(never) => match never {},
                Err(why) => why,
            },
        };
        let at = self.at(vm, Stage::Command, seen);
        Err(failure(why, at, |at| ReadinessError::NoCommand { at, after, source: last.map(Box::new) }))
    }

    async fn run(
        &self,
        vm: &MoRef,
        user: &GuestUser,
        last: &mut Option<GuestError>,
    ) -> Result<ExitCode, GuestError> {
        let program = command::program();
        command::run(
            vm,
            || self.guests.start(vm, user, &program),
            |pid| self.guests.ended(vm, user, pid, command::looks()),
            last,
        )
        .await
    }

    /// What it means that trying was given up before its time was over.
    fn give_up(
        &self,
        vm: &MoRef,
        source: GuestError,
        seen: Option<Seen>,
        after: Duration,
    ) -> Result<ExitCode, ReadinessError> {
        let (at, why) = (self.at(vm, Stage::Command, seen), command::fruitless(&source, vm));
        Err(match why {
            Some(GiveUpReason::Gone) => ReadinessError::Gone { at },
            Some(GiveUpReason::Stopped) => ReadinessError::Stopped { at },
            Some(GiveUpReason::Impossible) => {
                ReadinessError::CommandImpossible { at, source: Box::new(source) }
            }
            None => ReadinessError::NoCommand { at, after, source: Some(Box::new(source)) },
        })
    }

    /// Follows the VM in the inventory until the judge has what it wants.
    async fn watch<T>(
        &self,
        vm: &MoRef,
        after: Duration,
        seen: &mut Option<Seen>,
        judge: impl Fn(&Vm) -> Verdict<T>,
    ) -> Result<T, Interrupted> {
        let deadline = Instant::now() + after;
        let left = || deadline.saturating_duration_since(Instant::now());
        // What the inventory says although the server does not, because it has not caught up.
        let mut outdated = None;
        if self.inventory.snapshot().get(vm).is_none() {
            self.confirm(vm, deadline).await?;
            self.inventory.appears(vm, left()).await?;
            // A new VM may be shown as it was before its start.
            outdated = Some(Halt::NotRunning(PowerState::Off));
        }
        loop {
            let judged = self.inventory.wait_for(vm, left(), |row| {
                *seen = Some(Seen::of(row));
                match judge(row) {
                    Verdict::Ready(found) => Some(Ok(found)),
                    Verdict::Halted(halt) if outdated.as_ref() == Some(&halt) => None,
                    Verdict::Halted(halt) => Some(Err(halt)),
                    Verdict::Wait => {
                        outdated = None;
                        None
                    }
                }
            });
            match judged.await? {
                Ok(found) => return Ok(found),
                Err(halt) => {
                    self.confirm(vm, deadline).await?;
                    outdated = Some(halt);
                }
            }
        }
    }

    /// Ends the wait if the server itself says that it is in vain. If it cannot be asked, nothing is concluded.
    async fn confirm(&self, vm: &MoRef, deadline: Instant) -> Result<(), Interrupted> {
        let read = properties_of(&self.client, vm, &["runtime.powerState", "runtime.question"]);
        let properties = match timeout_at(deadline, read).await {
            Ok(Ok(properties)) => properties,
            Ok(Err(error)) if error.is(FaultKind::ManagedObjectNotFound) => return Err(Interrupted::Gone),
            Ok(Err(error)) => {
                debug!(vm = vm.id(), error = %chain(&error), "the state of a VM could not be confirmed");
                return Ok(());
            }
            Err(_) => return Err(Interrupted::TimedOut),
        };
        let power = properties.get("runtime.powerState");
        let power = power.and_then(|value| PowerState::from_node(value.clone()).ok());
        let question = properties.get("runtime.question").and_then(|value| value.child_text("text"));
        plan::halt_of(power.as_ref(), question).map_or(Ok(()), |halt| Err(Interrupted::Halted(halt)))
    }

    /// Where a wait stands: with what the inventory shows now, or else showed last.
    fn at(&self, vm: &MoRef, stage: Stage, seen: Option<Seen>) -> Box<At> {
        let now = self.inventory.snapshot().get(vm).map(|row| Seen::of(row));
        Box::new(At { stage, vm: vm.clone(), seen: now.or(seen) })
    }
}

fn failure(
    why: Interrupted,
    at: Box<At>,
    timed_out: impl FnOnce(Box<At>) -> ReadinessError,
) -> ReadinessError {
    match why {
        Interrupted::TimedOut => timed_out(at),
        Interrupted::Gone => ReadinessError::Gone { at },
        Interrupted::Halted(Halt::NotRunning(power)) => ReadinessError::NotRunning { at, power },
        Interrupted::Halted(Halt::Question(question)) => ReadinessError::Question { at, question },
        Interrupted::Stopped => ReadinessError::Stopped { at },
    }
}

impl ProbeExitCodes {
    /// Whether it was the first, which is a warning.
    fn note(&self, vm: &MoRef, exit_code: ExitCode) -> bool {
        if exit_code == 0 {
            return false;
        }
        let first = !self.0.swap(true, Ordering::Relaxed);
        if first {
            warn!(
                vm = vm.id(),
                exit_code,
                "the probe of guest operations exited with an error; the guest counts as ready all the same"
            );
        } else {
            debug!(vm = vm.id(), exit_code, "the probe of guest operations exited with an error");
        }
        first
    }
}

impl From<WaitError> for Interrupted {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::Gone { .. } => Self::Gone,
            WaitError::TimedOut { .. } => Self::TimedOut,
            WaitError::Stopped => Self::Stopped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_other_than_zero_is_a_warning_once() {
        let (exit_codes, vm) = (ProbeExitCodes::default(), MoRef::new("VirtualMachine", "vm-7"));
        let shared = exit_codes.clone();
        let noted = [
            exit_codes.note(&vm, 0),
            exit_codes.note(&vm, -1),
            shared.note(&vm, -1),
            exit_codes.note(&vm, 3),
        ];
        assert_eq!(noted, [false, true, false, false]);
    }
}
