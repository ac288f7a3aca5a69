//! The control socket of the hatchery of `up`, as any other hatchery has one.

use rookery_daemon::lock::Lock;
use rookery_hatchery::run::{self, Policy, Running};
use rookery_hatchery::surface::control;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::hatchery::runtime;

/// Holds the process lock, under which the control socket is open.
#[derive(Debug)]
pub(super) struct Control {
    _lock: Option<Lock>,
    pub(super) is_open: bool,
}

impl Control {
    /// Opens the control socket under the process lock of the hatchery's name. A hatchery on a real server has its `lock`
    /// already; of several simulated ones at a time only the first gets the lock and the socket.
    pub(super) async fn open(hatchery: &Running, name: &str, lock: Option<Lock>) -> Self {
        let mut held = lock;
        let opened = async {
            let folder = runtime()?;
            if held.is_none() {
                // It refuses at once, and needs no signal to give up.
                held = Some(run::lock(&folder, name, Policy::Refuse, &CancellationToken::new()).await?);
            }
            hatchery.control(control::open(&folder, name)?);
            anyhow::Ok(())
        };
        let opened = opened.await;
        if let Err(error) = &opened {
            info!(%error, "no control socket");
        }
        Self { _lock: held, is_open: opened.is_ok() }
    }
}
