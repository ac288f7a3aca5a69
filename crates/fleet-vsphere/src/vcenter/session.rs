//! One session, and what it carries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_daemon::telemetry::chain;
use rookery_vim::MoRef;
use rookery_vim_client::{
    Client, Endpoint, ExtraConfigKey, Inventory, Machines, Tasks, Trust, WeakInventory,
};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::warn;

use super::{Login, Server, ServerId};

/// How long tasks get to remove what they made on the server. What they leave goes with the session.
const TASKS_END: Duration = Duration::from_secs(5);
/// A server that does not answer a logout forgets the session by itself, after its idle time.
const LOGOUT: Duration = Duration::from_secs(5);

/// Who can share a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionKey {
    endpoint: Endpoint,
    user: String,
    trust: Trust,
}

impl SessionKey {
    pub(super) fn of(login: &Login) -> Self {
        let (endpoint, user) = (login.options.endpoint.clone(), login.options.user.clone());
        Self { endpoint, user, trust: login.trust.clone() }
    }
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) server: Arc<Server>,
    pub(super) client: Client,
    pub(super) tasks: Tasks,
    pub(super) machines: Machines,
    /// As what it may be shared. Its user is the first one; who logs in by now is known to the client.
    key: Option<SessionKey>,
    inventories: Mutex<BTreeMap<MoRef, WeakInventory>>,
    pub(super) supervisor: Supervisor,
    /// Where the logout runs if nobody waits for it.
    above: Supervisor,
    has_ended: bool,
}

impl Session {
    pub(super) fn start(
        server: Arc<Server>,
        client: Client,
        key: Option<SessionKey>,
        above: &Supervisor,
    ) -> Self {
        let supervisor = above.child();
        let tasks = Tasks::start(client.clone(), &supervisor);
        let machines = Machines::new(client.clone(), tasks.clone(), server.governor.clone());
        let (inventories, above) = (Mutex::default(), above.clone());
        Self { server, client, tasks, machines, key, inventories, supervisor, above, has_ended: false }
    }

    /// Whether it is what such a login would be.
    pub(super) fn is_at(&self, key: &SessionKey) -> bool {
        self.fits(key) && self.client.endpoint() == &key.endpoint
    }

    /// Whether it is what such a login at that server would be, at whatever address.
    pub(super) fn is_of(&self, server: &ServerId, key: &SessionKey) -> bool {
        self.fits(key) && self.server.id == *server
    }

    fn fits(&self, key: &SessionKey) -> bool {
        self.key.as_ref().is_some_and(|own| own.trust == key.trust) && self.client.user() == key.user
    }

    pub(super) fn inventory(&self, container: &MoRef, extra: &BTreeSet<ExtraConfigKey>) -> Inventory {
        let mut inventories = self.inventories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inventory) = inventories.get(container).and_then(WeakInventory::upgrade) {
            inventory.show_extra_config(extra);
            return inventory;
        }
        let (client, container) = (self.client.clone(), container.clone());
        let inventory = Inventory::start_with(client, container.clone(), extra.clone(), &self.supervisor);
        inventories.insert(container, inventory.downgrade());
        inventory
    }

    pub(super) async fn end(mut self) {
        farewell(self.supervisor.clone(), self.client.clone()).await;
        self.has_ended = true;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and vCenter ends the session after its idle time.
        if !self.has_ended && Handle::try_current().is_ok() {
            // At once: that tasks end because they have lost their users is no failure.
            self.supervisor.token().cancel();
            self.above.spawn("vCenter logout", farewell(self.supervisor.clone(), self.client.clone()));
        }
    }
}

/// Failing here is no failure of anybody's work: it is only told to the log.
async fn farewell(tasks: Supervisor, client: Client) {
    if let Err(unfinished) = tasks.shutdown(TASKS_END).await {
        warn!(error = %unfinished, "vCenter removes the rest with the session");
    }
    let why = match timeout(LOGOUT, client.close()).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => chain(&error),
        Err(_) => format!("no answer within {} s", LOGOUT.as_secs()),
    };
    warn!(error = %why, "could not log out; vCenter ends the session after its idle time");
}
