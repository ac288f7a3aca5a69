//! A page that is redrawn in place, below whatever the terminal showed before.

use std::io;

use console::{Term, truncate_str};

/// The part of a terminal that the page takes.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Term,
    /// How many lines the last page took.
    drawn: usize,
    /// How large the terminal was then.
    size: (u16, u16),
}

impl Screen {
    pub(super) fn new(terminal: Term) -> Self {
        let size = terminal.size();
        Self { terminal, drawn: 0, size }
    }

    /// How many lines of a page can be seen; the last one is the cursor's.
    pub(super) fn rows(&self) -> usize {
        usize::from(self.terminal.size().0).saturating_sub(1)
    }

    /// Replaces the last page. Lines are cut to the width and the page to the height: what scrolls away or wraps
    /// could not be replaced.
    pub(super) fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let (rows, size) = (self.rows(), self.terminal.size());
        self.terminal.hide_cursor()?;
        if size == self.size {
            self.terminal.move_cursor_up(self.drawn)?;
        } else {
            // Where the last page is now, with lines that were wrapped or scrolled, nobody knows.
            self.terminal.clear_screen()?;
            self.size = size;
        }
        let shown = lines.len().min(rows);
        for line in lines.iter().take(shown) {
            self.terminal.clear_line()?;
            self.terminal.write_line(&truncate_str(line, usize::from(size.1), "…"))?;
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
