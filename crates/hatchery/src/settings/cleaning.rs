//! When VMs are deleted.

use std::time::Duration;

use super::section::Section;
use crate::plan::Cleaning;

pub(super) fn cleaning(section: &mut Section<'_, '_>) -> Cleaning {
    let minutes = |number: u32| Duration::from_mins(number.into());
    Cleaning {
        interval: section.seconds("killAwolServersInterval"),
        worker_ttl: minutes(section.positive("workerTTL")),
        registration_ttl: minutes(section.positive("workerRegistrationTTL")),
        grace: section.seconds("finishedWorkerGracePeriod"),
    }
}
