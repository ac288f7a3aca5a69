//! Why a machine is deleted or kept.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use rookery_fleet::deletion::Kept;

/// Why a machine was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condemned {
    /// A worker could not be started in it.
    SpawnFailed,
    /// It could not be made ready for the pool.
    ProvisionFailed,
    /// The registration of a model in it failed or has ended.
    RegistrationEnded,
}

impl Condemned {
    /// Its label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SpawnFailed => "spawn_failed",
            Self::ProvisionFailed => "provision_failed",
            Self::RegistrationEnded => "registration_ended",
        }
    }
}

impl fmt::Display for Condemned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SpawnFailed => "its worker could not be started",
            Self::ProvisionFailed => "it could not be made ready",
            Self::RegistrationEnded => "the registration of its model has ended",
        })
    }
}

/// Why a machine is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Doomed(Condemned),
    /// Its worker was taken out of service.
    Disabled,
    Finished {
        age: SignedDuration,
        /// Whether the server still lists the worker.
        listed: bool,
    },
    /// It was renamed for a job and never started.
    NeverStarted {
        age: SignedDuration,
        limit: SignedDuration,
    },
    /// It runs, but its worker never appeared at the server.
    NeverRegistered {
        age: SignedDuration,
        limit: SignedDuration,
    },
    /// A template whose making has ended without it.
    OrphanedTemplate {
        age: SignedDuration,
    },
    Expired {
        age: SignedDuration,
        limit: SignedDuration,
    },
}

impl Reason {
    /// Its label.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Doomed(condemned_for) => condemned_for.as_str(),
            Self::Disabled => "disabled",
            Self::Finished { .. } => "finished",
            Self::NeverStarted { .. } => "never_started",
            Self::NeverRegistered { .. } => "never_registered",
            Self::OrphanedTemplate { .. } => "orphaned_template",
            Self::Expired { .. } => "expired",
        }
    }

    /// Whether it follows from the power that the machine was seen with.
    pub fn is_by_power(&self) -> bool {
        match self {
            Self::Doomed(_) | Self::Disabled | Self::OrphanedTemplate { .. } => false,
            Self::Finished { .. }
            | Self::NeverStarted { .. }
            | Self::NeverRegistered { .. }
            | Self::Expired { .. } => true,
        }
    }

    /// The most certain ones come first when not all can be deleted.
    pub(super) fn urgency(&self) -> u8 {
        match self {
            Self::Doomed(_) => 0,
            Self::Disabled => 1,
            Self::Finished { .. } => 2,
            Self::NeverStarted { .. } => 3,
            Self::NeverRegistered { .. } => 4,
            Self::OrphanedTemplate { .. } => 5,
            Self::Expired { .. } => 6,
        }
    }

    pub(super) fn age(&self) -> SignedDuration {
        match self {
            Self::Doomed(_) | Self::Disabled => SignedDuration::ZERO,
            Self::Finished { age, .. }
            | Self::NeverStarted { age, .. }
            | Self::NeverRegistered { age, .. }
            | Self::OrphanedTemplate { age }
            | Self::Expired { age, .. } => *age,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Doomed(condemned_for) => condemned_for.fmt(f),
            Self::Disabled => f.write_str("its worker is disabled"),
            Self::Finished { age, listed: false } => write!(f, "its worker ended {} ago", short(*age)),
            Self::Finished { age, listed: true } => {
                write!(f, "it went off {} ago, though its worker is still listed", short(*age))
            }
            Self::NeverStarted { age, limit } => {
                write!(
                    f,
                    "it was renamed {} ago and never started, {} are allowed",
                    short(*age),
                    short(*limit)
                )
            }
            Self::NeverRegistered { age, limit } => {
                write!(f, "its worker has not registered for {}, {} are allowed", short(*age), short(*limit))
            }
            Self::OrphanedTemplate { age } => {
                write!(f, "a template that was begun {} ago and never finished", short(*age))
            }
            Self::Expired { age, limit } => {
                write!(f, "its worker has run for {}, {} are allowed", short(*age), short(*limit))
            }
        }
    }
}

/// Why a machine is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepReason {
    Template,
    Warm,
    Busy,
    /// The inventory does not show yet what we did to it.
    Unconfirmed,
    /// It is kept for somebody to look at.
    Held {
        until: Timestamp,
    },
    /// How its job has ended is being asked: it may have to be kept.
    EndUnknown,
    Unknown,
    /// It is on a host that cannot be reached.
    Unreachable,
    /// It is not where the owner's machines are.
    Outside,
    /// It seems never to have registered; whether its job runs in it was not asked yet.
    JobUnread,
    /// Its job runs in it, although the server does not list its worker.
    JobRuns,
    /// Unusually many that run would go: a person has to confirm it.
    Braked,
    PowerUnknown,
    /// Its start stands in its events alone, and they were not read yet.
    NeedsEvents,
    /// Its start stands in its events alone, and what was read of them does not reach back to it.
    HistoryTooShort,
    AgeUnknown,
    Young {
        age: SignedDuration,
        limit: SignedDuration,
    },
    /// It changed after the server was asked for its workers.
    ChangedSince,
    /// As many are being deleted as may be at once.
    Budget,
}

impl From<Kept> for KeepReason {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Template => Self::Template,
            Kept::Unknown => Self::Unknown,
            Kept::Outside => Self::Outside,
            Kept::Unreachable => Self::Unreachable,
            Kept::Busy => Self::Busy,
            Kept::Unconfirmed => Self::Unconfirmed,
            Kept::Held { until } => Self::Held { until },
            Kept::ChangedSince => Self::ChangedSince,
            Kept::Braked => Self::Braked,
            Kept::Budget => Self::Budget,
        }
    }
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template => f.write_str("it is a template"),
            Self::Warm => f.write_str("it belongs to the warm pool"),
            Self::Busy => f.write_str("it is being worked on"),
            Self::Unconfirmed => f.write_str("the inventory does not show yet what was done to it"),
            Self::Held { until } => write!(f, "it is kept until {until}"),
            Self::EndUnknown => f.write_str("CDS is asked first how its job has ended"),
            Self::Unknown => f.write_str("it is not known yet"),
            Self::Unreachable => f.write_str("vCenter does not reach its host"),
            Self::Outside => f.write_str("it is in another folder or resource pool than the settings name"),
            Self::JobUnread => f.write_str("CDS does not list its worker; its job is read first"),
            Self::JobRuns => f.write_str("CDS does not list its worker, but says that its job runs in it"),
            Self::Braked => {
                f.write_str("unusually many would be deleted: `rookery hatchery confirm` allows it")
            }
            Self::PowerUnknown => f.write_str("its power state is not known"),
            Self::NeedsEvents => f.write_str("its events were not read yet"),
            Self::HistoryTooShort => f.write_str("vCenter's events do not reach back to its start"),
            Self::AgeUnknown => f.write_str("its age is not known"),
            Self::Young { age, limit } => {
                write!(f, "{} of {} have passed", short(*age), short(*limit))
            }
            Self::ChangedSince => f.write_str("it has changed since the workers were listed"),
            Self::Budget => f.write_str("others are deleted first"),
        }
    }
}

/// Nobody needs fractions of a second.
fn short(time: SignedDuration) -> String {
    format!("{:#}", SignedDuration::from_secs(time.as_secs()))
}
