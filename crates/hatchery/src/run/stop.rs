//! The end of a hatchery that is told to end.

use std::sync::Arc;
use std::time::Duration;

use rookery_daemon::shutdown::{Remaining, wind_down};
use tokio::time::timeout;
use tracing::warn;

use super::{Running, goodbye};
use crate::surface::report::{Report, UnderWay};

/// How long workers that are being started get.
const LANDING: Duration = Duration::from_secs(20);
/// How long it may take to give the jobs of the others back.
const GIVING_BACK: Duration = Duration::from_secs(10);

impl Running {
    /// Ends it: takes nothing new, lets workers that are being started get there for a while, gives the jobs of the others
    /// back, stops its tasks, says goodbye. Workers go on without it. One that may not act any more waits for nothing, and
    /// one that has lost a part only for the end of its bookings.
    pub async fn stop(self) {
        if !self.lease.is_revoked() {
            tokio::select! {
                biased;
                _ = self.broken() => self.break_off().await,
                () = self.land() => {}
            }
        }
        goodbye(&self.supervisor, &self.cds, self.vcenter).await;
    }

    async fn land(&self) {
        self.drain(true).await;
        let has_landed =
            |report: &Arc<Report>| report.draining && !report.running.iter().any(UnderWay::is_start);
        let landed = || {
            let mut report = self.published.report.clone();
            async move { report.wait_for(has_landed).await.is_ok() }
        };
        let give_up = || {
            warn!("some workers are still being started; their jobs are given back");
            self.halt.give_up();
        };
        if wind_down(landed, LANDING, give_up, GIVING_BACK).await == Remaining::UnderWay {
            warn!("some jobs could not be given back; CDS offers them again by itself");
        }
    }

    /// Whoever would report that starts have ended may be gone: they are waited for themselves.
    async fn break_off(&self) {
        self.halt.break_off();
        if timeout(GIVING_BACK, self.halt.landed()).await.is_err() {
            warn!("some bookings could not be ended; CDS offers their jobs again by itself");
        }
    }
}
