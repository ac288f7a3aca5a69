//! A terminal that a page has to itself: the alternate screen, keys as they are pressed, no cursor; and afterwards as it
//! was, however the program ends.
//!
//! Not by crossterm: its reader never returns once the terminal has gone (it takes the end of input, and errors, for
//! "nothing yet" and asks again), which would keep the process from its end. What is left of it is a dozen control codes.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier, Style};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, getpgrp, getpid, kill_process};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};
use tokio::net::unix::pipe::Receiver;

/// The alternate screen without a cursor, and nothing on it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";
/// How large a terminal is that does not say it.
const USUAL: Size = Size { width: 80, height: 24 };
/// How long the end waits for a terminal that takes nothing more.
const PATIENCE: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(10);
/// More bytes are read later.
const PIECE: usize = 256;

/// The terminal that is a page's, and how it was before. Whatever is written to the page is written under this lock, so that
/// nothing is once it was left.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

#[derive(Debug)]
struct Taken {
    keyboard: OwnedFd,
    before: Termios,
}

/// Takes the terminal; gives it back when dropped.
#[derive(Debug)]
pub(super) struct Terminal {
    keyboard: Receiver,
}

impl Terminal {
    /// Must be called within a tokio runtime. `Err` if there is no terminal to take.
    pub(super) fn take() -> io::Result<Self> {
        let keyboard = open()?;
        let (handle, before) = (keyboard.try_clone()?, tcgetattr(&keyboard)?);
        // Whatever is read in pieces without waiting; it need not be a pipe.
        let keyboard = Receiver::from_owned_fd_unchecked(keyboard)?;
        *wait_for_lock().ok_or(io::ErrorKind::TimedOut)? = Some(Taken { keyboard: handle, before });
        let terminal = Self { keyboard };
        terminal.enter()?;
        Ok(terminal)
    }

    /// Waits for the next bytes that keys send; none if the terminal has gone.
    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        loop {
            self.keyboard.readable().await?;
            let mut bytes = [0; PIECE];
            match self.keyboard.try_read(&mut bytes) {
                // Somebody else was faster.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(|count| bytes.iter().take(count).copied().collect()),
            }
        }
    }

    /// Does to the process what Ctrl-Z does elsewhere. Returns when it goes on.
    pub(super) fn suspend(&self) -> io::Result<()> {
        if let Some(taken) = wait_for_lock().and_then(|mut taken| taken.take()) {
            taken.give_back();
            kill_process(getpid(), Signal::TSTP)?;
            // It may have been changed meanwhile.
            let before = tcgetattr(&taken.keyboard)?;
            *wait_for_lock().ok_or(io::ErrorKind::TimedOut)? = Some(Taken { before, ..taken });
            self.enter()?;
        }
        Ok(())
    }

    fn enter(&self) -> io::Result<()> {
        let mut modes = tcgetattr(&self.keyboard)?;
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        modes.input_modes -= InputModes::IXON | InputModes::ICRNL;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&self.keyboard, OptionalActions::Now, &modes)?;
        write(ENTER.as_bytes())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether this process has a terminal, and has it now: one in the background would be stopped.
pub(super) fn can_be_taken() -> bool {
    open().is_ok_and(|terminal| tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp()))
}

/// The terminal, by a way of our own, which may be asked without waiting: the modes of standard input are others' as well.
fn open() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/tty", flags, Mode::empty())?)
}

/// Gives the terminal back, if it is a page's: also for who ends the process at once.
pub(super) fn restore() {
    if let Some(taken) = wait_for_lock().and_then(|mut taken| taken.take()) {
        taken.give_back();
    }
}

/// Asks this process to end, as a terminal does on Ctrl-C.
pub(super) fn interrupt() {
    // Nobody but us is asked: whoever runs beside us has not seen a key.
    kill_process(getpid(), Signal::INT).ok();
}

