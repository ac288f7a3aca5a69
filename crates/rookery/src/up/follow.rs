//! Feeds jobs, shows what becomes of them, and counts again in the end.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use console::Term;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_cds_sim::Notice;
use rookery_daemon::Supervisor;
use rookery_hatchery::report::Report;
use rookery_vim_sim::Body;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::nest::{NAME, Nest};
use super::samples::Samples;
use super::screen::Screen;
use super::tally::{Tally, seconds};
use super::{Args, desk, page, recount, trouble};
use crate::Ending;
use crate::fleet::stop;
use crate::output::{LocalTime, Out};

/// How often the screen is drawn.
const TICK: Duration = Duration::from_millis(500);
/// How many events are remembered.
const RECENT: usize = 10;
/// How long nothing is said before somebody wonders.
const QUIET: Duration = Duration::from_secs(15);
/// How long no job ends before something must be wrong.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long what is left may take to go after the last job.
const SETTLING: Duration = Duration::from_mins(3);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long the listeners for signals get to end.
const SIGNALS_END: Duration = Duration::from_secs(1);

/// Runs both simulators and a hatchery until a signal comes, or until all jobs have ended.
pub(super) async fn run(args: &Args, default_file: Option<&Path>, out: &mut Out) -> anyhow::Result<Ending> {
    let listeners = Supervisor::new();
    let stop = stop::listen(&listeners).await;
    let started = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(Ending::Interrupted),
        started = start(args) => started?,
    };
    let desk = desk::open(&started, &stop).await;
    let urls = [&started.vcenter_url, &started.cds_url, &started.pages_url];
    let hints = page::hints(urls.map(String::as_str), desk.is_some(), default_file);
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        ended = work(&started, args, &hints, out) => Some(ended),
    };
    started.stop().await;
    listeners.shutdown(SIGNALS_END).await.ok();
    // The live view is ended by a signal; a batch of jobs that was cut short is not done.
    ended.unwrap_or(Ok(if args.exit { Ending::Interrupted } else { Ending::Done }))
}

async fn start(args: &Args) -> anyhow::Result<Nest> {
    Nest::start(args.guests.settle().await?, args.seed).await
}

async fn work(nest: &Nest, args: &Args, hints: &[String], out: &mut Out) -> anyhow::Result<Ending> {
    let terminal = Term::buffered_stdout();
    let once = args.exit && args.jobs.is_none();
    let live = !once && terminal.is_term() && !console::is_dumb();
    let mut follower = Follower {
        nest,
        args,
        hints,
        notices: nest.cds.notices(),
        samples: Samples::new(StdRng::seed_from_u64(args.seed), args.fail_every),
        tally: Tally::default(),
        recent: VecDeque::new(),
        time: LocalTime::system(),
        screen: live.then(|| Screen::new(terminal)),
    };
    let mut report = nest.hatchery.board.report.clone();
    report.wait_for(|report| report.complete).await.context("the hatchery has ended")?;
    if once || !live {
        out.line(&follower.page().join("\n")).await?;
    }
    if once {
        return dump(nest, args).await.map(|()| Ending::Done);
    }
    let jobs = follower.until_all_have_ended(out);
    let jobs = async {
        if args.faults {
            tokio::select! {
                biased;
                ended = jobs => ended,
                () = trouble::make(nest, StdRng::seed_from_u64(args.seed)) => Ok(()),
            }
        } else {
            jobs.await
        }
    };
    Box::pin(jobs).await?;
    trouble::end(nest).await;
    drop(follower.screen.take());
    follower.settle(out).await
}

/// What has been fed and seen.
struct Follower<'a> {
    nest: &'a Nest,
    args: &'a Args,
    hints: &'a [String],
    notices: Receiver<Notice>,
    samples: Samples,
    tally: Tally,
    recent: VecDeque<String>,
    time: LocalTime,
    screen: Option<Screen>,
}

