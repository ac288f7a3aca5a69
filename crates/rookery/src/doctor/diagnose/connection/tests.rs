use rookery_vim_client::{HttpError, TrustError};

use super::super::tests::{about, lost, observed, session};
use super::*;
use crate::doctor::check::State;

fn pin() -> rookery_vim_client::Thumbprint {
    "ab".repeat(32).parse().unwrap()
}

fn refused(refusal: Refusal) -> Observed {
    observed(Trust::SystemRoots, Err(refusal))
}

fn unreachable(source: DialError) -> Observed {
    refused(Refusal::Call(CallError::Unreachable { endpoint: "https://vc".to_owned(), source }))
}

/// The states of address, TLS and login, and words that must be told.
fn check(observed: &Observed, states: [State; 3], words: &[&str]) {
    let checks = checks(observed, Source::Flags);
    let found: Vec<_> = checks.iter().take(3).map(|check| check.state).collect();
    assert_eq!(found, states, "{checks:?}");
    let told = format!("{checks:?}");
    for word in words {
        assert!(told.contains(word), "{word:?} is not in {told}");
    }
}

#[test]
fn each_way_to_fail_is_told_where_it_happens() {
    use State::{Ok as Fine, Problem, Skipped};
    let address = || "vc:443".to_owned();
    let resolve = DialError::Resolve { host: "vc".to_owned(), reason: "no such host".to_owned() };
    check(
        &unreachable(resolve),
        [Problem, Skipped, Skipped],
        &["the name vc cannot be resolved", "firewall"],
    );
    let connect = DialError::Connect { address: address(), reason: "refused".to_owned() };
    check(&unreachable(connect), [Problem, Skipped, Skipped], &["does not accept connections"]);
    let problem = "was issued by an authority that is not trusted";
    let foreign = DialError::Certificate { address: address(), problem, shown: pin() };
    let pinned = format!("vcenter.thumbprint = \\\"{}\\\"", pin());
    let words =
        [problem, "for vc.example.com, valid from 2030-01-01 to 2032-01-01", &pinned, "vcenter.ca-file"];
    check(&unreachable(foreign), [Fine, Problem, Skipped], &words);
    let other = DialError::WrongThumbprint { address: address(), shown: pin() };
    check(
        &unreachable(other),
        [Fine, Problem, Skipped],
        &["not the one that was pinned", "at the server itself"],
    );
    let tls = DialError::Tls { address: address(), reason: "garbage".to_owned() };
    check(&unreachable(tls), [Fine, Problem, Skipped], &["http://"]);
    let scheme = DialError::Scheme { address: address(), in_tls: false };
    check(&unreachable(scheme), [Fine, Problem, Skipped], &["answers without TLS", "`rookery settings`"]);
    let trust = Refusal::Trust(TrustError::NoSystemRoots);
    check(&refused(trust), [Skipped, Problem, Skipped], &["no trusted certificate authorities"]);
    let local = Refusal::Local("no random numbers".to_owned());
    check(&refused(local), [Skipped, Skipped, Problem], &["no random numbers"]);

    let call = |error| refused(Refusal::Call(error));
    let credentials = CallError::Credentials { endpoint: "https://vc".to_owned(), user: "me".to_owned() };
    check(&call(credentials), [Fine, Fine, Problem], &["password of me", "lock the account"]);
    check(&call(lost()), [Fine, Fine, Problem], &["not as a vCenter does", "503"]);
    let cut = CallError::Lost { method: "Login", source: HttpError::TimedOut(Duration::from_secs(60)) };
    check(&call(cut), [Fine, Fine, Problem], &["the login failed"]);
}

