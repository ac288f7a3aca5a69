//! What is asked of a hatchery that runs, over its control socket.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use rookery_daemon::settings::Problems;
use rookery_hatchery::settings;
use rookery_hatchery::surface::control::{self, Answer, Request};
use rookery_hatchery::surface::report::{JobLine, JobState, Status, Waiting, WarmWaiting};
use serde::Serialize;

use super::folder;
use super::holding::tables;
use crate::Ending;
use crate::exit::Exit;
use crate::output::{Column, Columns, Format, Out, Outcome, printable, remark, table};
use crate::vm::WrongArguments;

/// Which hatchery. None needs to be named if only one runs on this machine.
#[derive(Debug, Clone, clap::Args)]
#[group(multiple = false)]
pub struct Target {
    /// The settings file that the hatchery was started with [default: the only hatchery that runs on this machine]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The hatchery's name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// What is asked for, and how the answer is shown.
#[derive(Debug, clap::Args)]
pub struct Query {
    #[command(flatten)]
    pub(super) target: Target,
    /// How to show the answer
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    pub(super) output: Format,
}

/// What is to be changed.
#[derive(Debug, clap::Args)]
pub struct Change {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    query: Query,
}

/// The arguments of `hatchery jobs`.
#[derive(Debug, clap::Args)]
pub struct Jobs {
    #[command(flatten)]
    target: Target,
    /// How to show them
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&JOBS))]
    output: Format,
}

/// What can be shown of a job.
const JOBS: Columns<JobLine> = Columns {
    name: "job",
    all: &[
        Column::usual("job"),
        Column::usual("state").state(),
        Column::usual("model"),
        Column::usual("machine").titled("VM"),
        Column::usual("since").shown(since),
        Column::usual("status"),
        Column::usual("why"),
        Column::more("reason"),
        Column::more("queued"),
        Column::more("begun"),
        Column::more("launched"),
        Column::more("ended"),
        Column::more("permanent"),
    ],
};

/// The arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct Explain {
    /// The number of a V1 job, or the UUID of a V2 job; the beginning of it is enough if the hatchery knows the job
    #[arg(value_name = "JOB")]
    job: String,
    #[command(flatten)]
    query: Query,
}

/// What a hatchery says to an order.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    pub(super) hatchery: String,
    /// What was to be done.
    pub(super) action: &'static str,
    pub(super) outcome: Outcome,
    pub(super) dry_run: bool,
    /// The outcome in words.
    pub(super) message: String,
}

impl Told {
    pub(super) fn line(&self) -> String {
        let intro = if self.dry_run { "dry run, nothing is changed: " } else { "" };
        format!("{intro}{}", printable(&self.message))
    }
}

impl Target {
    async fn name(&self, folder: &Path) -> anyhow::Result<String> {
        match (&self.name, &self.config) {
            // Before the command, `--config` is not seen to conflict with it.
            (Some(_), Some(_)) => {
                let mut problems = Problems::new();
                problems
                    .push("--name", "the hatchery is either named, or the one of a file: leave out --config");
                return Ok(WrongArguments::unless(problems, None)?);
            }
            (Some(name), None) => return Ok(name.clone()),
            (None, Some(file)) => return Ok(settings::load_file(file)?.settings.identity.name),
            (None, None) => {}
        }
        let mut running = control::running(folder)
            .await
            .with_context(|| format!("which hatcheries run cannot be read in {}", folder.display()))?;
        match running.len() {
            1 => Ok(running.remove(0)),
            0 => Err(Exit::Unclear.because(format!(
                "no hatchery runs on this machine under this user: none listens in {}",
                folder.display()
            ))),
            _ => {
                let running = running.join(", ");
                let why = format!("several hatcheries run on this machine: {running}; name one with --name");
                Err(Exit::Unclear.because(why))
            }
        }
    }

    async fn ask(&self, request: &Request) -> anyhow::Result<(String, Answer)> {
        let folder = folder::runtime()?;
        let name = self.name(&folder).await?;
        match control::ask(&folder, &name, request).await? {
            Answer::Refused(why) => Err(anyhow!("hatchery {name} refuses: {}", printable(&why))),
            Answer::Unclear(what) => Err(Exit::Unclear.because(what)),
            answer @ (Answer::Status(_) | Answer::Explained(_) | Answer::Jobs(_) | Answer::Done(_)) => {
                Ok((name, answer))
            }
        }
    }

