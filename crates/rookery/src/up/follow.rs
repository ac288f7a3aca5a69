//! Follows the parts of `up`: shows them until a signal comes, or until what `--exit` waits for is done; then waits until
//! nothing is left, and lets all parts recount.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use console::Term;
use futures_util::future::select_all;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep, sleep_until};

use super::page::Page;
use super::part::{News, Part};
use super::screen::Screen;
use crate::Ending;
use crate::output::{LocalTime, Out};

/// How often the screen is drawn.
const TICK: Duration = Duration::from_millis(500);
/// How many events are remembered.
const RECENT: usize = 10;
/// How many events may wait to be shown; a part that has more to tell waits.
const NEWS: usize = 64;
/// After how long without output a pipe gets a line about what is still open.
const QUIET: Duration = Duration::from_secs(15);
/// How long leftovers may take to disappear.
const SETTLING: Duration = Duration::from_mins(3);
/// How often leftovers are looked for.
const LOOK: Duration = Duration::from_millis(250);

/// When to end, and what to write.
#[derive(Debug)]
pub(super) struct Options {
    /// Whether to end when all is done.
    pub(super) exit: bool,
    /// Whether to show the page once and end.
    pub(super) once: bool,
    /// After how long without progress `--exit` gives up waiting.
    pub(super) patience: Duration,
    pub(super) dump: Option<PathBuf>,
}

/// Follows the parts, given in the order of their start. The page shows the last one first: it builds on the others.
pub(super) async fn follow(
    parts: &[Box<dyn Part>],
    options: &Options,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let terminal = Term::buffered_stdout();
    let live = !options.once && terminal.is_term() && !console::is_dumb();
    for part in parts {
        part.ready().await?;
    }
    let (sender, news) = channel(NEWS);
    let sender = News(sender);
    let screen = live.then(|| Screen::new(terminal));
    let (recent, time) = (VecDeque::new(), LocalTime::system());
    let mut follower = Follower { parts, options, news, recent, time, screen };
    if !live {
        out.line(&follower.page().whole().join("\n")).await?;
    }
    if options.once {
        return follower.dump().await.map(|()| Ending::Done);
    }
    let running = select_all(parts.iter().map(|part| part.run(&sender)));
    tokio::select! {
        biased;
        (error, ..) = running => Err(error),
        ended = Box::pin(follower.until_recounted(out)) => ended,
    }
}

struct Follower<'a> {
    parts: &'a [Box<dyn Part>],
    options: &'a Options,
    news: Receiver<String>,
    /// The latest events, oldest first.
    recent: VecDeque<String>,
    time: LocalTime,
    screen: Option<Screen>,
}

impl Follower<'_> {
    async fn until_recounted(&mut self, out: &mut Out) -> anyhow::Result<Ending> {
        self.until_done(out).await?;
        self.draw()?;
        let mut trouble = Vec::new();
        for part in self.parts {
            let calm = part.calm().await;
            trouble.extend(calm.trouble);
            if let Some(line) = calm.news {
                self.tell(&line, out).await?;
            }
        }
        let (settled, left) = self.settle(out).await?;
        drop(self.screen.take());
        self.recount(settled, left, &trouble.join(" and "), out).await
    }

    /// Returns once nothing more is awaited, or nothing happens any more, if that was asked for.
    async fn until_done(&mut self, out: &mut Out) -> anyhow::Result<()> {
        let [mut draw, mut progress, mut said] = [Instant::now(); 3];
        let mut least = u64::MAX;
        loop {
            let left = self.parts.iter().map(|part| part.awaited().left).sum();
            if self.options.exit && left == 0 {
                return Ok(());
            }
            if left < least {
                (least, progress) = (left, Instant::now());
            }
            tokio::select! {
                biased;
                () = sleep_until(draw), if self.screen.is_some() => {
                    self.draw()?;
                    draw = Instant::now() + TICK;
                }
                line = self.news.recv() => {
                    self.tell(&line.context("all parts have ended")?, out).await?;
                    said = Instant::now();
                }
                () = sleep_until(said + QUIET), if self.screen.is_none() => {
                    for line in self.parts.iter().filter_map(|part| part.awaited().line) {
                        out.line(&format!("{} {line}", self.now())).await?;
                    }
                    said = Instant::now();
                }
                () = sleep_until(progress + self.options.patience), if self.options.exit => return Ok(()),
            }
        }
    }

    /// Waits until no part has leftovers: how long that took, if any could have, and what is left all the same.
    async fn settle(&mut self, out: &mut Out) -> anyhow::Result<(Option<Duration>, Vec<String>)> {
        let start = Instant::now();
        let mut said = start;
        loop {
            let mut found = None;
            for part in self.parts {
                if let Some(left) = part.leftovers().await? {
                    found.get_or_insert_with(Vec::new).extend(left);
                }
            }
            while let Ok(line) = self.news.try_recv() {
                self.tell(&line, out).await?;
            }
            let Some(found) = found else { return Ok((None, Vec::new())) };
            self.draw()?;
            if found.is_empty() || start.elapsed() > SETTLING {
                return Ok((Some(start.elapsed()), found));
            }
            if said.elapsed() > QUIET {
                self.tell(&found.join("; "), out).await?;
                said = Instant::now();
            }
            sleep(LOOK).await;
        }
    }

    async fn recount(
        &mut self,
        settled: Option<Duration>,
        left: Vec<String>,
        trouble: &str,
        out: &mut Out,
    ) -> anyhow::Result<Ending> {
        let mut recounts = Vec::new();
        for part in self.parts {
            recounts.push(part.recount(settled).await?);
        }
        self.dump().await?;
        for table in recounts.iter().filter_map(|recount| recount.table.as_ref()) {
            out.line(&format!("\n{table}\n")).await?;
        }
        if !trouble.is_empty() {
            out.line(&format!("trouble      {trouble} got into it on purpose")).await?;
        }
        let wrong: Vec<_> = recounts.iter().flat_map(|recount| &recount.wrong).chain(&left).collect();
        for line in &wrong {
            out.line(&format!("wrong        {line}")).await?;
        }
        if !wrong.is_empty() {
            return Ok(Ending::Failed);
        }
        for line in recounts.iter().filter_map(|recount| recount.well.as_ref()) {
            out.line(&format!("recounted    {line}")).await?;
        }
        Ok(Ending::Done)
    }

    fn now(&self) -> String {
        self.time.of_day(self.time.now())
    }

    async fn tell(&mut self, line: &str, out: &mut Out) -> anyhow::Result<()> {
        let line = format!("{} {line}", self.now());
        if self.screen.is_none() {
            out.line(&line).await?;
        }
        self.recent.push_back(line);
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
        Ok(())
    }

    fn page(&self) -> Page {
        Page::of(self.parts.iter().rev().map(|part| part.shown()), &self.recent)
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let page = self.page();
        if let Some(screen) = &mut self.screen {
            screen.draw(&page.within(screen.rows()))?;
        }
        Ok(())
    }

    /// Writes what the parts hold, if that is asked for.
    async fn dump(&self) -> anyhow::Result<()> {
        let Some(folder) = &self.options.dump else { return Ok(()) };
        for part in self.parts {
            if let Some((name, text)) = part.dump().await? {
                let path = folder.join(name);
                std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }
}
