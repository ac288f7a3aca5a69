//! Whether somebody set our clock or vCenter's, and how far they are apart. Pure.
//!
//! What is measured against our steady time cannot be spoiled by setting our clock. So vCenter's time is our steady time
//! and how far vCenter is ahead of it; the wall clock only tells whether the two machines agree.

use jiff::{SignedDuration, Timestamp};
use rookery_fleet::deletion::MAX_SKEW;

/// A clock that moves by more than this against the steady time was set.
const STEP: SignedDuration = SignedDuration::from_secs(5);
/// How long a reading is good for; vCenter's clock is read every minute.
const GOOD_FOR: SignedDuration = SignedDuration::from_mins(5);
/// A reading that took longer may be wrong by more than a step.
const LONGEST: SignedDuration = SignedDuration::from_secs(5);

/// vCenter's clock, as it was read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub begun: Timestamp,
    pub wall: Timestamp,
    pub took: SignedDuration,
    pub theirs: Timestamp,
}

impl Reading {
    /// How far vCenter's clock is ahead of our steady time. The middle of the call is when vCenter looked.
    pub fn ahead(&self) -> SignedDuration {
        self.theirs.duration_since(self.begun).saturating_sub(self.took / 2)
    }

    fn skew(&self) -> SignedDuration {
        self.theirs.duration_since(self.wall).saturating_sub(self.took / 2)
    }

    /// Whether it took so long that it tells nothing.
    pub fn is_vague(&self) -> bool {
        self.took > LONGEST
    }
}

/// What is known of both clocks.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// Our wall time less our steady time.
    offset: Option<SignedDuration>,
    /// When our clock was last found to be set, in steady time.
    set_at: Option<Timestamp>,
    ahead: SignedDuration,
    /// vCenter's time less ours, and when it was read.
    skew: Option<(SignedDuration, Timestamp)>,
    /// How far vCenter's clock was ahead when ages last counted anew. It may be set in small steps, which add up.
    reckoned: Option<SignedDuration>,
    was_outside: bool,
}

impl Clocks {
    /// Looks at our own clock, and says by how much it was set, if it was.
    pub(super) fn look(&mut self, steady: Timestamp, wall: Timestamp) -> Option<SignedDuration> {
        let offset = wall.duration_since(steady);
        let by = offset.saturating_sub(*self.offset.get_or_insert(offset));
        if by.abs() <= STEP {
            return None;
        }
        (self.offset, self.set_at, self.skew) = (Some(offset), Some(steady), None);
        Some(by)
    }

    /// Whether what was asked for then is of any use: it was not, if our clock was set since.
    pub(super) fn counts(&self, begun: Timestamp) -> bool {
        self.set_at.is_none_or(|set| begun > set)
    }

    /// Takes a reading in. Tells by how much vCenter's clock was set if ages have to count anew: it was set, or agrees with
    /// ours again.
    pub(super) fn read(&mut self, reading: &Reading) -> Option<SignedDuration> {
        if reading.is_vague() || !self.counts(reading.begun) {
            return None;
        }
        let (ahead, skew) = (reading.ahead(), reading.skew());
        let is_outside = skew.abs() > MAX_SKEW;
        let by = ahead.saturating_sub(*self.reckoned.get_or_insert(ahead));
        let is_back = self.was_outside && !is_outside;
        (self.ahead, self.skew) = (ahead, Some((skew, reading.begun)));
        self.was_outside = is_outside;
        if by.abs() <= STEP && !is_back {
            return None;
        }
        self.reckoned = Some(ahead);
        Some(by)
    }

    /// vCenter's time less ours, if that was read of late.
    pub(super) fn skew(&self, steady: Timestamp) -> Option<SignedDuration> {
        let good = |(_, at): &(SignedDuration, Timestamp)| steady.duration_since(*at) <= GOOD_FOR;
        self.skew.filter(good).map(|(skew, _)| skew)
    }

