//! The first load of the inventory: bounded, and never silent for long.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use rookery_daemon::telemetry::chain;
use rookery_vim_client::{Endpoint, Inventory, Snapshot};
use tokio::time::{Instant, sleep_until};

use crate::output::remark;

/// A load that takes longer than this is talked about.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is talked about from then on.
const REPEAT: Duration = Duration::from_secs(15);

/// Waits for the first complete snapshot. The inventory itself never gives up; here a person waits.
pub(super) async fn first(
    inventory: &Inventory,
    endpoint: &Endpoint,
    limit: Duration,
) -> anyhow::Result<Arc<Snapshot>> {
    let deadline = Instant::now() + limit;
    let mut remark_at = Instant::now() + PATIENCE;
    loop {
        let snapshot = inventory.snapshot();
        if snapshot.is_complete() {
            return Ok(snapshot);
        }
        // A role that is too small stays so; everything else may pass.
        if let Some(trouble) = snapshot.trouble().filter(|trouble| trouble.is_permission()) {
            return Err(anyhow::Error::new(trouble.clone()).context("the VMs cannot be listed"));
        }
        tokio::select! {
            biased;
            newer = inventory.until(|s| s.revision() > snapshot.revision()) => drop(newer?),
            () = sleep_until(deadline.min(remark_at)) => {
                if Instant::now() >= deadline {
                    return Err(too_late(&snapshot, limit));
                }
                remark(&progress(&snapshot, endpoint));
                remark_at = Instant::now() + REPEAT;
            }
        }
    }
}

fn progress(snapshot: &Snapshot, endpoint: &Endpoint) -> String {
    match snapshot.trouble() {
        Some(trouble) => {
            format!("the VMs of {endpoint} are not loaded yet, trying again: {}", chain(trouble))
        }
        None => format!("loading the VMs of {endpoint} …"),
    }
}

fn too_late(snapshot: &Snapshot, limit: Duration) -> anyhow::Error {
    let what = format!("the VMs were not loaded within {} s", limit.as_secs());
    match snapshot.trouble() {
        Some(trouble) => anyhow::Error::new(trouble.clone()).context(what),
        None => {
            anyhow!(what).context("vCenter is too slow; the setting vcenter.load-timeout gives it more time")
        }
    }
}
