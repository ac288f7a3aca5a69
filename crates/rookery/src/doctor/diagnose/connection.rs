//! The way to vCenter, who it is, and whether its clock agrees with ours.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_daemon::telemetry::chain;
use rookery_vim::objects::AboutInfo;
use rookery_vim_client::{CallError, Certificate, DialError, Trust};

use super::problem_of_call;
use crate::doctor::check::{Check, Finding, Group};
use crate::doctor::observed::{ClockReading, Observed, Refusal, Session};
use crate::doctor::scope::Source;
use crate::failure::unreachable_hint;

/// Beyond this, deletions stop: the ages of VMs cannot be trusted.
const SKEW_STOPS: SignedDuration = SignedDuration::from_secs(60);
/// Beyond this, somebody should look after the clocks.
const SKEW_WARNS: SignedDuration = SignedDuration::from_secs(5);
/// A certificate that expires sooner than this is warned about.
const EXPIRES_SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Everything that is used exists since this version.
const OLDEST: (u32, u32) = (6, 7);

/// One check for each step on the way; a step that was not reached says so.
pub(super) fn checks(observed: &Observed, source: Source) -> Vec<Check> {
    let refusal = observed.session.as_ref().err();
    let session = observed.session.as_ref().ok();
    let check = |name, finding| Check::new(Group::Connection, name, None, finding);
    let with_session = |judge: fn(&Session) -> Finding| {
        session.map_or_else(|| Finding::skipped("not checked, because there is no session"), judge)
    };
    vec![
        check("address", address(observed, refusal, source)),
        check("TLS", tls(observed, refusal, source)),
        check("login", login(observed, refusal, source)),
        check("product", with_session(|session| product(&session.about))),
        check("API version", with_session(|session| api_version(&session.about, &session.api_version))),
        check("clock", with_session(|session| clock(session.clock.as_ref()))),
    ]
}

/// What kept us from talking to anybody.
fn dial_error(refusal: Option<&Refusal>) -> Option<&DialError> {
    match refusal {
        Some(Refusal::Call(CallError::Unreachable { source, .. })) => Some(source),
        Some(Refusal::Call(_) | Refusal::Trust(_) | Refusal::Local(_)) | None => None,
    }
}

fn address(observed: &Observed, refusal: Option<&Refusal>, source: Source) -> Finding {
    match dial_error(refusal) {
        Some(
            error @ (DialError::Resolve { .. }
            | DialError::Connect { .. }
            | DialError::TimedOut { .. }
            | DialError::Proxy { .. }
            | DialError::InvalidProxy(_)),
        ) => Finding::problem(error.to_string(), unreachable_hint(error, source).unwrap_or_default()),
        Some(
            DialError::WrongThumbprint { .. }
            | DialError::Certificate { .. }
            | DialError::Tls { .. }
            | DialError::Scheme { .. }
            | DialError::Trust(_),
        )
        | None => match refusal {
            Some(Refusal::Trust(_) | Refusal::Local(_)) => {
                Finding::skipped(format!("{} was not called", observed.endpoint))
            }
            Some(Refusal::Call(_)) | None => Finding::ok(format!("{} answers", observed.endpoint)),
        },
    }
}

fn tls(observed: &Observed, refusal: Option<&Refusal>, source: Source) -> Finding {
    let (ca_file, pin) = (source.ca_file(), source.thumbprint());
    if let Some(Refusal::Trust(error)) = refusal {
        return Finding::problem(
            format!("{}; the server shows {}", chain(error), shown(observed)),
            format!("correct {ca_file}, or use {pin} instead"),
        );
    }
    match dial_error(refusal) {
        Some(DialError::WrongThumbprint { .. }) => Finding::problem(
            format!("the server is not the one that was pinned; it shows {}", shown(observed)),
            "if it has a new certificate, compare the thumbprint at the server itself, then replace the old one",
        ),
        Some(DialError::Certificate { problem, shown: thumbprint, .. }) => Finding::problem(
            format!("the server's certificate {problem}; it shows {}", shown(observed)),
            format!(
                "set {ca_file} to the file of its authority; or, once you have compared it at the server, {pin} = \"{thumbprint}\""
            ),
        ),
        Some(error @ (DialError::Tls { .. } | DialError::Scheme { .. })) => {
            Finding::problem(error.to_string(), unreachable_hint(error, source).unwrap_or_default())
        }
        Some(DialError::Trust(error)) => {
            Finding::problem(chain(error), format!("correct {ca_file}, or use {pin} instead"))
        }
        Some(
            DialError::Resolve { .. }
            | DialError::Connect { .. }
            | DialError::TimedOut { .. }
            | DialError::Proxy { .. }
            | DialError::InvalidProxy(_),
        ) => Finding::skipped("not checked, because the server cannot be reached"),
        None if refusal.is_some_and(|refusal| matches!(refusal, Refusal::Local(_))) => {
            Finding::skipped("not checked, because the server was not called")
        }
        None => trusted(observed, source),
    }
}

