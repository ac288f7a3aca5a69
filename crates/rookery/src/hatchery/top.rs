//! `rookery hatchery top`: a hatchery that runs on this machine, asked about once a second.

mod changes;
pub(crate) mod shown;
mod starts;

use std::time::Duration;

use anyhow::anyhow;
use jiff::{SignedDuration, Timestamp};
use rookery_hatchery::surface::control::{Answer, Request};
use rookery_hatchery::surface::report::{JobLine, JobState, Status};
use tokio::time::{Instant, sleep, timeout};

use super::ask::Target;
use crate::Ending;
use crate::live::model::{Fact, Section};
use crate::live::{Audience, Model, Page, on_page, took};
use crate::output::{LocalTime, Out, OutputError, printable};
use crate::session::signals;
use changes::{Answers, changes};
pub(crate) use starts::Starts;

/// How often it is asked.
const TICK: Duration = Duration::from_secs(1);
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long CDS is asked how a job has ended.
const ENDED: SignedDuration = SignedDuration::from_mins(1);
/// How often, at most.
const ASKING: Duration = Duration::from_secs(5);

/// The arguments of `hatchery top`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

/// Goes on until a signal comes.
pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let audience = Audience::of_stdout();
    on_page(audience, out, async |page| {
        signals::heeding(async |stop| {
            let (abandoned, mut watched) = (page.abandoned(), None);
            let ended = tokio::select! {
                biased;
                () = stop.cancelled() => Ok(Ending::Done),
                () = abandoned => Err(OutputError::ReaderGone.into()),
                ended = follow(&args.target, page, &mut watched) => ended,
            }?;
            if let Some(watched) = watched.filter(|_| audience == Audience::Person) {
                page.result(&watched.summary()).await?;
            }
            Ok(ended)
        })
        .await
    })
    .await
}

/// What was seen since the beginning.
#[derive(Debug)]
struct Watched {
    since: Instant,
    last: Answers,
    changes: usize,
    starts: Starts,
    /// Since when it does not answer.
    silent: Option<Instant>,
    /// When CDS was asked last how jobs have ended.
    asked: Option<Instant>,
}

impl Watched {
    fn summary(&self) -> String {
        let (name, counts) = (printable(&self.last.status.name), self.last.status.counts);
        let noun = if self.changes == 1 { "change" } else { "changes" };
        let starts = self.starts.all();
        let starts =
            if starts.count() == 0 { String::new() } else { format!("\nstart time   {}", starts.in_words()) };
        format!(
            "watched hatchery {name} for {}: {} {noun}; {} wait in the queue, {} machines run{starts}",
            took(self.since.elapsed()),
            self.changes,
            counts.queued,
            counts.running
        )
    }
}

async fn follow(
    target: &Target,
    page: &mut Page<'_>,
    watched: &mut Option<Watched>,
) -> anyhow::Result<Ending> {
    let name = target.resolved().await?;
    let time = LocalTime::system();
    // Whoever asks for one that does not run is told so at once.
    let (status, jobs) = (name.status().await?, jobs(&name, &Request::KnownJobs).await?);
    let mut starts = Starts::default();
    starts.note(&jobs);
    let last = Answers { status, jobs };
    let seen = watched.insert(Watched {
        since: Instant::now(),
        last,
        changes: 0,
        starts,
        silent: None,
        asked: None,
    });
    loop {
        page.show(model(seen, &time)).await?;
        sleep(TICK).await;
        match look(&name, seen).await {
            Ok(latest) => {
                if let Some(since) = seen.silent.take() {
                    let after = took(since.elapsed());
                    page.happened(&format!("the hatchery answers again after {after}")).await?;
                }
                for line in changes(&seen.last, &latest) {
                    page.happened(&line).await?;
                    seen.changes += 1;
                }
                seen.starts.note(&latest.jobs);
                seen.last = latest;
            }
            Err(error) => {
                if seen.silent.is_none() {
                    seen.silent = Some(Instant::now());
                    let why = rookery_daemon::telemetry::chain(error.as_ref());
                    page.happened(&format!("the hatchery does not answer: {}", printable(&why))).await?;
                }
            }
        }
    }
}

/// Asks it again; of jobs only if anything has changed. How jobs have ended CDS is asked as well, which may take its time,
/// or not answer: what the hatchery itself says is shown all the same.
async fn look(name: &Target, seen: &mut Watched) -> anyhow::Result<Answers> {
    let late = || anyhow!("there is no answer within {}", took(PATIENCE));
    let status = timeout(PATIENCE, name.status()).await.map_err(|_| late())??;
    let last = &seen.last;
    let still = |status: &Status| Status { at: Timestamp::UNIX_EPOCH, skew_ms: None, ..status.clone() };
    let open = last.jobs.iter().any(|line| {
        let lately = line.ended.is_some_and(|ended| status.at.duration_since(ended) < ENDED);
        lately && line.status.is_none()
    });
    let asks_cds = open && seen.asked.is_none_or(|asked| asked.elapsed() >= ASKING);
    if still(&status) == still(&last.status) && !asks_cds {
        return Ok(Answers { status, jobs: last.jobs.clone() });
    }
    if asks_cds {
        seen.asked = Some(Instant::now());
    }
    let request = if asks_cds { Request::Jobs } else { Request::KnownJobs };
    let jobs = timeout(PATIENCE, jobs(name, &request)).await;
    let jobs = jobs.ok().transpose()?.unwrap_or_else(|| last.jobs.clone());
    Ok(Answers { status, jobs })
}

async fn jobs(name: &Target, request: &Request) -> anyhow::Result<Vec<JobLine>> {
    let Answer::Jobs(jobs) = name.answer(request).await? else {
        return Err(super::ask::unexpected_answer());
    };
    Ok(jobs)
}

fn model(watched: &Watched, time: &LocalTime) -> Model {
    let Answers { status, jobs } = &watched.last;
    let count = |wanted: JobState| jobs.iter().filter(|line| line.state == wanted).count();
    let taking = if status.draining { "drained" } else { "taking jobs" };
    let since = format!("{} (version {}, since {:.0})", status.name, status.version, status.started);
    let mut state = vec![
        Section::Queue(vec![
            (status.counts.queued, "wait"),
            (count(JobState::Starting), "are taken"),
            (count(JobState::Served), "are served"),
        ]),
        Section::Starts(watched.starts.all()),
        shown::states(status),
    ];
    state.extend(shown::capacity(status));
    state.push(Section::Fact(Fact::new("hatchery", printable(&since))));
    state.push(Section::Fact(Fact::new("looked at", format!("{}, {taking}", time.of_day(status.at)))));
    let silent = watched.silent.map(|since| {
        let ago = took(since.elapsed());
        Fact::new("no answer", format!("the hatchery does not answer for {ago}; this is what it said last"))
    });
    Model {
        title: format!("hatchery {}", printable(&status.name)),
        state,
        attention: silent.into_iter().chain(shown::attention(status)).collect(),
        queue: Some(shown::queue(status, jobs, time)),
        machines: Some(shown::machines(status)),
        hints: hints(&status.name),
        ending: String::new(),
    }
}

/// Commands that tell more.
fn hints(name: &str) -> Vec<String> {
    let name = printable(name);
    vec![
        format!("try it       rookery explain JOB --name {name}; rookery hatchery status --name {name}"),
        format!("             rookery hatchery drain --name {name}; rookery vm holds --name {name}"),
    ]
}

#[cfg(test)]
mod tests;
