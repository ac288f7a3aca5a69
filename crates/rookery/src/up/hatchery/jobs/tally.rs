//! The status of all jobs, and how long they took to start. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use rookery_cds_sim::{Job, Protocol, Status};

use crate::live::{StartTimes, seconds};
use crate::output::table;

#[derive(Debug, Default)]
pub(in crate::up::hatchery) struct Tally {
    lines: BTreeMap<String, Line>,
    /// How long jobs took to start, in the order in which they did.
    starts: VecDeque<Duration>,
}

/// How many of those are remembered, beside each job's own.
const STARTS: usize = 10_000;

#[derive(Debug, Clone)]
struct Line {
    model: String,
    protocol: Protocol,
    status: Status,
    /// From enqueueing to the start on a worker.
    start: Option<Duration>,
}

/// How many jobs are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) waiting: usize,
    pub(super) scheduling: usize,
    pub(super) building: usize,
    pub(super) success: usize,
    pub(super) failed: usize,
}

impl Counts {
    pub(super) fn all(self) -> usize {
        self.waiting + self.scheduling + self.building + self.ended()
    }

    pub(super) fn ended(self) -> usize {
        self.success + self.failed
    }
}

impl Tally {
    /// Takes a job in, as it is now. What happened to it in words, if its status is new.
    pub(super) fn note(&mut self, job: &Job) -> Option<String> {
        let line = Line {
            model: model(job),
            protocol: job.asked.protocol,
            status: job.status,
            start: start_time(&job.history),
        };
        let before = self.lines.insert(job.id.clone(), line.clone());
        if before.as_ref().is_none_or(|before| before.start.is_none()) {
            self.starts.extend(line.start);
            self.starts.drain(..self.starts.len().saturating_sub(STARTS));
        }
        if before.is_some_and(|before| before.status == line.status) {
            return None;
        }
        let since = job.history.first().zip(job.history.last());
        let took = since.map(|((first, _), (last, _))| took(*first, *last)).unwrap_or_default();
        let after = if line.status == Status::Waiting && took.is_zero() {
            String::new()
        } else {
            format!(" after {}", seconds(took))
        };
        let protocol = word(line.protocol);
        Some(format!("job {} ({protocol}, {})  {}{after}", short(&job.id), line.model, state(line.status)))
    }

    pub(super) fn counts(&self) -> Counts {
        count(self.lines.values())
    }

    /// How long jobs took to start.
    pub(super) fn starts(&self) -> StartTimes {
        StartTimes::of(self.starts.iter().copied())
    }

    /// A row for each model and protocol, and one for all.
    pub(super) fn table(&self) -> String {
        let mut groups = BTreeMap::<(String, Protocol), Vec<&Line>>::new();
        for line in self.lines.values() {
            groups.entry((line.model.clone(), line.protocol)).or_default().push(line);
        }
        let row = |model: &str, protocol: &str, lines: &[&Line]| {
            let counts = count(lines.iter().copied());
            let starts = StartTimes::of(lines.iter().filter_map(|line| line.start));
            let [p50, p99] = [50, 99].map(|part| starts.percentile(part).map_or("-".to_owned(), seconds));
            let number = |number: usize| number.to_string();
            [
                model.to_owned(),
                protocol.to_owned(),
                number(counts.all()),
                number(counts.success),
                number(counts.failed),
                number(counts.all() - counts.ended()),
                p50,
                p99,
            ]
        };
        let mut rows: Vec<_> =
            groups.iter().map(|((model, protocol), lines)| row(model, word(*protocol), lines)).collect();
        let all: Vec<_> = self.lines.values().collect();
        rows.push(row("all", "", &all));
        table(["MODEL", "PROTOCOL", "JOBS", "SUCCESS", "FAILED", "OPEN", "P50 START", "P99 START"], rows)
    }
}

fn count<'l>(lines: impl Iterator<Item = &'l Line>) -> Counts {
    let mut counts = Counts::default();
    for line in lines {
        *match line.status {
            Status::Waiting => &mut counts.waiting,
            Status::Scheduling => &mut counts.scheduling,
            Status::Building => &mut counts.building,
            Status::Success => &mut counts.success,
            Status::Fail | Status::Stopped => &mut counts.failed,
        } += 1;
    }
    counts
}

fn start_time(history: &[(Timestamp, Status)]) -> Option<Duration> {
    let (queued, _) = history.first()?;
    let (built, _) = history.iter().find(|(_, status)| *status == Status::Building)?;
    Some(took(*queued, *built))
}

fn took(from: Timestamp, to: Timestamp) -> Duration {
    to.duration_since(from).try_into().unwrap_or_default()
}

fn model(job: &Job) -> String {
    let path = job.asked.model.as_deref().unwrap_or("-");
    let path = path.split_once('@').map_or(path, |(path, _)| path);
    path.rsplit_once('/').map_or(path, |(_, name)| name).to_owned()
}

fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::V1 => "V1",
        Protocol::V2 => "V2",
    }
}

fn state(status: Status) -> &'static str {
    match status {
        Status::Waiting => "waits",
        Status::Scheduling => "is taken",
        Status::Building => "runs",
        Status::Success => "succeeded",
        Status::Fail => "failed",
        Status::Stopped => "stopped",
    }
}

/// The first part of a UUID is enough to tell jobs apart.
fn short(id: &str) -> &str {
    id.split_once('-').map_or(id, |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(status: Status, start: Option<u64>) -> Line {
        let start = start.map(Duration::from_secs);
        Line { model: "debian".to_owned(), protocol: Protocol::V2, status, start }
    }

    #[test]
    fn a_job_starts_when_its_first_worker_has_it() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let history = [
            (at(10), Status::Waiting),
            (at(11), Status::Scheduling),
            (at(14), Status::Building),
            (at(20), Status::Waiting),
            (at(25), Status::Building),
        ];
        assert_eq!(start_time(&history), Some(Duration::from_secs(4)));
        assert_eq!(start_time(&history[..2]), None);
    }

    #[test]
    fn the_table_has_a_row_for_each_kind_and_one_for_all() {
        let mut tally = Tally::default();
        let v1 = Line { model: "builder".to_owned(), protocol: Protocol::V1, ..line(Status::Fail, Some(9)) };
        for (id, line) in
            [("1", v1), ("a", line(Status::Success, Some(2))), ("b", line(Status::Waiting, None))]
        {
            tally.lines.insert(id.to_owned(), line);
        }
        let text: Vec<_> = tally.table().lines().map(|line| line.trim_end().to_owned()).collect();
        insta::assert_snapshot!(text.join("\n"), @r"
        MODEL    PROTOCOL  JOBS  SUCCESS  FAILED  OPEN  P50 START  P99 START
        builder  V1        1     0        1       0     9.0 s      9.0 s
        debian   V2        2     1        0       1     2.0 s      2.0 s
        all                3     1        1       1     2.0 s      9.0 s
        ");
    }
}
