//! What `up` shows of a hatchery at work. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use rookery_hatchery::report::Report;

use super::guests::Guests;
use super::nest::{LOGIN, NAME};
use super::tally::{Tally, seconds};
use crate::output::printable;

/// How many reasons to wait are shown.
const REASONS: usize = 3;

/// What there is to show.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// How many jobs will be fed, if there is an end.
    pub(super) jobs: Option<u64>,
    /// Whether there is trouble on purpose.
    pub(super) faults: bool,
    pub(super) guests: Guests,
    pub(super) tally: &'a Tally,
    pub(super) report: &'a Report,
    /// The latest events, oldest first.
    pub(super) recent: &'a VecDeque<String>,
    pub(super) hints: &'a [String],
}

/// The page, line by line.
pub(super) fn lines(view: &View<'_>) -> Vec<String> {
    let mut lines = vec![
        format!(
            "Rookery {}: a hatchery at work between a simulated vCenter and a simulated CDS",
            env!("CARGO_PKG_VERSION")
        ),
        String::new(),
    ];
    lines.extend(state(view));
    lines.push(String::new());
    lines.extend(view.hints.iter().cloned());
    if !view.recent.is_empty() {
        lines.push(String::new());
        // The newest first: a small screen cuts the page off at its end.
        lines.extend(view.recent.iter().rev().cloned());
    }
    lines
}

fn state(view: &View<'_>) -> Vec<String> {
    let (jobs, machines, addresses) = (view.tally.counts(), view.report.counts, view.report.addresses);
    let of = view.jobs.map(|jobs| format!(" of {jobs}")).unwrap_or_default();
    let starts = view.tally.starts().map_or_else(
        || "no job has started yet".to_owned(),
        |(p50, p99)| format!("p50 {}, p99 {}, from the queue to the worker", seconds(p50), seconds(p99)),
    );
    let guests = match view.guests {
        Guests::Real => "run real programs of this machine, each shut off from it",
        Guests::Scripted => "are scripted: workers are played, nothing runs for real",
    };
    let mut lines = vec![
        format!("jobs         {}{of} fed, {} succeeded, {} failed", jobs.all(), jobs.success, jobs.failed),
        format!("queue        {} wait, {} are taken, {} run", jobs.waiting, jobs.scheduling, jobs.building),
        format!("start time   {starts}"),
        format!(
            "machines     {} warm, {} warming, {} starting, {} running, {} finished, {} kept",
            machines.warm,
            machines.warming,
            machines.starting,
            machines.running,
            machines.finished,
            machines.held
        ),
        format!("capacity     {}", capacity(view.report)),
        format!("addresses    {} of {} used", addresses.used + addresses.reserved, addresses.total),
        format!("guests       {guests}"),
    ];
    if view.faults {
        lines.push("trouble      on purpose, on both sides".to_owned());
    }
    lines.extend(held(view.report));
    lines.extend(waiting(view.report).iter().map(|why| format!("waiting      {why}")));
    lines
}

/// What is still to come, in one line for whoever reads a pipe.
pub(super) fn open(tally: &Tally, report: &Report) -> Option<String> {
    let jobs = tally.counts();
    let open = jobs.all() - jobs.ended();
    let counts = format!("{} wait, {} are taken, {} run", jobs.waiting, jobs.scheduling, jobs.building);
    let why = waiting(report).first().map(|why| format!("; {why}")).unwrap_or_default();
    (open > 0).then(|| format!("{open} jobs are open: {counts}{why}"))
}

/// What is in use of what may be, as the hatchery's status says it.
fn capacity(report: &Report) -> String {
    let of = |used: u64, most: Option<u64>| {
        most.map_or_else(|| format!("{used}/unlimited"), |most| format!("{used}/{most}"))
    };
    let ledger = &report.ledger;
    format!(
        "{} workers, {} CPUs, {} MB",
        of(ledger.workers.into(), report.max_workers.map(u64::from)),
        of(ledger.cpus, report.max_cpus),
        of(ledger.memory_mb, report.max_memory_mb)
    )
}

/// What somebody keeps to look at it, and what else is to be kept.
fn held(report: &Report) -> Vec<String> {
    let kept = report.held.iter().map(|held| {
        let until = held.until.strftime("%H:%M:%S UTC");
        format!("kept         {} ({}) until {until}: {}", held.machine, held.power, printable(&held.reason))
    });
    let wishes = report.wishes.iter().map(|wish| {
        let text = format!("{} of {} failed workers of {}: {}", wish.taken, wish.count, wish.of, wish.reason);
        format!("to be kept   {}", printable(&text))
    });
    kept.chain(wishes).take(REASONS).collect()
}

/// The reasons that keep jobs and models waiting, the most common first.
fn waiting(report: &Report) -> Vec<String> {
    let mut jobs = BTreeMap::<&str, usize>::new();
    for line in report.waiting.values() {
        *jobs.entry(&line.why).or_default() += 1;
    }
    let mut reasons: Vec<_> = jobs.into_iter().collect();
    reasons.sort_by_key(|(why, count)| (std::cmp::Reverse(*count), *why));
    let jobs = reasons.into_iter().map(|(why, count)| {
        let who = if count == 1 { "1 job".to_owned() } else { format!("{count} jobs") };
        format!("{who}: {}", printable(why))
    });
    let models = report.warm_waiting.iter().map(|(model, why)| format!("{model}: {}", printable(why)));
    jobs.chain(models).take(REASONS).collect()
}

