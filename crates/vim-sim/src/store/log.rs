//! The log of changes: which property of which object, in order.

use std::collections::VecDeque;

use crate::id::Id;

/// Watchers that are further behind than this read all objects again.
const KEPT: usize = 200_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Id,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Appeared,
    Vanished,
    /// Some list may have taken it up or let it go.
    Listed,
    /// This property, or something inside it.
    Changed(&'static str),
}

/// All changes since some revision.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    /// The revision before the first entry.
    start: u64,
}

impl Log {
    /// How many changes there have been.
    pub(crate) fn revision(&self) -> u64 {
        self.start + self.entries.len() as u64
    }

    /// What changed after a revision; none if that is too long ago.
    pub(crate) fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Entry>> {
        let skip = revision.checked_sub(self.start)?;
        Some(self.entries.range(usize::try_from(skip).unwrap_or(usize::MAX).min(self.entries.len())..))
    }

    /// The properties that changed after a revision, each change once for each time.
    pub(crate) fn changes_since(&self, revision: u64) -> Vec<(Id, &'static str)> {
        let changed = |entry: &Entry| match entry.what {
            What::Changed(path) => Some((entry.id, path)),
            What::Appeared | What::Vanished | What::Listed => None,
        };
        self.since(revision).into_iter().flatten().filter_map(changed).collect()
    }

    /// Takes one change after a revision back that nobody has been told of; whether there was one.
    pub(crate) fn withhold(&mut self, since: u64, id: Id, path: &'static str) -> bool {
        let from = usize::try_from(since.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let entry = Entry { id, what: What::Changed(path) };
        let at = self.entries.iter().enumerate().position(|(at, other)| at >= from && *other == entry);
        at.and_then(|at| self.entries.remove(at)).is_some()
    }

    pub(crate) fn touch(&mut self, id: Id, path: &'static str) {
        self.push(id, What::Changed(path));
    }

    pub(crate) fn appeared(&mut self, id: Id) {
        self.push(id, What::Appeared);
    }

    pub(crate) fn vanished(&mut self, id: Id) {
        self.push(id, What::Vanished);
    }

    pub(crate) fn listed(&mut self, id: Id) {
        self.push(id, What::Listed);
    }

    fn push(&mut self, id: Id, what: What) {
        self.entries.push_back(Entry { id, what });
        if self.entries.len() > KEPT {
            self.entries.pop_front();
            self.start += 1;
        }
    }

    /// Forgets what is no longer needed.
    pub(crate) fn forget_before(&mut self, revision: u64) {
        while self.start < revision && self.entries.pop_front().is_some() {
            self.start += 1;
        }
    }
}
