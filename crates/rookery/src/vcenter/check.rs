//! Checks that need domain types or several keys. Everything that is wrong is told at once.

use std::fs::File;
use std::num::NonZeroU32;
use std::time::Duration;

use rookery_daemon::settings::{Origin, Problem, Problems, Settings};
use rookery_vim::inventory_name::unescape;
use rookery_vim_client::{Endpoint, Thumbprint, Trust};
use secrecy::{ExposeSecret, SecretString};

use super::{Vcenter, address};
use crate::settings::KEYS;

const CA_FILE: &str = "vcenter.ca-file";
const THUMBPRINT: &str = "vcenter.thumbprint";
const INSECURE: &str = "vcenter.insecure";

/// The vCenter that the settings describe, if they do; what is wrong is added to the problems.
pub(crate) fn check(settings: &Settings, problems: &mut Problems) -> Option<Vcenter> {
    let endpoint = endpoint(settings, problems);
    let user = present(settings, problems, "vcenter.user");
    let password = secret(settings, problems, "vcenter.password");
    let trust = trust(settings, problems);
    let call_timeout = timeout(settings, problems, "vcenter.call-timeout");
    let load_timeout = timeout(settings, problems, "vcenter.load-timeout");
    let calls_per_second = calls_per_second(settings, problems);
    Some(Vcenter {
        endpoint: endpoint?,
        user: user?,
        password: password?,
        datacenter: settings.text("vcenter.datacenter").map(last_name),
        trust: trust?,
        call_timeout: call_timeout?,
        load_timeout: load_timeout?,
        calls_per_second,
    })
}

/// Whether nothing says yet why the server would be trusted.
pub(crate) fn trust_is_open(settings: &Settings) -> bool {
    trust_keys(settings).is_empty()
}

/// Whether a problem is about a key, or about the file that holds its value.
fn is_about(problem: &Problem, path: &str) -> bool {
    problem.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest == "-file")
}

fn endpoint(settings: &Settings, problems: &mut Problems) -> Option<Endpoint> {
    let path = "vcenter.endpoint";
    let text = present(settings, problems, path)?;
    let parsed = Endpoint::parse(&text).map_err(|error| address::complaint(&error));
    problems.keep(path, parsed).map(|(endpoint, _)| endpoint)
}

/// A secret that must be given and not be empty.
pub(crate) fn secret(settings: &Settings, problems: &mut Problems, path: &str) -> Option<SecretString> {
    let password = settings.secret(path).filter(|secret| !secret.expose_secret().is_empty());
    if password.is_none() {
        report_missing(settings, problems, path);
    }
    password
}

/// A text that must be given and not be empty.
pub(crate) fn present(settings: &Settings, problems: &mut Problems, path: &str) -> Option<String> {
    let value = settings.text(path).filter(|text| !text.trim().is_empty());
    if value.is_none() {
        report_missing(settings, problems, path);
    }
    value.map(str::to_owned)
}

/// Unless something else is wrong that may be the reason: a value that cannot be read is not a missing one.
fn report_missing(settings: &Settings, problems: &mut Problems, path: &str) {
    let explained = |problem: &Problem| problem.path.is_empty() || is_about(problem, path);
    if problems.as_slice().iter().any(explained) {
        return;
    }
    let word = if settings.origin(path).is_some() { "is empty" } else { "is not set" };
    let mut ways = vec![format!("--{}", flag_of(path))];
    let key = KEYS.iter().find(|key| key.path == path);
    ways.extend(key.into_iter().flat_map(|key| key.env).map(|name| (*name).to_owned()));
    ways.extend(key.map(rookery_daemon::settings::Key::variable));
    problems.push(path, format!("{word}; give {} or the key in a settings file", ways.join(", ")));
}

/// The flag that sets a key. A password has none of its own.
fn flag_of(path: &str) -> &str {
    match path {
        "vcenter.password" => "password-file",
        "guest.user" => "guest-user",
        "guest.password" => "guest-password-file",
        other => other.rsplit('.').next().unwrap_or(other),
    }
}

fn timeout(settings: &Settings, problems: &mut Problems, path: &str) -> Option<Duration> {
    let given = settings.duration(path);
    if given == Some(Duration::ZERO) {
        problems.push(path, "must be more than zero");
    }
    given
}

/// A limit of no calls at all would only make every command hang.
fn calls_per_second(settings: &Settings, problems: &mut Problems) -> Option<NonZeroU32> {
    let path = "vcenter.calls-per-second";
    let limit = u32::try_from(settings.number(path)?).ok().and_then(NonZeroU32::new);
    if limit.is_none() {
        problems.push(path, format!("must be from 1 to {}; leave it out for no limit", u32::MAX));
    }
    limit
}

fn trust_keys(settings: &Settings) -> Vec<(&'static str, Option<&Origin>)> {
    let set = [
        (CA_FILE, settings.origin(CA_FILE).is_some()),
        (THUMBPRINT, settings.origin(THUMBPRINT).is_some()),
        (INSECURE, settings.flag(INSECURE)),
    ];
    set.into_iter().filter(|(_, set)| *set).map(|(key, _)| (key, settings.origin(key))).collect()
}

pub(crate) fn trust(settings: &Settings, problems: &mut Problems) -> Option<Trust> {
    let ca_file = settings.path(CA_FILE).map(|file| {
        let readable = File::open(&file).map(|_| ());
        problems
            .keep(CA_FILE, readable.map_err(|error| format!("{} cannot be read: {error}", file.display())));
        Trust::CaFile(file)
    });
    let thumbprint =
        settings.text(THUMBPRINT).map(|text| problems.keep(THUMBPRINT, text.parse::<Thumbprint>()));
    let set = trust_keys(settings);
    if let [(first, _), others @ ..] = set.as_slice()
        && !others.is_empty()
    {
        let named = |(key, origin): &(&str, Option<&Origin>)| {
            origin.map_or_else(|| (*key).to_owned(), |origin| format!("{key} ({origin})"))
        };
        let others: Vec<_> = others.iter().map(named).collect();
        let message = format!("contradicts {}: keep only one of them", others.join(" and "));
        problems.push(*first, message);
    }
    match (ca_file, thumbprint) {
        (Some(trust), _) => Some(trust),
        (None, Some(thumbprint)) => thumbprint.map(Trust::Thumbprint),
        (None, None) if settings.flag(INSECURE) => Some(Trust::Insecure),
        (None, None) => Some(Trust::SystemRoots),
    }
}

/// `GOVC_DATACENTER` may be an inventory path (`/folder/DC0`), in which names are spelled as on the wire.
fn last_name(given: &str) -> String {
    match given.strip_prefix('/') {
        Some(path) => unescape(path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)),
        None => given.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datacenter_may_be_given_as_a_path() {
        assert_eq!(last_name("DC0"), "DC0");
        assert_eq!(last_name("/DC0"), "DC0");
        assert_eq!(last_name("/europe/a%2fb/"), "a/b");
        assert_eq!(last_name("a/b"), "a/b");
    }
}
