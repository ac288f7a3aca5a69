//! The vCenters of a process, and what its fronts share of them.
//!
//! ```text
//!  Vcenters ── Server (about.instanceUuid): one governor, one set of reservations
//!                 └── Session (user, trust, or of its own): client, tasks, machines
//!                        └── Inventory, one for each datacenter
//! ```
//!
//! Each is made when it is first used and goes with its last user: a front keeps its [`Vcenter`] for as long as it uses
//! anything that it got from it.

mod reservations;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rookery_daemon::Supervisor;
use rookery_daemon::telemetry::chain;
use rookery_fleet::reservations::FrontId;
use rookery_vim::MoRef;
use rookery_vim_client::{
    CallError, Ceilings, Client, Dial, ExtraConfigKey, Governor, Inventory, Machines, Options, Tasks, Trust,
};
use secrecy::SecretString;
use tokio::sync::Mutex as Gate;
use tracing::warn;

use reservations::Shared;
pub use reservations::{FrontReservations, Reserved};
use session::{Session, SessionKey};

/// All vCenters of a process. Clones share them.
#[derive(Debug, Clone)]
pub struct Vcenters(Arc<Registry>);

#[derive(Debug)]
struct Registry {
    supervisor: Supervisor,
    known: Mutex<Known>,
}

/// What is in use. All of it goes by itself, and is forgotten when something new comes.
#[derive(Debug, Default)]
struct Known {
    servers: BTreeMap<ServerId, Weak<Server>>,
    sessions: Vec<Weak<Session>>,
    /// Who logs in with the same words at the same time logs in once.
    gates: Vec<(SessionKey, Weak<Gate<()>>)>,
}

/// Which server it is, whatever address it was reached at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ServerId {
    Instance(String),
    /// It does not say who it is.
    Endpoint(String),
}

/// What all sessions on one server share.
#[derive(Debug)]
struct Server {
    id: ServerId,
    governor: Governor,
    reservations: Shared,
}

/// How to enter a vCenter, and how much it may be asked to do.
#[derive(Debug)]
pub struct Login {
    /// The server, who logs in, and how it is spoken to. Of those who share a session the first one decides how.
    pub options: Options,
    pub dial: Arc<dyn Dial>,
    /// Whom the way there takes for the server. Who trusts differently shares no session.
    pub trust: Trust,
    /// Whether the session may be shared.
    pub sharing: Sharing,
    /// The most that it may be asked to do at once. Of all that were given for one server the lowest count.
    pub ceilings: Ceilings,
}

/// Whether a session may be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// With everybody who logs in as the same user. The lease of [`Options`] has no effect then: there is none.
    Shared,
    /// With nobody: whoever is elected by its session, or has a lease, has one of its own.
    Own,
}

/// A vCenter that was logged in to. Clones share the session; the last one ends it.
#[derive(Debug, Clone)]
pub struct Vcenter(Arc<Session>);

impl Vcenters {
    /// None yet. What they need in the background runs under the supervisor.
    pub fn new(supervisor: &Supervisor) -> Self {
        Self(Arc::new(Registry { supervisor: supervisor.clone(), known: Mutex::default() }))
    }

    /// Logs in, or joins a session that may be shared. A login that fails leaves nothing behind.
    pub async fn connect(&self, login: Login) -> Result<Vcenter, CallError> {
        match login.sharing {
            Sharing::Own => self.log_in(login, None).await,
            Sharing::Shared => {
                let key = SessionKey::of(&login);
                let gate = self.0.known().gate(&key);
                let _turn = gate.lock().await;
                let same = self.0.known().session(|session| session.is_at(&key));
                match same {
                    Some(session) => join(session, login.options).await,
                    None => self.log_in(login, Some(key)).await,
                }
            }
        }
    }

