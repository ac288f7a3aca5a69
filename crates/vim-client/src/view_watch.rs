//! A view with a collector of its own: what the inventory and the tasks both wait on.

use std::time::Duration;

use rookery_vim::MoRef;
use rookery_vim::methods::{
    CreateFilter, CreatePropertyCollector, DestroyPropertyCollector, DestroyView, WaitForUpdatesEx,
};
use rookery_vim::objects::{UpdateSet, WaitOptions};
use tokio::time::timeout;

use crate::client::Client;
use crate::error::CallError;
use crate::properties::members_of;

/// One request a minute keeps the session alive and the inventory younger than the two minutes that deleting needs.
const MAX_WAIT: Duration = Duration::from_secs(55);
/// How long to wait for an answer to a long poll: it may come later than promised.
pub(crate) const POLL: Duration = Duration::from_secs(MAX_WAIT.as_secs() + 30);
/// How long tidying up may hold up a shutdown.
const FAREWELL: Duration = Duration::from_secs(5);

/// What was made on the server for one watch. All of it goes with the session.
pub(crate) struct ViewWatch {
    pub(crate) view: MoRef,
    pub(crate) collector: MoRef,
}

impl ViewWatch {
    /// Starts watching properties of the members of a view, which it takes over.
    pub(crate) async fn build(
        client: &Client,
        view: MoRef,
        kind: &str,
        paths: &[impl AsRef<str>],
    ) -> Result<Self, CallError> {
        // Private, so that nobody else's filters mix in.
        let main = client.content().property_collector.clone();
        let collector = client.call(&CreatePropertyCollector { this: main }).await?;
        let spec = members_of(&view, kind, paths);
        client.call(&CreateFilter { this: collector.clone(), spec, partial_updates: false }).await?;
        Ok(Self { view, collector })
    }

    /// Removes it. A server that does not answer forgets it with the session.
    pub(crate) async fn remove(self, client: &Client) {
        let farewell = async {
            client.call_once(&DestroyPropertyCollector { this: self.collector }, FAREWELL).await.ok();
            client.call_once(&DestroyView { this: self.view }, FAREWELL).await.ok();
        };
        timeout(FAREWELL, farewell).await.ok();
    }
}

/// The long poll: what has changed since a version, or nothing if nothing did.
pub(crate) async fn poll(
    client: &Client,
    collector: MoRef,
    version: String,
    page: Option<i32>,
    deadline: Duration,
) -> Result<Option<UpdateSet>, CallError> {
    let seconds = i32::try_from(MAX_WAIT.as_secs()).unwrap_or(i32::MAX);
    let options = WaitOptions { max_wait_seconds: Some(seconds), max_object_updates: page };
    let wait = WaitForUpdatesEx { this: collector, version: Some(version), options: Some(options) };
    client.call_once(&wait, deadline).await
}
