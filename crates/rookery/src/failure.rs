//! How errors are told, and which exit code they mean.

use std::error::Error;
use std::process::ExitCode;

#[cfg(feature = "hatchery")]
use rookery_cds::CdsError;
use rookery_daemon::telemetry::{chain, write_line};
#[cfg(feature = "hatchery")]
use rookery_hatchery::run::StartError;
use rookery_vim::{Fault, FaultKind};
use rookery_vim_client::{CallError, DialError, FindError};

use crate::Ending;
use crate::doctor::Source;
use crate::exit::Exit;
#[cfg(feature = "hatchery")]
use crate::hatchery::SignInError;
use crate::output::{OutputError, Paint, printable_lines};

/// The exit code of the process; errors are told on the way.
pub(crate) fn exit_code(outcome: anyhow::Result<Ending>) -> ExitCode {
    let exit = match outcome {
        Ok(Ending::Done) => Exit::Done,
        Ok(Ending::Failed) => Exit::Failed,
        Ok(Ending::Exited(code)) => return ExitCode::from(code),
        Ok(Ending::Interrupted) => {
            write_line("interrupted");
            Exit::Interrupted
        }
        // A reader that has seen enough is no failure.
        Err(error) if matches!(error.downcast_ref(), Some(OutputError::ReaderGone)) => Exit::Done,
        Err(error) => {
            report(&error);
            Exit::of(&error)
        }
    };
    ExitCode::from(exit.code())
}

/// The exit code of a process whose main thread panicked.
pub(crate) fn panicked() -> ExitCode {
    ExitCode::from(Exit::Broken.code())
}

/// Tells an error with its causes and, where that is known, what to do about it.
pub(crate) fn report(error: &anyhow::Error) {
    // By way of the log, which does not wait for whoever does not read it.
    write_line(&told(error, Paint::of_stderr()));
}

fn told(error: &anyhow::Error, paint: Paint) -> String {
    let text = printable_lines(&chain(error.as_ref()));
    let text = format!("{} {text}", paint.error("error:"));
    match hint(error) {
        Some(hint) => format!("{text}\nhint: {}", printable_lines(&hint)),
        None => text,
    }
}

fn find<E: Error + 'static>(error: &anyhow::Error) -> Option<&E> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// What to do about it, unless the error says so itself.
fn hint(error: &anyhow::Error) -> Option<String> {
    #[cfg(not(feature = "hatchery"))]
    let source = Source::Flags;
    // A hatchery has a file of its own, which `rookery settings` does not read.
    #[cfg(feature = "hatchery")]
    let source = if find::<StartError>(error).is_some() { Source::Hatchery } else { Source::Flags };
    if let Some(FindError::Missing { .. }) = find(error)
        && source == Source::Flags
    {
        return Some("give one of these as --datacenter, or leave it out to see the VMs of all".to_owned());
    }
    #[cfg(feature = "hatchery")]
    if find::<SignInError>(error).is_none()
        && let Some(CdsError::SignIn { .. }) = find(error)
    {
        let tokens = "`commonConfiguration.api.token` (V1) and `commonConfiguration.api.tokenV2` (V2)";
        return Some(format!("the tokens are {tokens} of the file"));
    }
    let of_call = match find::<CallError>(error) {
        Some(CallError::Credentials { .. }) => {
            Some(format!("{}; vCenter may lock the account after a few wrong ones", source.login()))
        }
        Some(CallError::Unreachable { source: error, .. }) => unreachable_hint(error, source),
        Some(CallError::Unavailable { .. } | CallError::NotUnderstood { .. }) => {
            Some(format!("it may be starting up, or not be a vCenter at all: {}", source.address()))
        }
        Some(
            CallError::Fault { .. }
            | CallError::Lost { .. }
            | CallError::Closed { .. }
            | CallError::Unwritable { .. }
            | CallError::NoLease { .. },
        )
        | None => None,
    };
    of_call.or_else(|| find::<Fault>(error).and_then(fault_hint).map(str::to_owned))
}

