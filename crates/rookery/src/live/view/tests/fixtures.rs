//! A hatchery at work, and a fleet, as pages.

use std::sync::Arc;
use std::time::Duration;

use super::*;

fn gauge(name: &'static str, unit: &'static str, used: u64, limit: Option<u64>) -> Gauge {
    Gauge { name, used, limit, unit }
}

fn job(job: &str, state: &'static str, details: &str, why: &str) -> QueueRow {
    let (details, why) = (details.to_owned(), why.to_owned());
    QueueRow { subject: Subject::Job(job.to_owned()), state, details, why, permanent: false }
}

fn machine(cells: [&str; 8]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

pub(super) fn hatchery() -> Content {
    let starts =
        [2400, 1900, 2600, 11_800, 2300, 2200, 3100, 2500, 900, 12_100, 2700, 2400, 4800, 2600, 2100];
    let state = vec![
        Section::Jobs(Jobs { fed: 41, wanted: Some(50), succeeded: 35, failed: 1 }),
        Section::Queue(vec![(3, "wait"), (1, "are taken"), (2, "run")]),
        Section::Starts(StartTimes::of(starts.map(Duration::from_millis))),
        Section::States(States {
            name: "machines",
            total: None,
            counts: vec![
                (3, "warm"),
                (2, "warming"),
                (1, "starting"),
                (2, "running"),
                (0, "finished"),
                (1, "kept"),
            ],
        }),
        Section::Capacity(vec![
            gauge("workers", "", 6, Some(16)),
            gauge("CPUs", "", 18, Some(96)),
            gauge("memory", "MB", 36_864, None),
        ]),
        Section::Addresses(Some(gauge("addresses", "", 61, Some(61)))),
        Section::Fact(Fact::new("guests", "run real programs of this machine, which cannot change it")),
    ];
    let no_address = "none of the 61 configured addresses is free";
    let hopeless = "no template debian-13 is in the inventory: correct the model, or make the template";
    let mut queue = vec![
        job("5f2c7a10-0d5e-4b3a-9d1c-6a0b8f1e2d3c", "waits", "model debian-12, since 09:31:00", no_address),
        job("4711", "waits", "model builder", no_address),
        job("4712", "waits", "", hopeless),
    ];
    queue[2].permanent = true;
    queue.push(QueueRow {
        subject: Subject::Model("shared.infra/builder".to_owned()),
        ..job("", "waits", "", "1 warm machine is missing: no address is free")
    });
    queue.push(job("4709", "served", "model builder, on brave-curie, since 09:30:41", ""));
    let rows = vec![
        machine(["brave-curie", "running", "on", "192.0.2.17", "2", "4096 MB", "builder", "4709"]),
        machine([
            "calm-bell",
            "running",
            "on",
            "192.0.2.18",
            "2",
            "4096 MB",
            "debian-12",
            "5e0b7d21-55aa-4c11",
        ]),
        machine(["keen-noether", "kept", "off", "192.0.2.19", "2", "4096 MB", "debian-12", "4701"]),
        machine(["provision-v2-192-0-2-20", "warm", "off", "192.0.2.20", "1", "2048 MB", "debian-12", "-"]),
    ];
    let model = Model {
        title: "a hatchery at work between a simulated vCenter and a simulated CDS".to_owned(),
        state,
        attention: vec![Fact::new("kept", "keen-noether (off) until 16:00:00 UTC: the disk was full")],
        queue: Some(queue),
        machines: Some(Arc::new(MachineTable {
            header: &["NAME", "STATE", "POWER", "IP", "CPU", "MEMORY", "MODEL", "JOB"],
            rows,
        })),
        hints: vec![
            "try it       in another terminal; both simulators go when this ends:".to_owned(),
            "               export GOVC_URL=http://me:simulated@127.0.0.1:45123/sdk".to_owned(),
            "               rookery vm ls; rookery vm watch; rookery vm power off web-1; rookery doctor"
                .to_owned(),
        ],
        ending: String::new(),
    };
    let events: Vec<String> = (0..40).map(event).collect();
    content(model, &events)
}

fn event(number: usize) -> String {
    let (job, time) = (4690 + number / 3, format!("09:{:02}:{:02}", 30 + number / 60, number % 60));
    match number % 3 {
        0 => format!("{time} job {job} (V1, builder)  waits"),
        1 => format!("{time} job {job} (V1, builder)  runs after 2.4 s"),
        _ => format!("{time} job {job} (V1, builder)  succeeded after 4.9 s"),
    }
}

pub(super) fn fleet() -> Content {
    let rows = [
        ["DC0_H0_VM0", "on", "10.128.0.1", "1", "32 MiB", "DC0_H0", "Resources"],
        ["web-1", "off", "-", "2", "4 GiB", "DC0_C0_H0", "ci"],
        ["größe/日本 100%", "on, asks", "fe80::1", "2", "4 GiB", "DC0_C0_H1", "ci"],
    ];
    let model = Model {
        title: "the live fleet of https://vc.example.com:443".to_owned(),
        state: vec![
            Section::Fact(Fact::new("vCenter", "VMware vCenter Server 8.0.3 build-1, API 7.0.0.0")),
            Section::Fact(Fact::new("inventory", "complete, confirmed 3 s ago")),
            Section::States(States {
                name: "VMs",
                total: Some(3),
                counts: vec![(2, "on"), (1, "off"), (0, "suspended")],
            }),
            Section::Fact(Fact::new("templates", "0")),
            Section::Fact(Fact::new("questions", "1 wait for an answer: größe/日本 100%")),
        ],
        machines: Some(Arc::new(MachineTable {
            header: &["NAME", "POWER", "IP", "CPU", "MEMORY", "HOST", "POOL"],
            rows: rows.map(|row| row.map(str::to_owned).to_vec()).to_vec(),
        })),
        ending: "logging out of https://vc.example.com:443".to_owned(),
        ..Model::default()
    };
    content(model, &["09:31:02 changed  web-1  power on → off".to_owned()])
}
