//! The pages that the hatchery serves.

use std::sync::Arc;

use rookery_cds::{LineStatus, MonitoringStatus};
use rookery_daemon::Clock;
use serde_json::json;
use tokio::sync::watch;

use super::{Host, Report, monitoring};
use crate::http::{Page, Pages};
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
    /// The wall time.
    pub clock: Clock,
}

impl Board {
    /// How the hatchery is, now.
    pub fn status(&self) -> MonitoringStatus {
        monitoring(&self.host, &self.report.borrow(), &self.vitals.routines(), self.clock.now())
    }
}

impl Pages for Board {
    fn page(&self, path: &str) -> Option<Page> {
        match path.trim_end_matches('/') {
            "/mon/version" => Some(Page::json(
                200,
                &json!({
                    "version": self.host.version,
                    "architecture": std::env::consts::ARCH,
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
            "/mon/workers" => Some(Page::json(200, &self.report.borrow().workers)),
            _ => None,
        }
    }
}