/// Where everything is, and how to name a vCenter of one's own; `default_file` is the settings file that is read when
/// none is asked for.
pub(super) fn hints(
    [vcenter, cds, pages]: [&str; 3],
    can_be_asked: bool,
    default_file: Option<&Path>,
) -> Vec<String> {
    let (user, password) = LOGIN;
    let url = vcenter.replacen("://", &format!("://{user}:{password}@"), 1);
    let file = default_file
        .map_or_else(|| "a file given with --config".to_owned(), |path| path.display().to_string());
    let ask =
        format!("               rookery hatchery status --name {NAME}; rookery explain JOB --name {NAME}");
    let keep = format!(
        "               rookery vm hold --model debian-12 --for 10m --reason curious --name {NAME}; rookery vm holds --name {NAME}"
    );
    let mut lines = vec![
        "try it       in another terminal; both simulators go when this ends:".to_owned(),
        format!("               export GOVC_URL={url}/sdk"),
        "               rookery vm ls; rookery vm watch; rookery vm power off web-1; rookery doctor"
            .to_owned(),
        format!("               curl {pages}/mon/status; curl {pages}/mon/workers; curl {cds}/mon/version"),
    ];
    lines.extend([ask, keep].into_iter().filter(|_| can_be_asked));
    lines.extend([
        "your own     rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE"
            .to_owned(),
        format!("             shows a real fleet, as does [vcenter] in {file}; README.md has both"),
    ]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_fleet::address::Usage;
    use rookery_fleet::capacity::Ledger;
    use rookery_fleet::hold::Subject;
    use rookery_hatchery::report::{Counts, Held, Wished};

    #[test]
    fn the_page_of_a_hatchery_at_work() {
        let report = Report {
            counts: Counts { queued: 1, warm: 4, warming: 1, starting: 2, running: 3, finished: 1, held: 1 },
            ledger: Ledger { workers: 5, cpus: 12, memory_mb: 24_576, ..Ledger::default() },
            max_workers: Some(16),
            max_cpus: Some(64),
            held: vec![Held {
                machine: "brave-curie".to_owned(),
                power: "off".to_owned(),
                model: "debian-12".to_owned(),
                job: "7".to_owned(),
                until: "2026-11-15T16:00:00Z".parse().unwrap(),
                reason: "curious".to_owned(),
                wish: "7f".to_owned(),
            }],
            wishes: vec![Wished {
                id: "7f".to_owned(),
                of: Subject::Model("debian-12".to_owned()),
                count: 2,
                taken: 1,
                keep: 600,
                until: "2026-11-15T16:00:00Z".parse().unwrap(),
                reason: "curious".to_owned(),
            }],
            addresses: Usage { total: 61, used: 9, reserved: 2, free: 50 },
            warm_waiting: vec![("shared.infra/builder".to_owned(), "1 warm machines are missing".to_owned())],
            ..Report::default()
        };
        let file = Path::new("/home/me/.config/rookery/rookery.toml");
        let urls = ["http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"];
        let hints = hints(urls, true, Some(file));
        let view = View {
            jobs: Some(50),
            faults: true,
            guests: Guests::Real,
            tally: &Tally::default(),
            report: &report,
            recent: &["09:31:02 first".to_owned(), "09:31:03 second".to_owned()].into(),
            hints: &hints,
        };
        assert_eq!(open(view.tally, &report), None, "no job was fed yet");
        let text = lines(&view).join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(text, @r"
        Rookery VERSION: a hatchery at work between a simulated vCenter and a simulated CDS

        jobs         0 of 50 fed, 0 succeeded, 0 failed
        queue        0 wait, 0 are taken, 0 run
        start time   no job has started yet
        machines     4 warm, 1 warming, 2 starting, 3 running, 1 finished, 1 kept
        capacity     5/16 workers, 12/64 CPUs, 24576/unlimited MB
        addresses    11 of 61 used
        guests       run real programs of this machine, each shut off from it
        trouble      on purpose, on both sides
        kept         brave-curie (off) until 16:00:00 UTC: curious
        to be kept   1 of 2 failed workers of model debian-12: curious
        waiting      shared.infra/builder: 1 warm machines are missing

        try it       in another terminal; both simulators go when this ends:
                       export GOVC_URL=http://me:simulated@127.0.0.1:1/sdk
                       rookery vm ls; rookery vm watch; rookery vm power off web-1; rookery doctor
                       curl http://127.0.0.1:3/mon/status; curl http://127.0.0.1:3/mon/workers; curl http://127.0.0.1:2/mon/version
                       rookery hatchery status --name nest; rookery explain JOB --name nest
                       rookery vm hold --model debian-12 --for 10m --reason curious --name nest; rookery vm holds --name nest
        your own     rookery up --endpoint vc.example.com --user me@vsphere.local --password-file FILE
                     shows a real fleet, as does [vcenter] in /home/me/.config/rookery/rookery.toml; README.md has both

        09:31:03 second
        09:31:02 first
        ");
    }
}
