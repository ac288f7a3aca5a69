//! The first tab: how everything stands, and what happened last. Pure.

use ratatui::text::{Line, Span};

use super::lists::table_lines;
use super::rows::{event, fact, gauge, labelled};
use super::starts::{histogram, sparkline};
use super::{Body, Scene};
use crate::live::look::QUIET;
use crate::live::model::{Model, Section, counted};
use crate::live::ui::Tab;

/// How many events are always there, if there are so many.
const EVENTS: usize = 4;
/// How many reasons to wait are told.
const REASONS: usize = 3;
/// From how many columns on start times stand beside the rest, and how many they have there.
const BESIDE_FROM: usize = 76;
const BESIDE: usize = 34;
/// From how many rows on there is room for what other tabs have as well.
const ROOMY: usize = 18;

pub(super) fn overview(scene: &Scene<'_>) -> Body {
    let Some(model) = &scene.content.model else {
        return Body { lines: vec![Line::from("nothing is known yet")], ..Body::default() };
    };
    let columns = scene.columns;
    let mut lines = Vec::new();
    let starts = model.starts().filter(|starts| starts.count() > 0);
    match starts {
        Some(starts) if columns >= BESIDE_FROM => {
            let left = state(model, scene, columns - BESIDE - 2);
            let mut right = vec![Line::styled("start times", scene.look.name())];
            right.extend(histogram(starts, scene.look, BESIDE));
            lines.extend(beside(left, &right, columns - BESIDE));
        }
        Some(starts) => {
            lines.extend(state(model, scene, columns));
            if scene.rows >= ROOMY {
                lines.extend(histogram(starts, scene.look, columns));
            }
        }
        None => lines.extend(state(model, scene, columns)),
    }
    lines.extend(needs(model, scene));
    if model.queue.is_none() && scene.rows >= ROOMY {
        lines.extend(machines(model, scene, scene.rows.saturating_sub(lines.len())));
    }
    lines.extend(latest(scene, scene.rows.saturating_sub(lines.len())));
    Body { lines, ..Body::default() }
}

/// How it stands.
fn state(model: &Model, scene: &Scene<'_>, columns: usize) -> Vec<Line<'static>> {
    let look = scene.look;
    let told = |name: &str, text: &str| labelled(name, text, look.name(), columns);
    let lines = model.state.iter().flat_map(|section| match section {
        Section::Fact(one) => fact(one, look.name(), columns),
        Section::Jobs(jobs) => told("jobs", &jobs.in_words()),
        Section::Queue(counts) => told("queue", &counted(counts)),
        Section::Starts(starts) => {
            let mut lines = told("start time", &starts.figures());
            lines.extend(sparkline(starts, look, columns));
            lines
        }
        Section::States(states) => told(states.name, &states.in_words()),
        Section::Capacity(gauges) => gauges.iter().flat_map(|one| gauge(one, scene, columns)).collect(),
        Section::Addresses(Some(addresses)) => gauge(addresses, scene, columns),
        Section::Addresses(None) => told("addresses", "from DHCP"),
    });
    lines.collect()
}

/// What somebody may want to do something about.
fn needs(model: &Model, scene: &Scene<'_>) -> Vec<Line<'static>> {
    let (look, columns) = (scene.look, scene.columns);
    let mut lines: Vec<_> =
        model.attention.iter().flat_map(|one| fact(one, look.warning(), columns)).collect();
    let reasons = model.reasons();
    for (at, reason) in reasons.iter().take(REASONS).enumerate() {
        let name = if at == 0 { "waiting" } else { "" };
        lines.extend(labelled(name, reason, look.warning(), columns));
    }
    if reasons.len() > REASONS {
        let more = reasons.len() - REASONS;
        let more = format!("{more} more reasons: {} shows them", opened_by(scene, Tab::Queue));
        lines.extend(labelled("", &more, QUIET, columns));
    }
    if !model.hints.is_empty() && scene.rows >= ROOMY {
        let told = format!("{} shows commands for another terminal", opened_by(scene, Tab::About));
        lines.extend(labelled("try it", &told, look.name(), columns));
    }
    lines
}

/// The first machines, where no queue needs the room: two thirds of what is left.
fn machines(model: &Model, scene: &Scene<'_>, room: usize) -> Vec<Line<'static>> {
    let Some(table) = model.machines.as_ref().filter(|table| !table.rows.is_empty()) else {
        return Vec::new();
    };
    let all = table_lines(table, scene);
    let room = (room * 2 / 3).saturating_sub(1);
    let mut lines = vec![Line::default()];
    if all.len() <= room {
        lines.extend(all);
    } else if room > 2 {
        lines.extend(all.into_iter().take(room - 1));
        let told = format!("{} shows all {}", opened_by(scene, Tab::Machines), table.rows.len());
        lines.push(Line::styled(told, QUIET));
    }
    lines
}

/// The key that opens a tab.
fn opened_by(scene: &Scene<'_>, tab: Tab) -> usize {
    Tab::of(scene.content).iter().position(|one| *one == tab).unwrap_or_default() + 1
}

/// As many of the latest events as fill the rest of the screen.
fn latest(scene: &Scene<'_>, room: usize) -> Vec<Line<'static>> {
    let events = &scene.content.events;
    let mut lines = vec![Line::default()];
    let mut told = 0;
    for text in events.newest_of(usize::MAX) {
        let next = event(text, scene.look, scene.columns);
        if told >= EVENTS && lines.len() + next.len() > room {
            break;
        }
        lines.extend(next);
        told += 1;
    }
    if told == 0 {
        lines.push(Line::styled("nothing has happened yet", QUIET));
    }
    if told < events.count() && lines.len() < room {
        let more = events.count() - told;
        let more = format!("{more} more events: {} shows them", opened_by(scene, Tab::Events));
        lines.push(Line::styled(more, QUIET));
    }
    lines
}

/// Two columns, of which the second one begins there.
fn beside(left: Vec<Line<'static>>, right: &[Line<'static>], at: usize) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let mut left = left.into_iter();
    let row = |row: usize| {
        let mut line = left.next().unwrap_or_default();
        if let Some(right) = right.get(row) {
            let gap = " ".repeat(at.saturating_sub(line.width()));
            line.spans.push(Span::raw(gap));
            line.spans.extend(right.spans.iter().map(|span| span.clone().patch_style(right.style)));
        }
        line
    };
    (0..rows).map(row).collect()
}
