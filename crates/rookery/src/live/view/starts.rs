//! How long jobs took to start, as figures, bars and a line of the latest. Pure.

use ratatui::text::{Line, Span};

use super::rows::{label_width, labelled, share};
use super::{Body, Scene};
use crate::live::StartTimes;
use crate::live::look::{Look, QUIET};
use crate::live::start_times::seconds;
use crate::live::text::{padded, width};

pub(super) fn starts(scene: &Scene<'_>) -> Body {
    let (look, columns) = (scene.look, scene.columns);
    let starts = scene.content.model.as_ref().and_then(|model| model.starts());
    let Some(starts) = starts.filter(|starts| starts.count() > 0) else {
        return Body { lines: vec![Line::from("no job has started yet")], ..Body::default() };
    };
    let told = |name: &str, text: &str| labelled(name, text, look.name(), columns);
    let jobs = if starts.count() == 1 { "1 job".to_owned() } else { format!("{} jobs", starts.count()) };
    let mut lines = told("start time", &format!("of {jobs}, from the queue to the worker"));
    let figures = [50, 90, 99, 100].into_iter().filter_map(|part| {
        let name = if part == 100 { "longest".to_owned() } else { format!("p{part}") };
        starts.percentile(part).map(|time| format!("{name} {}", seconds(time)))
    });
    lines.extend(told("", &figures.collect::<Vec<_>>().join(", ")));
    lines.extend(sparkline(starts, look, columns));
    lines.push(Line::default());
    lines.extend(histogram(starts, look, columns));
    Body { lines, ..Body::default() }
}

/// How many took how long.
pub(super) fn histogram(starts: &StartTimes, look: Look, columns: usize) -> Vec<Line<'static>> {
    let buckets = starts.histogram();
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or_default();
    let room = buckets.iter().map(|bucket| width(&bucket.name())).max().unwrap_or_default() + 2;
    let line = |bucket: &crate::live::start_times::Bucket| {
        let name = bucket.name();
        let name = format!("{}{name}", " ".repeat((room - 1).saturating_sub(width(&name))));
        share(&name, room, (bucket.count, most), look, look.good(), columns)
    };
    buckets.iter().map(line).collect()
}

/// The latest ones, each as high as it took beside the longest of them.
pub(super) fn sparkline(starts: &StartTimes, look: Look, columns: usize) -> Vec<Line<'static>> {
    let label = label_width(columns);
    let latest = starts.latest(columns.saturating_sub(label + 1));
    let Some(longest) = latest.iter().max() else { return Vec::new() };
    let scale = format!(" up to {}", seconds(*longest));
    let room = columns.saturating_sub(label + width(&scale));
    let latest = starts.latest(room);
    if room < 4 {
        return Vec::new();
    }
    let line = look.sparkline(&latest.iter().map(std::time::Duration::as_millis).collect::<Vec<_>>());
    vec![Line::from(vec![
        Span::styled(padded("the latest", label), look.name()),
        Span::styled(line, look.good()),
        Span::styled(scale, QUIET),
    ])]
}
