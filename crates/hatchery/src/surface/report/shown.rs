//! The report as people and programs ask for it.

use super::machines::machine_lines;
use super::{Counts, Held, HoldRequestStatus, Host, MachineLine, Report};
use crate::plan::braked::Waiting as Braked;
use crate::plan::sweep::stop_text;
use crate::plan::{Apart, NotMade, WaitReason};
use jiff::Timestamp;
use rookery_cds::JobId;
use rookery_daemon::trouble::Trouble;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub name: String,
    pub version: String,
    pub started: Timestamp,
    pub at: Timestamp,
    pub draining: bool,
    pub complete: bool,
    pub machines: usize,
    pub counts: Counts,
    pub usage: Usage,
    #[serde(default)]
    pub addresses: Addresses,
    pub waiting: Vec<Waiting>,
    /// Why warm machines are not made, or models not registered.
    pub warm_waiting: Vec<WarmWaiting>,
    #[serde(default)]
    pub held: Vec<Held>,
    #[serde(default)]
    pub wishes: Vec<HoldRequestStatus>,
    pub under_way: Vec<String>,
    /// How many workers may start at once, if CDS is too slow for as many as the settings allow.
    #[serde(default)]
    pub allowed_by_cds: Option<u32>,
    #[serde(default)]
    pub braked: Vec<Braked>,
    #[serde(default)]
    pub apart: Vec<Apart>,
    pub stopped: Option<String>,
    /// How far vCenter's clock is ahead of ours, in milliseconds.
    pub skew_ms: Option<i64>,
    #[serde(default)]
    pub troubles: Vec<Trouble>,
    /// The hatchery's machines, one by one.
    #[serde(default)]
    pub own_machines: Vec<MachineLine>,
}

/// How the configured addresses are used; none are configured if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Addresses {
    /// Held by a machine, or promised to one.
    pub used: u64,
    pub total: u64,
}

/// What is in use, and what may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The VMs of workers that are there now, as the line `Workers` of the monitoring counts them.
    pub workers: usize,
    /// The workers that count for `maxWorker`: those that are starting or alive. Finished ones do not.
    pub slots: u32,
    pub starting: u32,
    pub registering: u32,
    pub cpus: u64,
    pub memory_mb: u64,
    pub max_workers: Option<u32>,
    pub max_cpus: Option<u64>,
    pub max_memory_mb: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub job: String,
    pub reason: String,
    pub why: String,
    /// Whether waiting alone will not help.
    pub permanent: bool,
}

/// Why a warm machine is not made, or a model not registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmWaiting {
    pub model: String,
    pub why: String,
}

impl Status {
    /// As of the last pass.
    pub fn new(host: &Host, report: &Report, troubles: Vec<Trouble>) -> Self {
        Self {
            name: host.service.clone(),
            version: host.version.clone(),
            started: host.started,
            at: report.at,
            draining: report.draining,
            complete: report.complete,
            machines: report.machines,
            counts: report.counts,
            usage: Usage::new(report),
            addresses: Addresses {
                used: report.addresses.used + report.addresses.reserved,
                total: report.addresses.total,
            },
            waiting: waiting(report),
            warm_waiting: warm_waiting(report),
            held: report.held.clone(),
            wishes: report.wishes.clone(),
            under_way: report.running.iter().map(|one| format!("{} {}", one.action, one.name)).collect(),
            allowed_by_cds: report.launches.reduced,
            braked: report.braked.clone(),
            apart: report.apart.clone(),
            stopped: report.stopped.map(|stop| stop_text(&stop)),
            skew_ms: report.skew.map(|skew| i64::try_from(skew.as_millis()).unwrap_or(i64::MAX)),
            troubles,
            own_machines: machine_lines(report),
        }
    }
}

impl Usage {
    pub(super) fn new(report: &Report) -> Self {
        let ledger = &report.ledger;
        Self {
            workers: report.started.len(),
            slots: ledger.workers,
            starting: ledger.starting,
            registering: ledger.registering,
            cpus: ledger.size.cpus,
            memory_mb: ledger.size.memory_mb,
            max_workers: report.limits.workers,
            max_cpus: report.limits.size.cpus,
            max_memory_mb: report.limits.size.memory_mb,
        }
    }
}

pub(super) fn waiting(report: &Report) -> Vec<Waiting> {
    let line = |(job, why): (&JobId, &WaitReason)| Waiting {
        job: job.to_string(),
        reason: why.as_str().to_owned(),
        why: why.to_string(),
        permanent: why.is_permanent(),
    };
    report.waiting.iter().map(line).collect()
}

pub(super) fn warm_waiting(report: &Report) -> Vec<WarmWaiting> {
    let line = |(model, why): &(String, NotMade)| WarmWaiting { model: model.clone(), why: why.to_string() };
    report.not_made.iter().map(line).collect()
}
