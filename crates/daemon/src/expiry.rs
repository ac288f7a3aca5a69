//! What ends by itself one day, such as a token or a certificate. The log warns once of each that has less than 30 days.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;
use tracing::warn;

use crate::{Clock, Supervisor};

/// How long before an end people are warned.
const NOTICE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How often the ends are looked at.
const LOOK: Duration = Duration::from_hours(1);

/// What ends: one of the few subjects of a front.
pub trait Expires: Debug + Copy + Ord + Send + 'static {
    /// Its label in metrics and logs.
    fn as_str(self) -> &'static str;

    /// What a person can do about it.
    fn remedy(self) -> &'static str;
}

/// When what ends, as far as that is known. Clones share it.
#[derive(Debug, Clone)]
pub struct Expiries<S>(Arc<Mutex<BTreeMap<S, End>>>);

#[derive(Debug, Clone, Copy)]
struct End {
    at: Timestamp,
    told: bool,
}

impl<S> Default for Expiries<S> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<S: Expires> Expiries<S> {
    /// Takes in when something ends. An end that is known already has been told already.
    pub fn set(&self, subject: S, at: Option<Timestamp>) {
        let mut ends = self.ends();
        match at {
            None => drop(ends.remove(&subject)),
            Some(at) if ends.get(&subject).is_none_or(|known| known.at != at) => {
                ends.insert(subject, End { at, told: false });
            }
            Some(_) => {}
        }
    }

    pub fn all(&self) -> Vec<(S, Timestamp)> {
        self.ends().iter().map(|(subject, end)| (*subject, end.at)).collect()
    }

    /// Warns of what ends soon until the supervisor stops. `look` comes before each look and takes in what may have changed.
    pub fn watch(&self, clock: Clock, supervisor: &Supervisor, look: impl Fn(&Self) + Send + 'static) {
        let expiries = self.clone();
        supervisor.spawn_until_stopped("expiries", async move {
            loop {
                look(&expiries);
                let now = clock.now();
                for (subject, end) in expiries.news(now) {
                    let days = end.duration_since(now).as_hours() / 24;
                    warn!(what = subject.as_str(), %end, days, remedy = subject.remedy(), "a token or certificate expires soon");
                }
                sleep(LOOK).await;
            }
        });
    }

    /// What ends soon, or has ended, and has not been told yet.
    fn news(&self, now: Timestamp) -> Vec<(S, Timestamp)> {
        let mut ends = self.ends();
        let due = ends.iter_mut().filter(|(_, end)| !end.told && end.at.duration_since(now) <= NOTICE);
        due.map(|(subject, end)| {
            end.told = true;
            (*subject, end.at)
        })
        .collect()
    }

    fn ends(&self) -> MutexGuard<'_, BTreeMap<S, End>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Subject {
        Certificate,
        Token,
    }

    impl Expires for Subject {
        fn as_str(self) -> &'static str {
            "subject"
        }

        fn remedy(self) -> &'static str {
            "renew it"
        }
    }

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + day * 86_400).expect("a time")
    }

    #[test]
    fn an_end_is_told_once_from_thirty_days_before_it() {
        let expiries = Expiries::default();
        let (token, certificate) = (Subject::Token, Subject::Certificate);
        expiries.set(token, Some(day(100)));
        expiries.set(certificate, Some(day(-1)));
        assert_eq!(expiries.news(day(0)), [(certificate, day(-1))], "what has ended is told, too");
        assert_eq!(expiries.news(day(69)), []);
        assert_eq!(expiries.news(day(70)), [(token, day(100))]);
        expiries.set(token, Some(day(100)));
        assert_eq!(expiries.news(day(99)), [], "once");
        expiries.set(token, Some(day(101)));
        assert_eq!(expiries.news(day(99)), [(token, day(101))], "another token");
        expiries.set(certificate, None);
        assert_eq!(expiries.all(), [(token, day(101))]);
    }
}
