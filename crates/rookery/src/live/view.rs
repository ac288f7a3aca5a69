//! How the page looks, on a terminal of any size. Pure: all that is drawn comes from what is handed in.
//!
//! ```text
//!  title                   ─┐ if there is room
//!  [1 Overview] 2 Queue …   │
//!  stopping… …              │ while it stops
//!  lines of the tab         │ scrolled; whatever is too long for a line goes on in the next one
//!  keys          1-20 of 45 ┘
//! ```
//!
//! Every tab is a list of lines of which a part is seen, so that nothing can be out of reach.

mod lists;
mod overview;
mod rows;
mod starts;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Widget as _};

use super::board::Content;
use super::look::{CHOSEN, Glyphs, Look, QUIET, TITLE};
use super::text::{cut, width, wrap};
use super::ui::{Extent, Tab, Ui};

/// From how many rows on there is one for the title.
const TITLE_FROM: u16 = 16;
/// The help is easier to read if it is no wider.
const HELP_WIDTH: u16 = 66;

/// What every tab is drawn from.
#[derive(Debug, Clone, Copy)]
struct Scene<'a> {
    content: &'a Content,
    ui: &'a Ui,
    look: Look,
    /// Of the body.
    columns: usize,
    rows: usize,
}

/// The lines of a tab: some that stay, and those that are scrolled below them.
#[derive(Debug, Default)]
struct Body {
    fixed: Vec<Line<'static>>,
    lines: Vec<Line<'static>>,
}

/// Where everything is.
#[derive(Debug, Clone, Copy)]
struct Regions {
    title: Option<Rect>,
    tabs: Option<Rect>,
    banner: Rect,
    body: Rect,
    foot: Option<Rect>,
}

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, content: &Content, ui: &Ui, look: Look) {
    let area = frame.area();
    let regions = regions(area, content);
    let scene = scene(content, ui, look, &regions);
    let body = body(&scene);
    let buffer = frame.buffer_mut();
    if let Some(area) = regions.title {
        let title = content.model.as_ref().map(|model| model.title.as_str()).unwrap_or_default();
        let text = cut(&headline(title), usize::from(area.width));
        put(buffer, area, &[Line::styled(text, TITLE)]);
    }
    if let Some(area) = regions.tabs {
        put(buffer, area, &[tab_bar(content, ui, usize::from(area.width))]);
    }
    let banner = banner(content, usize::from(regions.banner.width));
    let banner: Vec<_> = banner.into_iter().map(|line| Line::styled(line, look.alarm())).collect();
    put(buffer, regions.banner, &banner);
    let (fixed, below) = split(regions.body, body.fixed.len());
    put(buffer, fixed, &body.fixed);
    let tab = Extent { lines: body.lines.len(), fit: usize::from(below.height) };
    put(buffer, below, body.lines.get(ui.top_of_tab(tab)..).unwrap_or_default());
    let mut shown = tab;
    if ui.help.is_some() {
        shown = draw_help(buffer, regions.body, ui, look);
    }
    if let Some(area) = regions.foot {
        put(buffer, area, &[foot(ui, shown, usize::from(area.width))]);
    }
    if look.glyphs == Glyphs::Ascii {
        spell_in_ascii(buffer);
    }
}

/// Replaces the signs that the page itself is made of; names stay as they are.
fn spell_in_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let sign = match cell.symbol() {
            "…" => ".",
            "≤" | "←" => "<",
            "→" => ">",
            "↑" => "^",
            "↓" => "v",
            "│" => "|",
            "─" => "-",
            "┌" | "┐" | "└" | "┘" => "+",
            _ => continue,
        };
        cell.set_symbol(sign);
    }
}

/// How much there is to scroll of what is in front.
pub(super) fn extent(content: &Content, ui: &Ui, look: Look, area: Rect) -> Extent {
    let regions = regions(area, content);
    if ui.help.is_some() {
        let (inner, lines) = help(regions.body, look);
        return Extent { lines: lines.len(), fit: usize::from(inner.height) };
    }
    let body = body(&scene(content, ui, look, &regions));
    let (_, below) = split(regions.body, body.fixed.len());
    Extent { lines: body.lines.len(), fit: usize::from(below.height) }
}

