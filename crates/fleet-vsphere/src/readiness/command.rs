//! Running a command in a guest that may not be able to yet: when to look, when to try again, what a refusal means.
//!
//! There is no deadline in here: whoever waits drops the future.

use std::time::Duration;

use rookery_vim::objects::PowerState;
use rookery_vim::{FaultKind, MoRef};
use rookery_vim_client::CallError;
use tokio::time::sleep;

use super::guest_probe::End;

/// A command that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) exit_code: i32,
}

/// What a failure that does not pass says about the VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fruitless {
    Gone,
    NotRunning(PowerState),
    /// Nothing about the VM: the client has logged out.
    Stopped,
    Refused,
}

/// Before each try but the first.
const AGAIN: Duration = Duration::from_secs(1);

/// Before a login is tried again that was refused: a customization that still runs may yet set the password. There are
/// few tries, because guests lock users out after some.
const LOGINS: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

/// Runs the command until it has ended once, trying again while failures may pass. The last of them is told in `last`.
///
/// The command changes nothing, so that it may be started twice: after a lost answer nobody looks for the first one.
pub(super) async fn run(
    mut start: impl AsyncFnMut() -> Result<i64, CallError>,
    mut ended: impl AsyncFnMut(i64) -> Result<End, CallError>,
    last: &mut Option<CallError>,
) -> Result<Ran, CallError> {
    let mut refused_logins = 0;
    loop {
        let pause = match run_once(&mut start, &mut ended).await {
            Ok(Some(ran)) => return Ok(ran),
            Ok(None) => AGAIN,
            Err(error) => {
                let Some(pause) = pause_after(&error, &mut refused_logins) else { return Err(error) };
                *last = Some(error);
                pause
            }
        };
        sleep(pause).await;
    }
}

/// One try; nothing if the guest forgot the command.
async fn run_once(
    start: &mut impl AsyncFnMut() -> Result<i64, CallError>,
    ended: &mut impl AsyncFnMut(i64) -> Result<End, CallError>,
) -> Result<Option<Ran>, CallError> {
    let pid = start().await?;
    for delay in looks() {
        sleep(delay).await;
        match ended(pid).await? {
            End::NotYet => {}
            End::With(exit_code) => return Ok(Some(Ran { exit_code })),
            End::Unknown => return Ok(None),
        }
    }
    Ok(None)
}

/// When to look for the exit code: at once, soon, and then twice a second.
fn looks() -> impl Iterator<Item = Duration> {
    let soon = [0, 50, 100, 200].map(Duration::from_millis);
    soon.into_iter().chain(std::iter::repeat(Duration::from_millis(500)))
}

/// How long to wait before the next try, if there should be one.
fn pause_after(error: &CallError, refused_logins: &mut usize) -> Option<Duration> {
    if error.fault().is_some_and(|fault| fault.type_name() == "InvalidGuestLogin") {
        let pause = LOGINS.get(*refused_logins).copied();
        *refused_logins += 1;
        return pause;
    }
    error.is_transient().then_some(AGAIN)
}

/// What a failure that does not pass says.
pub(super) fn conclude(error: &CallError, vm: &MoRef) -> Fruitless {
    if matches!(error, CallError::Closed { .. }) {
        return Fruitless::Stopped;
    }
    let Some(fault) = error.fault() else { return Fruitless::Refused };
    if fault.kind() == FaultKind::ManagedObjectNotFound && fault.field("obj") == Some(vm.id()) {
        return Fruitless::Gone;
    }
    match fault.field("existingState") {
        Some(state) if fault.kind() == FaultKind::InvalidPowerState => {
            Fruitless::NotRunning(PowerState::from(state.to_owned()))
        }
        _ => Fruitless::Refused,
    }
}

#[cfg(test)]
mod tests;
