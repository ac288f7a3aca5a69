//! Sample jobs as a part of `up`: fed to the simulated CDS, followed until they have ended, and recounted.

mod recount;
mod samples;
pub(super) mod tally;

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::num::NonZeroU64;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures_util::future::LocalBoxFuture;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_cds_sim::{Notice, Running};
use rookery_hatchery::surface::report::{Published, Status};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout};

use super::Hatchery;
use super::cds::Simulation;
use super::status;
use crate::Ending;
use crate::hatchery::top::shown;
use crate::live::model::{Jobs as Fed, Section, reasons};
use crate::live::{Model, Page, seconds};
use crate::output::LocalTime;
use crate::up::part::{Awaited, Calm, News, Part, Recount, Removal};
use crate::up::{Simulated, vcenter};
use samples::Samples;
use tally::Tally;

/// How long the simulated vCenter may take to dump its inventory.
const TELLING: Duration = Duration::from_mins(3);

pub(in crate::up) struct Jobs {
    cds: Running,
    published: Published,
    owner: String,
    /// Where leftovers are looked for; `None` for a real vCenter, where teardown looks.
    vcenter: Option<rookery_vim_sim::server::Running>,
    /// How many jobs are fed, if there is an end.
    wanted: Option<NonZeroU64>,
    pace: Duration,
    faults: bool,
    samples: RefCell<Samples>,
    tally: RefCell<Tally>,
    is_calm: Cell<bool>,
}

impl Jobs {
    pub(in crate::up) fn new(
        cds: Running,
        simulation: &Simulation,
        hatchery: &Hatchery,
        vcenter: Option<rookery_vim_sim::server::Running>,
        args: &Simulated,
    ) -> Self {
        let (kinds, region) = (simulation.kinds.clone(), simulation.sign_in.region.clone());
        let flavors = hatchery.settings.flavors.iter().map(|flavor| flavor.name.clone()).collect();
        let random = StdRng::seed_from_u64(args.seed);
        Self {
            cds,
            published: hatchery.published().clone(),
            owner: hatchery.settings.identity.name.clone(),
            vcenter,
            wanted: args.jobs,
            pace: args.pace(),
            faults: args.faults,
            samples: Samples { random, made: 0, fail_every: args.fail_every, kinds, flavors, region }.into(),
            tally: RefCell::default(),
            is_calm: Cell::default(),
        }
    }

    /// How many jobs there will be.
    fn all(&self) -> u64 {
        let made = self.samples.borrow().made;
        if self.is_calm.get() { made } else { self.wanted.map_or(made, NonZeroU64::get) }
    }

    fn left(&self) -> u64 {
        self.all().saturating_sub(self.tally.borrow().counts().ended() as u64)
    }

    /// Enqueues jobs and tells what happens to them.
    async fn work(&self, news: &News) -> anyhow::Result<Infallible> {
        let (mut notices, mut feed) = (self.cds.notices(), Instant::now());
        loop {
            let more = !self.is_calm.get()
                && self.wanted.is_none_or(|wanted| self.samples.borrow().made < wanted.get());
            tokio::select! {
                biased;
                () = sleep_until(feed), if more => {
                    if !self.is_calm.get() {
                        let job = self.samples.borrow_mut().next();
                        self.cds.enqueue(job).await.context("the simulated CDS has ended")?;
                        feed += self.pace;
                    }
                }
                notice = notices.recv() => {
                    for line in self.heard(notice).await? {
                        news.tell(line).await;
                    }
                }
            }
        }
    }

    /// Takes the jobs of a notice into the tally, and returns a line for each whose status has changed.
    async fn heard(&self, notice: Result<Notice, RecvError>) -> anyhow::Result<Vec<String>> {
        let jobs = match notice {
            Ok(Notice::Job { id, .. }) => self.cds.job(&id).await.into_iter().collect(),
            Ok(Notice::Worker { .. }) => return Ok(Vec::new()),
            Err(RecvError::Lagged(_)) => self.cds.jobs().await.unwrap_or_default(),
            Err(RecvError::Closed) => return Err(anyhow!("the simulated CDS has ended")),
        };
        let mut tally = self.tally.borrow_mut();
        Ok(jobs.iter().filter_map(|job| tally.note(job)).collect())
    }
}

