//! What `hatchery top` makes of two answers.

use rookery_hatchery::plan::braked::{Subject, Waiting as Braked};
use rookery_hatchery::surface::report::{
    Addresses, Counts, Held, Host, MachineLine, MachineState, Report, Waiting, WarmWaiting,
};

use super::*;
use crate::live::model::Subject as Row;

fn status() -> Status {
    let host = Host {
        service: "h1".to_owned(),
        hostname: "m".to_owned(),
        version: "1".to_owned(),
        started: Timestamp::UNIX_EPOCH,
    };
    Status { complete: true, ..Status::new(&host, &Report::default(), Vec::new()) }
}

fn job(job: &str, state: JobState) -> JobLine {
    JobLine { job: job.to_owned(), state, ..JobLine::default() }
}

fn served(name: &str) -> JobLine {
    JobLine { machine: Some("brave-curie".to_owned()), ..job(name, JobState::Served) }
}

fn check(before: (Status, &[JobLine]), after: (Status, &[JobLine]), expected: &[&str]) {
    let answers = |(status, jobs): (Status, &[JobLine])| Answers { status, jobs: jobs.to_vec() };
    assert_eq!(changes(&answers(before), &answers(after)), expected);
}

#[test]
fn what_happens_to_a_job_is_told_once() {
    let jobs = |before: &[JobLine], after: &[JobLine], expected: &[&str]| {
        check((status(), before), (status(), after), expected);
    };
    let waits = |why: &str| JobLine { why: why.to_owned(), ..job("7", JobState::Waiting) };
    let ended = |status: Option<&str>| JobLine {
        state: JobState::Ended,
        status: status.map(str::to_owned),
        ..served("7")
    };
    jobs(&[], &[waits("no address is free")], &["job 7  waits: no address is free"]);
    jobs(&[waits("a")], &[waits("a")], &[]);
    jobs(&[waits("a")], &[waits("b\u{1b}")], &["job 7  waits: b\\u{1b}"]);
    let starting = JobLine { state: JobState::Starting, ..served("7") };
    jobs(&[waits("a")], std::slice::from_ref(&starting), &["job 7  is taken: brave-curie is started"]);
    jobs(&[starting], &[served("7")], &["job 7  is served by brave-curie"]);
    jobs(&[served("7")], &[served("7")], &[]);
    jobs(&[served("7")], &[ended(None)], &["job 7  was served by brave-curie, which has ended"]);
    jobs(&[ended(None)], &[ended(Some("Success"))], &["job 7  has ended as Success"]);
    jobs(&[served("7")], &[ended(Some("Fail"))], &["job 7  has ended as Fail"]);
    jobs(&[ended(Some("Fail"))], &[ended(Some("Fail"))], &[]);
    // The last one that ended stands first in the list.
    let others = [ended(Some("Fail")), JobLine { job: "6".to_owned(), ..ended(Some("Success")) }];
    jobs(&[served("7"), served("6")], &others, &["job 6  has ended as Success", "job 7  has ended as Fail"]);
}

#[test]
fn what_becomes_of_the_hatchery_itself_is_told() {
    let quiet = || (status(), [].as_slice());
    let with = |change: &dyn Fn(&mut Status)| {
        let mut status = status();
        change(&mut status);
        (status, [].as_slice())
    };
    let drained = || with(&|status| status.draining = true);
    check(quiet(), drained(), &["drained: no new jobs are taken"]);
    check(drained(), quiet(), &["resumed: jobs are taken again"]);
    let anew = with(&|status| status.started = "2026-11-15T12:00:00Z".parse().unwrap());
    check(quiet(), anew, &["the hatchery was started anew (version 1)"]);
    let stopped = || with(&|status| status.stopped = Some("many VMs are gone".to_owned()));
    check(quiet(), stopped(), &["deletions are stopped: many VMs are gone"]);
    check(stopped(), quiet(), &["deletions go on"]);
    let braked = with(&|status| {
        let subject = Subject::Worker("w".to_owned());
        status.braked = vec![Braked { subject, name: "w".to_owned(), why: "it has no machine".to_owned() }];
    });
    check(quiet(), braked, &["worker w  is held back: it has no machine"]);
    let kept = || {
        with(&|status| {
            let held = Held { machine: "m".to_owned(), reason: "curious".to_owned(), ..Held::default() };
            status.held = vec![held];
        })
    };
    check(quiet(), kept(), &["m  is kept: curious"]);
    check(kept(), quiet(), &["m  is not kept any more"]);
    let model = with(&|status| {
        status.warm_waiting = vec![WarmWaiting { model: "debian".to_owned(), why: "full".to_owned() }];
    });
    check(quiet(), model, &["model debian  waits: full"]);
}

#[test]
fn the_queue_has_what_waits_first_and_then_what_is_at_work() {
    let machine = |name: &str, job: Option<&str>| MachineLine {
        name: name.to_owned(),
        state: MachineState::Running,
        power: Some("on".to_owned()),
        model: Some("debian-12".to_owned()),
        job: job.map(str::to_owned),
        address: None,
        cpus: Some(2),
        memory_mb: None,
    };
    let waiting = Waiting {
        job: "8".to_owned(),
        reason: "address".to_owned(),
        why: "no address is free".to_owned(),
        permanent: false,
    };
    let status = Status {
        waiting: vec![waiting],
        warm_waiting: vec![WarmWaiting { model: "rocky".to_owned(), why: "full".to_owned() }],
        own_machines: vec![machine("a", Some("7")), machine("b", None)],
        addresses: Addresses { used: 3, total: 60 },
        ..status()
    };
    let rows = |jobs: &[JobLine]| -> Vec<String> {
        let rows = shown::queue(&status, jobs, &LocalTime::system());
        let text = |row: &crate::live::model::QueueRow| {
            let subject = match &row.subject {
                Row::Job(job) => job,
                Row::Model(model) => model,
            };
            format!("{subject} {} [{}] {}", row.state, row.details, row.why)
        };
        rows.iter().map(text).collect()
    };
    let waits = ["8 waits [] no address is free", "rocky waits [] full"];
    assert_eq!(rows(&[]), [waits.as_slice(), &["7 running [model debian-12, on a] "]].concat());
    let known = JobLine { model: Some("rocky".to_owned()), ..job("8", JobState::Waiting) };
    let first = "8 waits [model rocky] no address is free";
    assert_eq!(rows(&[known, served("7")]), [first, waits[1], "7 served [on brave-curie] "]);
    let table = shown::machines(&status);
    assert_eq!(table.rows[1], ["b", "running", "on", "-", "2", "-", "debian-12", "-"]);
}

#[test]
fn the_end_tells_what_was_seen() {
    let counts = Counts { queued: 3, running: 2, ..Counts::default() };
    let last = Answers { status: Status { counts, ..status() }, jobs: Vec::new() };
    let watched = Watched {
        since: Instant::now(),
        last,
        changes: 1,
        starts: Starts::default(),
        silent: None,
        asked: None,
    };
    assert_eq!(
        watched.summary(),
        "watched hatchery h1 for 0 s: 1 change; 3 wait in the queue, 2 machines run"
    );
}
