//! `rookery up`: the live fleet of a vCenter; of a simulated one if nobody names any. What else `up` will start comes
//! with later parts.

mod screen;
mod summary;
mod welcome;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use console::Term;
use rookery_vim_client::Snapshot;
use tokio::time::{Instant, timeout};

use crate::Ending;
use crate::cli::Connect;
use crate::fleet::{Fleet, Hearing, with_fleet};
use crate::output::{LocalTime, Out, printable};
use crate::settings::Loaded;
use crate::vcenter::Vcenter;
use crate::vm::{Event, changes};
use screen::Screen;

/// How often the screen is drawn when nothing happens, so that the age it shows is true.
const TICK: Duration = Duration::from_secs(1);
/// How many changes are remembered.
const RECENT: usize = 10;

/// The arguments of `up`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one summary as soon as the inventory is complete, and exit
    #[arg(long)]
    exit: bool,
    /// How to reach vCenter.
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) async fn run(loaded: &Loaded, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    if loaded.names_a_vcenter() {
        return show(loaded.vcenter()?, &[], args, out).await;
    }
    let simulated = welcome::start().await?;
    let hints = welcome::hints(&simulated.address, loaded.default_file.as_deref());
    let shown = show(&welcome::vcenter(&simulated.address)?, &hints, args, out).await;
    simulated.stop().await;
    shown
}

/// Shows the fleet, with some lines below it.
async fn show(vcenter: &Vcenter, hints: &[String], args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let terminal = Term::buffered_stdout();
    let live = !args.exit && terminal.is_term() && !console::is_dumb();
    let shown = with_fleet(vcenter, "up", async |fleet| {
        if args.exit {
            out.line(&page(fleet, &fleet.first, &VecDeque::new(), hints).join("\n")).await?;
            return Ok(Ending::Done);
        }
        if live { draw(fleet, hints, Screen::new(terminal)).await } else { print(fleet, hints, out).await }
    });
    let ended = shown.await?;
    // The live view is ended by a signal; a summary that was cut short is not done.
    Ok(ended.unwrap_or(if args.exit { Ending::Interrupted } else { Ending::Done }))
}

/// The same place of the screen, over and over.
async fn draw(fleet: &Fleet, hints: &[String], mut screen: Screen) -> anyhow::Result<Ending> {
    let mut news = News::new(fleet);
    loop {
        screen.draw(&page(fleet, &fleet.inventory.snapshot(), &news.recent, hints))?;
        if let Ok(lines) = timeout(TICK, news.next(fleet)).await {
            lines?;
        }
    }
}

/// For a pipe or a file: the summary once, then a line for each change.
async fn print(fleet: &Fleet, hints: &[String], out: &mut Out) -> anyhow::Result<Ending> {
    let mut news = News::new(fleet);
    out.line(&page(fleet, &fleet.first, &news.recent, hints).join("\n")).await?;
    loop {
        for line in news.next(fleet).await? {
            out.line(&line).await?;
        }
    }
}

fn page(fleet: &Fleet, snapshot: &Snapshot, recent: &VecDeque<String>, hints: &[String]) -> Vec<String> {
    let about = &fleet.client.content().about;
    summary::lines(&summary::View {
        endpoint: fleet.client.endpoint().to_string(),
        product: about.full_name.clone(),
        api: fleet.client.api_version().to_owned(),
        completeness: snapshot.completeness().clone(),
        age: snapshot.age(),
        vms: snapshot.vms().map(Arc::as_ref).collect(),
        recent,
        hints,
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
