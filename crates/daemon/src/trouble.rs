//! Sources that could not be read lately. Each is read every few seconds and an outage may last for hours: each trouble is
//! told when it begins, now and then while it lasts, and when it is over.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tracing::{debug, info, warn};

use crate::telemetry::chain;

/// How often trouble that lasts is told again.
const REMINDER: SignedDuration = SignedDuration::from_mins(5);

/// The troubles of now. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Troubles(Arc<Mutex<BTreeMap<&'static str, Lasting>>>);

/// Trouble with one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What cannot be read.
    pub source: String,
    pub since: Timestamp,
    /// Why, as of the last try.
    pub error: String,
}

#[derive(Debug)]
struct Lasting {
    since: Timestamp,
    told: Timestamp,
    error: String,
}

impl Troubles {
    /// Takes in how asking a source has ended, and tells it. `meanwhile` is what follows from a failure.
    pub fn note<T, E: Error>(
        &self,
        source: &'static str,
        meanwhile: &str,
        now: Timestamp,
        outcome: &Result<T, E>,
    ) {
        let error = match outcome {
            Ok(_) => {
                if let Some(lasted) = self.is_over(source, now) {
                    info!(lasted_s = lasted.as_secs(), "{source} can be read again");
                }
                return;
            }
            Err(error) => chain(error),
        };
        if self.is_to_be_told(source, now, &error) {
            warn!(error, "{source} could not be read; {meanwhile}");
        } else {
            debug!(error, "{source} still cannot be read");
        }
    }

    /// All of them, by source.
    pub fn all(&self) -> Vec<Trouble> {
        let troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = |(source, lasting): (&&'static str, &Lasting)| Trouble {
            source: (*source).to_owned(),
            since: lasting.since,
            error: lasting.error.clone(),
        };
        troubles.iter().map(trouble).collect()
    }

    fn is_to_be_told(&self, source: &'static str, now: Timestamp, error: &str) -> bool {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lasting) = troubles.get_mut(source) else {
            troubles.insert(source, Lasting { since: now, told: now, error: error.to_owned() });
            return true;
        };
        let due = now.duration_since(lasting.told) >= REMINDER || gist(error) != gist(&lasting.error);
        error.clone_into(&mut lasting.error);
        if due {
            lasting.told = now;
        }
        due
    }

    /// How long it has lasted, if there was any.
    fn is_over(&self, source: &'static str, now: Timestamp) -> Option<SignedDuration> {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.remove(source).map(|lasting| now.duration_since(lasting.since))
    }
}

/// An error without what stands in brackets: numbers of requests and the like differ each time.
fn gist(error: &str) -> &str {
    error.split('(').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    // An hour without the server was two thousand lines that said the same.
    #[test]
    fn an_outage_is_told_when_it_begins_and_every_five_minutes() {
        let troubles = Troubles::default();
        let told: Vec<i64> = (0..700)
            .step_by(10)
            .filter(|second| troubles.is_to_be_told("members", at(*second), "x"))
            .collect();
        assert_eq!(told, [0, 300, 600]);
        assert!(troubles.is_to_be_told("queue", at(700), "x"), "each source has its own");
    }

    #[test]
    fn another_reason_is_told_and_another_number_of_a_request_is_not() {
        let troubles = Troubles::default();
        let told = [
            "the server cannot be reached",
            "the token is refused (request 1)",
            "the token is refused (request 2)",
            "the server cannot be reached",
        ]
        .map(|error| troubles.is_to_be_told("members", at(0), error));
        assert_eq!(told, [true, true, false, true]);
    }

    #[test]
    fn trouble_is_shown_with_its_beginning_and_its_latest_reason_until_it_is_over() {
        let troubles = Troubles::default();
        troubles.note("members", "", at(0), &Err::<(), _>(std::io::Error::other("refused")));
        troubles.note("members", "", at(10), &Err::<(), _>(std::io::Error::other("timed out")));
        let expected = Trouble { source: "members".to_owned(), since: at(0), error: "timed out".to_owned() };
        assert_eq!(troubles.all(), [expected]);
        assert_eq!(troubles.is_over("members", at(90)), Some(SignedDuration::from_secs(90)));
        assert_eq!((troubles.all(), troubles.is_over("members", at(91))), (vec![], None));
        assert!(troubles.is_to_be_told("members", at(92), "x"), "it begins anew");
    }
}
