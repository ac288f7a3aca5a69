//! Which sessions nobody hears of, by our own clock. vCenter's may be set at any time, and then everybody looks silent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use rookery_vim::Hidden;

use super::Candidate;

/// Who asks for no list for so long may not act any more; a leader that has nothing to do asks for one more often.
const QUIET: Duration = Duration::from_mins(1);

/// Since when sessions were listed as they are.
#[derive(Debug, Clone, Default)]
pub struct Sightings(BTreeMap<Hidden, Sighting>);

#[derive(Debug, Clone, Copy)]
struct Sighting {
    last_active: Option<Timestamp>,
    since: Duration,
}

impl Sightings {
    /// Takes in a list, with when it was asked for and answered, since boot. Gives the sessions that were last active at
    /// the same time in a list a minute before.
    pub fn look(&mut self, listed: &[Candidate], asked: Duration, answered: Duration) -> BTreeSet<Hidden> {
        let before = std::mem::take(&mut self.0);
        let mut quiet = BTreeSet::new();
        for session in listed {
            let last_active = session.last_active;
            let same = before.get(&session.key).filter(|before| before.last_active == last_active);
            let since = same.map_or(answered, |before| before.since);
            if asked.saturating_sub(since) >= QUIET {
                quiet.insert(session.key.clone());
            }
            self.0.insert(session.key.clone(), Sighting { last_active, since });
        }
        quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // vCenter's clock was set ahead by more than three minutes: whoever stood by ended the session of a leader that was
    // well, and both had written to another server before that one knew.
    #[test]
    fn a_session_is_quiet_if_two_lists_a_minute_apart_show_it_alike() {
        let session = |last_active: i64| Candidate {
            instance: "a".to_owned(),
            key: Hidden("k".to_owned()),
            user: "user".to_owned(),
            address: None,
            login: None,
            last_active: Timestamp::from_second(last_active).ok(),
        };
        // When a list was asked for and answered, and when the session was last active; or that it was not listed.
        let check = |looks: &[(u64, u64, Option<i64>)], expected: &[bool]| {
            let mut sightings = Sightings::default();
            let look = |(asked, answered, last_active): &(u64, u64, Option<i64>)| {
                let listed: Vec<_> = last_active.map(session).into_iter().collect();
                let times = (Duration::from_secs(*asked), Duration::from_secs(*answered));
                !sightings.look(&listed, times.0, times.1).is_empty()
            };
            assert_eq!(looks.iter().map(look).collect::<Vec<_>>(), expected, "{looks:?}");
        };
        check(&[(100, 100, Some(1)), (159, 159, Some(1)), (160, 160, Some(1))], &[false, false, true]);
        // The first list may be as young as its answer.
        check(&[(100, 105, Some(1)), (164, 164, Some(1)), (165, 165, Some(1))], &[false, false, true]);
        check(&[(100, 100, Some(1)), (120, 120, Some(2)), (179, 179, Some(2))], &[false, false, false]);
        check(&[(100, 100, Some(1)), (120, 120, None), (179, 179, Some(1))], &[false, false, false]);
    }
}
