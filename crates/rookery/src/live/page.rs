//! A page while it lives: on a screen, redrawn when something changes; in a pipe, line by line.
//!
//! ```text
//!   source ──show, happened──► Board ──changed──► screen ──codes──► terminal
//!                                ▲                   ▲
//!            log lines, remarks ─┘                   └── keys, size
//! ```

use std::convert::Infallible;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::pending;
use ratatui::layout::{Position, Rect};
use rookery_daemon::{signals, telemetry};
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::board::Board;
use super::keys::{Key, keys, rest};
use super::look::Look;
use super::terminal::{self, Codes, Terminal};
use super::ui::{Tab, Ui, Wish};
use super::{Model, plain, view};
use crate::output::{LocalTime, Out, OutputError};

/// How long what was drawn last stays at least; keys are answered at once.
const STAYS: Duration = Duration::from_millis(250);
/// How long the rest of a key may take to come.
const KEY: Duration = Duration::from_millis(50);

/// For whom a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Somebody at a terminal.
    Person,
    /// A pipe, a file, or a terminal that only takes lines.
    Reader,
}

impl Audience {
    /// That of standard output.
    pub(crate) fn of_stdout() -> Self {
        let stdout = console::Term::stdout();
        let takes_pages = stdout.is_term() && !console::is_dumb() && terminal::can_be_taken();
        if takes_pages { Self::Person } else { Self::Reader }
    }
}

/// What sources tell their page.
#[derive(Debug)]
pub(crate) struct Page<'o> {
    board: Board,
    audience: Audience,
    out: &'o mut Out,
    time: LocalTime,
    /// Whether a reader knows how it stands.
    told: bool,
    /// What is said once the page has gone.
    last_words: Vec<String>,
}

/// Does work that has a page, which is there from the first [`Page::show`] until the work is done. What the work says is
/// printed below whatever the terminal showed before.
pub(crate) async fn on_page<T>(
    audience: Audience,
    out: &mut Out,
    work: impl AsyncFnOnce(&mut Page<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let board = Board::default();
    let mut page = Page {
        board: board.clone(),
        audience,
        out,
        time: LocalTime::system(),
        told: false,
        last_words: Vec::new(),
    };
    let done = tokio::select! {
        biased;
        never = accompany(audience, &board) => match never {},
        done = work(&mut page) => done,
    };
    let last_words = page.last_words.join("\n");
    let told = page.out.lines(&last_words).await;
    // What went wrong first is told.
    let done = done?;
    told?;
    Ok(done)
}

impl Page<'_> {
    /// How it stands now.
    pub(crate) async fn show(&mut self, model: Model) -> Result<(), OutputError> {
        if self.audience == Audience::Person {
            self.board.show(model);
            return Ok(());
        }
        if std::mem::replace(&mut self.told, true) {
            return Ok(());
        }
        self.out.line(&plain::lines(&model).join("\n")).await
    }

    /// Something has happened.
    pub(crate) async fn happened(&mut self, what: &str) -> Result<(), OutputError> {
        let line = format!("{} {what}", self.time.of_day(self.time.now()));
        match self.audience {
            Audience::Person => {
                self.board.happened(line);
                Ok(())
            }
            Audience::Reader => self.out.line(&line).await,
        }
    }

    /// A result: a reader gets it now, a person when the page has gone.
    pub(crate) async fn result(&mut self, text: &str) -> Result<(), OutputError> {
        match self.audience {
            Audience::Person => self.last_words.push(text.to_owned()),
            Audience::Reader => self.out.line(text).await?,
        }
        Ok(())
    }

    pub(crate) fn audience(&self) -> Audience {
        self.audience
    }

    /// It is to end, and waits for that.
    pub(crate) fn stopping(&self, waits_for: &str) {
        self.board.stopping(waits_for);
    }

    /// Waits until nobody can read it any more.
    pub(crate) fn abandoned(&self) -> impl Future<Output = ()> + use<> {
        let board = self.board.clone();
        async move { board.abandoned().await }
    }
}

async fn accompany(audience: Audience, board: &Board) -> Infallible {
    match audience {
        Audience::Person => {
            // Until there is something to show, the terminal is as it was: a login may fail.
            while board.look(|content| content.model.is_none()) {
                board.changed().await;
            }
            match Screen::open(board) {
                Ok(screen) => screen.keep(board).await,
                Err(_) => pending().await,
            }
        }
        Audience::Reader => {
            reader_has_left().await;
            board.abandon();
            pending().await
        }
    }
}

/// Waits until the reader of standard output has gone: a page on which nothing happens would never hear of it.
async fn reader_has_left() {
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(Sender::from_owned_fd_unchecked);
    // A file has no reader, and is not waited for.
    let Ok(stdout) = stdout else { return pending().await };
    while stdout.ready(Interest::ERROR).await.is_ok_and(|ready| !ready.is_error()) {}
}

/// The terminal, and what its reader has chosen to see.
struct Screen {
    // In this order: whatever is told on standard error when they go comes after the page.
    terminal: Terminal,
    _diversion: Option<Diversion>,
    picture: ratatui::Terminal<Codes>,
    ui: Ui,
    look: Look,
    /// The beginning of a key, and until when the rest of it may come.
    half: Vec<u8>,
    half_until: Instant,
}

/// What a picture is written by.
type Writing = Pin<Box<dyn Future<Output = io::Result<()>>>>;

