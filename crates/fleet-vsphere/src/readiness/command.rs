//! Running a command in a guest that may not be able to yet: when to look, when to try again, what a refusal means.
//!
//! There is no deadline in here: whoever waits drops the future.

use std::time::Duration;

use rookery_vim::{FaultKind, MoRef};
use rookery_vim_client::{CallError, GuestError, Program};
use tokio::time::sleep;

/// The command, for people.
pub(super) const COMMAND: &str = "`env`";

/// How a command ended.
pub(super) type ExitCode = i32;

/// Why a failure ends the tries before their time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GiveUpReason {
    Gone,
    /// The client has logged out, which says nothing about the VM.
    Stopped,
    /// The request cannot be sent, or not to this server.
    Impossible,
}

/// Before each try but the first.
const AGAIN: Duration = Duration::from_secs(1);

/// Before a login is tried again that was refused: a customization that still runs may yet set the password. The tries
/// become few, because guests lock users out after some.
const LOGINS: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8), Duration::from_secs(15)];

/// The tools hand path and arguments to a shell as one line, so that this runs `env`. Scripts are started in the
/// same way: what the probe proves holds for them.
pub(super) fn program() -> Program {
    Program {
        path: "/bin/echo".to_owned(),
        arguments: "-n ;env".to_owned(),
        environment: Vec::new(),
        directory: None,
    }
}

/// Runs the command until it has ended once, with whatever exit code: guest operations work then. It is tried again after
/// every failure, unless nothing can come of it. The last failure is told in `last`.
///
/// The command changes nothing, so that it may be started twice: after a lost answer nobody looks for the first one.
pub(super) async fn run<S, E>(
    vm: &MoRef,
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
        if fruitless(&error, vm).is_some() {
            return Err(error);
        }
        let pause = pause_after(&error, &mut refused_logins);
        *last = Some(error);
        sleep(pause).await;
    }
}

/// When to look for the exit code: at once, soon, and then twice a second.
pub(super) fn looks() -> impl Iterator<Item = Duration> {
    let soon = [0, 50, 100, 200].map(Duration::from_millis);
    soon.into_iter().chain(std::iter::repeat(Duration::from_millis(500)))
}

/// How long to wait before the next try.
fn pause_after(error: &GuestError, refused_logins: &mut usize) -> Duration {
    if error.fault().is_none_or(|fault| fault.kind() != FaultKind::InvalidGuestLogin) {
        return AGAIN;
    }
    let pause = LOGINS.get(*refused_logins).or(LOGINS.last()).copied();
    *refused_logins += 1;
    pause.unwrap_or(AGAIN)
}

/// Why there is no use in another try. That a VM does not run is left to the inventory, which may know better by now.
pub(super) fn fruitless(error: &GuestError, vm: &MoRef) -> Option<GiveUpReason> {
    match error {
        GuestError::Unsupported { .. } | GuestError::Unwritable { .. } | GuestError::Variable { .. } => {
            Some(GiveUpReason::Impossible)
        }
        GuestError::Refused { source, .. } if matches!(**source, CallError::Closed { .. }) => {
            Some(GiveUpReason::Stopped)
        }
        GuestError::Refused { .. }
        | GuestError::MayHaveStarted { .. }
        | GuestError::StillRunning { .. }
        | GuestError::Forgotten { .. }
        | GuestError::Transfer { .. } => {
            let fault = error.fault()?;
            let gone =
                fault.kind() == FaultKind::ManagedObjectNotFound && fault.field("obj") == Some(vm.id());
            gone.then_some(GiveUpReason::Gone)
        }
    }
}

#[cfg(test)]
mod tests;
