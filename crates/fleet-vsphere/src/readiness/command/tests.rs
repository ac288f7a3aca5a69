use std::cell::Cell;

use rookery_vim::{Fault, Node};
use rookery_vim_client::HttpError;
use tokio::time::{Instant, timeout};

use super::*;

/// A guest as time goes by: when it accepts commands, how long one takes, what it says before.
struct Guest {
    up_after: Duration,
    before: &'static str,
    takes: Duration,
    exit_code: i32,
    restarts_after: Option<Duration>,
}

const PROMPT: Guest = Guest {
    up_after: Duration::ZERO,
    before: "GuestOperationsUnavailable",
    takes: Duration::ZERO,
    exit_code: 0,
    restarts_after: None,
};

/// What came of a minute, after how many milliseconds, with how many starts, and the last failure.
struct Minute {
    outcome: Option<Result<ExitCode, GuestError>>,
    after: u128,
    starts: u32,
    last: Option<GuestError>,
}

async fn minute(guest: Guest) -> Minute {
    let began = Instant::now();
    let (started, starts, mut last) = (Cell::new(began), Cell::new(0_u32), None);
    let start = async || {
        if began.elapsed() < guest.up_after {
            return Err(refused(fault(guest.before)));
        }
        started.set(Instant::now());
        starts.set(starts.get() + 1);
        Ok(i64::from(starts.get()))
    };
    let ended = async |_| {
        let restarted = guest.restarts_after.map(|after| began + after);
        for delay in looks() {
            sleep(delay).await;
            if restarted.is_some_and(|at| started.get() < at && at <= Instant::now()) {
                return Err(GuestError::Forgotten { pid: 1, vm: vm() });
            }
            if started.get().elapsed() >= guest.takes {
                break;
            }
        }
        Ok(guest.exit_code)
    };
    let outcome = timeout(Duration::from_secs(60), run(&vm(), start, ended, &mut last)).await.ok();
    Minute { outcome, after: began.elapsed().as_millis(), starts: starts.get(), last }
}

fn vm() -> MoRef {
    MoRef::new("VirtualMachine", "vm-7")
}

fn refused(source: CallError) -> GuestError {
    GuestError::Refused { action: "start it".to_owned(), vm: vm(), source: Box::new(source) }
}

fn fault(name: &str) -> CallError {
    let detail = Node { xsi_type: Some(name.into()), ..Node::new("fault") };
    CallError::Fault { method: "StartProgramInGuest", source: Fault::new(Some(detail), String::new()) }
}

fn with(error: &str, member: &str, value: &str) -> CallError {
    let member = Node { text: value.to_owned(), ..Node::new(member) };
    let detail = Node { xsi_type: Some(error.into()), children: vec![member], ..Node::new("fault") };
    CallError::Fault { method: "StartProgramInGuest", source: Fault::new(Some(detail), String::new()) }
}

