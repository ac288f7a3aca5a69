//! The tabs that are lists: the queue, the machines, the events, and what else there is to know. Pure.

use ratatui::text::{Line, Span};

use super::rows::{event, fact, label_width, labelled, share};
use super::{Body, Scene, headline};
use crate::live::look::{CHOSEN, QUIET, TITLE};
use crate::live::model::{MachineTable, QueueRow, Section, States, Subject, counted};
use crate::live::text::{padded, width, wrap};

/// From how many rows on the machines of each state are shown as bars.
const BARS_FROM: usize = 14;
/// How much room names have in what can be tried.
const NAME: usize = 13;
/// What stands between the columns of a table.
const GAP: usize = 2;

pub(super) fn queue(scene: &Scene<'_>) -> Body {
    let (look, columns) = (scene.look, scene.columns);
    let Some(model) = &scene.content.model else { return Body::default() };
    let mut lines = Vec::new();
    for section in &model.state {
        if let Section::Queue(counts) = section {
            lines.extend(labelled("queue", &counted(counts), look.name(), columns));
        }
    }
    for (at, reason) in model.reasons().iter().enumerate() {
        lines.extend(labelled(if at == 0 { "waiting" } else { "" }, reason, look.warning(), columns));
    }
    lines.push(Line::default());
    let rows = model.queue.as_deref().unwrap_or_default();
    if rows.is_empty() {
        lines.push(Line::styled("no job waits, and none is at work", QUIET));
    }
    lines.extend(rows.iter().flat_map(|row| queue_row(row, scene)));
    Body { lines, ..Body::default() }
}

fn queue_row(row: &QueueRow, scene: &Scene<'_>) -> Vec<Line<'static>> {
    let (look, columns) = (scene.look, scene.columns);
    let subject = match &row.subject {
        Subject::Job(job) => format!("job {job}"),
        Subject::Model(model) => format!("model {model}"),
    };
    let details = if row.details.is_empty() { String::new() } else { format!(", {}", row.details) };
    let head = wrap(&format!("{subject}  {}{details}", row.state), columns, columns.saturating_sub(2));
    let head = head.into_iter().enumerate().map(|(at, line)| {
        let known = (at == 0).then(|| line.strip_prefix(&subject).map(str::to_owned)).flatten();
        match known {
            Some(rest) => Line::from(vec![
                Span::styled(subject.clone(), TITLE),
                Span::styled(rest, look.state(row.state)),
            ]),
            None => Line::from(if at == 0 { line } else { format!("  {line}") }),
        }
    });
    let hopeless = if row.permanent { "; waiting alone will not help" } else { "" };
    let why = if row.why.is_empty() { String::new() } else { format!("{}{hopeless}", row.why) };
    let style = if row.permanent { look.alarm() } else { look.warning() };
    let room = columns.saturating_sub(2);
    let why = wrap(&why, room, room).into_iter().filter(|line| !line.is_empty());
    head.chain(why.map(|line| Line::styled(format!("  {line}"), style))).collect()
}

pub(super) fn machines(scene: &Scene<'_>) -> Body {
    let Some(model) = &scene.content.model else { return Body::default() };
    let states = model
        .state
        .iter()
        .filter_map(|section| if let Section::States(states) = section { Some(states) } else { None });
    let mut lines: Vec<_> = states.flat_map(|states| by_state(states, scene)).collect();
    lines.push(Line::default());
    let Some(table) = &model.machines else { return Body { lines, ..Body::default() } };
    if table.rows.is_empty() {
        lines.push(Line::styled("there is none", QUIET));
        return Body { lines, ..Body::default() };
    }
    lines.extend(table_lines(table, scene));
    Body { lines, ..Body::default() }
}

fn by_state(states: &States, scene: &Scene<'_>) -> Vec<Line<'static>> {
    let (look, columns) = (scene.look, scene.columns);
    if scene.rows < BARS_FROM {
        return labelled(states.name, &states.in_words(), look.name(), columns);
    }
    let most = states.counts.iter().map(|(count, _)| *count).max().unwrap_or_default();
    let room = label_width(columns);
    let row = |(count, what): &(usize, &'static str)| {
        share(what, room, (*count, most), look, look.state(what), columns)
    };
    states.counts.iter().map(row).collect()
}

/// As many columns as fit, and what is in the others below them.
pub(super) fn table_lines(table: &MachineTable, scene: &Scene<'_>) -> Vec<Line<'static>> {
    let columns = scene.columns;
    let titles = table.header.iter().enumerate();
    let widths: Vec<usize> = titles
        .map(|(at, title)| {
            let cells = table.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell));
            cells.max().unwrap_or_default().max(width(title))
        })
        .collect();
    let mut needed = 0;
    let fit = widths.iter().take_while(|width| {
        needed += *width + if needed > 0 { GAP } else { 0 };
        needed <= columns
    });
    let fit = fit.count();
    let header: Vec<String> = table.header.iter().take(fit).map(|title| (*title).to_owned()).collect();
    let header = Line::styled(aligned(&header, &widths).concat().trim_end().to_owned(), TITLE);
    let header = (fit > 0).then_some(header);
    header
        .into_iter()
        .chain(table.rows.iter().flat_map(|row| machine(table, row, &widths, fit, scene)))
        .collect()
}

fn aligned(row: &[String], widths: &[usize]) -> Vec<String> {
    row.iter().zip(widths).map(|(cell, width)| padded(cell, width + GAP)).collect()
}

/// A machine with so many of its cells in columns.
fn machine(
    table: &MachineTable,
    row: &[String],
    widths: &[usize],
    fit: usize,
    scene: &Scene<'_>,
) -> Vec<Line<'static>> {
    let (look, columns) = (scene.look, scene.columns);
    // A name that does not fit is wrapped.
    let in_columns = fit.max(1).min(row.len());
    let (first, rest) = row.split_at(in_columns);
    let mut lines = if fit == 0 {
        let name = wrap(&first.concat(), columns, columns.saturating_sub(1)).into_iter();
        name.map(Line::from).collect()
    } else {
        let cell = |(at, text): (usize, String)| match (at, row.get(at)) {
            (1, Some(state)) => Span::styled(text, look.state(state)),
            _ => Span::raw(text),
        };
        vec![Line::from(aligned(first, widths).into_iter().enumerate().map(cell).collect::<Vec<_>>())]
    };
    let titles = table.header.iter().skip(in_columns).map(|title| title.to_lowercase());
    let known = rest.iter().zip(titles).filter(|(cell, _)| !matches!(cell.as_str(), "" | "-"));
    let known =
        known.map(|(cell, title)| if title == "state" { cell.clone() } else { format!("{title} {cell}") });
    let known = known.collect::<Vec<_>>().join(", ");
    if !known.is_empty() {
        let room = columns.saturating_sub(2);
        let known = wrap(&known, room, room).into_iter();
        lines.extend(known.map(|line| Line::styled(format!("  {line}"), QUIET)));
    }
    lines
}

