//! Pieces that several tabs have: a name and its text, a bar, an event. Pure.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Scene;
use crate::live::look::{Look, QUIET};
use crate::live::model::{Fact, Gauge};
use crate::live::text::{padded, width, wrap};

/// A bar need not be longer.
const LONGEST_BAR: usize = 40;

/// How much room names have.
pub(super) fn label_width(columns: usize) -> usize {
    if columns >= 42 { 13 } else { 11 }
}

/// A name, and a text that may take several lines.
pub(super) fn labelled(name: &str, text: &str, style: Style, columns: usize) -> Vec<Line<'static>> {
    labelled_wide(name, text, style, columns, label_width(columns))
}

/// The same with so much room for the name. On a narrow screen the text begins right behind it.
pub(super) fn labelled_wide(
    name: &str,
    text: &str,
    style: Style,
    columns: usize,
    room: usize,
) -> Vec<Line<'static>> {
    if columns < room + 14 || width(name) >= room {
        let mut lines = wrap(&format!("{name} {text}"), columns, columns.saturating_sub(1)).into_iter();
        let first = lines.next().unwrap_or_default();
        let first = match first.strip_prefix(name).map(str::to_owned) {
            Some(rest) => Line::from(vec![Span::styled(name.to_owned(), style), Span::raw(rest)]),
            None => Line::from(first),
        };
        return std::iter::once(first).chain(lines.map(|line| Line::from(format!(" {line}")))).collect();
    }
    let rest = columns - room;
    let line = |(at, text): (usize, String)| {
        let name = if at == 0 { padded(name, room) } else { " ".repeat(room) };
        Line::from(vec![Span::styled(name, style), Span::raw(text)])
    };
    wrap(text, rest, rest).into_iter().enumerate().map(line).collect()
}

pub(super) fn fact(fact: &Fact, style: Style, columns: usize) -> Vec<Line<'static>> {
    labelled(fact.name, &fact.text, style, columns)
}

/// What is used of what there may be: a bar, and the numbers.
pub(super) fn gauge(gauge: &Gauge, scene: &Scene<'_>, columns: usize) -> Vec<Line<'static>> {
    let Gauge { name, used, limit, unit } = *gauge;
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let look = scene.look;
    let Some(limit) = limit else {
        return labelled(name, &format!("{used}{unit}, without limit"), look.name(), columns);
    };
    let numbers = format!("{used} of {limit}{unit}");
    let label = label_width(columns);
    let room = columns.saturating_sub(label + width(&numbers) + 1).min(LONGEST_BAR);
    if room < 4 {
        return labelled(name, &numbers, look.name(), columns);
    }
    let style = if used >= limit { look.warning() } else { look.good() };
    vec![Line::from(vec![
        Span::styled(padded(name, label), look.name()),
        Span::styled(look.bar(used, limit, room), style),
        Span::raw(format!(" {numbers}")),
    ])]
}

/// A name, a bar as long as its part of the most, and the number.
pub(super) fn share(
    name: &str,
    room: usize,
    (count, most): (usize, usize),
    look: Look,
    style: Style,
    columns: usize,
) -> Line<'static> {
    let number = count.to_string();
    let cells = columns.saturating_sub(room + width(&number) + 1).min(LONGEST_BAR);
    let of = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let bar = if count == 0 { String::new() } else { look.plain_bar(of(count), of(most), cells) };
    let gap = if bar.is_empty() { "" } else { " " };
    Line::from(vec![
        Span::raw(padded(name, room)),
        Span::styled(bar, style),
        Span::raw(format!("{gap}{number}")),
    ])
}

/// An event, which begins with a time.
pub(super) fn event(text: &str, look: Look, columns: usize) -> Vec<Line<'static>> {
    let indent = if columns >= 30 { 9 } else { 1 };
    let style = event_style(text, look);
    let line = |(at, line): (usize, String)| {
        if at > 0 {
            return Line::styled(format!("{}{line}", " ".repeat(indent)), style);
        }
        match line.split_once(' ') {
            Some((time, rest)) => Line::from(vec![
                Span::styled(format!("{time} "), QUIET),
                Span::styled(rest.to_owned(), style),
            ]),
            None => Line::styled(line, style),
        }
    };
    wrap(text, columns, columns.saturating_sub(indent)).into_iter().enumerate().map(line).collect()
}

fn event_style(text: &str, look: Look) -> Style {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&[" failed", "ERROR", "does not answer", "error:"]) {
        look.alarm()
    } else if has(&["WARN", " waits: "]) {
        look.warning()
    } else if has(&[" succeeded", "answers again", " as Success"]) {
        look.good()
    } else {
        Style::new()
    }
}
