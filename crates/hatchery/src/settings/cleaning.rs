//! When machines go.

use std::time::Duration;

use super::section::Section;

/// When machines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaning {
    /// How often it is looked for machines that must go.
    pub interval: Duration,
    /// How long a worker may live.
    pub worker_ttl: Duration,
    /// How long a worker may take to register.
    pub registration_ttl: Duration,
    /// How long a machine stays after its worker ended.
    pub grace: Duration,
}

pub(super) fn cleaning(section: &mut Section<'_, '_>) -> Cleaning {
    let minutes = |number: u32| Duration::from_mins(number.into());
    Cleaning {
        interval: section.seconds("killAwolServersInterval"),
        worker_ttl: minutes(section.positive("workerTTL")),
        registration_ttl: minutes(section.positive("workerRegistrationTTL")),
        grace: section.seconds("finishedWorkerGracePeriod"),
    }
}
