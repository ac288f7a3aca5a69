//! What one fixed state looks like, and whether it is what dashboards know.

mod capture;
mod document;

use super::*;
use crate::machine::{Machine, View as Machines};
use crate::mark::Mark;
use crate::plan::capacity::Limits;
use crate::plan::sweep::{Condemned, Reason};
use crate::plan::{DeleteReason, WaitReason};
use crate::run::expiry::Subject;
use crate::samples::Notes;
use crate::surface::report::{Counts, Host, Launches, Report, UnderWay, WorkerLine};
use rookery_daemon::metrics::Memory;
use rookery_fleet::address::Network;
use rookery_fleet::claim::Miss;
use rookery_fleet::disks::{DiskSizes, Disks};
use rookery_fleet::{Hardware, MachineId, Power, Role};
use rookery_vim_client::{Bytes, Mhz, PoolCapacity, Share};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

fn host() -> Host {
    Host {
        service: "rig-vsphere".to_owned(),
        hostname: "rig".to_owned(),
        version: "1".to_owned(),
        started: at("10:00:00"),
    }
}

fn at(time: &str) -> jiff::Timestamp {
    format!("2026-11-15T{time}Z").parse().unwrap()
}

fn machine(name: &str, mark: impl Into<Option<Mark>>) -> Machine {
    Machine {
        id: MachineId::new(format!("vm-{name}")),
        name: name.to_owned(),
        role: Role::Vm,
        power: Some(Power::Off),
        recognised: mark.into().map_or(Notes::NoMark, |mark| Notes::Mark(Box::new(mark))).on(name),
        hardware: Hardware::new(2, 2048),
        addresses: Vec::new(),
        created: None,
        awaits_setup: false,
        incarnation: None,
        reachable: true,
        is_outside: false,
    }
}

fn mark(change: impl FnOnce(&mut Mark)) -> Mark {
    let mut mark = Mark { hatchery_name: "rig-vsphere".to_owned(), ..Mark::default() };
    change(&mut mark);
    mark
}

fn view(machines: Vec<Machine>) -> Arc<Machines> {
    let machines = machines.into_iter().collect();
    Arc::new(Machines { machines, complete: true, ..Machines::default() })
}

/// Two of the pool, a worker of each kind of model, a template, and a stranger.
fn machines() -> Vec<Machine> {
    let worker = machine(
        "worker-v2",
        mark(|mark| {
            mark.vmware_model_path = "debian12".to_owned();
            mark.flavor = "large".to_owned();
            mark.ip_address = "10.0.0.3".to_owned();
        }),
    );
    vec![
        machine("provision-v2-a", mark(|mark| mark.provisioning = true)),
        Machine {
            power: Some(Power::On),
            ..machine("provision-v2-b", mark(|mark| mark.provisioning = true))
        },
        machine("provision-v2-c", mark(|mark| mark.provisioning = true)),
        Machine { addresses: vec![Ipv4Addr::new(10, 0, 0, 3)], hardware: Hardware::new(8, 16_384), ..worker },
        machine("worker-v1", mark(|mark| mark.worker_model_path = "shared/debian".to_owned())),
        Machine { role: Role::Template, ..machine("debian", mark(|mark| mark.model = true)) },
        machine("jumphost", None),
    ]
}

fn share<U>(max: U, usage: U, unreserved: U) -> Share<U> {
    let (max_usage, usage, unreserved_for_vm) = (Some(max), Some(usage), Some(unreserved));
    Share {
        max_usage,
        usage,
        unreserved_for_vm,
        reservation: None,
        limit: None,
        expandable: None,
        reservation_used: None,
        unreserved_for_pool: None,
    }
}