fn regions(area: Rect, content: &Content) -> Regions {
    let row = |y: u16| Rect { y: area.y + y, height: 1, ..area };
    let mut top = 0;
    let mut next = |there: bool| {
        let at = top;
        top += u16::from(there);
        there.then(|| row(at))
    };
    let title = next(area.height >= TITLE_FROM);
    let tabs = next(area.height >= 2);
    let foot = (area.height >= 3).then(|| row(area.height - 1));
    let room = area.height.saturating_sub(top).saturating_sub(u16::from(foot.is_some()));
    let wanted = banner(content, usize::from(area.width)).len();
    let tall = u16::try_from(wanted).unwrap_or(u16::MAX).min(room.div_ceil(2));
    let banner = Rect { y: area.y + top, height: tall, ..area };
    let body = Rect { y: area.y + top + tall, height: room - tall, ..area };
    Regions { title, tabs, banner, body, foot }
}

fn scene<'a>(content: &'a Content, ui: &'a Ui, look: Look, regions: &Regions) -> Scene<'a> {
    let (columns, rows) = (usize::from(regions.body.width), usize::from(regions.body.height));
    Scene { content, ui, look, columns, rows }
}

fn body(scene: &Scene<'_>) -> Body {
    match scene.ui.tab {
        Tab::Overview => overview::overview(scene),
        Tab::Queue => lists::queue(scene),
        Tab::Machines => lists::machines(scene),
        Tab::Starts => starts::starts(scene),
        Tab::Events => lists::events(scene),
        Tab::About => lists::about(scene),
    }
}

/// Lines that stay leave at least half of the room to those that are scrolled.
fn split(area: Rect, fixed: usize) -> (Rect, Rect) {
    let tall = u16::try_from(fixed).unwrap_or(u16::MAX).min(area.height / 2);
    (Rect { height: tall, ..area }, Rect { y: area.y + tall, height: area.height - tall, ..area })
}

fn put(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>]) {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

fn headline(title: &str) -> String {
    format!("Rookery {}: {title}", env!("CARGO_PKG_VERSION"))
}

/// What is said while it stops.
fn banner(content: &Content, columns: usize) -> Vec<String> {
    let Some(waits_for) = &content.stopping else { return Vec::new() };
    let usual = content.model.as_ref().map(|model| model.ending.as_str()).unwrap_or_default();
    let waits_for = if waits_for.is_empty() { usual } else { waits_for };
    let waits_for = if waits_for.is_empty() { String::new() } else { format!(" {waits_for};") };
    wrap(&format!("stopping…{waits_for} Ctrl-C ends it at once"), columns, columns)
}

/// All tabs by name, or as many as fit; the chosen one is in brackets, whatever the terminal makes of colours.
fn tab_bar(content: &Content, ui: &Ui, columns: usize) -> Line<'static> {
    let named = |tab: Tab| {
        let count = content.model.as_ref().and_then(|model| match tab {
            Tab::Queue => Some(model.waiting()).filter(|waiting| *waiting > 0),
            Tab::Machines => model.machines.as_ref().map(|table| table.rows.len()),
            Tab::Overview | Tab::Starts | Tab::Events | Tab::About => None,
        });
        count.map_or_else(|| tab.name().to_owned(), |count| format!("{}({count})", tab.name()))
    };
    let tabs: Vec<(usize, Tab)> = (1..).zip(Tab::of(content)).collect();
    let labels = |full: bool| -> Vec<(bool, String)> {
        let label = |(number, tab): &(usize, Tab)| match (*tab == ui.tab, full) {
            (true, _) => (true, format!("[{number} {}]", named(*tab))),
            (false, true) => (false, format!(" {number} {} ", named(*tab))),
            (false, false) => (false, format!(" {number} ")),
        };
        tabs.iter().map(label).collect()
    };
    let fits =
        |labels: &[(bool, String)]| labels.iter().map(|(_, text)| width(text)).sum::<usize>() <= columns;
    let chosen = || labels(false).into_iter().filter(|(is_chosen, _)| *is_chosen).collect();
    let labels = [labels(true), labels(false)].into_iter().find(|labels| fits(labels)).unwrap_or_else(chosen);
    let span = |(is_chosen, text): (bool, String)| {
        if is_chosen { Span::styled(text, CHOSEN) } else { Span::raw(text) }
    };
    labels.into_iter().map(span).collect::<Vec<_>>().into()
}

