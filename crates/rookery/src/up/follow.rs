//! Feeds jobs, shows what becomes of them, and counts again in the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use console::Term;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_cds_sim::Notice;
use rookery_daemon::Supervisor;
use rookery_hatchery::report::Report;
use rookery_hatchery::run::{Lock, Policy};
use rookery_vim_sim::Body;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::control::Control;
use super::endpoint_kind::EndpointKind;
use super::order::Order;
use super::page::Page;
use super::samples::Samples;
use super::screen::Screen;
use super::stack::{NAME, Stack};
use super::tally::{Tally, seconds};
use super::{Args, page, recount, teardown, trouble, watch};
use crate::Ending;
use crate::hatchery::{hostname, runtime};
use crate::output::{LocalTime, Out, remark};
use crate::session::signals;
use crate::settings::Loaded;
use crate::sim::REACH_OF_LOCAL_GUESTS;

/// How often the screen is drawn.
pub(super) const TICK: Duration = Duration::from_millis(500);
/// How many events are remembered.
pub(super) const RECENT: usize = 10;
/// How long nothing is said before somebody wonders.
const QUIET: Duration = Duration::from_secs(15);
/// How long no job ends before something must be wrong.
const PATIENCE: Duration = Duration::from_mins(5);
/// The same where machines take as long as they do.
const LONG_PATIENCE: Duration = Duration::from_mins(30);
/// How long what is left may take to go after the last job.
const SETTLING: Duration = Duration::from_mins(3);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long the listeners for signals get to end.
const SIGNALS_END: Duration = Duration::from_secs(1);
/// How long a start that a signal interrupts may go on: the session that it may have made must be ended.
const START_GRACE: Duration = Duration::from_secs(5);

/// Runs a hatchery between two ends until a signal comes, or until all jobs have ended.
pub(super) async fn run(args: &Args, loaded: &Loaded, out: &mut Out) -> anyhow::Result<Ending> {
    let listeners = Supervisor::new();
    let stop = signals::listen(&listeners).await;
    let ended = Box::pin(run_until(args, loaded, &stop, out)).await;
    listeners.shutdown(SIGNALS_END).await.ok();
    ended
}

async fn run_until(
    args: &Args,
    loaded: &Loaded,
    stop: &CancellationToken,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    if let Some(folder) = &args.dump {
        // Now, and not after all jobs.
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // Not dropped at a signal: it may be logged in somewhere.
    let Some(order) = Box::pin(Order::of(args, loaded, stop)).await? else { return Ok(Ending::Interrupted) };
    if let (EndpointKind::Simulated(_), EndpointKind::Real(cds)) = (&order.vcenter, &order.cds) {
        remark(&format!("jobs of the CDS at {cds} run on this machine. {REACH_OF_LOCAL_GUESTS}"));
    }
    let (instance, lock) = alone(&order, stop).await?;
    let Some(stack) = start(&order, &instance, args.seed, stop).await? else {
        return Ok(Ending::Interrupted);
    };
    let control = Control::open(&stack, lock, stop).await;
    let asked = control.is_open.then_some(stack.settings.identity.name.as_str());
    let hints = page::hints(stack.endpoints(), asked, loaded.default_file.as_deref());
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        ended = Box::pin(work(&stack, &order, args, &hints, out)) => Some(ended),
    };
    // The live view is ended by a signal; a batch of jobs that was cut short is not done.
    let ended = ended.unwrap_or(Ok(if args.exit { Ending::Interrupted } else { Ending::Done }));
    match (&order.vcenter, &order.cds) {
        (EndpointKind::Real(_), EndpointKind::Simulated(_)) => {
            let claim = teardown::Teardown::of(&stack, &order);
            let parted = Box::pin(teardown::from_vcenter(stack, &claim, out)).await;
            // What went wrong first is told; the rest was shown.
            match ended? {
                Ending::Done => parted,
                other @ (Ending::Failed | Ending::Interrupted | Ending::Exited(_)) => parted.map(|_| other),
            }
        }
        (EndpointKind::Simulated(_), EndpointKind::Real(_)) => {
            teardown::from_cds(stack).await;
            ended
        }
        (EndpointKind::Simulated(_), EndpointKind::Simulated(_))
        | (EndpointKind::Real(_), EndpointKind::Real(_)) => {
            stack.stop().await;
            ended
        }
    }
}

/// What tells this hatchery from others of its name, and what keeps a second one from this machine if anybody else could
/// see them. One that was killed is known again by the place of its lock.
async fn alone(order: &Order, stop: &CancellationToken) -> anyhow::Result<(String, Option<Lock>)> {
    let Some(name) = order.seen_by_others()? else {
        return Ok((format!("up-{}", std::process::id()), None));
    };
    let folder = runtime()?;
    let lock = Lock::take(&folder, &name, Policy::Refuse, stop).await?;
    Ok((format!("{}:{}", hostname(), folder.display()), Some(lock)))
}

