//! What there is to show, shared between those who tell it and the screen. Whoever takes the lock gives it back within one
//! method.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Model;
use super::text::without_codes;

/// How many events are remembered. Older ones are forgotten, and the page says how many.
const EVENTS: usize = 1000;
/// How many lines of others are told once more when the page has gone.
const ASIDES: usize = 50;

/// Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Board(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    content: Mutex<Content>,
    /// What was said on standard error, for when the page has gone. Under a lock of its own: a picture whose drawing panics
    /// has that of the content.
    asides: Mutex<Asides>,
    changed: Notify,
    /// Nobody looks at it any more.
    abandoned: CancellationToken,
}

/// All that there is to show.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// `None`: nothing is known yet.
    pub(super) model: Option<Model>,
    pub(super) events: Events,
    /// What is waited for since it is to end; empty if nobody has said.
    pub(super) stopping: Option<String>,
}

#[derive(Debug, Default)]
struct Asides {
    lines: VecDeque<String>,
    /// How many were left out.
    omitted: usize,
}

/// What happened, with a number for each event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Events {
    /// Oldest first.
    kept: VecDeque<String>,
    /// How many came before those.
    forgotten: usize,
}

impl Events {
    pub(super) fn push(&mut self, line: String) {
        self.kept.push_back(line);
        if self.kept.len() > EVENTS {
            self.kept.pop_front();
            self.forgotten += 1;
        }
    }

    /// How many there ever were.
    pub(super) fn count(&self) -> usize {
        self.forgotten + self.kept.len()
    }

    pub(super) fn forgotten(&self) -> usize {
        self.forgotten
    }

    /// Newest first; of the first so many.
    pub(super) fn newest_of(&self, count: usize) -> impl Iterator<Item = &str> {
        let newer = self.count().saturating_sub(count);
        self.kept.iter().rev().skip(newer).map(String::as_str)
    }
}

impl Board {
    pub(super) fn look<T>(&self, look: impl FnOnce(&Content) -> T) -> T {
        look(&self.lock())
    }

    pub(super) fn show(&self, model: Model) {
        let mut content = self.lock();
        if content.model.as_ref() != Some(&model) {
            content.model = Some(model);
            self.0.changed.notify_one();
        }
    }

    pub(super) fn happened(&self, line: String) {
        self.lock().events.push(line);
        self.0.changed.notify_one();
    }

    /// Takes in what would have been written to standard error. It is an event, too, unless a picture is being drawn.
    pub(super) fn aside(&self, time: &str, text: &str) {
        let mut asides = self.asides();
        asides.lines.push_back(text.trim_end().to_owned());
        if asides.lines.len() > ASIDES {
            asides.lines.pop_front();
            asides.omitted += 1;
        }
        drop(asides);
        let mut content = match self.0.content.try_lock() {
            Ok(content) => content,
            Err(TryLockError::Poisoned(content)) => content.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line = without_codes(line);
            content.events.push(format!("{time} {}", without_time(&line)));
        }
        self.0.changed.notify_one();
    }

    /// What was taken in since the last call, and how many lines before that are not in it.
    pub(super) fn take_asides(&self) -> (Vec<String>, usize) {
        let Asides { lines, omitted } = std::mem::take(&mut *self.asides());
        (lines.into(), omitted)
    }

    fn asides(&self) -> MutexGuard<'_, Asides> {
        self.0.asides.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is to end; `waits_for` is empty if that is not known.
    pub(super) fn stopping(&self, waits_for: &str) {
        let mut content = self.lock();
        let known = content.stopping.as_ref().is_some_and(|known| !known.is_empty());
        if !waits_for.is_empty() || !known {
            content.stopping = Some(waits_for.to_owned());
            self.0.changed.notify_one();
        }
    }

    /// Waits until something else is to be shown.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub(super) fn abandon(&self) {
        self.0.abandoned.cancel();
    }

    pub(super) async fn abandoned(&self) {
        self.0.abandoned.cancelled().await;
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A log line without the time that it begins with: events have their own.
fn without_time(line: &str) -> &str {
    let rest = line.split_once(' ').filter(|(first, _)| first.parse::<Timestamp>().is_ok());
    rest.map_or(line, |(_, rest)| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_numbered_and_those_that_are_forgotten_are_counted() {
        let mut events = Events::default();
        for number in 1..=EVENTS + 3 {
            events.push(number.to_string());
        }
        assert_eq!((events.count(), events.forgotten()), (EVENTS + 3, 3));
        assert_eq!(events.newest_of(usize::MAX).take(2).collect::<Vec<_>>(), ["1003", "1002"]);
        assert_eq!(events.newest_of(1000).take(2).collect::<Vec<_>>(), ["1000", "999"]);
        assert_eq!(events.newest_of(2).count(), 0);
    }

    #[test]
    fn what_others_say_is_an_event_and_told_once_more_afterwards() {
        let board = Board::default();
        let log = "\u{1b}[2m2026-11-19T05:23:01.397766Z\u{1b}[0m \u{1b}[33m WARN\u{1b}[0m one\ntwo\n";
        board.aside("09:31:02", log);
        let events = board.look(|content| content.events.newest_of(9).map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(events, ["09:31:02 two", "09:31:02 WARN one"]);
        assert_eq!(board.take_asides(), (vec![log.trim_end().to_owned()], 0));
        for number in 0..ASIDES + 2 {
            board.aside("09:31:02", &number.to_string());
        }
        let (lines, omitted) = board.take_asides();
        assert_eq!((lines.len(), omitted, lines[0].as_str()), (ASIDES, 2, "2"));
        assert_eq!(board.take_asides(), (vec![], 0));
    }

    // It was lost: the page was left with an exit code and no word.
    #[test]
    fn what_is_said_while_a_picture_is_drawn_is_told_afterwards() {
        let board = Board::default();
        board.look(|_| board.aside("09:31:02", "panicked"));
        assert_eq!(board.take_asides(), (vec!["panicked".to_owned()], 0));
    }

    #[test]
    fn what_is_waited_for_is_not_forgotten_when_a_signal_is_heard() {
        let board = Board::default();
        let told = || board.look(|content| content.stopping.clone());
        for (said, expected) in [("", ""), ("jobs", "jobs"), ("", "jobs"), ("CDS", "CDS")] {
            board.stopping(said);
            assert_eq!(told().as_deref(), Some(expected));
        }
    }
}
