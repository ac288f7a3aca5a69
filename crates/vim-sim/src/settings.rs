//! How the simulated vCenter behaves.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::SignedDuration;
use rookery_vim::Hidden;
use serde::{Deserialize, Serialize};

use crate::guests::ProgramRule;
use crate::privileges::Access;
use crate::span::Span;

/// Behaviour that does not change while it runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where all that is random begins.
    pub seed: u64,
    /// What tells it from other vCenters that begin alike: it is in the `instanceUuid` of what it says about itself.
    pub instance: u64,
    /// The only user and password that are accepted; anybody if none is named.
    pub login: Option<(String, String)>,
    pub access: Access,
    /// The user and password of every guest; anybody's if none is named.
    pub guest_login: Option<Login>,
    /// The user and password of some guests: by names of VMs, with `*` and `?`; the first that fits counts. A clone of
    /// such a VM has the same.
    pub guest_logins: Vec<(String, Login)>,
    /// What programs do in guests, if they are not run for real.
    pub programs: Vec<ProgramRule>,
    /// Whether programs of guests are run on this machine, and not only simulated.
    pub allow_local_exec: bool,
    /// How much the files of one guest may take.
    pub guest_disk_bytes: u64,
    /// Whether clients come over TLS: addresses of files in guests begin like that.
    pub https: bool,
    /// The certificate that hosts show, as PEM: files of guests come from hosts.
    pub host_certificate: Option<String>,
    /// The maximal number of objects in an answer.
    pub page: usize,
    pub durations: Durations,
    pub guests: GuestTimes,
    /// How many events are kept.
    pub events: usize,
    /// What it refuses to do more of.
    pub limits: Limits,
    /// The token of the control API; none disables it.
    pub control_token: Option<Hidden>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            instance: 0,
            login: None,
            access: Access::default(),
            guest_login: None,
            guest_logins: Vec::new(),
            programs: Vec::new(),
            allow_local_exec: false,
            guest_disk_bytes: 1 << 30,
            https: false,
            host_certificate: None,
            page: 1000,
            durations: Durations::default(),
            guests: GuestTimes::default(),
            events: 50_000,
            limits: Limits::default(),
            control_token: None,
        }
    }
}

/// A user and their password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:***", self.user)
    }
}

/// How long each operation takes. Times may be drawn anew for every one of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Durations {
    pub create: Span,
    /// Cloning, without the copying of disks.
    pub clone: Span,
    /// Copying a GiB of a disk.
    pub copy_per_gib: Span,
    /// Reconfiguring, renaming, customizing.
    pub reconfigure: Span,
    /// Powering on, off, resetting, suspending.
    pub power: Span,
    /// Taking and removing snapshots.
    pub snapshot: Span,
    pub destroy: Span,
    /// Moving, copying and deleting files.
    pub file: Span,
    /// By method, such as `ResetVM_Task`, where it differs from its kind.
    pub methods: BTreeMap<String, Span>,
}

impl Durations {
    /// How long a method takes that usually takes as long as its kind.
    pub(crate) fn of(&self, method: &str, usual: Span) -> Span {
        self.methods.get(method).copied().unwrap_or(usual)
    }
}

/// How long after its start a guest gets somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct GuestTimes {
    /// Whether VMs have the tools at all, if their model does not say.
    pub tools_installed: bool,
    /// Until the tools run.
    pub tools: Span,
    /// From there until guest operations are possible.
    pub operations: Span,
    /// From there until the addresses are known.
    pub addresses: Span,
    pub shutdown: Span,
    /// The network that DHCP gives addresses from.
    pub dhcp: (Ipv4Addr, u8),
}

impl Default for GuestTimes {
    fn default() -> Self {
        Self {
            tools_installed: true,
            tools: Span::ZERO,
            operations: Span::ZERO,
            addresses: Span::ZERO,
            shutdown: Span::ZERO,
            dhcp: (Ipv4Addr::new(10, 128, 0, 0), 9),
        }
    }
}

/// What a real vCenter does not let its clients exceed. Nothing is limited unless it is said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limits {
    /// Sessions at a time; more logins are refused.
    pub sessions: Option<usize>,
    /// Tasks that run on one host at a time; more stay queued.
    pub tasks_per_host: Option<usize>,
    /// Tasks that run on one datastore at a time; more stay queued.
    pub tasks_per_datastore: Option<usize>,
    /// Requests per second, of all clients together.
    pub requests_per_second: Option<u32>,
    /// What happens to requests beyond that.
    pub when_exceeded: Exceeded,
    /// Sessions end after this time without a request.
    pub idle_session: Option<SignedDuration>,
    /// The age at which sessions end.
    pub session_age: Option<SignedDuration>,
}

/// What happens to a request that comes too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exceeded {
    /// It is refused with status 503.
    #[default]
    Refuse,
    /// It is answered later.
    Delay,
}
