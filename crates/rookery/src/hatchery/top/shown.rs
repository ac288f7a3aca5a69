//! What a page shows of a hatchery: the same for `up`, which runs one, and for `hatchery top`, which asks one. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rookery_hatchery::surface::report::{JobLine, JobState, MachineLine, Status};

use crate::live::model::{Fact, Gauge, MachineTable, QueueRow, Section, States, Subject};
use crate::output::{LocalTime, printable};

const MACHINES: &[&str] = &["NAME", "STATE", "POWER", "IP", "CPU", "MEMORY", "MODEL", "JOB"];

/// How many machines are what.
pub(crate) fn states(status: &Status) -> Section {
    let counts = status.counts;
    Section::States(States {
        name: "machines",
        total: None,
        counts: vec![
            (counts.warm, "warm"),
            (counts.warming, "warming"),
            (counts.starting, "starting"),
            (counts.running, "running"),
            (counts.finished, "finished"),
            (counts.held, "kept"),
        ],
    })
}

/// What is used of what the settings allow.
pub(crate) fn capacity(status: &Status) -> [Section; 2] {
    let usage = &status.usage;
    let gauge = |name, unit, used, limit| Gauge { name, used, limit, unit };
    let addresses = status.addresses;
    [
        Section::Capacity(vec![
            gauge("workers", "", usage.slots.into(), usage.max_workers.map(u64::from)),
            gauge("CPUs", "", usage.cpus, usage.max_cpus),
            gauge("memory", "MB", usage.memory_mb, usage.max_memory_mb),
        ]),
        Section::Addresses(
            (addresses.total > 0).then(|| gauge("addresses", "", addresses.used, Some(addresses.total))),
        ),
    ]
}

/// What somebody may want to know or do something about.
pub(crate) fn attention(status: &Status) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut told = |name: &'static str, text: String| facts.push(Fact::new(name, printable(&text)));
    if !status.complete {
        told("inventory", "not all machines are known yet".to_owned());
    }
    if status.draining {
        told("drained", "no new jobs are taken; `rookery hatchery resume` lets it take them".to_owned());
    }
    for one in &status.troubles {
        told("no answer", format!("{} since {:.0}: {}", one.source, one.since, one.error));
    }
    if let Some(stopped) = &status.stopped {
        told("deletions", format!("stopped: {stopped}"));
    }
    if !status.braked.is_empty() {
        let count = status.braked.len();
        told("brake", format!("holds {count} back; `rookery hatchery confirm` lets them through"));
    }
    for one in &status.braked {
        told("held back", format!("{} {}: {}", one.subject.as_str(), one.name, one.why));
    }
    if let Some(allowed) = status.allowed_by_cds {
        told("CDS", format!("answers slowly: {allowed} workers at once"));
    }
    for one in &status.apart {
        told("left alone", format!("{} ({}): {}; {}", one.name, one.machine, one.why, one.remedy()));
    }
    for held in &status.held {
        let until = held.until.strftime("%H:%M:%S UTC");
        told("kept", format!("{} ({}) until {until}: {}", held.machine, held.power, held.reason));
    }
    for wish in &status.wishes {
        let of = format!("{} of {} failed workers of {}", wish.taken, wish.count, wish.of);
        told("to be kept", format!("{of}: {}", wish.reason));
    }
    facts
}

/// Jobs and models that wait, then jobs that are at work. Without `jobs` the status alone says which those are.
pub(crate) fn queue(status: &Status, jobs: &[JobLine], time: &LocalTime) -> Vec<QueueRow> {
    let known: BTreeMap<&str, &JobLine> = jobs.iter().map(|line| (line.job.as_str(), line)).collect();
    let waiting = status.waiting.iter().map(|one| {
        let line = known.get(one.job.as_str());
        QueueRow {
            subject: Subject::Job(printable(&one.job)),
            state: "waits",
            details: line.map(|line| details(line, line.queued, time)).unwrap_or_default(),
            why: printable(&one.why),
            permanent: one.permanent,
        }
    });
    let models = status.warm_waiting.iter().map(|one| QueueRow {
        subject: Subject::Model(printable(&one.model)),
        state: "waits",
        details: String::new(),
        why: printable(&one.why),
        permanent: false,
    });
    let at_work = |state: &'static str, details: String, job: &str| QueueRow {
        subject: Subject::Job(printable(job)),
        state,
        details,
        why: String::new(),
        permanent: false,
    };
    let of_jobs = |wanted: JobState, word: &'static str| {
        let lines = jobs.iter().filter(move |line| line.state == wanted);
        lines.map(move |line| at_work(word, details(line, line.launched.or(line.begun), time), &line.job))
    };
    let machines = status.own_machines.iter().filter(|_| jobs.is_empty());
    let of_machines = machines.filter_map(|machine| {
        let details = machine_of_job(machine);
        machine.job.as_ref().map(|job| at_work(machine.state.as_str(), details, job))
    });
    waiting
        .chain(models)
        .chain(of_jobs(JobState::Starting, "starting"))
        .chain(of_jobs(JobState::Served, "served"))
        .chain(of_machines)
        .collect()
}

fn details(line: &JobLine, since: Option<Timestamp>, time: &LocalTime) -> String {
    let parts = [
        line.model.as_ref().map(|model| format!("model {model}")),
        line.machine.as_ref().map(|machine| format!("on {machine}")),
        since.map(|since| format!("since {}", time.of_day(since))),
    ];
    printable(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn machine_of_job(machine: &MachineLine) -> String {
    let model = machine.model.as_ref().map(|model| format!("model {model}, ")).unwrap_or_default();
    printable(&format!("{model}on {}", machine.name))
}

pub(crate) fn machines(status: &Status) -> Arc<MachineTable> {
    let or_dash = |text: Option<String>| text.map_or_else(|| "-".to_owned(), |text| printable(&text));
    let row = |machine: &MachineLine| {
        vec![
            printable(&machine.name),
            machine.state.as_str().to_owned(),
            or_dash(machine.power.clone()),
            or_dash(machine.address.map(|address| address.to_string())),
            or_dash(machine.cpus.map(|cpus| cpus.to_string())),
            or_dash(machine.memory_mb.map(|memory| format!("{memory} MB"))),
            or_dash(machine.model.clone()),
            or_dash(machine.job.clone()),
        ]
    };
    Arc::new(MachineTable { header: MACHINES, rows: status.own_machines.iter().map(row).collect() })
}