fn report() -> Report {
    let under_way = |action| UnderWay { action, name: "w".to_owned(), job: None, held_back: None };
    let [first, second] = ["1", "2"].map(|id| id.parse().unwrap());
    Report {
        at: at("10:00:58"),
        steady: at("10:00:58"),
        complete: true,
        limits: Limits {
            size: rookery_fleet::capacity::Limits {
                cpus: Some(64),
                ..rookery_fleet::capacity::Limits::default()
            },
            ..Limits::default()
        },
        workers: [("worker-v2", "Building"), ("worker-v1", "Pending")]
            .map(|(name, status)| WorkerLine {
                name: name.to_owned(),
                status: status.to_owned(),
                known: None,
            })
            .to_vec(),
        counts: Counts { queued: 2, ..Counts::default() },
        launches: Launches {
            under_way: 3,
            allowed: 4,
            reduced: Some(4),
            median_call: Some(Duration::from_millis(1500)),
        },
        waiting: BTreeMap::from([
            (first, WaitReason::Draining),
            (second, WaitReason::NoAddress { total: 4 }),
        ]),
        skew: Some(jiff::SignedDuration::from_millis(-1500)),
        view: view(machines()),
        disks: Arc::new(Disks::from([(
            MachineId::new("vm-worker-v2"),
            DiskSizes { all_kb: 41_943_040, first_kb: Some(41_943_040) },
        )])),
        dying: [MachineId::new("vm-provision-v2-c")].into(),
        networks: vec![Network {
            ranges: vec!["10.0.0.0/29".parse().unwrap()],
            prefix: 29,
            gateway: Some(Ipv4Addr::new(10, 0, 0, 1)),
            dns: Vec::new(),
        }],
        promised: vec![Ipv4Addr::new(10, 0, 0, 4)],
        pool: Some(PoolCapacity {
            cpu: share(Mhz(9600), Mhz(1200), Mhz(8400)),
            memory: share(Bytes(8 << 30), Bytes(1 << 30), Bytes(7 << 30)),
            owner: None,
        }),
        stopped: Some(rookery_fleet::deletion::Stop::SkewUnknown),
        running: ["make", "delete", "make"].map(under_way).into(),
        unseen_makes: 1,
        resting: 1,
        ..Report::default()
    }
}

fn live() -> Live {
    Live {
        inventory_age: Duration::from_millis(1250),
        operations_running: 2,
        operations_waiting: 3,
        vcenter: BTreeMap::from([(("CloneVM_Task", "done"), 4), (("Login", "refused"), 1)]),
        cds: BTreeMap::from([(("queue", "done"), 9)]),
        memory: Memory { resident: 1 << 20, peak: 2 << 20, mapped: 3 << 20 },
        panics: 1,
        lost_log_lines: 12,
        expiries: vec![(Subject::VCenterCertificate, at("12:00:00")), (Subject::V2Token, at("13:00:00"))],
    }
}

fn events() -> Metrics {
    let metrics = Metrics::default();
    metrics.job_pushed(Protocol::V2);
    metrics.job_found(Protocol::V2);
    metrics.job_known();
    metrics.start_begun(Some("flavor"));
    metrics.stage_done(Stage::Take, Duration::from_millis(7));
    metrics.taken();
    metrics.stage_done(Stage::Clone, Duration::from_secs(40));
    metrics.stage_failed(Stage::Ready);
    metrics.start_failed();
    metrics.started(Way::Fresh, Some(Duration::from_millis(61_500)));
    metrics.started(Way::Warm, None);
    metrics.claim_failed("gone");
    metrics.deleted("finished");
    metrics.deleted("never_registered");
    metrics.not_deleted("expired");
    metrics.leak_found(Leak::Address);
    metrics.pass_made(Duration::from_millis(2));
    metrics.heartbeat(Protocol::V1, true);
    metrics.heartbeat(Protocol::V2, false);
    for path in ["/mon/version", "/mon/metrics"] {
        let took = Duration::from_millis(150);
        let served =
            Served { path, method: "GET", status: 200, request_bytes: 0, response_bytes: 30_000, took };
        metrics.page_served(&served);
    }
    metrics
}

fn text_of(report: &Report) -> String {
    Sight::new(&host(), report, &live(), &events(), at("10:01:00")).text()
}

#[test]
fn a_fixed_state_is_written_like_this() {
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/surface/metrics/tests/exposition.txt");
    let made = text_of(&report());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    for (line, (made, expected)) in made.lines().zip(expected.lines()).enumerate() {
        assert_eq!(made, expected, "line {} of exposition.txt; UPDATE_DOCS=1 rewrites it", line + 1);
    }
    assert_eq!(made.lines().count(), expected.lines().count());
}

