//! Heartbeats: CDS is told every half minute that the hatchery lives, and how it is.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rookery_cds::{Cds, CdsError, MonitoringStatus};
use rookery_daemon::Supervisor;
use rookery_daemon::telemetry::chain;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::intake::queue::Protocol;
use crate::surface::report::Published;

/// How often.
const BEAT: Duration = Duration::from_secs(30);

/// Whether CDS took the last heartbeat of each protocol that it is told by. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Beats(Arc<Mutex<BTreeMap<Protocol, bool>>>);

impl Beats {
    /// Takes in whether CDS took a heartbeat; before the first one it did not.
    pub fn set(&self, protocol: Protocol, taken: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(protocol, taken);
    }

    /// By protocol.
    pub fn all(&self) -> BTreeMap<Protocol, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Beats for both protocols. When CDS does not take a beat of V1 for too long, the hatchery ends, so that whoever
/// watches over it starts it anew; `over` is cancelled then. Without V1 the same holds for V2; beside V1 a dead
/// heartbeat of V2 is an alarm in the status, until CDS takes it again.
pub fn start(
    cds: &Cds,
    published: &Published,
    most_failures: u32,
    over: &CancellationToken,
    supervisor: &Supervisor,
) {
    if let Some(v1) = cds.v1().cloned() {
        published.beats.set(Protocol::V1, false);
        let (published, over, stop) = (published.clone(), over.clone(), supervisor.token());
        supervisor.spawn("heartbeat", async move {
            let _running = published.routines.running("heartbeat");
            let beat = async |status: MonitoringStatus| v1.heartbeat(&status).await;
            if beats(&published, Protocol::V1, most_failures, &stop, beat).await.is_err() {
                over.cancel();
            }
        });
    }
    if let Some(v2) = cds.v2().cloned() {
        let alone = cds.v1().is_none();
        published.beats.set(Protocol::V2, false);
        let (published, over, stop) = (published.clone(), over.clone(), supervisor.token());
        supervisor.spawn("V2 heartbeat", async move {
            let beat = async |status: MonitoringStatus| v2.heartbeat(&status).await;
            loop {
                let running = published.routines.running("V2heartbeat");
                let Err(Dead) = beats(&published, Protocol::V2, most_failures, &stop, &beat).await else {
                    return;
                };
                if alone {
                    over.cancel();
                    return;
                }
                drop(running);
                revival(&published, &stop, &beat).await;
            }
        });
    }
}

/// CDS does not want to hear us any more.
struct Dead;

/// Tries until CDS wants to hear us again: it may be back, or new settings have brought another token.
async fn revival<F: Future<Output = Result<(), CdsError>>>(
    published: &Published,
    stop: &CancellationToken,
    beat: impl Fn(MonitoringStatus) -> F,
) {
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sleep(BEAT) => {}
        }
        let taken = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            taken = beat(published.status()) => taken.is_ok(),
        };
        published.beat(Protocol::V2, taken);
        if taken {
            info!("CDS takes the heartbeat for V2 jobs again");
            return;
        }
    }
}

async fn beats<F: Future<Output = Result<(), CdsError>>>(
    published: &Published,
    protocol: Protocol,
    most_failures: u32,
    stop: &CancellationToken,
    beat: impl Fn(MonitoringStatus) -> F,
) -> Result<(), Dead> {
    let mut failures = 0;
    loop {
        let beaten = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            beaten = beat(published.status()) => beaten,
        };
        published.beat(protocol, beaten.is_ok());
        match beaten {
            Ok(()) => failures = 0,
            Err(refused) if refused.is_forbidden() => {
                error!(?protocol, error = %chain(&refused), "CDS forbids the heartbeat");
                return Err(Dead);
            }
            Err(failed) => {
                failures += 1;
                warn!(?protocol, failures, error = %chain(&failed), "heartbeat failed");
                if failures > most_failures {
                    error!(?protocol, failures, "CDS did not take a heartbeat for too long");
                    return Err(Dead);
                }
            }
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            () = sleep(BEAT) => {}
        }
    }
}
