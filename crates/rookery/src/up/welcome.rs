//! What `up` does when nobody told it where a vCenter is: it simulates one, and says how to name another.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use jiff::SignedDuration;
use rookery_vim_client::{Endpoint, Trust};
use rookery_vim_sim::{Clock, Durations, GuestTimes, Model, Settings, Span};

use crate::sim::Embedded;
use crate::vcenter::Vcenter;

/// A small company's vCenter.
const MODEL: &str = include_str!("welcome.toml");
/// The user and password are no secret: it listens to this machine alone.
const LOGIN: (&str, &str) = ("me", "simulated");

/// Starts a vCenter that takes about as long as a quick real one.
pub(super) async fn start() -> anyhow::Result<Embedded> {
    let seconds = |count| Span::Constant(SignedDuration::from_secs(count));
    let settings = Settings {
        login: Some((LOGIN.0.to_owned(), LOGIN.1.to_owned())),
        durations: Durations {
            clone: seconds(1),
            copy_per_gib: seconds(1),
            power: seconds(1),
            ..Durations::default()
        },
        guests: GuestTimes {
            tools: seconds(3),
            operations: seconds(1),
            addresses: seconds(1),
            ..GuestTimes::default()
        },
        ..Settings::default()
    };
    let model: Model = toml::from_str(MODEL).context("the built-in model cannot be read")?;
    let clock = Clock::real(rookery_daemon::Clock::system());
    Embedded::start(&model, settings, SocketAddr::from(([127, 0, 0, 1], 0)), None, clock).await
}

/// How to reach it.
pub(super) fn vcenter(address: &str) -> anyhow::Result<Vcenter> {
    let (endpoint, _) = Endpoint::parse(address)?;
    Ok(Vcenter {
        endpoint,
        user: LOGIN.0.to_owned(),
        password: LOGIN.1.into(),
        datacenter: None,
        // There is no TLS on the way to this very process.
        trust: Trust::Insecure,
        call_timeout: Duration::from_secs(15),
        load_timeout: Duration::from_secs(60),
        calls_per_second: None,
    })
}

/// What to do with it, and how to name a real one; `default_file` is the settings file that is read when none is asked
/// for.
pub(super) fn hints(address: &str, default_file: Option<&Path>) -> Vec<String> {
    let (user, password) = LOGIN;
    let url = address.replacen("://", &format!("://{user}:{password}@"), 1);
    let file = default_file
        .map_or_else(|| "a file given with --config".to_owned(), |path| path.display().to_string());
    vec![
        "simulated    nobody named a vCenter: this one is made up, and goes when this ends".to_owned(),
        "try it       in another terminal; what you do there shows here:".to_owned(),
        format!("               export GOVC_URL={url}/sdk"),
        "               rookery vm power off ci-1; rookery vm clone debian-12 ci-9 --on; rookery doctor"
            .to_owned(),
        "your own     rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE"
            .to_owned(),
        format!("             or [vcenter] in {file}; README.md has both"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hints_can_be_copied_as_they_stand() {
        let file = Path::new("/home/me/.config/rookery/rookery.toml");
        insta::assert_snapshot!(hints("http://127.0.0.1:1234", Some(file)).join("\n"), @"
        simulated    nobody named a vCenter: this one is made up, and goes when this ends
        try it       in another terminal; what you do there shows here:
                       export GOVC_URL=http://me:simulated@127.0.0.1:1234/sdk
                       rookery vm power off ci-1; rookery vm clone debian-12 ci-9 --on; rookery doctor
        your own     rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE
                     or [vcenter] in /home/me/.config/rookery/rookery.toml; README.md has both
        ");
    }

    #[test]
    fn the_built_in_model_makes_a_vcenter() {
        let model: Model = toml::from_str(MODEL).expect("it is a model");
        model.build(Settings::default(), jiff::Timestamp::UNIX_EPOCH).expect("it makes a world");
    }
}
