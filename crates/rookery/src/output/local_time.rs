//! The time of day as people at this machine read it.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use rookery_daemon::Clock;

/// Tells the time, and how to write it.
#[derive(Debug, Clone)]
pub struct LocalTime {
    clock: Clock,
    zone: TimeZone,
}

impl LocalTime {
    /// The machine's clock and time zone.
    pub fn system() -> Self {
        Self { clock: Clock::system(), zone: TimeZone::system() }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// `09:31:02`, in the zone of this machine.
    pub fn of_day(&self, time: Timestamp) -> String {
        Zoned::new(time, self.zone.clone()).strftime("%H:%M:%S").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_of_the_machine_counts() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let time = LocalTime { clock: Clock::system(), zone };
        assert_eq!(time.of_day("2031-02-03T07:31:02.9Z".parse().unwrap()), "09:31:02");
    }
}