/// Starts it; none if a signal came first.
async fn start(
    order: &Order,
    instance: &str,
    seed: u64,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Stack>> {
    let supervisor = Supervisor::new();
    let mut starting = Box::pin(Stack::start(order, instance, seed, &supervisor));
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        started = &mut starting => return started.map(Some),
    }
    supervisor.token().cancel();
    // It may have logged in somewhere, and has made nothing yet.
    if let Ok(Ok(stack)) = timeout(START_GRACE, starting).await {
        stack.stop().await;
    }
    Ok(None)
}

async fn work(
    stack: &Stack,
    order: &Order,
    args: &Args,
    hints: &[String],
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let terminal = Term::buffered_stdout();
    let once = args.exit && args.jobs.is_none();
    let live = !once && terminal.is_term() && !console::is_dumb();
    let mut report = stack.hatchery.board.report.clone();
    report.wait_for(|report| report.complete).await.context("the hatchery has ended")?;
    let screen = live.then(|| Screen::new(terminal));
    let (EndpointKind::Simulated(cds), EndpointKind::Simulated(samples)) = (&stack.cds, &order.cds) else {
        return watch::run(stack, args, hints, screen, out).await;
    };
    let random = StdRng::seed_from_u64(args.seed);
    let flavors = stack.settings.flavors.iter().map(|flavor| flavor.name.clone()).collect();
    let (kinds, region) = (samples.kinds.clone(), samples.region.clone());
    let mut follower = Follower {
        stack,
        cds,
        args,
        hints,
        notices: cds.notices(),
        samples: Samples::new(random, args.fail_every, kinds, flavors, region),
        tally: Tally::default(),
        recent: VecDeque::new(),
        time: LocalTime::system(),
        trouble: None,
        screen,
    };
    if once || !live {
        out.line(&follower.page().whole().join("\n")).await?;
    }
    if once {
        return dump(stack, args).await.map(|()| Ending::Done);
    }
    let jobs = follower.until_all_have_ended(out);
    let jobs = async {
        if args.faults {
            tokio::select! {
                biased;
                ended = jobs => ended,
                () = trouble::make(stack, StdRng::seed_from_u64(args.seed)) => Ok(()),
                () = trouble::confirm(stack) => Ok(()),
            }
        } else {
            jobs.await
        }
    };
    Box::pin(jobs).await?;
    let met = trouble::end(stack).await;
    follower.trouble = args.faults.then_some(met);
    if stack.vcenter.is_real() {
        // What is left there is looked at when all has ended.
        drop(follower.screen.take());
        follower.judge(Vec::new(), "", out).await
    } else if args.faults {
        tokio::select! {
            biased;
            settled = follower.settle(out) => settled,
            () = trouble::confirm(stack) => Ok(Ending::Done),
        }
    } else {
        follower.settle(out).await
    }
}

/// What has been fed and seen.
struct Follower<'a> {
    stack: &'a Stack,
    cds: &'a rookery_cds_sim::Running,
    args: &'a Args,
    hints: &'a [String],
    notices: Receiver<Notice>,
    samples: Samples,
    tally: Tally,
    recent: VecDeque<String>,
    time: LocalTime,
    /// Which calls got into trouble on purpose, once there is no more of it.
    trouble: Option<String>,
    screen: Option<Screen>,
}

