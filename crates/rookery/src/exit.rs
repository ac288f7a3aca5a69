//! Exit codes: what a command tells whoever started it. They are stable; docs/cli.md lists them.

use std::error::Error;
use std::fmt;

#[cfg(feature = "hatchery")]
use rookery_cds::CdsError;
use rookery_daemon::control::AskError;
use rookery_daemon::settings::Problems;
use rookery_daemon::shutdown::ExitCause;
use rookery_daemon::telemetry::TelemetryError;
#[cfg(feature = "hatchery")]
use rookery_hatchery::surface::holds::InvalidOrder;
use rookery_vim::FaultKind;
use rookery_vim_client::{CallError, FindError};

use crate::vm::{PickError, WrongArguments};

/// How a command ended, as far as a program that started it can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// What was asked for is so; perhaps it was before.
    Done,
    /// It failed in any other way than those below.
    Failed,
    /// Wrong usage, or wrong settings: nothing was begun.
    Usage,
    /// A server refused the credentials. Trying again soon may lock the account.
    Credentials,
    /// Another process of this name runs.
    AlreadyRuns,
    /// A server cannot be reached, is not trusted, or has trouble of its own.
    Unreachable,
    /// A server does not want this process any more.
    Unwanted,
    /// What was named does not exist or does not run, or may mean several things: nothing was begun.
    Unclear,
    /// Of several some succeeded, and some failed.
    Partly,
    /// Nobody confirmed what there is no way back from: nothing was begun.
    Declined,
    /// A bug: a part of the program has failed, or it panicked.
    Broken,
    /// A signal came before it was done.
    Interrupted,
}

impl Exit {
    /// The exit code, as docs/cli.md lists it.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            // What clap exits with as well.
            Self::Usage => 2,
            Self::Credentials => ExitCause::Credentials.code(),
            Self::AlreadyRuns => ExitCause::AlreadyRuns.code(),
            Self::Unreachable => ExitCause::Peer.code(),
            Self::Unwanted => ExitCause::Unwanted.code(),
            Self::Unclear => 7,
            Self::Partly => 8,
            Self::Declined => 9,
            Self::Broken => ExitCause::Broken.code(),
            // What a shell reports for a process that an interrupt ended.
            Self::Interrupted => 130,
        }
    }

    /// What an error means.
    pub fn of(error: &anyhow::Error) -> Self {
        error.chain().find_map(of_cause).unwrap_or(Self::Failed)
    }

    /// An error that means this.
    pub fn because(self, message: impl Into<String>) -> anyhow::Error {
        Because { exit: self, message: message.into() }.into()
    }

    /// What several ends make together: what they have in common, or that some went well and others did not.
    pub fn together(ends: impl IntoIterator<Item = Self>) -> Self {
        let one = |a: Self, b: Self| match (a, b) {
            _ if a == b => a,
            (Self::Done | Self::Partly, _) | (_, Self::Done | Self::Partly) => Self::Partly,
            _ => Self::Failed,
        };
        ends.into_iter().reduce(one).unwrap_or(Self::Done)
    }
}

fn of_cause(cause: &(dyn Error + 'static)) -> Option<Exit> {
    if let Some(because) = cause.downcast_ref::<Because>() {
        return Some(because.exit);
    }
    if cause.is::<PickError>() || cause.is::<FindError>() {
        return Some(Exit::Unclear);
    }
    if cause.is::<Problems>() || cause.is::<WrongArguments>() || cause.is::<TelemetryError>() {
        return Some(Exit::Usage);
    }
    #[cfg(feature = "hatchery")]
    if cause.is::<InvalidOrder>() {
        return Some(Exit::Usage);
    }
    if let Some(AskError::Nobody { .. }) = cause.downcast_ref() {
        return Some(Exit::Unclear);
    }
    #[cfg(feature = "hatchery")]
    match cause.downcast_ref() {
        Some(CdsError::SignIn { .. }) => return Some(Exit::Credentials),
        Some(CdsError::Unreachable { .. } | CdsError::Unavailable { .. }) => return Some(Exit::Unreachable),
        Some(_) | None => {}
    }
    let boxed = || cause.downcast_ref::<Box<CallError>>().map(Box::as_ref);
    match cause.downcast_ref().or_else(boxed)? {
        CallError::Credentials { .. } => Some(Exit::Credentials),
        error if error.is(FaultKind::InvalidGuestLogin) => Some(Exit::Credentials),
        CallError::Unreachable { .. } | CallError::Unavailable { .. } => Some(Exit::Unreachable),
        CallError::Unwritable { .. } => Some(Exit::Usage),
        CallError::Fault { .. }
        | CallError::Lost { .. }
        | CallError::NotUnderstood { .. }
        | CallError::Closed { .. }
        | CallError::NoLease { .. } => None,
    }
}

/// An error that says itself which exit code it means.
#[derive(Debug)]
struct Because {
    exit: Exit,
    message: String,
}

impl Error for Because {}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use rookery_vim_client::{DialError, Kind};

    use super::*;

    const ALL: [Exit; 12] = [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::Credentials,
        Exit::AlreadyRuns,
        Exit::Unreachable,
        Exit::Unwanted,
        Exit::Unclear,
        Exit::Partly,
        Exit::Declined,
        Exit::Broken,
        Exit::Interrupted,
    ];

    #[test]
    fn codes_are_stable_and_documented() {
        let codes = ALL.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130]);
        let document = include_str!("../../../docs/cli.md");
        let table = document.split_once("**Exit codes**").and_then(|(_, rest)| rest.split_once("\n###"));
        let (table, _) = table.expect("there is a table of exit codes");
        let first = |line: &str| line.strip_prefix("| ")?.split_once(" |")?.0.parse::<u8>().ok();
        assert_eq!(table.lines().filter_map(first).collect::<Vec<_>>(), codes);
    }

    fn check(error: impl Into<anyhow::Error>, expected: Exit) {
        let error: anyhow::Error = error.into();
        let error = error.context("more about it");
        assert_eq!(Exit::of(&error), expected, "{error:?}");
    }

    #[test]
    fn the_cause_of_an_error_decides() {
        let endpoint = || "https://vc".to_owned();
        check(CallError::Credentials { endpoint: endpoint(), user: "me".to_owned() }, Exit::Credentials);
        let source = DialError::TimedOut { address: "vc:443".to_owned() };
        check(CallError::Unreachable { endpoint: endpoint(), source }, Exit::Unreachable);
        check(CallError::Closed { method: "Login" }, Exit::Failed);
        check(PickError::Unknown { given: "x".to_owned(), similar: Vec::new() }, Exit::Unclear);
        check(FindError::NoDefault { kind: Kind::Pool, candidates: Vec::new() }, Exit::Unclear);
        let mut problems = Problems::new();
        problems.push("a", "wrong");
        check(problems.into_result(()).expect_err("wrong"), Exit::Usage);
        check(Exit::Declined.because("nothing was destroyed"), Exit::Declined);
        check(anyhow!("something else"), Exit::Failed);
    }

    #[test]
    fn several_ends_make_one() {
        use Exit::{Credentials, Done, Failed, Partly, Unreachable};
        let check = |ends: &[Exit], expected| assert_eq!(Exit::together(ends.to_vec()), expected, "{ends:?}");
        check(&[], Done);
        check(&[Done, Done], Done);
        check(&[Unreachable], Unreachable);
        check(&[Unreachable, Unreachable], Unreachable);
        check(&[Unreachable, Credentials], Failed);
        check(&[Unreachable, Done], Partly);
        check(&[Failed, Credentials, Done], Partly);
        check(&[Done, Failed, Done], Partly);
    }
}
