//! What was made by an order whose answer was lost: it is found again by its name and its folder.

use std::time::Duration;

use rookery_daemon::Backoff;
use rookery_vim::inventory_name::escape;
use rookery_vim::methods::FindChild;
use rookery_vim::{MoRef, Node};
use tokio::time::sleep;

use crate::client::Client;
use crate::error::CallError;
use crate::machine::OperationError;
use crate::properties::property_of;
use crate::search::search_index;
use crate::tasks::TaskError;

/// How long to look for the effect of an order whose answer was lost.
pub(crate) const LOOK_AGAIN: Backoff =
    Backoff { first: Duration::from_millis(500), cap: Duration::from_secs(4), attempts: Some(5) };

/// What has that name in a folder now.
pub(crate) async fn child(client: &Client, folder: &MoRef, name: &str) -> Result<Option<MoRef>, CallError> {
    client.call(&FindChild { this: search_index(client), entity: folder.clone(), name: escape(name) }).await
}

/// What has that name in a folder after an order that failed with this error.
pub(crate) async fn child_after(
    client: &Client,
    folder: &MoRef,
    name: &str,
    error: &OperationError,
) -> Option<MoRef> {
    let mut delays = LOOK_AGAIN.delays(client.fork_random());
    loop {
        match (child(client, folder, name).await, error) {
            (Ok(Some(vm)), _) => return Some(vm),
            // Its task has ended: what is not there now does not come any more.
            (Ok(None), OperationError::Task(TaskError::Failed(_))) => return None,
            // A failed look proves nothing; neither does one that finds nothing while the order is on its way.
            (Ok(None) | Err(_), OperationError::Call(_) | OperationError::Task(_)) => {
                sleep(delays.next()?).await;
            }
        }
    }
}

/// A property of the configuration of a VM that may still be in the making: until then it shows none.
pub(crate) async fn configured(client: &Client, vm: &MoRef, path: &str) -> Result<Node, OperationError> {
    let mut delays = LOOK_AGAIN.delays(client.fork_random());
    loop {
        match (property_of(client, vm, path).await, delays.next()) {
            (Ok(Some(value)), _) => return Ok(value),
            (Ok(None), None) => {
                let why = "it shows no configuration yet".to_owned();
                return Err(TaskError::Unknown { task: vm.clone(), why }.into());
            }
            (Err(error), None) => return Err(error.into()),
            (_, Some(delay)) => sleep(delay).await,
        }
    }
}
