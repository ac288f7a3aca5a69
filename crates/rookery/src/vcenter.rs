//! Which vCenter, as whom, and why it is trusted: the keys of `[vcenter]` and their checked form.

pub(crate) mod address;
pub(crate) mod check;
pub(crate) mod known_hosts;

use std::num::NonZeroU32;
use std::time::Duration;

use rookery_daemon::settings::{Key, Kind};
use rookery_vim_client::{Endpoint, Trust};
use secrecy::SecretString;

/// A vCenter that can be connected to.
#[derive(Debug, Clone)]
pub struct Vcenter {
    pub endpoint: Endpoint,
    pub user: String,
    pub password: SecretString,
    /// The datacenter that is looked at; all of them if not given.
    pub datacenter: Option<String>,
    /// Why it is believed to be the right one.
    pub trust: Trust,
    /// How long an ordinary call may take.
    pub call_timeout: Duration,
    /// How long the first load of the inventory may take.
    pub load_timeout: Duration,
    /// How many calls a second it is asked at most.
    pub calls_per_second: Option<NonZeroU32>,
}

/// The settings of a vCenter.
pub const KEYS: &[Key] = &[
    Key {
        env: &["GOVC_URL"],
        ..key("vcenter.endpoint", Kind::Text, "vCenter's address: host, host:port or https://host/sdk")
    },
    Key { env: &["GOVC_USERNAME"], ..key("vcenter.user", Kind::Text, "the user to log in as") },
    Key { env: &["GOVC_PASSWORD"], ..key("vcenter.password", Kind::Secret, "the password") },
    Key {
        env: &["GOVC_DATACENTER"],
        ..key("vcenter.datacenter", Kind::Text, "the datacenter to look at; all if not set")
    },
    Key {
        env: &["GOVC_TLS_CA_CERTS"],
        ..key("vcenter.ca-file", Kind::Path, "PEM file of certificate authorities to trust")
    },
    key("vcenter.thumbprint", Kind::Text, "SHA-256 of the only certificate to trust"),
    Key {
        env: &["GOVC_INSECURE"],
        ..key("vcenter.insecure", Kind::Flag, "whether any certificate is trusted")
    },
    Key {
        default: Some("15s"),
        ..key("vcenter.call-timeout", Kind::Duration, "how long an ordinary call may take")
    },
    Key {
        default: Some("5m"),
        ..key("vcenter.load-timeout", Kind::Duration, "how long the first load of the inventory may take")
    },
    key("vcenter.calls-per-second", Kind::Number, "how many calls a second at most; no limit if not set"),
];

/// A key without a default and without a variable of others.
pub(crate) const fn key(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, default: None, env: &[], doc }
}