pub(super) fn events(scene: &Scene<'_>) -> Body {
    let (events, look, columns) = (&scene.content.events, scene.look, scene.columns);
    let seen = scene.ui.seen_events.unwrap_or(usize::MAX);
    let newer = events.count().saturating_sub(seen);
    let fixed = match newer {
        0 => Vec::new(),
        newer => vec![Line::styled(format!("{newer} newer: Home shows them"), CHOSEN)],
    };
    let mut lines: Vec<_> = events.newest_of(seen).flat_map(|text| event(text, look, columns)).collect();
    let last = match (lines.is_empty(), events.forgotten()) {
        (true, _) => Some("nothing has happened yet".to_owned()),
        (false, 0) => None,
        (false, forgotten) => Some(format!("{forgotten} earlier events are forgotten")),
    };
    lines.extend(last.map(|last| Line::styled(last, QUIET)));
    Body { fixed, lines }
}

pub(super) fn about(scene: &Scene<'_>) -> Body {
    let (look, columns) = (scene.look, scene.columns);
    let Some(model) = &scene.content.model else { return Body::default() };
    let title = wrap(&headline(&model.title), columns, columns).into_iter();
    let mut lines: Vec<_> = title.map(|line| Line::styled(line, TITLE)).collect();
    lines.push(Line::default());
    for section in &model.state {
        if let Section::Fact(one) = section {
            lines.extend(fact(one, look.name(), columns));
        }
    }
    lines.extend(model.attention.iter().flat_map(|one| fact(one, look.warning(), columns)));
    lines.push(Line::default());
    for hint in &model.hints {
        // What goes on in the next line goes on further to the right than its text, which may stand behind a name.
        let named = hint.get(..NAME).is_some_and(|name| name.ends_with("  "));
        let begin = if named { NAME } else { 0 };
        let text = hint.get(begin..).unwrap_or_default();
        let indent = begin + text.len() - text.trim_start().len() + 2;
        let indent = if indent * 3 > columns { 1 } else { indent };
        let wrapped = wrap(hint, columns, columns.saturating_sub(indent)).into_iter().enumerate();
        lines.extend(wrapped.map(|(at, line)| match at {
            0 => Line::from(line),
            _ => Line::from(format!("{}{line}", " ".repeat(indent))),
        }));
    }
    Body { lines, ..Body::default() }
}
