//! Counts of what happened, for whoever shows them later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts events by two words. Both come from closed sets, so that it stays small. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Mutex<BTreeMap<(&'static str, &'static str), u64>>>);

impl Tally {
    pub fn count(&self, what: &'static str, how: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((what, how)).or_default() += 1;
    }

    /// The counts so far, in the order of their words.
    pub fn counts(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_count_together() {
        let tally = Tally::default();
        tally.clone().count("read", "done");
        tally.count("read", "done");
        tally.count("read", "lost");
        assert_eq!(tally.counts(), BTreeMap::from([(("read", "done"), 2), (("read", "lost"), 1)]));
    }
}
