//! Follows the parts of `up`: shows them until a signal comes, or until what `--exit` waits for is done; then waits until
//! nothing is left, and lets all parts recount.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use futures_util::future::select_all;
use futures_util::stream::{self, LocalBoxStream};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep, sleep_until};

use super::part::{News, Part};
use crate::Ending;
use crate::live::{Audience, Model, Page};

/// How long what is shown stays at least.
const TICK: Duration = Duration::from_millis(250);
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
    page: &mut Page<'_>,
) -> anyhow::Result<Ending> {
    for part in parts {
        part.ready().await?;
    }
    let (sender, news) = channel(NEWS);
    let sender = News(sender);
    let changes = stream::select_all(parts.iter().map(|part| part.changes())).boxed_local();
    let mut follower = Follower { parts, options, news, changes, page };
    follower.show().await?;
    if options.once {
        return follower.dump().await.map(|()| Ending::Done);
    }
    let running = select_all(parts.iter().map(|part| part.run(&sender)));
    tokio::select! {
        biased;
        (error, ..) = running => Err(error),
        ended = Box::pin(follower.until_recounted()) => ended,
    }
}

struct Follower<'a, 'o> {
    parts: &'a [Box<dyn Part>],
    options: &'a Options,
    news: Receiver<String>,
    changes: LocalBoxStream<'static, ()>,
    page: &'a mut Page<'o>,
}

impl Follower<'_, '_> {
    async fn until_recounted(&mut self) -> anyhow::Result<Ending> {
        self.until_done().await?;
        self.show().await?;
        let mut trouble = Vec::new();
        for part in self.parts {
            let calm = part.calm().await;
            trouble.extend(calm.trouble);
            if let Some(line) = calm.news {
                self.page.happened(&line).await?;
            }
        }
        let (settled, left) = self.settle().await?;
        self.recount(settled, left, &trouble.join(" and ")).await
    }

    /// Returns once nothing more is awaited, or nothing happens any more, if that was asked for.
    async fn until_done(&mut self) -> anyhow::Result<()> {
        let [mut due, mut progress, mut said] = [Instant::now(); 3];
        let (mut least, mut is_dirty) = (u64::MAX, false);
        let is_read = self.page.audience() == Audience::Reader;
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
                () = sleep_until(due), if is_dirty => {
                    self.show().await?;
                    (is_dirty, due) = (false, Instant::now() + TICK);
                }
                line = self.news.recv() => {
                    self.page.happened(&line.context("all parts have ended")?).await?;
                    (is_dirty, said) = (!is_read, Instant::now());
                }
                Some(()) = self.changes.next() => is_dirty = !is_read,
                () = sleep_until(said + QUIET), if is_read => {
                    for line in self.parts.iter().filter_map(|part| part.awaited().line) {
                        self.page.happened(&line).await?;
                    }
                    said = Instant::now();
                }
                () = sleep_until(progress + self.options.patience), if self.options.exit => return Ok(()),
            }
        }
    }

    /// Waits until no part has leftovers: how long that took, if any could have, and what is left all the same.
    async fn settle(&mut self) -> anyhow::Result<(Option<Duration>, Vec<String>)> {
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
                self.page.happened(&line).await?;
            }
            let Some(found) = found else { return Ok((None, Vec::new())) };
            self.show().await?;
            if found.is_empty() || start.elapsed() > SETTLING {
                return Ok((Some(start.elapsed()), found));
            }
            if said.elapsed() > QUIET {
                self.page.happened(&found.join("; ")).await?;
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
    ) -> anyhow::Result<Ending> {
        let mut recounts = Vec::new();
        for part in self.parts {
            recounts.push(part.recount(settled).await?);
        }
        self.dump().await?;
        for table in recounts.iter().filter_map(|recount| recount.table.as_ref()) {
            self.page.result(&format!("\n{table}\n")).await?;
        }
        if !trouble.is_empty() {
            self.page.result(&format!("trouble      {trouble} got into it on purpose")).await?;
        }
        let wrong: Vec<_> = recounts.iter().flat_map(|recount| &recount.wrong).chain(&left).collect();
        for line in &wrong {
            self.page.result(&format!("wrong        {line}")).await?;
        }
        if !wrong.is_empty() {
            return Ok(Ending::Failed);
        }
        for line in recounts.iter().filter_map(|recount| recount.well.as_ref()) {
            self.page.result(&format!("recounted    {line}")).await?;
        }
        Ok(Ending::Done)
    }

    async fn show(&mut self) -> anyhow::Result<()> {
        let parts = self.parts.iter().rev().map(|part| part.shown());
        let model = parts.reduce(Model::and).unwrap_or_default();
        Ok(self.page.show(model).await?)
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