/// The keys that matter most, and which lines are seen.
fn foot(ui: &Ui, extent: Extent, columns: usize) -> Line<'static> {
    let top = ui.top(extent);
    let last = (top + extent.fit).min(extent.lines);
    let place = if extent.lines > extent.fit {
        let above = if top > 0 { "↑" } else { " " };
        let below = if last < extent.lines { "↓" } else { " " };
        format!("{}-{last} of {} {above}{below}", top + 1, extent.lines)
    } else {
        String::new()
    };
    let keys = if ui.help.is_some() { ["Esc closes", "", ""] } else { ["q quit", "? help", "Tab next"] };
    let mut told = String::new();
    for key in keys.into_iter().filter(|key| !key.is_empty()) {
        let longer = if told.is_empty() { key.to_owned() } else { format!("{told}  {key}") };
        if width(&longer) + 2 + width(&place) <= columns {
            told = longer;
        }
    }
    let gap = columns.saturating_sub(width(&told) + width(&place));
    Line::styled(cut(&format!("{told}{}{place}", " ".repeat(gap)), columns), QUIET)
}

const HELP: &[(&str, &str)] = &[
    ("1 … 6", "open a tab"),
    ("Tab, → and ←", "the next tab, the one before"),
    ("↑ ↓, k j", "scroll by a line"),
    ("PgUp PgDn, Space", "scroll by a page"),
    ("Home End, g G", "to the first line, to the last one"),
    ("?, F1", "open and close this help"),
    ("q, Ctrl-C", "end; Ctrl-C once more ends at once"),
    ("Ctrl-Z", "suspend; `fg` goes on"),
    ("Ctrl-L", "draw everything again"),
];

const HELP_NOTES: &[&str] = &[
    "What is too long for a line goes on in the next one. While you scroll the events new ones wait above: Home shows them.",
    "In a pipe there are plain lines instead: how it stands, then a line for each change.",
];

/// The help and where it goes, without its frame.
fn help(area: Rect, look: Look) -> (Rect, Vec<Line<'static>>) {
    let framed = area.width >= 30 && area.height >= 8;
    let wide = if framed { area.width.min(HELP_WIDTH) - 2 } else { area.width };
    let columns = usize::from(wide);
    let mut lines = Vec::new();
    for (keys, does) in HELP {
        lines.extend(rows::labelled_wide(keys, does, look.name(), columns, 18));
    }
    for note in HELP_NOTES {
        lines.push(Line::default());
        lines.extend(wrap(note, columns, columns).into_iter().map(Line::from));
    }
    if !framed {
        return (area, lines);
    }
    let tall = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height - 2);
    let (x, y) = (area.x + (area.width - wide) / 2, area.y + (area.height - tall) / 2);
    (Rect { x, y, width: wide, height: tall }, lines)
}

fn draw_help(buffer: &mut Buffer, area: Rect, ui: &Ui, look: Look) -> Extent {
    let (inner, lines) = help(area, look);
    let outer = Rect {
        x: inner.x.saturating_sub(1),
        y: inner.y.saturating_sub(1),
        width: inner.width + 2,
        height: inner.height + 2,
    };
    let framed = inner != area;
    Clear.render(if framed { outer.intersection(area) } else { area }, buffer);
    if framed {
        Block::bordered().title(" Help ").render(outer.intersection(area), buffer);
    }
    let extent = Extent { lines: lines.len(), fit: usize::from(inner.height) };
    put(buffer, inner, lines.get(ui.top(extent)..).unwrap_or_default());
    extent
}

#[cfg(test)]
mod tests;
