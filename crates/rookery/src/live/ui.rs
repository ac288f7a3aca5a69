//! What its reader has chosen to see: the tab, how far it is scrolled, and the help. Pure: keys change it.

use std::collections::BTreeMap;

use super::board::Content;
use super::keys::Key;

/// A page of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Tab {
    #[default]
    Overview,
    Queue,
    Machines,
    Starts,
    Events,
    About,
}

/// What is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ui {
    pub(super) tab: Tab,
    /// How many lines of each tab are above the screen.
    scrolled: BTreeMap<Tab, usize>,
    /// How many events there were when somebody began to scroll: those that have come since wait above.
    pub(super) seen_events: Option<usize>,
    /// How far the help is scrolled, while it is shown.
    pub(super) help: Option<usize>,
}

/// How many lines there are of what can be scrolled, and how many of them fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) lines: usize,
    pub(super) fit: usize,
}

/// What a key asks for beside another look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Nothing but to see it.
    Look,
    /// To end, as Ctrl-C does once.
    Quit,
    /// What SIGINT does.
    Interrupt,
    /// What SIGTSTP does.
    Suspend,
    /// To draw all of it again.
    Redraw,
}

impl Tab {
    /// Those that there is something for.
    pub(super) fn of(content: &Content) -> Vec<Self> {
        let model = content.model.as_ref();
        let there = |tab: &Self| match tab {
            Self::Overview | Self::Events | Self::About => true,
            Self::Queue => model.is_some_and(|model| model.queue.is_some()),
            Self::Machines => model.is_some_and(|model| model.machines.is_some()),
            Self::Starts => model.is_some_and(|model| model.starts().is_some()),
        };
        let all = [Self::Overview, Self::Queue, Self::Machines, Self::Starts, Self::Events, Self::About];
        all.into_iter().filter(there).collect()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Queue => "Queue",
            Self::Machines => "Machines",
            Self::Starts => "Starts",
            Self::Events => "Events",
            Self::About => "About",
        }
    }
}

impl Extent {
    fn furthest(self) -> usize {
        self.lines.saturating_sub(self.fit)
    }
}

impl Ui {
    /// The first line that is shown of what is in front: the help or the tab.
    pub(super) fn top(&self, extent: Extent) -> usize {
        self.help.map_or_else(|| self.top_of_tab(extent), |help| help.min(extent.furthest()))
    }

    pub(super) fn top_of_tab(&self, extent: Extent) -> usize {
        let scrolled = self.scrolled.get(&self.tab).copied().unwrap_or_default();
        scrolled.min(extent.furthest())
    }

    /// After a key. `tabs` are those that there are, `extent` is that of the tab or of the help.
    pub(super) fn press(mut self, key: Key, tabs: &[Tab], extent: Extent, events: usize) -> (Self, Wish) {
        let (top, page) = (self.top(extent), extent.fit.saturating_sub(1).max(1));
        let mut wish = Wish::Look;
        let mut scroll_to = None;
        match key {
            Key::Ctrl('c') => wish = Wish::Interrupt,
            Key::Ctrl('z') => wish = Wish::Suspend,
            Key::Ctrl('l') => wish = Wish::Redraw,
            Key::Char('q' | 'Q') if self.help.is_none() => wish = Wish::Quit,
            Key::Char('?' | 'h') | Key::F1 => self.help = if self.help.is_some() { None } else { Some(0) },
            Key::Escape | Key::Enter | Key::Char('q' | 'Q') => self.help = None,
            Key::Char(digit @ '1'..='9') => {
                let at = usize::try_from(u32::from(digit) - u32::from('1')).unwrap_or_default();
                self.open(tabs.get(at).copied());
            }
            Key::Tab | Key::Right => self.open(self.beside(tabs, 1)),
            Key::BackTab | Key::Left => self.open(self.beside(tabs, tabs.len().saturating_sub(1))),
            Key::Up | Key::Char('k') => scroll_to = Some(top.saturating_sub(1)),
            Key::Down | Key::Char('j') => scroll_to = Some(top + 1),
            Key::PageUp | Key::Ctrl('b') => scroll_to = Some(top.saturating_sub(page)),
            Key::PageDown | Key::Char(' ') | Key::Ctrl('f') => scroll_to = Some(top + page),
            Key::Home | Key::Char('g') => scroll_to = Some(0),
            Key::End | Key::Char('G') => scroll_to = Some(usize::MAX),
            Key::Char(_) | Key::Ctrl(_) | Key::Other => {}
        }
        if let Some(top) = scroll_to {
            // Only so far as there is something: the way back begins at once.
            self.scroll_to(top.min(extent.furthest()), events);
        }
        (self, wish)
    }

