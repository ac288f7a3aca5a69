//! The pages that the hatchery serves.

use super::ready::Peers;
use super::{Host, Report, monitoring};
use crate::intake::queue::Protocol;
use crate::run::expiry::Expiries;
use crate::run::heartbeat::Beats;
use crate::surface::metrics::{Live, Metrics, Sight, views};
use rookery_cds::{LineStatus, MonitoringStatus};
use rookery_daemon::metrics::Memory;
use rookery_daemon::pages::{Page, Pages, Served};
use rookery_daemon::probes::Readiness;
use rookery_daemon::routines::Routines;
use rookery_daemon::trouble::Troubles;
use rookery_daemon::{Clock, Supervisor, Tally, telemetry};
use rookery_vim_client::{Governor, Inventory};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::watch;

/// All that pages are made from. Clones share it.
#[derive(Debug, Clone)]
pub struct Published {
    pub host: Host,
    pub report: watch::Receiver<Arc<Report>>,
    pub routines: Routines,
    pub beats: Beats,
    pub troubles: Troubles,
    pub clock: Clock,
    pub metrics: Metrics,
    /// What is known beside it.
    pub beside: Beside,
}

/// What metrics are made from beside reports and events. Clones share it.
#[derive(Debug, Clone)]
pub struct Beside {
    pub inventory: Inventory,
    /// What vCenter is asked to do.
    pub governor: Governor,
    pub vcenter: Tally,
    pub cds: Tally,
    pub supervisor: Supervisor,
    /// What ends by itself one day.
    pub expiries: Expiries,
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
            panics: self.supervisor.panics(),
            lost_log_lines: telemetry::lost_lines(),
            expiries: self.expiries.all(),
        }
    }
}

impl Published {
    /// How the hatchery is, now.
    pub fn status(&self) -> MonitoringStatus {
        let (routines, troubles) = (self.routines.all(), self.troubles.all());
        let uptime = self.clock.steady().duration_since(self.host.started).unsigned_abs();
        monitoring(&self.host, &self.report.borrow(), &routines, &troubles, self.clock.now(), uptime)
    }

    /// Takes in whether CDS took a heartbeat.
    pub(crate) fn beat(&self, protocol: Protocol, taken: bool) {
        self.metrics.heartbeat(protocol, taken);
        self.beats.set(protocol, taken);
    }

    fn readiness(&self) -> Readiness {
        let name = |protocol| match protocol {
            Protocol::V1 => "V1",
            Protocol::V2 => "V2",
        };
        let peers = Peers {
            complete: self.report.borrow().complete,
            age: self.beside.inventory.snapshot().age(),
            beats: self.beats.all().into_iter().map(|(of, taken)| (name(of), taken)).collect(),
        };
        Readiness::new(peers.reasons())
    }

    /// All metrics, in Prometheus' text format.
    pub fn metrics_text(&self) -> String {
        let report = Arc::clone(&self.report.borrow());
        Sight::new(&self.host, &report, &self.beside.live(), &self.metrics, self.clock.steady()).text()
    }
}

impl Pages for Published {
    fn served(&self, served: &Served<'_>) {
        self.metrics.page_served(served);
    }

    fn page(&self, path: &str) -> Option<Page> {
        match path.trim_end_matches('/') {
            "/mon/version" => {
                let (version, commit) = self.host.version.split_once('+').unwrap_or((&self.host.version, ""));
                Some(Page::json(
                    200,
                    &json!({
                        "version": version,
                        "architecture": architecture(),
                        "os": std::env::consts::OS,
                        "git_hash": commit,
                        "build_time": "",
                    }),
                ))
            }
            "/readyz" => Some(self.readiness().page()),
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

/// In the shape of a CDS error, which is what whoever asks here can read.
pub(crate) fn error_page(status: u16, message: &str) -> Page {
    Page::json(status, &json!({ "id": if status == 404 { 38 } else { 74 }, "message": message }))
}

/// In the words of Go, which is what monitoring compares.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