impl Follower<'_> {
    /// Feeds and follows; ends once there is nothing more to feed or to wait for, and that was asked for.
    async fn until_all_have_ended(&mut self, out: &mut Out) -> anyhow::Result<()> {
        let wanted = self.args.jobs.map(u64::from);
        let [mut feed, mut draw, mut progress, mut said] = [Instant::now(); 4];
        loop {
            let more = wanted.is_none_or(|wanted| self.samples.made() < wanted);
            let ended = self.tally.counts().ended();
            if self.args.exit && !more && wanted.is_some_and(|wanted| ended as u64 >= wanted) {
                return self.draw();
            }
            tokio::select! {
                biased;
                () = self.nest.hatchery.over.cancelled() => bail!("CDS does not want the hatchery any more"),
                () = sleep_until(draw), if self.screen.is_some() => {
                    self.draw()?;
                    draw = Instant::now() + TICK;
                }
                () = sleep_until(feed), if more => {
                    let job = self.samples.next();
                    self.nest.cds.enqueue(job).await.context("the simulated CDS has ended")?;
                    feed += self.args.pace();
                }
                notice = self.notices.recv() => {
                    for line in self.heard(notice).await? {
                        if self.screen.is_none() {
                            out.line(&line).await?;
                            said = Instant::now();
                        }
                    }
                    if self.tally.counts().ended() > ended {
                        progress = Instant::now();
                    }
                }
                () = sleep_until(said + QUIET), if self.screen.is_none() => {
                    if let Some(open) = page::open(&self.tally, &self.report()) {
                        out.line(&format!("{} {open}", self.now())).await?;
                    }
                    said = Instant::now();
                }
                () = sleep_until(progress + PATIENCE), if self.args.exit => return self.draw(),
            }
        }
    }

    /// What a notice tells.
    async fn heard(&mut self, notice: Result<Notice, RecvError>) -> anyhow::Result<Vec<String>> {
        let jobs = match notice {
            Ok(Notice::Job { id, .. }) => self.nest.cds.job(&id).await.into_iter().collect(),
            Ok(Notice::Worker { .. }) => return Ok(Vec::new()),
            Err(RecvError::Lagged(_)) => self.nest.cds.jobs().await.unwrap_or_default(),
            Err(RecvError::Closed) => bail!("the simulated CDS has ended"),
        };
        let now = self.now();
        let lines: Vec<_> =
            jobs.iter().filter_map(|job| self.tally.note(job)).map(|line| format!("{now} {line}")).collect();
        self.recent.extend(lines.iter().cloned());
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
        Ok(lines)
    }

    fn now(&self) -> String {
        self.time.of_day(self.time.now())
    }

    fn report(&self) -> Arc<Report> {
        Arc::clone(&self.nest.hatchery.board.report.borrow())
    }

    fn page(&self) -> Vec<String> {
        let report = self.report();
        page::lines(&page::View {
            jobs: self.args.jobs.map(u64::from),
            faults: self.args.faults,
            guests: self.nest.guests,
            tally: &self.tally,
            report: &report,
            recent: &self.recent,
            hints: self.hints,
        })
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let page = self.page();
        if let Some(screen) = &mut self.screen {
            screen.draw(&page)?;
        }
        Ok(())
    }

    /// Waits until nothing is left, counts again from the simulators, and tells.
    async fn settle(&mut self, out: &mut Out) -> anyhow::Result<Ending> {
        let last = Instant::now();
        let leaks = async {
            let mut said = last;
            loop {
                let found = self.leaks().await?;
                if found.is_empty() || last.elapsed() > SETTLING {
                    return anyhow::Ok(found);
                }
                if said.elapsed() > QUIET {
                    out.line(&format!("{} all jobs have ended; {}", self.now(), found.join("; "))).await?;
                    said = Instant::now();
                }
                sleep(LOOK).await;
            }
        };
        let leaks =
            timeout(SETTLING + LOOK, leaks).await.context("the simulated vCenter does not answer")??;
        let jobs = self.nest.cds.jobs().await.context("the simulated CDS has ended")?;
        let mut tally = Tally::default();
        for job in &jobs {
            tally.note(job);
        }
        let mut wrong = recount::failures(&jobs, self.samples.made(), !self.args.faults);
        wrong.extend(leaks);
        dump(self.nest, self.args).await?;
        out.line(&format!("\n{}\n", tally.table())).await?;
        let settled = seconds(jiff::SignedDuration::try_from(last.elapsed())?);
        for line in wrong.iter().map(|line| format!("wrong        {line}")) {
            out.line(&line).await?;
        }
        if !wrong.is_empty() {
            return Ok(Ending::Failed);
        }
        let counts = tally.counts();
        out.line(&format!(
            "recounted    {} results, {} of them good; no machine and no address left behind, {settled} after the last job",
            counts.ended(),
            counts.success
        ))
        .await?;
        Ok(Ending::Done)
    }

    async fn leaks(&self) -> anyhow::Result<Vec<String>> {
        let dump = vcenter_dump(self.nest).await?;
        recount::leaks(&dump, NAME, &self.report())
    }
}

async fn vcenter_dump(nest: &Nest) -> anyhow::Result<String> {
    let reply = nest.vcenter.control(rookery_vim_sim::Control::Dump).await;
    match reply.context("the simulated vCenter has ended")?.body {
        Body::Text(text) => Ok(text),
        Body::Bytes(_) | Body::Head(_) | Body::Aside(_) | Body::Cut | Body::Slow(..) => {
            bail!("the simulated vCenter gives no dump")
        }
    }
}

/// Writes what both simulators hold, if that is asked for.
async fn dump(nest: &Nest, args: &Args) -> anyhow::Result<()> {
    let Some(folder) = &args.dump else { return Ok(()) };
    let cds =
        nest.cds.control(rookery_cds_sim::Control::Dump).await.context("the simulated CDS has ended")?;
    let files = [("vcenter.json", vcenter_dump(nest).await?), ("cds.json", cds.value().to_string())];
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
