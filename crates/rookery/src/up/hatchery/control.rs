//! Lets people ask the hatchery of `up` as they would ask any other one.

use rookery_hatchery::control::Socket;
use rookery_hatchery::run::{Lock, Policy, Running};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::hatchery::runtime;

/// Where a hatchery can be asked, for as long as this is held.
#[derive(Debug)]
pub(super) struct Control {
    _lock: Option<Lock>,
    /// Whether it can be.
    pub(super) is_open: bool,
}

impl Control {
    /// Opens the control socket under the lock of the hatchery's name. Of several simulated ones at once only the first
    /// one can be asked; one that others can see has its `lock` already.
    pub(super) async fn open(hatchery: &Running, name: &str, lock: Option<Lock>) -> Self {
        let mut held = lock;
        let opened = async {
            let folder = runtime()?;
            if held.is_none() {
                // It refuses at once, and needs no signal to give up.
                held = Some(Lock::take(&folder, name, Policy::Refuse, &CancellationToken::new()).await?);
            }
            hatchery.control(Socket::open(&folder, name)?);
            anyhow::Ok(())
        };
        let opened = opened.await;
        if let Err(error) = &opened {
            info!(%error, "this hatchery cannot be asked");
        }
        Self { _lock: held, is_open: opened.is_ok() }
    }
}