    async fn log_in(&self, login: Login, key: Option<SessionKey>) -> Result<Vcenter, CallError> {
        let Login { mut options, dial, ceilings, .. } = login;
        if key.is_some() {
            options.lease = rookery_daemon::Lease::unlimited();
        }
        let client = Client::connect(options, dial).await?;
        let server = self.0.known().server(&client, ceilings);
        let (session, lost) = {
            let mut known = self.0.known();
            // The same server may have been reached at another address.
            let same = |other: &Session| key.as_ref().is_some_and(|key| other.is_of(&server.id, key));
            match known.session(same) {
                Some(session) => (session, Some(client)),
                None => (known.enter(Session::start(server, client, key, &self.0.supervisor)), None),
            }
        };
        if let Some(client) = lost
            && let Err(error) = client.close().await
        {
            warn!(error = %chain(&error), "a second session on the same vCenter lasts until vCenter ends it");
        }
        Ok(Vcenter(session))
    }
}

/// Joins a session. Another password has to be seen to be a right one, and is the one to use from then on.
async fn join(session: Arc<Session>, options: Options) -> Result<Vcenter, CallError> {
    let vcenter = Vcenter(session);
    if !vcenter.client().logs_in_with(&options.password) {
        vcenter.client().join(options.user, options.password).await?;
    }
    Ok(vcenter)
}

impl Registry {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn gate(&mut self, key: &SessionKey) -> Arc<Gate<()>> {
        self.gates.retain(|(_, gate)| gate.strong_count() > 0);
        let known = self.gates.iter().find(|(other, _)| other == key).and_then(|(_, gate)| gate.upgrade());
        known.unwrap_or_else(|| {
            let gate = Arc::default();
            self.gates.push((key.clone(), Arc::downgrade(&gate)));
            gate
        })
    }

    fn session(&self, is_it: impl Fn(&Session) -> bool) -> Option<Arc<Session>> {
        self.sessions.iter().filter_map(Weak::upgrade).find(|session| is_it(session))
    }

    fn enter(&mut self, session: Session) -> Arc<Session> {
        let session = Arc::new(session);
        self.sessions.retain(|session| session.strong_count() > 0);
        self.sessions.push(Arc::downgrade(&session));
        session
    }

    fn server(&mut self, client: &Client, ceilings: Ceilings) -> Arc<Server> {
        self.servers.retain(|_, server| server.strong_count() > 0);
        let id = ServerId::of(client);
        if let Some(server) = self.servers.get(&id).and_then(Weak::upgrade) {
            server.governor.tighten(ceilings);
            return server;
        }
        let server =
            Server { id: id.clone(), governor: Governor::new(ceilings), reservations: Shared::default() };
        let server = Arc::new(server);
        self.servers.insert(id, Arc::downgrade(&server));
        server
    }
}

impl ServerId {
    fn of(client: &Client) -> Self {
        let told = client.content().about.instance_uuid.as_deref().filter(|uuid| !uuid.is_empty());
        told.map_or_else(
            || Self::Endpoint(client.endpoint().to_string()),
            |uuid| Self::Instance(uuid.to_lowercase()),
        )
    }
}

impl Vcenter {
    /// The session.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// What bounds the operations of everybody on this server.
    pub fn governor(&self) -> &Governor {
        &self.0.server.governor
    }

    /// Operations.
    pub fn machines(&self) -> &Machines {
        &self.0.machines
    }

    /// What waits for the tasks of this session.
    pub fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// The VMs below a datacenter, or below the root folder, with these entries of their extra configuration at least.
    pub fn inventory(&self, datacenter: &MoRef, extra: &BTreeSet<ExtraConfigKey>) -> Inventory {
        self.0.inventory(datacenter, extra)
    }

    /// What is taken on this server, in the eyes of one front.
    pub fn reservations(&self, front: FrontId) -> FrontReservations {
        FrontReservations::new(Arc::clone(&self.0.server), front)
    }

    /// Logs in as somebody else, who logs in from now on for everybody who shares the session; what was made with it
    /// stays.
    pub async fn change_login(&self, user: String, password: SecretString) -> Result<(), CallError> {
        self.client().change_login(user, password).await
    }

    /// Waits until a task of the session has failed that nobody can do without, and names it.
    pub fn broken(&self) -> impl Future<Output = &'static str> {
        self.0.supervisor.essential_ended()
    }

    /// Gives it up. The last one who does waits until the session has ended; a drop leaves that to the background.
    pub async fn close(self) {
        if let Some(session) = Arc::into_inner(self.0) {
            session.end().await;
        }
    }
}