impl Part for Jobs {
    fn name(&self) -> &'static str {
        "the jobs"
    }

    fn shown(&self) -> Model {
        shown(&self.tally.borrow(), self.wanted.map(NonZeroU64::get))
    }

    fn summary(&self) -> Vec<String> {
        let tally = self.tally.borrow();
        let fed = fed(&tally, self.wanted.map(NonZeroU64::get)).in_words();
        vec![format!("jobs         {fed}"), format!("start time   {}", tally.starts().in_words())]
    }

    fn run<'a>(&'a self, news: &'a News) -> LocalBoxFuture<'a, anyhow::Error> {
        Box::pin(async {
            let Err(error) = self.work(news).await;
            error
        })
    }

    fn awaited(&self) -> Awaited {
        Awaited { left: self.left(), line: open(&self.tally.borrow(), &status(&self.published)) }
    }

    fn calm(&self) -> LocalBoxFuture<'_, Calm> {
        self.is_calm.set(true);
        let jobs = match self.left() {
            0 => "all jobs have ended".to_owned(),
            left => format!("{left} jobs do not end"),
        };
        let waits = || format!("{jobs}; waiting until their machines have gone");
        let news = self.vcenter.is_some().then(waits);
        Box::pin(async { Calm { news, trouble: None } })
    }

    fn leftovers(&self) -> LocalBoxFuture<'_, anyhow::Result<Option<Vec<String>>>> {
        Box::pin(async {
            let Some(vcenter) = &self.vcenter else { return Ok(None) };
            let dump = timeout(TELLING, vcenter::dump(vcenter)).await;
            let dump = dump.context("the simulated vCenter does not answer")??;
            recount::leaks(&dump, &self.owner, &self.published.report.borrow()).map(Some)
        })
    }

    fn recount(&self, settled: Option<Duration>) -> LocalBoxFuture<'_, anyhow::Result<Recount>> {
        Box::pin(async move {
            let jobs = self.cds.jobs().await.context("the simulated CDS has ended")?;
            let mut tally = Tally::default();
            for job in &jobs {
                tally.note(job);
            }
            let wrong = recount::failures(&jobs, self.samples.borrow().made, !self.faults);
            let counts = tally.counts();
            let noun = if counts.ended() == 1 { "result" } else { "results" };
            let results = format!("{} {noun}, {} of them good", counts.ended(), counts.success);
            let well = match settled.map(seconds) {
                Some(after) => {
                    format!("{results}; no machine and no address left behind, {after} after the last job")
                }
                None => results,
            };
            Ok(Recount { table: Some(tally.table()), wrong, well: Some(well) })
        })
    }

    fn stop<'p>(
        self: Box<Self>,
        _: Removal,
        _: &'p mut Page<'_>,
    ) -> LocalBoxFuture<'p, anyhow::Result<Ending>> {
        Box::pin(async { Ok(Ending::Done) })
    }
}

/// The state of the jobs, for the page.
pub(super) fn shown(tally: &Tally, wanted: Option<u64>) -> Model {
    let counts = tally.counts();
    let queue = vec![(counts.waiting, "wait"), (counts.scheduling, "are taken"), (counts.building, "run")];
    let state =
        vec![Section::Jobs(fed(tally, wanted)), Section::Queue(queue), Section::Starts(tally.starts())];
    Model { state, ..Model::default() }
}

fn fed(tally: &Tally, wanted: Option<u64>) -> Fed {
    let counts = tally.counts();
    Fed { fed: counts.all(), wanted, succeeded: counts.success, failed: counts.failed }
}

/// The jobs that have not ended, in one line.
pub(super) fn open(tally: &Tally, status: &Status) -> Option<String> {
    let jobs = tally.counts();
    let open = jobs.all() - jobs.ended();
    let counts = format!("{} wait, {} are taken, {} run", jobs.waiting, jobs.scheduling, jobs.building);
    let queue = shown::queue(status, &[], &LocalTime::system());
    let why = reasons(&queue).first().map(|why| format!("; {why}")).unwrap_or_default();
    let jobs = if open == 1 { "job is" } else { "jobs are" };
    (open > 0).then(|| format!("{open} {jobs} open: {counts}{why}"))
}
