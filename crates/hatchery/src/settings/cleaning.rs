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
    let seconds = |number: u32| Duration::from_secs(number.into());
    Cleaning {
        interval: seconds(section.natural_or("killAwolServersInterval", 60)),
        worker_ttl: minutes(section.natural_or("workerTTL", 120)),
        registration_ttl: minutes(section.natural_or("workerRegistrationTTL", 10)),
        grace: seconds(section.natural_or("finishedWorkerGracePeriod", 180)),
    }
}