    /// How far vCenter's clock is ahead of our steady time, as of the last reading.
    pub(super) fn ahead(&self) -> SignedDuration {
        self.ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn secs(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    /// A reading at that steady second, by clocks that are so far ahead of it.
    fn reading(second: i64, wall: i64, theirs: i64) -> Reading {
        Reading { begun: at(second), wall: at(second + wall), took: secs(0), theirs: at(second + theirs) }
    }

    #[test]
    fn what_is_known_of_both_clocks_is_unknown_when_ours_was_set_until_it_is_asked_again() {
        for (by, set) in [(5, false), (-5, false), (6, true), (-6, true), (3600, true)] {
            let mut clocks = Clocks::default();
            assert_eq!(clocks.look(at(0), at(0)), None);
            assert_eq!(clocks.read(&reading(1, 0, 2)), None);
            assert_eq!(clocks.look(at(10), at(10 + by)), set.then(|| secs(by)), "{by}");
            assert_eq!(clocks.skew(at(10)), (!set).then(|| secs(2)), "{by}");
            assert_eq!((clocks.counts(at(10)), clocks.counts(at(11))), (!set, true), "{by}");
            assert_eq!(clocks.look(at(11), at(11 + by)), None, "it was set once");
            // What was begun before is not believed, and that our clock was set makes nobody older.
            assert_eq!(clocks.read(&reading(9, 0, 2)), None);
            assert_eq!(clocks.skew(at(11)).is_none(), set, "{by}");
            assert_eq!(clocks.read(&reading(12, by, 2)), None);
            assert_eq!(clocks.skew(at(12)), Some(secs(2 - by)));
            assert_eq!(clocks.ahead(), secs(2));
        }
        let mut clocks = Clocks::default();
        let small = [3, 5, 6].map(|by| clocks.look(at(by), at(0)));
        assert_eq!(small, [None, None, None]);
        assert_eq!(clocks.look(at(9), at(0)), Some(secs(-6)), "small ones add up");
    }

    #[test]
    fn ages_count_anew_when_vcenter_s_clock_was_set_or_agrees_with_ours_again() {
        for (first, second, expected) in [
            (0, 5, None),
            (0, -5, None),
            (0, 6, Some(6)),
            (0, -6, Some(-6)),
            (3, 10_803, Some(10_800)),
            // Nothing is deleted until here, however slowly it came back.
            (62, 60, Some(-2)),
            (-61, -60, Some(1)),
            (62, 64, None),
        ] {
            let mut clocks = Clocks::default();
            assert_eq!(clocks.read(&reading(0, 0, first)), None, "nobody knows what was before");
            assert_eq!(clocks.read(&reading(60, 0, second)), expected.map(secs), "{first} {second}");
        }
    }

    // A clock that was moved by a few seconds a minute made every machine older, and nobody noticed.
    #[test]
    fn small_steps_of_vcenter_s_clock_add_up() {
        let mut clocks = Clocks::default();
        let told = [0, 2, 4, 6, 8, 10, 12, 13].map(|theirs| clocks.read(&reading(60 * theirs, 0, theirs)));
        let six = Some(secs(6));
        assert_eq!(told, [None, None, None, six, None, None, six, None]);
        assert_eq!(clocks.ahead(), secs(13), "each reading tells the time");
    }

    #[test]
    fn a_reading_that_took_too_long_or_is_too_old_tells_nothing() {
        let mut clocks = Clocks::default();
        let slow = |took| Reading { took: secs(took), ..reading(0, 0, 4) };
        clocks.read(&slow(6));
        assert_eq!(clocks.skew(at(6)), None);
        clocks.read(&slow(4));
        assert_eq!(clocks.skew(at(6)), Some(secs(2)), "the middle of the call is when vCenter looked");
        assert_eq!(clocks.skew(at(300)), Some(secs(2)));
        assert_eq!(clocks.skew(at(301)), None);
    }
}