/// How an open connection is protected.
fn trusted(observed: &Observed, source: Source) -> Finding {
    if !observed.endpoint.is_tls() {
        return Finding::warning(
            "the connection is not encrypted",
            "write https:// before the address, unless it is a simulator",
        );
    }
    let how = match &observed.trust {
        Trust::SystemRoots => "verified by the authorities of this machine".to_owned(),
        Trust::CaFile(file) => format!("verified by the authorities in {}", file.display()),
        Trust::Thumbprint(_) => "pinned by its thumbprint".to_owned(),
        Trust::Insecure => {
            let (ca_file, pin) = (source.ca_file(), source.thumbprint());
            let advice = match &observed.certificate {
                Ok(Some(Certificate { thumbprint, .. })) => format!(
                    "compare this at the server itself, then set {pin} = \"{thumbprint}\" instead of insecure"
                ),
                Ok(None) | Err(_) => format!("set {ca_file} or {pin} instead of insecure"),
            };
            let seen = format!("any certificate is trusted (insecure); the server shows {}", shown(observed));
            return Finding::warning(seen, advice);
        }
    };
    let seen = format!("{how}: {}", shown(observed));
    match expiry(observed) {
        Some(left) if left < EXPIRES_SOON => {
            Finding::warning(format!("{seen}; it expires soon"), "renew the certificate of vCenter")
        }
        Some(_) | None => Finding::ok(seen),
    }
}

fn expiry(observed: &Observed) -> Option<SignedDuration> {
    let certificate = observed.certificate.as_ref().ok()?.as_ref()?;
    Some(certificate.not_after?.duration_since(observed.now))
}

/// The certificate, as one compares it.
fn shown(observed: &Observed) -> String {
    let certificate = match &observed.certificate {
        Ok(Some(certificate)) => certificate,
        Ok(None) => return "no certificate".to_owned(),
        Err(error) => return format!("a certificate that could not be read a second time ({error})"),
    };
    let names =
        if certificate.names.is_empty() { "nobody by name".to_owned() } else { certificate.names.join(", ") };
    let day = |time: Option<Timestamp>| {
        time.map_or_else(|| "?".to_owned(), |time| time.strftime("%Y-%m-%d").to_string())
    };
    format!(
        "a certificate for {names}, valid from {} to {}, SHA-256 {}",
        day(certificate.not_before),
        day(certificate.not_after),
        certificate.thumbprint
    )
}

fn login(observed: &Observed, refusal: Option<&Refusal>, source: Source) -> Finding {
    let user = &observed.user;
    let Some(refusal) = refusal else { return Finding::ok(format!("as {user}")) };
    let error = match refusal {
        Refusal::Trust(_) => return Finding::skipped("not tried, because the server cannot be trusted"),
        Refusal::Local(why) => {
            return Finding::problem(why.clone(), "this is about this machine, not vCenter");
        }
        Refusal::Call(error) => error,
    };
    match error {
        CallError::Credentials { .. } => Finding::problem(
            format!("vCenter refused the user name or password of {user}"),
            format!("{}; vCenter may lock the account after a few wrong ones", source.login()),
        ),
        CallError::Unreachable { .. } => {
            Finding::skipped("not tried, because there is no connection to a trusted server")
        }
        CallError::Unavailable { .. } | CallError::NotUnderstood { .. } => Finding::problem(
            format!("something answers, but not as a vCenter does: {}", chain(error)),
            format!("it may be starting up, or not be a vCenter at all: {}", source.address()),
        ),
        CallError::Fault { .. }
        | CallError::Lost { .. }
        | CallError::Closed { .. }
        | CallError::Unwritable { .. }
        | CallError::NoLease { .. } => {
            problem_of_call("the login failed", error, "the user may not be allowed to log in")
        }
    }
}

fn product(about: &AboutInfo) -> Finding {
    match about.api_type.as_str() {
        "VirtualCenter" => Finding::ok(about.full_name.clone()),
        "HostAgent" => Finding::problem(
            format!("{} is a single ESXi host, which cannot clone", about.full_name),
            "give the address of the vCenter that manages it",
        ),
        other => Finding::warning(
            format!("{} is a {other:?}, which is not known", about.full_name),
            "give the address of a vCenter",
        ),
    }
}

fn api_version(about: &AboutInfo, agreed: &str) -> Finding {
    let seen = format!("the server has {}, agreed on {agreed}", about.api_version);
    match major_minor(&about.api_version) {
        Some(version) if version >= OLDEST => Finding::ok(seen),
        Some(_) => Finding::warning(
            format!("{seen}; nothing before 6.7 has been considered"),
            "most things work; plan for a newer vCenter",
        ),
        None => Finding::warning(format!("{seen}; the version is not understood"), "is it a vCenter?"),
    }
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next().unwrap_or("0").parse().ok()?))
}

fn clock(reading: Result<&ClockReading, &CallError>) -> Finding {
    let reading = match reading {
        Ok(reading) => reading,
        Err(error) => {
            return problem_of_call("vCenter's time cannot be read", error, "the session is needed");
        }
    };
    let ClockReading { ahead, uncertainty } = *reading;
    let seen = apart(ahead, uncertainty);
    // What is certainly apart; the rest may be the way there and back.
    let certain = ahead.abs().saturating_sub(to_signed(uncertainty));
    if certain > SKEW_STOPS {
        let advice = "let both follow a time server; until then no VM is deleted because of its age";
        Finding::problem(seen, advice)
    } else if certain > SKEW_WARNS {
        Finding::warning(
            seen,
            "let both follow a time server; beyond 60 s no VM is deleted because of its age",
        )
    } else if to_signed(uncertainty) > SKEW_WARNS {
        Finding::warning(seen, "vCenter answers too slowly to tell; try again")
    } else {
        Finding::ok(seen)
    }
}

fn to_signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

fn apart(ahead: SignedDuration, uncertainty: Duration) -> String {
    let direction = if ahead.is_negative() { "behind" } else { "ahead of" };
    let seconds = ahead.abs().as_secs_f64();
    format!(
        "vCenter is {seconds:.1} s {direction} this machine, give or take {:.1} s",
        uncertainty.as_secs_f64()
    )
}

#[cfg(test)]
mod tests;
