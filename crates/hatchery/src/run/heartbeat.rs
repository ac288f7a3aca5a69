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
    let heart = |protocol, routine, ends| {
        published.beats.set(protocol, false);
        let (published, over, stop) = (published.clone(), over.clone(), supervisor.token());
        Heart { published, protocol, routine, most_failures, ends, over, stop }
    };
    if let Some(v1) = cds.v1().cloned() {
        let heart = heart(Protocol::V1, "heartbeat", true);
        supervisor.spawn(
            "heartbeat",
            heart.run(move |status| {
                let v1 = v1.clone();
                async move { v1.heartbeat(&status).await }
            }),
        );
    }
    if let Some(v2) = cds.v2().cloned() {
        let heart = heart(Protocol::V2, "V2heartbeat", cds.v1().is_none());
        supervisor.spawn(
            "V2 heartbeat",
            heart.run(move |status| {
                let v2 = v2.clone();
                async move { v2.heartbeat(&status).await }
            }),
        );
    }
}

/// The heartbeat of one protocol.
struct Heart {
    published: Published,
    protocol: Protocol,
    /// What the status calls it.
    routine: &'static str,
    most_failures: u32,
    /// Whether the hatchery ends with it.
    ends: bool,
    over: CancellationToken,
    stop: CancellationToken,
}

/// CDS does not want to hear us any more.
struct Dead;

impl Heart {
    async fn run<F: Future<Output = Result<(), CdsError>>>(self, beat: impl Fn(MonitoringStatus) -> F) {
        loop {
            let running = self.published.routines.running(self.routine);
            let Err(Dead) = self.beats(&beat).await else { return };
            if self.ends {
                return self.over.cancel();
            }
            drop(running);
            self.revival(&beat).await;
        }
    }

    /// Tries until CDS wants to hear us again: it may be back, or new settings have brought another token.
    async fn revival<F: Future<Output = Result<(), CdsError>>>(&self, beat: impl Fn(MonitoringStatus) -> F) {
        loop {
            self.stop.run_until_cancelled(sleep(BEAT)).await;
            let taken = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                taken = beat(self.published.status()) => taken.is_ok(),
            };
            self.published.beat(self.protocol, taken);
            if taken {
                return info!("CDS takes the heartbeat for V2 jobs again");
            }
        }
    }

    async fn beats<F: Future<Output = Result<(), CdsError>>>(
        &self,
        beat: impl Fn(MonitoringStatus) -> F,
    ) -> Result<(), Dead> {
        let (protocol, mut failures) = (self.protocol, 0);
        loop {
            let beaten = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                beaten = beat(self.published.status()) => beaten,
            };
            self.published.beat(protocol, beaten.is_ok());
            match beaten {
                Ok(()) => failures = 0,
                Err(refused) if refused.is_forbidden() => {
                    error!(?protocol, error = %chain(&refused), "CDS forbids the heartbeat");
                    return Err(Dead);
                }
                Err(failed) => {
                    failures += 1;
                    warn!(?protocol, failures, error = %chain(&failed), "heartbeat failed");
                    if failures > self.most_failures {
                        error!(?protocol, failures, "CDS did not take a heartbeat for too long");
                        return Err(Dead);
                    }
                }
            }
            self.stop.run_until_cancelled(sleep(BEAT)).await;
        }
    }
}
