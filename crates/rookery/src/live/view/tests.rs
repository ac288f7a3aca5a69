//! The page at three sizes, and at all others.

mod any;
mod captures;
mod fixtures;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;

use super::*;
use crate::live::look::Glyphs;
use crate::live::model::{Fact, Gauge, Jobs, MachineTable, Model, QueueRow, Section, States, Subject};
use crate::live::start_times::StartTimes;
use crate::output::Paint;

const LOOK: Look = Look { paint: Paint::Plain, glyphs: Glyphs::Blocks };

/// What a terminal of this size shows.
fn shown(content: &Content, ui: &Ui, look: Look, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, content, ui, look)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y: u16| {
        let (mut row, mut x) = (String::new(), 0);
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            // A wide character takes the next cell as well.
            x += u16::try_from(super::width(symbol)).unwrap().max(1);
        }
        row.trim_end().to_owned()
    };
    let rows: Vec<_> = (0..height).map(row).collect();
    rows.join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// After these keys.
fn after(content: &Content, keys: &[crate::live::keys::Key], (width, height): (u16, u16)) -> Ui {
    keys.iter().fold(Ui::default(), |ui, key| {
        let extent = extent(content, &ui, LOOK, Rect::new(0, 0, width, height));
        ui.press(*key, &Tab::of(content), extent, content.events.count()).0
    })
}

fn content(model: Model, events: &[String]) -> Content {
    let mut content = Content { model: Some(model), ..Content::default() };
    for event in events {
        content.events.push(event.clone());
    }
    content
}
