//! What `up` runs is a list of parts. It starts them one after the other, shows them on one page, waits for what each of
//! them wants to see done before `--exit` and lets it recount, and stops them in the reverse order.
//!
//! To add a part: implement [`Part`] in a file of its own, and start it in the list of `stack.rs`.

use std::future::{pending, ready};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{self, LocalBoxStream};
use tokio::sync::mpsc::Sender;

use crate::Ending;
use crate::live::{Model, Page};

/// One thing that `up` runs. What has a default is of no concern to most parts.
pub(super) trait Part {
    /// What it is, for whoever waits until it has stopped.
    fn name(&self) -> &'static str;

    /// Waits until there is something to show.
    fn ready(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        Box::pin(ready(Ok(())))
    }

    fn shown(&self) -> Model {
        Model::default()
    }

    /// When it may show something else, beside what it tells as news.
    fn changes(&self) -> LocalBoxStream<'static, ()> {
        Box::pin(stream::pending())
    }

    /// What was achieved, in lines for when the page has gone.
    fn summary(&self) -> Vec<String> {
        Vec::new()
    }

    /// Does what the part does by itself, such as feeding jobs, until it is dropped. Returns only why it cannot go on.
    fn run<'a>(&'a self, _news: &'a News) -> LocalBoxFuture<'a, anyhow::Error> {
        Box::pin(pending())
    }

    /// What `--exit` waits for first. A part tells news when that changes.
    fn awaited(&self) -> Awaited {
        Awaited::default()
    }

    /// Starts nothing more: what `--exit` waited for is done, or takes too long.
    fn calm(&self) -> LocalBoxFuture<'_, Calm> {
        Box::pin(ready(Calm::default()))
    }

    /// What `--exit` waits for then: what is still there and should go. `None` if the part leaves nothing behind.
    fn leftovers(&self) -> LocalBoxFuture<'_, anyhow::Result<Option<Vec<String>>>> {
        Box::pin(ready(Ok(None)))
    }

    /// Counts again from the source. `settled` is how long it took until no part had leftovers, if any could have.
    fn recount(&self, _settled: Option<Duration>) -> LocalBoxFuture<'_, anyhow::Result<Recount>> {
        Box::pin(ready(Ok(Recount::default())))
    }

    /// The name and content of the file that `--dump` writes.
    fn dump(&self) -> LocalBoxFuture<'_, anyhow::Result<Option<(&'static str, String)>>> {
        Box::pin(ready(Ok(None)))
    }

    /// Stops it and removes what it must not leave behind. One whose start was interrupted has made nothing: whatever is
    /// there was there before.
    fn stop<'p>(
        self: Box<Self>,
        removal: Removal,
        page: &'p mut Page<'_>,
    ) -> LocalBoxFuture<'p, anyhow::Result<Ending>>;
}

/// Whether a part that is stopped removes what it made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// It has made nothing.
    Nothing,
    WhatItMade,
}

/// What `--exit` waits for.
#[derive(Debug, Clone, Default)]
pub(super) struct Awaited {
    /// How much is not done.
    pub(super) left: u64,
    /// The same in words, for whoever reads a pipe.
    pub(super) line: Option<String>,
}

/// What a part says when it starts nothing more.
#[derive(Debug, Clone, Default)]
pub(super) struct Calm {
    pub(super) news: Option<String>,
    /// Which calls a fault was injected into.
    pub(super) trouble: Option<String>,
}

/// What counting again has shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Recount {
    pub(super) table: Option<String>,
    pub(super) wrong: Vec<String>,
    /// What to say if nothing is wrong.
    pub(super) well: Option<String>,
}

/// Takes lines of what happens to the page.
#[derive(Debug, Clone)]
pub(super) struct News(pub(super) Sender<String>);

impl News {
    pub(super) async fn tell(&self, line: String) {
        // Nobody reads news any more when all is recounted.
        self.0.send(line).await.ok();
    }
}