#[test]
fn machines_that_vanish_take_their_samples_with_them() {
    let named = |text: &str| text.lines().filter(|line| line.contains("worker_name=\"worker-v2\"")).count();
    let before = report();
    assert_eq!(named(&text_of(&before)), 3);
    let rest = machines().into_iter().filter(|machine| machine.name != "worker-v2").collect();
    let after = Report { view: view(rest), ..before };
    assert_eq!(named(&text_of(&after)), 0);
}

#[test]
fn two_machines_of_one_name_are_told_once() {
    let twin = Machine { id: MachineId::new("vm-twin"), ..machines().swap_remove(4) };
    let both = machines().into_iter().chain([twin]).collect();
    let text = text_of(&Report { view: view(both), ..report() });
    let told = |metric: &str| {
        let start = format!("{metric}{{");
        text.lines().filter(|line| line.starts_with(&start) && line.contains("\"worker-v1\"")).count()
    };
    assert_eq!(told("cds_hatchery_vsphere_worker_vcpus"), 1);
    assert!(text.contains(
        "cds_hatchery_vsphere_worker_vm_count{service_name=\"rig-vsphere\",service_type=\"hatchery\"} 3\n"
    ));
}

#[test]
fn what_is_not_known_is_left_out_and_not_zero() {
    let report = Report { pool: None, skew: None, networks: Vec::new(), ..report() };
    let text = text_of(&report);
    for name in ["resource_pool_cpu_max_mhz", "clock_skew_seconds", "ip_total_count", "hatchery_addresses"] {
        let samples = text.lines().filter(|line| !line.starts_with('#') && line.contains(name));
        assert_eq!(samples.count(), 0, "{name}");
        assert!(text.contains(&format!("{name} gauge\n")), "{name}");
    }
    let disks = text.lines().filter(|line| line.starts_with("cds_hatchery_vsphere_worker_disk_gb{"));
    assert_eq!(disks.count(), 1, "only one machine's disks were read");
}

#[test]
fn no_name_is_told_but_by_the_gauges_of_each_machine() {
    for metric in catalog() {
        let names = metric.labels.contains(&"worker_name");
        assert_eq!(names, metric.name.starts_with("cds_hatchery_vsphere_worker_") && names, "{metric:?}");
    }
    let text = text_of(&report());
    for line in text.lines().filter(|line| line.contains("worker-v2")) {
        assert!(line.contains("worker_name=\"worker-v2\""), "{line}");
    }
}

#[test]
fn every_word_that_the_planner_says_is_in_its_set() {
    let condemns = [Condemned::SpawnFailed, Condemned::ProvisionFailed, Condemned::RegistrationEnded];
    let age = jiff::SignedDuration::ZERO;
    let reasons = [
        Reason::Disabled,
        Reason::Finished { age, listed: true },
        Reason::NeverStarted { age, limit: age },
        Reason::NeverRegistered { age, limit: age },
        Reason::OrphanedTemplate { age },
        Reason::Expired { age, limit: age },
    ];
    for word in condemns.map(Condemned::as_str).into_iter().chain(reasons.map(|reason| reason.as_str())) {
        assert!(words::DELETIONS.contains(&word), "{word}");
    }
    assert!(words::DELETIONS.contains(&DeleteReason::Replaced.as_str()));
    for action in [
        "spawn",
        "give up",
        "register",
        "make",
        "finish",
        "take back",
        "keep",
        "delete",
        "disable",
        "free",
        "adopt",
    ] {
        assert!(words::WORKS.contains(&words::work(action)), "{action}");
    }
    for miss in [Miss::Busy, Miss::NotReady, Miss::HalfClaimed, Miss::Flavor, Miss::Held, Miss::Unknown] {
        assert!(words::MISSES.contains(&miss.as_str()), "{miss:?}");
    }
    for set in
        [&words::MISSES[..], &words::DELETIONS, &words::LEAKS, &words::WAITING, &words::STOPS, &words::WORKS]
    {
        assert_eq!(set.last(), Some(&"other"));
    }
}
