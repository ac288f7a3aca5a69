//! The page of all parts, line by line. Pure.

use std::collections::VecDeque;

use super::part::Shown;

/// How many events should be seen on a small screen, too.
const EVENTS: usize = 4;

#[derive(Debug)]
pub(super) struct Page {
    /// What this is, and how it stands.
    state: Vec<String>,
    /// What can be done.
    hints: Vec<String>,
    /// The latest events, newest first.
    recent: Vec<String>,
}

impl Page {
    /// `recent` has the latest events, oldest first.
    pub(super) fn of(parts: impl Iterator<Item = Shown>, recent: &VecDeque<String>) -> Self {
        let (mut titles, mut attention) = (Vec::new(), Vec::new());
        let (mut state, mut hints) = (Vec::new(), Vec::new());
        for part in parts {
            titles.extend(part.title);
            state.extend(part.state);
            attention.extend(part.attention);
            hints.extend(part.hints);
        }
        let title = format!("Rookery {}: {}", env!("CARGO_PKG_VERSION"), titles.join("; "));
        let state = [title, String::new()].into_iter().chain(state).chain(attention).collect();
        Self { state, hints, recent: recent.iter().rev().cloned().collect() }
    }

    /// All of it.
    pub(super) fn whole(self) -> Vec<String> {
        let parts = [self.state, self.hints, self.recent];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&String::new())
    }

    /// What so many rows have room for, as far as that is up to the page: hints do not change, and leave room for events.
    pub(super) fn within(mut self, rows: usize) -> Vec<String> {
        let events = self.recent.len().min(EVENTS);
        let gap = |lines: usize| if lines == 0 { 0 } else { lines + 1 };
        let room = rows.saturating_sub(self.state.len() + 1 + gap(events));
        self.hints.truncate(room);
        // The first one alone only announces the others.
        if self.hints.len() == 1 {
            self.hints.clear();
        }
        self.whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_screen_shows_events_before_hints() {
        let lines = |word: &str, count: usize| (1..=count).map(|n| format!("{word}{n}")).collect();
        let check = |(hints, events), rows, expected: &str| {
            let page = Page { state: lines("s", 3), hints: lines("h", hints), recent: lines("e", events) };
            let shown = page.within(rows);
            assert_eq!(shown.iter().take(rows).cloned().collect::<Vec<_>>().join(" "), expected, "{rows}");
        };
        check((4, 5), 20, "s1 s2 s3  h1 h2 h3 h4  e1 e2 e3 e4 e5");
        check((4, 5), 11, "s1 s2 s3  h1 h2  e1 e2 e3 e4");
        check((4, 5), 10, "s1 s2 s3  e1 e2 e3 e4 e5");
        check((4, 1), 8, "s1 s2 s3  h1 h2  e1");
        check((4, 0), 8, "s1 s2 s3  h1 h2 h3 h4");
        check((4, 5), 2, "s1 s2");
        check((0, 0), 9, "s1 s2 s3");
    }
}