    /// The same by its name, whatever else starts or ends meanwhile.
    pub(super) async fn resolved(&self) -> anyhow::Result<Self> {
        let name = self.name(&folder::runtime()?).await?;
        Ok(Self { name: Some(name), config: None })
    }

    pub(super) async fn answer(&self, request: &Request) -> anyhow::Result<Answer> {
        self.ask(request).await.map(|(_, answer)| answer)
    }

    pub(super) async fn status(&self) -> anyhow::Result<Status> {
        let (_, answer) = self.ask(&Request::Status).await?;
        if let Answer::Status(status) = answer { Ok(*status) } else { Err(unexpected_answer()) }
    }

    /// Lets it do something; what it says to that.
    pub(super) async fn order(&self, request: Request) -> anyhow::Result<Told> {
        let dry_run = matches!(request, Request::DryRun { .. });
        let outcome = if dry_run { Outcome::Planned } else { Outcome::Done };
        let (hatchery, Answer::Done(message)) = self.ask(&request).await? else {
            return Err(unexpected_answer());
        };
        Ok(Told { hatchery, action: request.as_str(), outcome, dry_run, message })
    }
}

impl Query {
    pub(super) async fn tell(&self, request: Request, out: &mut Out) -> anyhow::Result<Ending> {
        let told = self.target.order(request).await?;
        out.line(&self.output.render(&told, [&told.hatchery], || told.line())?).await?;
        Ok(Ending::Done)
    }
}

impl Change {
    pub(super) async fn tell(&self, request: Request, out: &mut Out) -> anyhow::Result<Ending> {
        let request = if self.dry_run { request.dry() } else { request };
        self.query.tell(request, out).await
    }
}

pub(super) fn unexpected_answer() -> anyhow::Error {
    anyhow!("the hatchery's answer was not understood: is it of another version?")
}

pub(super) async fn status(args: &Query, out: &mut Out) -> anyhow::Result<Ending> {
    let status = args.target.status().await?;
    out.line(&args.output.render(&status, [&status.name], || lines(&status))?).await?;
    Ok(Ending::Done)
}

/// Lists the jobs that it knows.
pub(super) async fn jobs(args: &Jobs, out: &mut Out) -> anyhow::Result<Ending> {
    let (_, Answer::Jobs(jobs)) = args.target.ask(&Request::Jobs).await? else {
        return Err(unexpected_answer());
    };
    if jobs.is_empty() && args.output.is_for_people() {
        remark("no job waits, none is served, and none has ended since the hatchery started");
    }
    out.lines(&args.output.list(&JOBS, &jobs)?).await?;
    Ok(Ending::Done)
}

/// Since when a job is what it is.
fn since(job: &JobLine) -> String {
    let since = match job.state {
        JobState::Waiting | JobState::Unknown => job.queued,
        JobState::Starting => job.begun,
        JobState::Served => job.launched,
        JobState::Ended => job.ended,
    };
    since.map_or_else(|| "-".to_owned(), |at| format!("{at:.0}"))
}

pub(crate) async fn explain(args: &Explain, out: &mut Out) -> anyhow::Result<Ending> {
    let request = Request::Explain { job: args.job.clone() };
    let (_, Answer::Explained(told)) = args.query.target.ask(&request).await? else {
        return Err(unexpected_answer());
    };
    let text = || {
        let hopeless = if told.line.permanent { "; waiting alone will not help" } else { "" };
        let state = told.line.state;
        let state = if state == JobState::Ended { String::new() } else { format!(" is {}", state.as_str()) };
        let text = format!("job {}{state}: {}{hopeless}\nCDS: {}", told.line.job, told.line.why, told.cds);
        crate::output::printable_lines(&text)
    };
    out.line(&args.query.output.render(&told, [&told.line.job], text)?).await?;
    Ok(Ending::Done)
}