    fn open(&mut self, tab: Option<Tab>) {
        self.help = None;
        self.tab = tab.unwrap_or(self.tab);
    }

    fn beside(&self, tabs: &[Tab], by: usize) -> Option<Tab> {
        let at = tabs.iter().position(|tab| *tab == self.tab).unwrap_or_default();
        tabs.get((at + by) % tabs.len().max(1)).copied()
    }

    fn scroll_to(&mut self, top: usize, events: usize) {
        if let Some(help) = &mut self.help {
            *help = top;
            return;
        }
        self.scrolled.insert(self.tab, top);
        if self.tab == Tab::Events {
            self.seen_events = (top > 0).then(|| self.seen_events.unwrap_or(events));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABS: [Tab; 4] = [Tab::Overview, Tab::Machines, Tab::Events, Tab::About];
    const LONG: Extent = Extent { lines: 50, fit: 10 };

    fn after(keys: &[Key]) -> Ui {
        keys.iter().fold(Ui::default(), |ui, key| ui.press(*key, &TABS, LONG, 7).0)
    }

    #[test]
    fn tabs_are_opened_by_number_and_one_after_the_other() {
        let check = |keys: &[Key], expected| assert_eq!(after(keys).tab, expected, "{keys:?}");
        check(&[], Tab::Overview);
        check(&[Key::Char('3')], Tab::Events);
        check(&[Key::Char('9')], Tab::Overview);
        check(&[Key::Tab, Key::Right], Tab::Events);
        check(&[Key::BackTab], Tab::About);
        check(&[Key::Char('4'), Key::Tab], Tab::Overview);
        check(&[Key::Char('2'), Key::Left], Tab::Overview);
    }

    #[test]
    fn a_list_is_scrolled_as_far_as_it_goes_and_each_tab_remembers() {
        let check = |keys: &[Key], expected| assert_eq!(after(keys).top(LONG), expected, "{keys:?}");
        check(&[Key::Down, Key::Down, Key::Up], 1);
        check(&[Key::PageDown, Key::Char(' ')], 18);
        check(&[Key::End], 40);
        check(&[Key::End, Key::Down, Key::Up], 39);
        check(&[Key::End, Key::Home], 0);
        check(&[Key::PageUp], 0);
        check(&[Key::Down, Key::Tab], 0);
        check(&[Key::Down, Key::Tab, Key::BackTab], 1);
        let shrunk = Extent { lines: 12, fit: 10 };
        assert_eq!(after(&[Key::End]).top(shrunk), 2);
        let up = after(&[Key::End]).press(Key::Up, &TABS, shrunk, 7).0;
        assert_eq!(up.top(LONG), 1, "it goes on from what was seen");
    }

    #[test]
    fn whoever_scrolls_events_reads_on_while_others_come() {
        let events = [Key::Char('3'), Key::Down];
        assert_eq!(after(&events).seen_events, Some(7));
        let later = after(&events).press(Key::Down, &TABS, LONG, 9).0;
        assert_eq!(later.seen_events, Some(7));
        assert_eq!(later.press(Key::Home, &TABS, LONG, 9).0.seen_events, None);
        assert_eq!(after(&[Key::Down]).seen_events, None);
    }

    #[test]
    fn help_is_opened_scrolled_and_closed() {
        assert_eq!(after(&[Key::Char('?')]).help, Some(0));
        assert_eq!(after(&[Key::F1, Key::Down]).help, Some(1));
        for close in [Key::Char('?'), Key::Escape, Key::Char('q'), Key::Enter, Key::Char('2')] {
            let ui = after(&[Key::Char('?'), close]);
            assert_eq!(ui.help, None, "{close:?}");
        }
        assert_eq!(after(&[Key::Char('?'), Key::Char('2')]).tab, Tab::Machines);
    }

    #[test]
    fn some_keys_ask_for_more_than_a_look() {
        let check = |ui: Ui, key, expected| assert_eq!(ui.press(key, &TABS, LONG, 0).1, expected, "{key:?}");
        check(Ui::default(), Key::Char('q'), Wish::Quit);
        check(after(&[Key::Char('?')]), Key::Char('q'), Wish::Look);
        check(after(&[Key::Char('?')]), Key::Ctrl('c'), Wish::Interrupt);
        check(Ui::default(), Key::Ctrl('z'), Wish::Suspend);
        check(Ui::default(), Key::Ctrl('l'), Wish::Redraw);
        check(Ui::default(), Key::Other, Wish::Look);
    }
}
