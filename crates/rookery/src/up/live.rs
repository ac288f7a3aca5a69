//! The live fleet of a vCenter that somebody named.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use console::Term;
use rookery_vim_client::Snapshot;
use tokio::time::{Instant, timeout};

use super::screen::Screen;
use super::summary;
use crate::Ending;
use crate::output::{LocalTime, Out, printable};
use crate::session::{Reachability, Session, with_session};
use crate::vcenter::Vcenter;
use crate::vm::{Event, changes};

/// How often the screen is drawn when nothing happens, so that the age it shows is true.
const TICK: Duration = Duration::from_secs(1);
/// How many changes are remembered.
const RECENT: usize = 10;

/// Shows the fleet: once, or until a signal comes.
pub(super) async fn show(vcenter: &Vcenter, once: bool, out: &mut Out) -> anyhow::Result<Ending> {
    let terminal = Term::buffered_stdout();
    let live = !once && terminal.is_term() && !console::is_dumb();
    let shown = with_session(vcenter, "up", async |session| {
        if once {
            out.line(&page(session, &session.first, &VecDeque::new()).join("\n")).await?;
            return Ok(Ending::Done);
        }
        if live { draw(session, Screen::new(terminal)).await } else { print(session, out).await }
    });
    let ended = shown.await?;
    // The live view is ended by a signal; a summary that was cut short is not done.
    Ok(ended.unwrap_or(if once { Ending::Interrupted } else { Ending::Done }))
}

/// The same place of the screen, over and over.
async fn draw(session: &Session, mut screen: Screen) -> anyhow::Result<Ending> {
    let mut news = News::new(session);
    loop {
        screen.draw(&page(session, &session.inventory.snapshot(), &news.recent))?;
        if let Ok(lines) = timeout(TICK, news.next(session)).await {
            lines?;
        }
    }
}

/// For a pipe or a file: the summary once, then a line for each change.
async fn print(session: &Session, out: &mut Out) -> anyhow::Result<Ending> {
    let mut news = News::new(session);
    out.line(&page(session, &session.first, &news.recent).join("\n")).await?;
    loop {
        for line in news.next(session).await? {
            out.line(&line).await?;
        }
    }
}

fn page(session: &Session, snapshot: &Snapshot, recent: &VecDeque<String>) -> Vec<String> {
    let about = &session.client().content().about;
    summary::lines(&summary::View {
        endpoint: session.client().endpoint().to_string(),
        product: about.full_name.clone(),
        api: session.client().api_version().to_owned(),
        completeness: snapshot.completeness().clone(),
        age: snapshot.age(),
        vms: snapshot.vms().map(Arc::as_ref).collect(),
        recent,
    })
}

/// What happened since the start.
#[derive(Debug)]
struct News {
    seen: Arc<Snapshot>,
    reachability: Reachability,
    time: LocalTime,
    /// The latest lines, oldest first.
    recent: VecDeque<String>,
}

impl News {
    fn new(session: &Session) -> Self {
        Self {
            seen: Arc::clone(&session.first),
            reachability: Reachability::default(),
            time: LocalTime::system(),
            recent: VecDeque::new(),
        }
    }

    /// Waits for the next snapshot; what it tells. May be dropped at any time and called again.
    async fn next(&mut self, session: &Session) -> anyhow::Result<Vec<String>> {
        let latest = session.inventory.newer_than(&self.seen).await?;
        let heard = self.reachability.note(latest.completeness(), Instant::now());
        let events = changes(self.seen.vms(), latest.vms(), |_| true);
        let now = self.time.of_day(self.time.now());
        let heard = heard.iter().map(|text| printable(text));
        let lines: Vec<_> =
            heard.chain(events.iter().map(Event::line)).map(|line| format!("{now} {line}")).collect();
        self.seen = latest;
        self.recent.extend(lines.iter().cloned());
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
        Ok(lines)
    }
}
