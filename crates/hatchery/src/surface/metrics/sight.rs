//! All that one answer is made from.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use rookery_daemon::metrics::{Memory, Samples};

use super::catalog::rows;
use super::fleet::Fleet;
use super::{Events, Metrics};
use crate::mark;
use crate::run::expiry::Subject;
use crate::surface::report::{Host, Report};

/// What is counted and known beside the hatchery's own events and passes.
#[derive(Debug, Clone, Default)]
pub struct Live {
    /// How long ago vCenter confirmed what the inventory shows.
    pub inventory_age: Duration,
    /// Operations that vCenter is at.
    pub operations_running: usize,
    /// Operations that wait for their turn.
    pub operations_waiting: usize,
    /// Requests to vCenter, by method and outcome.
    pub vcenter: BTreeMap<(&'static str, &'static str), u64>,
    /// Requests to CDS, by class and outcome.
    pub cds: BTreeMap<(&'static str, &'static str), u64>,
    pub memory: Memory,
    pub panics: u64,
    /// Log lines that could not be written.
    pub lost_log_lines: u64,
    /// What ends by itself one day, and when.
    pub expiries: Vec<(Subject, Timestamp)>,
}

/// All that is seen at one moment.
#[derive(Debug)]
pub struct Sight<'s> {
    pub(super) host: &'s Host,
    pub(super) report: &'s Report,
    pub(super) live: &'s Live,
    pub(super) events: &'s Events,
    pub(super) fleet: Fleet<'s>,
    pub(super) now: Timestamp,
}

impl<'s> Sight<'s> {
    pub fn new(
        host: &'s Host,
        report: &'s Report,
        live: &'s Live,
        metrics: &'s Metrics,
        now: Timestamp,
    ) -> Self {
        let fleet = Fleet::new(report, &mark::owner(&host.service));
        Self { host, report, live, events: metrics.events(), fleet, now }
    }

    /// In Prometheus' text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let constants = [("service_name", self.host.service.as_str()), ("service_type", "hatchery")];
        for row in rows() {
            (row.write)(self, &mut Samples::new(&mut text, &row.metric, &constants));
        }
        text
    }

    /// How many workers have that status, registered or not.
    pub(super) fn workers(&self, status: &str) -> usize {
        self.report.workers.iter().filter(|worker| worker.status == status).count()
    }
}