#[tokio::test(start_paused = true)]
async fn the_exit_code_is_looked_for_at_once_then_soon_then_twice_a_second() {
    // A command that takes so long is seen to have ended after so many milliseconds.
    for (takes, seen) in [
        (0, 0),
        (1, 50),
        (50, 50),
        (51, 150),
        (151, 350),
        (351, 850),
        (851, 1350),
        (1351, 1850),
        (30_000, 30_350),
    ] {
        let guest = Guest { takes: Duration::from_millis(takes), exit_code: 3, ..PROMPT };
        let Minute { outcome, after, starts, .. } = minute(guest).await;
        assert!(matches!(outcome, Some(Ok(3))), "{takes}: {outcome:?}");
        assert_eq!((after, starts), (seen, 1), "{takes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_is_not_up_yet_is_tried_again_each_second() {
    for before in ["GuestOperationsUnavailable", "TaskInProgress", "HostCommunication"] {
        let guest = Guest { up_after: Duration::from_millis(4500), before, ..PROMPT };
        let Minute { outcome, after, last, .. } = minute(guest).await;
        assert!(matches!(outcome, Some(Ok(0))), "{before}: {outcome:?}");
        assert_eq!(after, 5000, "{before}");
        assert!(last.is_some(), "the last failure is told");
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_never_comes_up_is_waited_for_to_the_end_and_says_why() {
    let Minute { outcome, last, .. } = minute(Guest { up_after: Duration::from_secs(99), ..PROMPT }).await;
    assert!(outcome.is_none(), "{outcome:?}");
    assert!(
        last.is_some_and(
            |error| error.fault().map(Fault::kind) == Some(FaultKind::GuestOperationsUnavailable)
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_login_is_tried_after_two_four_and_eight_seconds_and_then_every_fifteen() {
    let guest =
        |seconds| Guest { up_after: Duration::from_secs(seconds), before: "InvalidGuestLogin", ..PROMPT };
    // A password that is set after so many seconds is accepted after so many.
    for (set, accepted) in [(1, 2), (2, 2), (3, 6), (7, 14), (15, 29), (30, 44), (45, 59), (59, 59)] {
        let Minute { outcome, after, .. } = minute(guest(set)).await;
        assert!(matches!(outcome, Some(Ok(_))), "{set}: {outcome:?}");
        assert_eq!(after, accepted * 1000, "{set}");
    }
    let never = minute(guest(99)).await;
    assert!(never.outcome.is_none() && never.last.is_some(), "{:?}", never.outcome);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_any_kind_is_tried_again_each_second_within_the_minute() {
    for before in [
        "GuestPermissionDenied",
        "NoPermission",
        "InvalidPowerState",
        "OperationDisabledByGuest",
        "OperationNotSupportedByGuest",
        "SystemError",
        "FileNotFound",
    ] {
        let guest = Guest { up_after: Duration::from_millis(40_500), before, ..PROMPT };
        let Minute { outcome, after, .. } = minute(guest).await;
        assert!(matches!(outcome, Some(Ok(0))), "{before}: {outcome:?}");
        assert_eq!(after, 41_000, "{before}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_the_guest_forgot_is_started_again() {
    let guest = Guest {
        takes: Duration::from_millis(300),
        restarts_after: Some(Duration::from_millis(200)),
        ..PROMPT
    };
    let Minute { outcome, starts, .. } = minute(guest).await;
    assert!(matches!(outcome, Some(Ok(0))), "{outcome:?}");
    assert_eq!(starts, 2);
}

/// The command changes nothing, so that a second one does no harm.
#[test]
fn a_start_whose_answer_was_lost_is_tried_again() {
    let (program, source) = ("/bin/echo".to_owned(), HttpError::Broken("reset".to_owned()));
    let source = Box::new(CallError::Lost { method: "StartProgramInGuest", source });
    let lost = GuestError::MayHaveStarted { program, vm: vm(), source };
    assert_eq!((fruitless(&lost, &vm()), pause_after(&lost, &mut 0)), (None, AGAIN));
}

#[test]
fn only_a_vm_that_is_gone_and_what_cannot_be_sent_is_not_tried_again() {
    let check = |error: GuestError, expected| {
        assert_eq!(fruitless(&error, &vm()), expected, "{error:?}");
    };
    check(refused(with("ManagedObjectNotFound", "obj", "vm-7")), Some(GiveUpReason::Gone));
    // Another object, such as the process manager, says nothing about the VM.
    check(refused(with("ManagedObjectNotFound", "obj", "guestOperationsProcessManager")), None);
    check(refused(with("InvalidPowerState", "existingState", "poweredOff")), None);
    check(refused(fault("InvalidGuestLogin")), None);
    check(refused(CallError::Closed { method: "StartProgramInGuest" }), Some(GiveUpReason::Stopped));
    let (action, manager) = ("start it".to_owned(), "GuestProcessManager".to_owned());
    check(GuestError::Unsupported { action, manager }, Some(GiveUpReason::Impossible));
}
