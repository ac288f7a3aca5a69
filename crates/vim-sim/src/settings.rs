//! How the simulated vCenter behaves.

use jiff::SignedDuration;

/// Behaviour that does not change while it runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where all that is random begins.
    pub seed: u64,
    /// The only user and password that are accepted; anybody if none is named.
    pub login: Option<(String, String)>,
    /// The user and password of every guest; anybody's if none is named.
    pub guest_login: Option<(String, String)>,
    /// How many objects an answer tells of at most.
    pub page: usize,
    /// How long operations take.
    pub durations: Durations,
    /// How guests start.
    pub guests: GuestTimes,
    /// How many events are kept.
    pub events: usize,
    /// Whether waits are left unanswered: a stream of updates that hangs.
    pub frozen: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            login: None,
            guest_login: None,
            page: 1000,
            durations: Durations::default(),
            guests: GuestTimes::default(),
            events: 50_000,
            frozen: false,
        }
    }
}

/// How long each operation takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Durations {
    /// Creating a VM.
    pub create: SignedDuration,
    /// Cloning, without the copying of disks.
    pub clone: SignedDuration,
    /// Copying a GiB of a disk.
    pub copy_per_gib: SignedDuration,
    /// Reconfiguring, renaming, customizing.
    pub reconfigure: SignedDuration,
    /// Powering on, off, resetting, suspending.
    pub power: SignedDuration,
    /// Taking and removing snapshots.
    pub snapshot: SignedDuration,
    /// Destroying.
    pub destroy: SignedDuration,
    /// Moving, copying and deleting files.
    pub file: SignedDuration,
}

/// How long after its start a guest gets somewhere.
#[derive(Debug, Clone)]
pub struct GuestTimes {
    /// Whether VMs have the tools at all, if their model does not say.
    pub tools_installed: bool,
    /// Until the tools run.
    pub tools: SignedDuration,
    /// From there until guest operations are possible.
    pub operations: SignedDuration,
    /// From there until the addresses are known.
    pub addresses: SignedDuration,
    /// How long a guest takes to shut down.
    pub shutdown: SignedDuration,
    /// The network that DHCP gives addresses from.
    pub dhcp: (std::net::Ipv4Addr, u8),
}

impl Default for GuestTimes {
    fn default() -> Self {
        Self {
            tools_installed: true,
            tools: SignedDuration::ZERO,
            operations: SignedDuration::ZERO,
            addresses: SignedDuration::ZERO,
            shutdown: SignedDuration::ZERO,
            dhcp: (std::net::Ipv4Addr::new(10, 128, 0, 0), 9),
        }
    }
}
