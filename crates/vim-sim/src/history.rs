//! Reading what has been, page by page: events and tasks alike.

use std::collections::BTreeMap;

use crate::id::Id;

/// What is read, by whom and how far.
#[derive(Debug)]
pub(crate) struct History<F> {
    pub(crate) filter: F,
    pub(crate) reader: Reader,
}

/// All readers of one kind of history.
pub(crate) type Readers<F> = BTreeMap<Id, History<F>>;

/// Who reads, and where they are.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) session: u32,
    /// How much `latestPage` shows.
    pub(crate) page: usize,
    /// The key of what was read last. A fresh reader stands before the oldest and after the newest.
    pub(crate) position: Option<i64>,
}

/// What comes next, one way or the other: of all that there is, oldest first, what has a key beyond the position.
pub(crate) fn next<T>(
    all: impl DoubleEndedIterator<Item = T>,
    key: impl Fn(&T) -> i64,
    fits: impl Fn(&T) -> bool,
    position: Option<i64>,
    most: usize,
    forward: bool,
) -> Vec<T> {
    if forward {
        let after = position.unwrap_or(i64::MIN);
        all.filter(|item| key(item) > after).filter(fits).take(most).collect()
    } else {
        let before = position.unwrap_or(i64::MAX);
        all.rev().filter(|item| key(item) < before).filter(fits).take(most).collect()
    }
}