/// What to do about a server that cannot be reached.
pub(crate) fn unreachable_hint(error: &DialError, source: Source) -> Option<String> {
    let hint = match error {
        DialError::Resolve { .. } | DialError::Connect { .. } | DialError::TimedOut { .. } => {
            return Some(format!(
                "{}; is it right, and is there a firewall or proxy in between?",
                source.address()
            ));
        }
        DialError::WrongThumbprint { .. } => {
            "if the server has a new certificate, compare the thumbprint at the server itself before you replace the old one"
        }
        DialError::Certificate { .. } => match source {
            Source::Flags => {
                "compare the thumbprint at the server itself, then give --ca-file FILE or --thumbprint HEX; \
                 --insecure trusts any certificate"
            }
            Source::Hatchery => {
                "compare the thumbprint at the server itself, then set `caFile` or `thumbprint` of the file; \
                 `insecure` trusts any certificate"
            }
        },
        DialError::Tls { .. } => {
            "if the server does not speak TLS on this port, write http:// before its address"
        }
        DialError::Proxy { .. } | DialError::InvalidProxy(_) => {
            "correct HTTPS_PROXY or HTTP_PROXY, or name the server in NO_PROXY"
        }
        DialError::Scheme { .. } => return Some(source.address().to_owned()),
        DialError::Trust(_) => return None,
    };
    Some(hint.to_owned())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only a few of many faults call for advice")]
fn fault_hint(fault: &Fault) -> Option<&'static str> {
    match fault.kind() {
        FaultKind::NoPermission => Some("the user's role in vCenter lacks this privilege"),
        FaultKind::ToolsUnavailable => {
            Some("VMware Tools do not run in the guest; `rookery vm power off` and `reset` need none")
        }
        _ => None,
    }
}

#[cfg(test)]
#[cfg(feature = "hatchery")]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_with_its_causes_and_what_to_do() {
        let source = DialError::Connect { address: "vc:443".to_owned(), reason: "refused".to_owned() };
        let error = CallError::Unreachable { endpoint: "https://vc:443".to_owned(), source };
        insta::assert_snapshot!(told(&anyhow::Error::new(error).context("while looking"), Paint::Plain), @r"
        error: while looking: https://vc:443 cannot be reached: vc:443 does not accept connections: refused
        hint: `rookery settings` shows the address in use; is it right, and is there a firewall or proxy in between?
        ");
        let error = CallError::Credentials { endpoint: "https://vc:443".to_owned(), user: "me".to_owned() };
        insta::assert_snapshot!(told(&error.into(), Paint::Plain), @r"
        error: https://vc:443 refused the user name or password of me
        hint: `rookery settings` shows where they come from; vCenter may lock the account after a few wrong ones
        ");
        let error = CallError::Credentials { endpoint: "https://vc:443".to_owned(), user: "me".to_owned() };
        insta::assert_snapshot!(told(&StartError::VCenter(error).into(), Paint::Plain), @r"
        error: the hatchery could not log in to vCenter: https://vc:443 refused the user name or password of me
        hint: they are `user` and `password` of the file; vCenter may lock the account after a few wrong ones
        ");
        let error = FindError::Missing {
            kind: rookery_vim_client::Kind::Datacenter,
            name: "DC9".to_owned(),
            existing: vec!["/DC0".to_owned()],
        };
        insta::assert_snapshot!(told(&error.into(), Paint::Plain), @r#"
        error: there is no datacenter "DC9"; there are: /DC0
        hint: give one of these as --datacenter, or leave it out to see the VMs of all
        "#);
        let painted = told(&anyhow::anyhow!("a\u{1b}[2Jb"), Paint::Colours);
        assert_eq!(painted, "\u{1b}[31m\u{1b}[1merror:\u{1b}[0m a\\u{1b}[2Jb");
    }
}
