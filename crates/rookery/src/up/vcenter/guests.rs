//! What runs in simulated guests: programs of this machine, isolated from it; or simulated workers.

use std::collections::BTreeMap;

use rookery_cds_sim::worker;
use rookery_daemon::Supervisor;
use rookery_daemon::telemetry::chain;
use rookery_vim_sim::server::{Running, exec};
use rookery_vim_sim::{Announced, Control, GuestPower, Id, Notice};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::up::endpoint_kind::EndpointKind;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(in crate::up) enum GuestMode {
    /// Real programs if this machine can run them
    #[default]
    Auto,
    /// Real programs, each guest shut off in namespaces of its own
    Real,
    /// Workers that are played inside this process
    Scripted,
}

/// How programs run in guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::up) enum Guests {
    Real,
    /// Workers are played; other programs do what their command lines plainly say.
    Scripted,
}

impl Guests {
    /// For the page of a hatchery that serves such a CDS.
    pub(in crate::up) fn in_words(self, cds: EndpointKind) -> &'static str {
        match (self, cds) {
            (Self::Real, EndpointKind::Real) => {
                "run jobs of that CDS on this machine: they share its network and read what anybody may read"
            }
            (Self::Real, EndpointKind::Simulated) => {
                "run real programs of this machine, which cannot change it"
            }
            (Self::Scripted, _) => "are scripted: workers are played, nothing runs for real",
        }
    }
}

impl GuestMode {
    /// Resolves `auto` by what this machine can run.
    pub(in crate::up) async fn settle(self) -> anyhow::Result<Guests> {
        if self == Self::Scripted {
            return Ok(Guests::Scripted);
        }
        match (self, real_programs().await) {
            (_, Ok(())) => Ok(Guests::Real),
            (Self::Real, Err(why)) => {
                anyhow::bail!(
                    "guests cannot run real programs on this machine: {why}; --guests scripted can do without"
                )
            }
            (Self::Auto | Self::Scripted, Err(why)) => {
                info!(why, "guests cannot run real programs; simulating workers");
                Ok(Guests::Scripted)
            }
        }
    }
}

/// Whether guests can run real programs on this machine, or why not.
pub(in crate::up) async fn real_programs() -> Result<(), String> {
    match exec::check().await {
        Ok(()) if speaks_http() => Ok(()),
        Ok(()) => Err("workers need curl or wget, and there is neither in PATH".to_owned()),
        Err(refused) => Err(chain(&refused)),
    }
}

fn speaks_http() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .any(|folder| ["curl", "wget"].iter().any(|program| folder.join(program).is_file()))
}

/// Simulates the workers of all guests from now on.
pub(in crate::up) fn play(vcenter: &Running, supervisor: &Supervisor) {
    let (vcenter, workers) = (vcenter.clone(), supervisor.clone());
    let mut notices = vcenter.notices();
    let over = supervisor.token();
    supervisor.spawn("workers in guests", async move {
        let mut playing: BTreeMap<(Id, i64), CancellationToken> = BTreeMap::new();
        loop {
            let notice = tokio::select! {
                biased;
                () = over.cancelled() => return,
                notice = notices.recv() => notice,
            };
            match notice {
                Ok(Notice::Program(program)) => {
                    playing.retain(|_, stop| !stop.is_cancelled());
                    let stop = CancellationToken::new();
                    playing.insert((program.vm, program.pid), stop.clone());
                    let vcenter = vcenter.clone();
                    workers.spawn("worker in a guest", async move {
                        let ended = stop.clone();
                        stop.run_until_cancelled_owned(run(vcenter, *program)).await;
                        ended.cancel();
                    });
                }
                // A worker ends with its VM.
                Ok(Notice::Ended { vm, pid }) => {
                    if let Some(stop) = playing.remove(&(vm, pid)) {
                        stop.cancel();
                    }
                }
                Ok(Notice::Booted { .. }) => {}
                Err(RecvError::Lagged(lost)) => {
                    warn!(lost, "missed notices of the simulated vCenter; some workers do not start");
                }
                Err(RecvError::Closed) => return,
            }
        }
    });
}

/// Simulates one worker; then its VM powers off, as the worker's script would do.
async fn run(vcenter: Running, program: Announced) {
    let config = program.environment.iter().find_map(|variable| variable.strip_prefix("CDS_CONFIG="));
    let registers = program.arguments.contains(" register 1>");
    let played = worker::play(config.unwrap_or_default(), registers).await;
    if let Err(error) = &played {
        info!(vm = %program.name, error = %chain(error), "a worker gave up");
    }
    let (vm, pid, code) = (program.vm, program.pid, i32::from(played.is_err()));
    // A simulator that has ended needs no news.
    vcenter.control(Control::EndProgram { vm, pid, code, then: Some(GuestPower::Off) }).await;
}
