//! The pages that the hatchery serves.

use std::sync::Arc;

use rookery_cds::{LineStatus, MonitoringStatus};
use rookery_daemon::{Clock, Tally};
use rookery_vim_client::{Governor, Inventory};
use serde_json::json;
use tokio::sync::watch;

use super::{Host, Report, monitoring};
use crate::http::{Page, Pages};
use crate::metrics::{Live, Memory, Metrics, Served, Sight, views};
use crate::trouble::Troubles;
use crate::vitals::Vitals;

/// All that pages are made from. Clones share it.
#[derive(Debug, Clone)]
pub struct Board {
    /// What does not change.
    pub host: Host,
    /// What the last pass saw.
    pub report: watch::Receiver<Arc<Report>>,
    /// Which routines run.
    pub vitals: Vitals,
    /// What could not be asked for lately.
    pub troubles: Troubles,
    /// The wall time.
    pub clock: Clock,
    /// What was counted.
    pub metrics: Metrics,
    /// What is known beside it.
    pub beside: Beside,
}

/// What metrics are made from beside reports and events. Clones share it.
#[derive(Debug, Clone)]
pub struct Beside {
    /// The machines.
    pub inventory: Inventory,
    /// What vCenter is asked to do.
    pub governor: Governor,
    /// Requests to vCenter.
    pub vcenter: Tally,
    /// Requests to CDS.
    pub cds: Tally,
}

impl Beside {
    fn live(&self) -> Live {
        Live {
            inventory_age: self.inventory.snapshot().age(),
            operations_running: self.governor.running(),
            operations_waiting: self.governor.waiting().len(),
            vcenter: self.vcenter.counts(),
            cds: self.cds.counts(),
            memory: Memory::now(),
        }
    }
}

impl Board {
    /// How the hatchery is, now.
    pub fn status(&self) -> MonitoringStatus {
        let (routines, troubles) = (self.vitals.routines(), self.troubles.all());
        let uptime = self.clock.steady().duration_since(self.host.started).unsigned_abs();
        monitoring(&self.host, &self.report.borrow(), &routines, &troubles, self.clock.now(), uptime)
    }
}

impl Board {
    /// All metrics, in Prometheus' text format.
    pub fn metrics_text(&self) -> String {
        let report = Arc::clone(&self.report.borrow());
        Sight::new(&self.host, &report, &self.beside.live(), &self.metrics, self.clock.steady()).text()
    }
}

impl Pages for Board {
    fn served(&self, served: &Served<'_>) {
        self.metrics.page_served(served);
    }

    fn page(&self, path: &str) -> Option<Page> {
        match path.trim_end_matches('/') {
            "/mon/version" => Some(Page::json(
                200,
                &json!({
                    "version": self.host.version,
                    "architecture": architecture(),
                    "os": std::env::consts::OS,
                    "git_hash": "",
                    "build_time": "",
                }),
            )),
            "/mon/status" => {
                let status = self.status();
                let alarmed = status.lines.iter().any(|line| line.status == LineStatus::Alarm);
                Some(Page::json(if alarmed { 503 } else { 200 }, &status))
            }
            "/mon/metrics" | "/metrics" => Some(Page::metrics(self.metrics_text())),
            "/mon/metrics/all" => Some(Page::json(200, &views())),
            "/mon/workers" => Some(Page::json(200, &self.report.borrow().workers)),
            _ => None,
        }
    }
}

/// In the words of Go, which is what monitoring compares.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
