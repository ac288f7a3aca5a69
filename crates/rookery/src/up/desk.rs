//! Lets people ask the hatchery of `up` as they would ask any other one.

use rookery_hatchery::control::Socket;
use rookery_hatchery::run::{Lock, Policy};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::nest::{NAME, Nest};
use crate::hatchery::runtime_folder;

/// Opens the control socket for as long as the lock is held. Of several at once only the first one can be asked.
pub(super) async fn open(nest: &Nest, stop: &CancellationToken) -> Option<Lock> {
    let opened = async {
        let folder = runtime_folder()?;
        let lock = Lock::take(&folder, NAME, Policy::Refuse, stop).await?;
        nest.hatchery.control(Socket::open(&folder, NAME)?);
        anyhow::Ok(lock)
    };
    opened.await.map_err(|error| info!(%error, "this hatchery cannot be asked")).ok()
}