#[test]
fn how_the_server_is_trusted_is_told_and_blind_trust_warned_about() {
    let judge = |trust| trusted(&observed(trust, Err(Refusal::Local(String::new()))), Source::Flags);
    assert_eq!(judge(Trust::SystemRoots).state, State::Ok);
    assert!(judge(Trust::CaFile("/etc/ca.pem".into())).seen.contains("authorities in /etc/ca.pem"));
    assert!(judge(Trust::Thumbprint(pin())).seen.starts_with("pinned by its thumbprint"));
    let blind = judge(Trust::Insecure);
    assert_eq!(blind.state, State::Warning);
    assert!(blind.advice.unwrap().contains(&format!("vcenter.thumbprint = \"{}\"", pin())));
}

#[test]
fn a_certificate_that_ends_soon_and_a_line_without_tls_are_warned_about() {
    let at = |now: &str| {
        let mut seen = observed(Trust::SystemRoots, Err(Refusal::Local(String::new())));
        seen.now = now.parse().unwrap();
        trusted(&seen, Source::Flags)
    };
    assert_eq!(at("2031-12-17T23:59:59Z").state, State::Ok);
    let soon = at("2031-12-18T00:00:01Z");
    assert_eq!(soon.state, State::Warning);
    assert!(soon.seen.ends_with("it expires soon"), "{soon:?}");
    let mut plain = observed(Trust::SystemRoots, Err(Refusal::Local(String::new())));
    plain.endpoint = rookery_vim_client::Endpoint::parse("http://vc").unwrap().0;
    assert_eq!(trusted(&plain, Source::Flags).state, State::Warning);
}

#[test]
fn clocks_may_be_apart_by_a_little_but_not_by_much() {
    let check = |ahead_ms: i64, uncertainty_ms: u64, expected: State| {
        let reading = ClockReading {
            ahead: SignedDuration::from_millis(ahead_ms),
            uncertainty: Duration::from_millis(uncertainty_ms),
        };
        assert_eq!(clock(Ok(&reading)).state, expected, "{reading:?}");
    };
    check(0, 0, State::Ok);
    check(5_000, 0, State::Ok);
    check(-5_001, 0, State::Warning);
    check(60_000, 0, State::Warning);
    check(60_001, 0, State::Problem);
    check(-60_001, 0, State::Problem);
    // What may be the way there and back does not count; what is left does.
    check(5_900, 1_000, State::Ok);
    check(61_000, 2_000, State::Warning);
    check(-63_000, 2_000, State::Problem);
    // Neither right nor wrong.
    check(0, 5_001, State::Warning);
    check(i64::MIN, u64::MAX, State::Warning);
    assert_eq!(clock(Err(&lost())).state, State::Problem);
    let reading =
        ClockReading { ahead: SignedDuration::from_millis(-90_250), uncertainty: Duration::from_millis(40) };
    assert_eq!(clock(Ok(&reading)).seen, "vCenter is 90.2 s behind this machine, give or take 0.0 s");
}

#[test]
fn an_esxi_host_is_no_vcenter() {
    let state = |kind: &str| product(&about(kind, "8.0")).state;
    assert_eq!(state("VirtualCenter"), State::Ok);
    assert_eq!(state("HostAgent"), State::Problem);
    assert_eq!(state("Something"), State::Warning);
    assert!(product(&about("HostAgent", "8.0")).seen.contains("cannot clone"));
}

#[test]
fn versions_are_compared_by_number() {
    let state = |version: &str| api_version(&about("VirtualCenter", version), "6.0").state;
    for fine in ["6.7", "6.7.3", "6.10", "7.0.0.0", "8.0.3.0", "10"] {
        assert_eq!(state(fine), State::Ok, "{fine}");
    }
    for old in ["6.5", "6.0", "5", "dev", ""] {
        assert_eq!(state(old), State::Warning, "{old}");
    }
}

#[test]
fn with_a_session_all_steps_are_fine() {
    let checks = checks(&observed(Trust::SystemRoots, Ok(session(Err(lost())))), Source::Flags);
    assert!(checks.iter().all(|check| check.state == State::Ok), "{checks:?}");
}