impl Follower<'_> {
    /// Feeds and follows; ends once there is nothing more to feed or to wait for, and that was asked for.
    async fn until_all_have_ended(&mut self, out: &mut Out) -> anyhow::Result<()> {
        let wanted = self.args.jobs.map(u64::from);
        let patience = if self.stack.vcenter.is_real() { LONG_PATIENCE } else { PATIENCE };
        let [mut feed, mut draw, mut progress, mut said] = [Instant::now(); 4];
        loop {
            let more = wanted.is_none_or(|wanted| self.samples.made() < wanted);
            let ended = self.tally.counts().ended();
            if self.args.exit && !more && wanted.is_some_and(|wanted| ended as u64 >= wanted) {
                return self.draw();
            }
            tokio::select! {
                biased;
                ended = self.stack.hatchery.ended() => return Err(ended.into()),
                () = sleep_until(draw), if self.screen.is_some() => {
                    self.draw()?;
                    draw = Instant::now() + TICK;
                }
                () = sleep_until(feed), if more => {
                    let job = self.samples.next();
                    self.cds.enqueue(job).await.context("the simulated CDS has ended")?;
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
                () = sleep_until(progress + patience), if self.args.exit => return self.draw(),
            }
        }
    }

    /// What a notice tells.
    async fn heard(&mut self, notice: Result<Notice, RecvError>) -> anyhow::Result<Vec<String>> {
        let jobs = match notice {
            Ok(Notice::Job { id, .. }) => self.cds.job(&id).await.into_iter().collect(),
            Ok(Notice::Worker { .. }) => return Ok(Vec::new()),
            Err(RecvError::Lagged(_)) => self.cds.jobs().await.unwrap_or_default(),
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
        Arc::clone(&self.stack.hatchery.board.report.borrow())
    }

    fn page(&self) -> Page {
        let report = self.report();
        Page::of(&page::View {
            endpoints: self.stack.endpoints(),
            jobs: self.args.jobs.map(u64::from),
            faults: self.args.faults,
            guests: self.stack.guests,
            tally: Some(&self.tally),
            report: &report,
            recent: &self.recent,
            hints: self.hints,
        })
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        let page = self.page();
        if let Some(screen) = &mut self.screen {
            screen.draw(&page.within(screen.rows()))?;
        }
        Ok(())
    }

    /// Tells something beside what happens to jobs.
    async fn say(&mut self, what: &str, out: &mut Out) -> anyhow::Result<()> {
        let line = format!("{} {what}", self.now());
        if self.screen.is_none() {
            out.line(&line).await?;
        }
        self.recent.push_back(line);
        Ok(())
    }

    /// Waits until nothing is left, counts again from the simulators, and tells.
    async fn settle(&mut self, out: &mut Out) -> anyhow::Result<Ending> {
        let last = Instant::now();
        let open = self.samples.made() - self.tally.counts().ended() as u64;
        let jobs =
            if open == 0 { "all jobs have ended".to_owned() } else { format!("{open} jobs do not end") };
        self.say(&format!("{jobs}; waiting until their machines have gone"), out).await?;
        let mut said = last;
        let leaks = loop {
            let found = timeout(SETTLING, self.leaks()).await;
            let found = found.context("the simulated vCenter does not answer")??;
            self.draw()?;
            if found.is_empty() || last.elapsed() > SETTLING {
                break found;
            }
            if said.elapsed() > QUIET {
                self.say(&found.join("; "), out).await?;
                said = Instant::now();
            }
            sleep(LOOK).await;
        };
        drop(self.screen.take());
        let settled = seconds(jiff::SignedDuration::try_from(last.elapsed())?);
        let well = format!("; no machine and no address left behind, {settled} after the last job");
        self.judge(leaks, &well, out).await
    }

    /// Counts again from the simulated CDS, and tells: what is wrong with the jobs and otherwise, or that all is `well`.
    async fn judge(&mut self, leaks: Vec<String>, well: &str, out: &mut Out) -> anyhow::Result<Ending> {
        let jobs = self.cds.jobs().await.context("the simulated CDS has ended")?;
        let mut tally = Tally::default();
        for job in &jobs {
            tally.note(job);
        }
        let mut wrong = recount::failures(&jobs, self.samples.made(), !self.args.faults);
        wrong.extend(leaks);
        dump(self.stack, self.args).await?;
        out.line(&format!("\n{}\n", tally.table())).await?;
        if let Some(calls) = &self.trouble {
            out.line(&format!("trouble      {calls} got into it on purpose")).await?;
        }
        for line in wrong.iter().map(|line| format!("wrong        {line}")) {
            out.line(&line).await?;
        }
        if !wrong.is_empty() {
            return Ok(Ending::Failed);
        }
        let counts = tally.counts();
        let noun = if counts.ended() == 1 { "result" } else { "results" };
        let results = format!("{} {noun}, {} of them good", counts.ended(), counts.success);
        out.line(&format!("recounted    {results}{well}")).await?;
        Ok(Ending::Done)
    }

    async fn leaks(&self) -> anyhow::Result<Vec<String>> {
        let dump = vcenter_dump(self.stack).await?;
        recount::leaks(&dump, NAME, &self.report())
    }
}

async fn vcenter_dump(stack: &Stack) -> anyhow::Result<String> {
    let vcenter = stack.vcenter.simulated().context("a real vCenter gives no dump")?;
    let reply = vcenter.control(rookery_vim_sim::Control::Dump).await;
    match reply.context("the simulated vCenter has ended")?.body {
        Body::Text(text) => Ok(text),
        Body::Bytes(_) | Body::Head(_) | Body::Aside(_) | Body::Cut | Body::Slow(..) => {
            bail!("the simulated vCenter gives no dump")
        }
    }
}

/// Writes what the simulators hold, if that is asked for.
pub(super) async fn dump(stack: &Stack, args: &Args) -> anyhow::Result<()> {
    let Some(folder) = &args.dump else { return Ok(()) };
    let mut files = Vec::new();
    if !stack.vcenter.is_real() {
        files.push(("vcenter.json", vcenter_dump(stack).await?));
    }
    if let Some(cds) = stack.cds.simulated() {
        let dump =
            cds.control(rookery_cds_sim::Control::Dump).await.context("the simulated CDS has ended")?;
        files.push(("cds.json", dump.value().to_string()));
    }
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
