//! A page that is redrawn in place, below whatever the terminal showed before.

use std::io;

use console::{Term, truncate_str};

/// The part of a terminal that the page takes.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Term,
    /// How many lines the last page took.
    drawn: usize,
}

impl Screen {
    pub(super) fn new(terminal: Term) -> Self {
        Self { terminal, drawn: 0 }
    }

    /// Replaces the last page. Lines are cut to the width and the page to the height: what scrolls away or wraps
    /// could not be replaced.
    pub(super) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let (height, width) = self.terminal.size();
        self.terminal.hide_cursor()?;
        self.terminal.move_cursor_up(self.drawn)?;
        let shown = lines.len().min(usize::from(height).saturating_sub(1));
        for line in lines.iter().take(shown) {
            self.terminal.clear_line()?;
            self.terminal.write_line(&truncate_str(line, usize::from(width), "…"))?;
        }
        self.terminal.clear_to_end_of_screen()?;
        self.drawn = shown;
        self.terminal.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs no cursor.
        self.terminal.show_cursor().and_then(|()| self.terminal.flush()).ok();
    }
}