/// Writes to the page, if it is there still. Waits for a terminal that does not read.
pub(super) fn draw(bytes: &[u8]) -> io::Result<()> {
    let taken = TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if taken.is_some() { write(bytes) } else { Ok(()) }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

impl Taken {
    fn give_back(&self) {
        // A terminal that is gone needs nothing.
        write(LEAVE.as_bytes()).ok();
        tcsetattr(&self.keyboard, OptionalActions::Now, &self.before).ok();
    }
}

/// Not for ever: a terminal that does not read holds up who writes.
fn wait_for_lock() -> Option<MutexGuard<'static, Option<Taken>>> {
    let end = Instant::now() + PATIENCE;
    loop {
        match TAKEN.try_lock() {
            Ok(taken) => return Some(taken),
            Err(TryLockError::Poisoned(taken)) => return Some(taken.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= end => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(AGAIN),
        }
    }
}

/// What ratatui draws, as codes that every terminal obeys; kept until it is taken.
#[derive(Debug, Default)]
pub(super) struct Codes(String);

impl Codes {
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).into_bytes()
    }

    fn put(&mut self, code: std::fmt::Arguments<'_>) {
        // Text takes whatever is written to it.
        self.0.write_fmt(code).ok();
    }
}

impl Backend for Codes {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        let (mut style, mut next) = (Cell::default().style(), None);
        self.0.push_str("\x1b[0m");
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.put(format_args!("\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1));
            }
            // After a wide character the next position is told anew.
            next = Some((x.saturating_add(1), y));
            if cell.style() != style {
                style = cell.style();
                self.put(format_args!("\x1b[0{}m", Attributes(style)));
            }
            self.0.push_str(cell.symbol());
        }
        self.0.push_str("\x1b[0m");
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.push_str("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let size = tcgetwinsize(io::stdout().as_fd()).ok();
        let size = size.map(|size| Size { width: size.ws_col, height: size.ws_row });
        Ok(size.filter(|size| size.width > 0 && size.height > 0).unwrap_or(USUAL))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What follows `ESC [ 0`: the colours and attributes that the page has.
struct Attributes(Style);

impl std::fmt::Display for Attributes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let attributes = [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::ITALIC, 3),
            (Modifier::UNDERLINED, 4),
            (Modifier::REVERSED, 7),
        ];
        for (_, code) in attributes.iter().filter(|(modifier, _)| self.0.add_modifier.contains(*modifier)) {
            write!(f, ";{code}")?;
        }
        for (colour, first) in [(self.0.fg, 30), (self.0.bg, 40)] {
            if let Some(number) = colour.and_then(number) {
                write!(f, ";{}", first + number)?;
            }
        }
        Ok(())
    }
}

/// Of the eight colours that every terminal has; `None`: the terminal's own.
#[expect(clippy::wildcard_enum_match_arm, reason = "the page uses no others")]
fn number(colour: Color) -> Option<u8> {
    Some(match colour {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;

    fn drawn(from: &Buffer, to: &Buffer) -> String {
        let mut codes = Codes::default();
        codes.draw(from.diff(to).into_iter()).unwrap();
        String::from_utf8(codes.take()).unwrap()
    }

    #[test]
    fn only_what_has_changed_is_sent_with_where_it_is_and_how_it_looks() {
        let area = Rect::new(0, 0, 6, 2);
        let (empty, mut page) = (Buffer::empty(area), Buffer::empty(area));
        page.set_string(1, 0, "ab", Style::new());
        page.set_string(0, 1, "日x", Style::new().fg(Color::Green).add_modifier(Modifier::BOLD));
        assert_eq!(drawn(&empty, &page), "\x1b[0m\x1b[1;2Hab\x1b[2;1H\x1b[0;1;32m日\x1b[2;3Hx\x1b[0m");
        assert_eq!(drawn(&page, &page), "\x1b[0m\x1b[0m");
        // The second half of what is wide goes with the first.
        assert_eq!(drawn(&page, &empty).matches(' ').count(), 4, "what was there is overwritten");
    }
}
