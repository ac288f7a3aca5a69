//! Our own simulator in vcsim's place: vcsim's options, translated.

use std::path::PathBuf;
use std::process::Stdio;

use jiff::ToSpan as _;
use jiff::tz::TimeZone;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rookery_daemon::Clock;
use tempfile::TempDir;
use tokio::process::Command;

use super::{Vcsim, VcsimOptions, ca_file};
use crate::program;

/// Whether the stories of this process run on our own simulator.
pub(super) fn is_wanted() -> bool {
    match std::env::var("ROOKERY_PEER").as_deref() {
        Ok("sim") => true,
        Ok("vcsim") | Err(std::env::VarError::NotPresent) => false,
        other => panic!("ROOKERY_PEER is vcsim, which it is without this variable, or sim: {other:?}"),
    }
}

/// `rookery sim vcenter`, ready to start.
pub(super) fn command(options: &VcsimOptions, listen: &str, scratch: &TempDir) -> Command {
    let arguments = &options.arguments;
    let mut command = Command::new(program::binary());
    command
        .args(["sim", "vcenter", "--until-stdin-closes", "--listen", listen])
        .arg("--control-file")
        .arg(control_file(scratch))
        .args(["--user", Vcsim::USER, "--password", password(arguments)])
        .args(arguments.iter().flat_map(|argument| translated(argument, scratch)))
        .args(options.guests.is_some().then_some("--allow-local-exec"))
        .env("TMPDIR", scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    if options.without_tools {
        command.args(["--set", "{\"guests\": {\"tools-installed\": false}}"]);
    }
    command
}

/// Lets methods be answered late, as vcsim does with `-method-delay`.
pub(super) async fn slow_down(arguments: &[String], scratch: &TempDir) {
    let wanted = arguments.iter().filter_map(|argument| argument.strip_prefix("-method-delay="));
    for (method, time) in wanted.flat_map(delays) {
        let rule =
            format!("{{\"method\": \"{method}\", \"action\": {{\"delay\": {{\"by\": \"{time}ms\"}}}}}}");
        control(scratch, &["add-rule", &rule]).await;
    }
}

/// Calls the control API of our simulator.
pub(super) async fn control(scratch: &TempDir, arguments: &[&str]) {
    let status = Command::new(program::binary())
        .args(["sim", "vcenter", "ctl", "--control-file"])
        .arg(control_file(scratch))
        .args(arguments)
        .stdout(Stdio::null())
        .status();
    assert!(status.await.expect("rookery starts").success(), "the simulator takes {arguments:?}");
}

fn control_file(scratch: &TempDir) -> PathBuf {
    scratch.path().join("control.json")
}

/// `Login:1500,Logout:60000`.
fn delays(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').map(|delay| delay.split_once(':').expect("a method and milliseconds"))
}

fn password(arguments: &[String]) -> &str {
    let given = arguments.iter().find_map(|argument| argument.strip_prefix("-password="));
    given.unwrap_or(Vcsim::PASSWORD)
}

/// An argument of vcsim as our simulator spells it.
fn translated(argument: &str, scratch: &TempDir) -> Vec<String> {
    let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
    let numbered = |flag: &str| vec![flag.to_owned(), value.to_owned()];
    match (name, value) {
        ("-tls", "false") => vec!["--no-tls".to_owned()],
        ("-autostart", "false") => vec!["--off".to_owned()],
        // It is given in any case.
        ("-password" | "-username" | "-method-delay", _) => Vec::new(),
        ("-dc", _) => numbered("--datacenters"),
        ("-cluster", _) => numbered("--clusters"),
        ("-host", _) => numbered("--cluster-hosts"),
        ("-ds", _) => numbered("--datastores"),
        ("-standalone-host", _) => numbered("--standalone-hosts"),
        ("-pod", _) => numbered("--datastore-clusters"),
        ("-pool", _) => numbered("--pools"),
        ("-vm", _) => numbered("--vms"),
        ("-task-delay", _) => {
            let methods: Vec<_> = delays(value)
                .map(|(name, time)| (name.strip_suffix("Vm").unwrap_or(name), time))
                .map(|(name, time)| format!("\"{name}VM_Task\": \"{time}ms\""))
                .collect();
            let durations = format!("{{\"durations\": {{\"methods\": {{{}}}}}}}", methods.join(", "));
            vec!["--set".to_owned(), durations]
        }
        // Told once it runs: see `slow_down`.
        ("-issue", kind) => issued(kind, scratch),
        _ => panic!("our simulator has no word for {argument}"),
    }
}

/// A certificate of that kind from an authority of its own, which is written where stories look for it.
fn issued(kind: &str, scratch: &TempDir) -> Vec<String> {
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key");
    let certificate = authority.self_signed(&authority_key).expect("an authority");
    let name = if kind == "other-name" { "vc.example.com" } else { "127.0.0.1" };
    let mut server = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    // Valid for days, not for ever: it is warned of.
    let today = Clock::system().now().to_zoned(TimeZone::UTC).date();
    let in_days = |days: i64| {
        let date = today.saturating_add(days.days());
        let part = |number: i8| u8::try_from(number).expect("months and days count from 1");
        date_time_ymd(date.year().into(), part(date.month()), part(date.day()))
    };
    server.not_before = in_days(-2);
    server.not_after = if kind == "expired" { in_days(-1) } else { in_days(2) };
    let key = KeyPair::generate().expect("a key");
    let issuer = Issuer::new(authority, authority_key);
    let server = server.signed_by(&key, &issuer).expect("a certificate");
    let write = |name: &str, text: String| {
        let file = scratch.path().join(name);
        std::fs::write(&file, text).expect("the folder takes files");
        file.to_str().expect("text").to_owned()
    };
    std::fs::write(ca_file(scratch), certificate.pem()).expect("the folder takes files");
    let chain = write("server.pem", server.pem());
    let key = write("server.key", key.serialize_pem());
    vec!["--cert-file".to_owned(), chain, "--key-file".to_owned(), key]
}
