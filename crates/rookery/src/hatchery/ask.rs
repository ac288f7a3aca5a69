//! What is asked of a hatchery that runs, over its control socket.

use std::path::PathBuf;

use anyhow::anyhow;
use rookery_hatchery::settings;
use rookery_hatchery::surface::control::{self, Answer, Request};
use rookery_hatchery::surface::report::{Status, Waiting, WarmWaiting};

use super::folder;
use super::holding::tables;
use crate::Ending;
use crate::output::{Format, Out, printable, table};

/// Which hatchery.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Target {
    /// The settings file that the hatchery was started with
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The hatchery's name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// The arguments of `hatchery status`.
#[derive(Debug, clap::Args)]
pub struct Query {
    #[command(flatten)]
    pub(super) target: Target,
    /// How to show the answer
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    pub(super) output: Format,
}

/// The arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct Explain {
    /// The number of a V1 job, or the UUID of a V2 job
    #[arg(value_name = "JOB")]
    job: String,
    #[command(flatten)]
    query: Query,
}

impl Target {
    async fn ask(&self, request: &Request) -> anyhow::Result<Answer> {
        let name = match (&self.name, &self.config) {
            (Some(name), _) => name.clone(),
            (None, Some(file)) => settings::load_file(file)?.settings.identity.name,
            (None, None) => return Err(anyhow!("name the hatchery with --name, or its file with --config")),
        };
        match control::ask(&folder::runtime()?, &name, request).await? {
            Answer::Refused(why) => Err(anyhow!("the hatchery refuses: {why}")),
            answer @ (Answer::Status(_) | Answer::Explained(_) | Answer::Done(_)) => Ok(answer),
        }
    }

    pub(super) async fn status(&self) -> anyhow::Result<Status> {
        let answer = self.ask(&Request::Status).await?;
        if let Answer::Status(status) = answer { Ok(*status) } else { Err(unexpected_answer()) }
    }

    /// Lets it do something; what it says to that.
    pub(super) async fn order(&self, request: &Request) -> anyhow::Result<String> {
        let answer = self.ask(request).await?;
        if let Answer::Done(done) = answer { Ok(printable(&done)) } else { Err(unexpected_answer()) }
    }
}

fn unexpected_answer() -> anyhow::Error {
    anyhow!("the hatchery's answer was not understood: is it of another version?")
}

pub(super) async fn tell(target: &Target, request: &Request, out: &mut Out) -> anyhow::Result<Ending> {
    out.line(&target.order(request).await?).await?;
    Ok(Ending::Done)
}

pub(super) async fn status(args: &Query, out: &mut Out) -> anyhow::Result<Ending> {
    let status = args.target.status().await?;
    out.line(&args.output.render(&status, [&status.name], || lines(&status))?).await?;
    Ok(Ending::Done)
}

pub(crate) async fn explain(args: &Explain, out: &mut Out) -> anyhow::Result<Ending> {
    let request = Request::Explain { job: args.job.clone() };
    let Answer::Explained(told) = args.query.target.ask(&request).await? else {
        return Err(unexpected_answer());
    };
    let text = || {
        let hopeless = if told.permanent { "; waiting alone will not help" } else { "" };
        let text = format!("job {} is {}: {}{hopeless}\nCDS: {}", told.job, told.state, told.why, told.cds);
        crate::output::printable_lines(&text)
    };
    out.line(&args.query.output.render(&told, [&told.job], text)?).await?;
    Ok(Ending::Done)
}

fn lines(status: &Status) -> String {
    let Status { counts, usage, .. } = status;
    let of = |used: u64, most: Option<u64>, unit: &str| {
        most.map_or_else(|| format!("{used}{unit}, without limit"), |most| format!("{used} of {most}{unit}"))
    };
    let taking = if status.draining { "no new jobs are taken (drained)" } else { "jobs are taken" };
    let view = if status.complete { "all known" } else { "NOT all known" };
    let skew = status.skew_ms.map_or("not known".to_owned(), |ms| {
        format!("{} ms {}", ms.unsigned_abs(), if ms < 0 { "behind" } else { "ahead" })
    });
    let mut rows = vec![
        ["hatchery", &format!("{} (version {}, since {:.0})", status.name, status.version, status.started)]
            .map(printable),
        ["looked at".to_owned(), format!("{:.0}", status.at)],
        ["queue".to_owned(), format!("{} jobs; {taking}", counts.queued)],
        ["warm".to_owned(), format!("{} ready, {} in the making", counts.warm, counts.warming)],
        [
            "workers".to_owned(),
            format!(
                "{}: {} starting, {} running, {} finished, {} kept",
                of(usage.workers.into(), usage.max_workers.map(u64::from), ""),
                counts.starting,
                counts.running,
                counts.finished,
                counts.held
            ),
        ],
        ["CPUs".to_owned(), of(usage.cpus, usage.max_cpus, "")],
        ["memory".to_owned(), of(usage.memory_mb, usage.max_memory_mb, " MB")],
        ["machines".to_owned(), format!("{}, {view}", status.machines)],
        ["vCenter's clock".to_owned(), skew],
    ];
    if let Some(allowed) = status.allowed_by_cds {
        rows.push(["CDS".to_owned(), format!("answers slowly: {allowed} workers at once")]);
    }
    if let Some(stopped) = &status.stopped {
        rows.push(["deletions".to_owned(), format!("stopped: {}", printable(stopped))]);
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