impl Screen {
    fn open(board: &Board) -> io::Result<Self> {
        let picture = ratatui::Terminal::new(Codes::default())?;
        let terminal = Terminal::take()?;
        let diversion = io::stderr().is_terminal().then(|| Diversion::to(board));
        Ok(Self {
            terminal,
            _diversion: diversion,
            picture,
            ui: Ui::default(),
            look: Look::of_this_terminal(),
            half: Vec::new(),
            half_until: Instant::now(),
        })
    }

    /// Draws what changes, and does what keys say.
    async fn keep(mut self, board: &Board) -> Infallible {
        let mut stopped = Box::pin(async {
            tokio::select! {
                biased;
                () = signals::stop_requested() => {}
                () = signals::terminal_gone() => {}
            }
        });
        let mut sizes = signal(SignalKind::window_change()).ok();
        let (mut is_stopping, mut is_dirty, mut keyboard) = (false, true, true);
        let (mut due, mut writing) = (Instant::now(), None::<Writing>);
        loop {
            let size_changes = async {
                match &mut sizes {
                    Some(sizes) => sizes.recv().await,
                    None => pending().await,
                }
            };
            let (waits, until) = (!self.half.is_empty(), self.half_until);
            tokio::select! {
                biased;
                () = &mut stopped, if !is_stopping => {
                    is_stopping = true;
                    board.stopping("");
                }
                read = self.terminal.read(), if keyboard => match read {
                    Ok(bytes) if !bytes.is_empty() => {
                        self.half.extend(bytes);
                        let (pressed, taken) = keys(&self.half);
                        self.half.drain(..taken);
                        self.half_until = Instant::now() + KEY;
                        self.press(&pressed, board, is_stopping);
                        (is_dirty, due) = (true, Instant::now());
                    }
                    // The terminal has gone, and who looked at it.
                    Ok(_) | Err(_) => {
                        keyboard = false;
                        board.abandon();
                    }
                },
                () = sleep_until(until), if waits => {
                    let key = rest(&self.half);
                    self.half.clear();
                    self.press(key.as_slice(), board, is_stopping);
                    (is_dirty, due) = (true, Instant::now());
                }
                _ = size_changes => (is_dirty, due) = (true, Instant::now()),
                written = async { match &mut writing { Some(writing) => writing.await, None => pending().await } } => {
                    writing = None;
                    if written.is_err() {
                        board.abandon();
                    }
                }
                () = board.changed(), if !is_dirty => is_dirty = true,
                () = sleep_until(due), if is_dirty && writing.is_none() => {
                    is_dirty = false;
                    due = Instant::now() + STAYS;
                    writing = self.drawn(board).map(|bytes| Box::pin(written(bytes)) as Writing);
                }
            }
        }
    }

    fn press(&mut self, pressed: &[Key], board: &Board, is_stopping: bool) {
        let size = self.picture.size().unwrap_or_default();
        let area = Rect::from((Position::ORIGIN, size));
        for key in pressed {
            let (tabs, extent, events) = board.look(|content| {
                let extent = view::extent(content, &self.ui, self.look, area);
                (Tab::of(content), extent, content.events.count())
            });
            let (ui, wish) = std::mem::take(&mut self.ui).press(*key, &tabs, extent, events);
            self.ui = ui;
            match wish {
                Wish::Look => {}
                Wish::Quit if is_stopping => {}
                Wish::Quit | Wish::Interrupt => terminal::interrupt(),
                Wish::Redraw => drop(self.picture.clear()),
                Wish::Suspend => {
                    if self.terminal.suspend().is_err() {
                        board.abandon();
                    }
                    drop(self.picture.clear());
                }
            }
        }
    }

    /// The codes for what has changed.
    fn drawn(&mut self, board: &Board) -> Option<Vec<u8>> {
        let (ui, look) = (&self.ui, self.look);
        let drawn =
            board.look(|content| self.picture.draw(|frame| view::draw(frame, content, ui, look)).is_ok());
        drawn.then(|| self.picture.backend_mut().take())
    }
}

/// Hands a picture to the terminal. On a thread of its own: a terminal that takes nothing must not keep a signal from being
/// heard.
async fn written(bytes: Vec<u8>) -> io::Result<()> {
    spawn_blocking(move || terminal::draw(&bytes)).await.map_err(io::Error::other).flatten()
}

/// The board of the page that has the terminal: who ends the process at once tells what the page kept back.
static SHOWN: Mutex<Option<Board>> = Mutex::new(None);

/// Gives the terminal back, if it is a page's, and tells what was said meanwhile.
pub(crate) fn give_terminal_back() {
    terminal::restore();
    tell_asides();
}

fn tell_asides() {
    let Some(board) = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    telemetry::divert_no_more();
    let (lines, omitted) = board.take_asides();
    if omitted > 0 {
        telemetry::write_line(&format!("… {omitted} more were shown on the page; 2>FILE keeps all"));
    }
    for line in lines {
        telemetry::write_line(&line);
    }
}

/// Takes in what would be written over the page: log lines and remarks. What came is written when the page has gone.
struct Diversion;

impl Diversion {
    fn to(board: &Board) -> Self {
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(board.clone());
        let (told, time) = (board.clone(), LocalTime::system());
        telemetry::divert(move |text| {
            told.aside(&time.of_day(time.now()), text);
            true
        });
        Self
    }
}

impl Drop for Diversion {
    fn drop(&mut self) {
        tell_asides();
    }
}
