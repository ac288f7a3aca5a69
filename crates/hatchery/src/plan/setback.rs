//! What failed, and until when it is left alone.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::Pass;
use crate::names::ModelKind;

/// The models that failed, by kind and by path or template.
pub type Setbacks = BTreeMap<(ModelKind, String), Setback>;

/// How often in a row something failed, and until when it rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Setback {
    pub failures: u32,
    /// Until when it rests; none: it never failed.
    pub until: Option<Timestamp>,
}

impl Setback {
    /// Until when it rests, if it does now.
    pub fn rests_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.until.filter(|until| *until > now)
    }

    /// It failed again. What began before a rest and fails during it tells nothing new: ten starts that fail together are
    /// one failure.
    pub(crate) fn failed(&mut self, now: Timestamp, first: Duration, longest: Duration) {
        if self.rests_until(now).is_none() {
            let rest = rest_after(first, self.failures, longest);
            self.until = Some(now.saturating_add(rest).unwrap_or(Timestamp::MAX));
            self.failures = self.failures.saturating_add(1);
        }
    }
}

/// How long something rests that has failed so often before: each time twice as long.
pub(crate) fn rest_after(first: Duration, failures: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.min(8)).min(longest.max(first))
}

impl Pass<'_> {
    /// Until when a model rests, if it does.
    pub(super) fn rests_until(&self, kind: ModelKind, model: &str) -> Option<Timestamp> {
        let setback = self.seen.setbacks.get(&(kind, model.to_owned()))?;
        setback.rests_until(self.seen.now)
    }
}
