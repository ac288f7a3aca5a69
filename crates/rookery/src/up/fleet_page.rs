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
use crate::fleet::{Fleet, Hearing, with_fleet};
use crate::output::{LocalTime, Out, printable};
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
    let shown = with_fleet(vcenter, "up", async |fleet| {
        if once {
            out.line(&page(fleet, &fleet.first, &VecDeque::new()).join("\n")).await?;
            return Ok(Ending::Done);
        }
        if live { draw(fleet, Screen::new(terminal)).await } else { print(fleet, out).await }
    });
    let ended = shown.await?;
    // The live view is ended by a signal; a summary that was cut short is not done.
    Ok(ended.unwrap_or(if once { Ending::Interrupted } else { Ending::Done }))
}

/// The same place of the screen, over and over.
async fn draw(fleet: &Fleet, mut screen: Screen) -> anyhow::Result<Ending> {
    let mut news = News::new(fleet);
    loop {
        screen.draw(&page(fleet, &fleet.inventory.snapshot(), &news.recent))?;
        if let Ok(lines) = timeout(TICK, news.next(fleet)).await {
            lines?;
        }
    }
}

/// For a pipe or a file: the summary once, then a line for each change.
async fn print(fleet: &Fleet, out: &mut Out) -> anyhow::Result<Ending> {
    let mut news = News::new(fleet);
    out.line(&page(fleet, &fleet.first, &news.recent).join("\n")).await?;
    loop {
        for line in news.next(fleet).await? {
            out.line(&line).await?;
        }
    }
}

fn page(fleet: &Fleet, snapshot: &Snapshot, recent: &VecDeque<String>) -> Vec<String> {
    let about = &fleet.client.content().about;
    summary::lines(&summary::View {
        endpoint: fleet.client.endpoint().to_string(),
        product: about.full_name.clone(),
        api: fleet.client.api_version().to_owned(),
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
    hearing: Hearing,
    time: LocalTime,
    /// The latest lines, oldest first.
    recent: VecDeque<String>,
}

impl News {
    fn new(fleet: &Fleet) -> Self {
        Self {
            seen: Arc::clone(&fleet.first),
            hearing: Hearing::default(),
            time: LocalTime::system(),
            recent: VecDeque::new(),
        }
    }

    /// Waits for the next snapshot; what it tells. May be dropped at any time and called again.
    async fn next(&mut self, fleet: &Fleet) -> anyhow::Result<Vec<String>> {
        let latest = fleet.inventory.newer_than(&self.seen).await?;
        let heard = self.hearing.note(latest.completeness(), Instant::now());
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