fn lines(status: &Status) -> String {
    let Status { counts, usage, .. } = status;
    let of = |used: u64, most: Option<u64>, unit: &str| {
        most.map_or_else(|| format!("{used}{unit}, without limit"), |most| format!("{used} of {most}{unit}"))
    };
    let taking = if status.draining { "drained: it takes no new jobs" } else { "it takes jobs" };
    let view = if status.complete { "all known" } else { "NOT all known" };
    let skew = status.skew_ms.map_or("not known".to_owned(), |ms| {
        format!("{} ms {}", ms.unsigned_abs(), if ms < 0 { "behind" } else { "ahead" })
    });
    let mut rows = vec![
        ["hatchery", &format!("{} (version {}, since {:.0})", status.name, status.version, status.started)]
            .map(printable),
        ["as of".to_owned(), format!("{:.0}", status.at)],
        ["queue".to_owned(), format!("{} jobs; {taking}", counts.queued)],
        ["warm".to_owned(), format!("{} ready, {} in the making", counts.warm, counts.warming)],
        [
            "workers".to_owned(),
            format!(
                "{}: {} starting, {} running, {} finished, {} kept; {} count towards the limit",
                of(usage.workers as u64, usage.max_workers.map(u64::from), ""),
                counts.starting,
                counts.running,
                counts.finished,
                counts.held,
                usage.slots
            ),
        ],
        ["CPUs".to_owned(), of(usage.cpus, usage.max_cpus, "")],
        ["memory".to_owned(), of(usage.memory_mb, usage.max_memory_mb, " MB")],
        ["machines".to_owned(), format!("{}, {view}", status.machines)],
        ["vCenter's clock".to_owned(), skew],
    ];
    if let Some(allowed) = status.allowed_by_cds {
        rows.push(["CDS".to_owned(), format!("answers slowly: the hatchery starts only {allowed} at once")]);
    }
    if let Some(stopped) = &status.stopped {
        rows.push(["deletions".to_owned(), format!("stopped: {}", printable(stopped))]);
    }
    if !status.braked.is_empty() {
        let told =
            format!("holds {} back; `rookery hatchery confirm` lets them through", status.braked.len());
        rows.push(["brake".to_owned(), told]);
    }
    let mut parts = vec![table(["", ""], rows)];
    let troubles = status
        .troubles
        .iter()
        .map(|one| [one.source.clone(), format!("{:.0}", one.since), one.error.clone()]);
    parts.extend(section(["NOT ANSWERED", "SINCE", "WHY"], troubles));
    parts.extend(section(["UNDER WAY"], status.under_way.iter().map(|work| [work.clone()])));
    parts.extend(waiting(&status.waiting, &status.warm_waiting));
    let apart = status
        .apart
        .iter()
        .map(|one| [one.name.clone(), one.machine.to_string(), format!("{}; {}", one.why, one.remedy())]);
    parts.extend(section(["LEFT ALONE", "VM", "WHY"], apart));
    let braked =
        status.braked.iter().map(|one| [one.subject.as_str().to_owned(), one.name.clone(), one.why.clone()]);
    parts.extend(section(["HELD BACK", "NAME", "WHY"], braked));
    parts.extend(tables(&status.held, &status.wishes));
    parts.join("\n\n")
}

/// The jobs and models that wait, as far as there are any.
pub(super) fn waiting(jobs: &[Waiting], models: &[WarmWaiting]) -> impl Iterator<Item = String> {
    let jobs = jobs.iter().map(|one| [one.job.clone(), one.reason.clone(), one.why.clone()]);
    let models = models.iter().map(|one| [one.model.clone(), one.why.clone()]);
    section(["WAITING JOB", "REASON", "WHY"], jobs)
        .into_iter()
        .chain(section(["WAITING MODEL", "WHY"], models))
}

/// A table, unless it would be empty.
pub(super) fn section<const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Option<String> {
    let rows: Vec<_> = rows.map(|row| row.map(|text| printable(&text))).collect();
    (!rows.is_empty()).then(|| table(header, rows))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rookery_hatchery::plan::braked::{Subject, Waiting as Braked};
    use rookery_hatchery::surface::report::{Host, Report};

    use super::*;

    // The brake was in the JSON alone, and finished workers were in the line of the monitoring alone.
    #[test]
    fn the_status_shows_what_the_brake_holds_back_and_counts_workers_as_the_monitoring_does() {
        let text = |text: &str| text.to_owned();
        let host = Host {
            service: text("h1"),
            hostname: text("m"),
            version: text("1"),
            started: Timestamp::UNIX_EPOCH,
        };
        let subject = Subject::Worker(text("w"));
        let braked = vec![Braked { subject, name: text("w"), why: text("it has no machine") }];
        let report = Report { braked, started: vec![text("a"), text("b")], ..Report::default() };
        let shown = lines(&Status::new(&host, &report, Vec::new()));
        for line in [
            "2, without limit: 0 starting, 0 running, 0 finished, 0 kept; 0 count towards the limit",
            "holds 1 back; `rookery hatchery confirm` lets them through",
            "HELD BACK  NAME  WHY\nworker     w     it has no machine",
        ] {
            assert!(shown.contains(line), "{line}\n{shown}");
        }
    }
}
