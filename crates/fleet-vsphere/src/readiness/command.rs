//! Running a command in a guest that may not be able to yet: when to look, when to try again, what a refusal means.
//!
//! There is no deadline in here: whoever waits drops the future.

use std::time::Duration;

use rookery_vim::objects::PowerState;
use rookery_vim::{FaultKind, MoRef};
use rookery_vim_client::{CallError, GuestError, Program};
use tokio::time::sleep;

/// The command, for people.
pub(super) const COMMAND: &str = "`env`";

/// How a command ended.
pub(super) type ExitCode = i32;

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

/// The tools hand path and arguments to a shell as one line, so that this runs `env`. Worker scripts are started in the
/// same way: what the probe proves holds for them.
pub(super) fn program() -> Program {
    Program {
        path: "/bin/echo".to_owned(),
        arguments: "-n ;env".to_owned(),
        environment: Vec::new(),
        directory: None,
    }
}

/// Runs the command until it has ended once, trying again while failures may pass. The last of them is told in `last`.
///
/// The command changes nothing, so that it may be started twice: after a lost answer nobody looks for the first one.
pub(super) async fn run<S, E>(
    mut start: impl FnMut() -> S,
    mut ended: impl FnMut(i64) -> E,
    last: &mut Option<GuestError>,
) -> Result<ExitCode, GuestError>
where
    S: Future<Output = Result<i64, GuestError>>,
    E: Future<Output = Result<ExitCode, GuestError>>,
{
    let mut refused_logins = 0;
    loop {
        let ran = match start().await {
            Ok(pid) => ended(pid).await,
            Err(error) => Err(error),
        };
        let error = match ran {
            Ok(exit_code) => return Ok(exit_code),
            Err(error) => error,
        };
        let Some(pause) = pause_after(&error, &mut refused_logins) else { return Err(error) };
        *last = Some(error);
        sleep(pause).await;
    }
}

/// When to look for the exit code: at once, soon, and then twice a second.
pub(super) fn looks() -> impl Iterator<Item = Duration> {
    let soon = [0, 50, 100, 200].map(Duration::from_millis);
    soon.into_iter().chain(std::iter::repeat(Duration::from_millis(500)))
}

/// How long to wait before the next try, if there should be one.
fn pause_after(error: &GuestError, refused_logins: &mut usize) -> Option<Duration> {
    if error.fault().is_some_and(|fault| fault.kind() == FaultKind::InvalidGuestLogin) {
        let pause = LOGINS.get(*refused_logins).copied();
        *refused_logins += 1;
        return pause;
    }
    let passes = match error {
        GuestError::MayHaveStarted { source, .. } => source.is_transient(),
        // The guest was restarted in between.
        GuestError::Forgotten { .. } => true,
        GuestError::Refused { .. }
        | GuestError::Unsupported { .. }
        | GuestError::Unwritable { .. }
        | GuestError::Variable { .. }
        | GuestError::StillRunning { .. }
        | GuestError::Transfer { .. } => error.is_transient(),
    };
    passes.then_some(AGAIN)
}

/// What a failure that does not pass says.
pub(super) fn conclude(error: &GuestError, vm: &MoRef) -> Fruitless {
    if let GuestError::Refused { source, .. } = error
        && matches!(**source, CallError::Closed { .. })
    {
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
