//! A hatchery from its parts: sessions, inventory, reconciler, sources, heartbeat, pages; and its end.

mod assembly;
mod election;
pub mod expiry;
pub mod heartbeat;
mod instance;
mod reload;
mod stop;

use crate::act::Halt;
use crate::intake::feed::{self, Wakes};
use crate::reconcile::Message;
use crate::settings::{Settings, reported};
use crate::surface::control::{ControlState, Ends, Request};
use crate::surface::report::{self, Planned, Published};
use assembly::{Assembly, Leading, Together};
use election::{Election, Lost, Won};
pub use election::{LeadershipLost, PRODUCT};
pub use instance::{InstanceError, lock};
use rand::rngs::StdRng;
use rookery_cds::{ApiAddress, Cds, CdsError, HatcheryKey, Identity, InvalidApiAddress, InvalidKey};
use rookery_daemon::control::Socket;
pub use rookery_daemon::lock::Policy;
use rookery_daemon::probes::Probes;
use rookery_daemon::telemetry::chain;
use rookery_daemon::{Clock, Lease, Supervisor, pages, shutdown};
use rookery_fleet::ownership::OtherFront;
use rookery_fleet_vsphere::sessions::user_agent;
use rookery_fleet_vsphere::{SiteError, SiteNames, Vcenter, Vcenters};
use rookery_vim_client::{CallError, Dial, Snapshot};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// How often the first sign-in is tried, and for how long.
const SIGN_IN_PAUSE: Duration = Duration::from_secs(10);
const SIGN_IN_PATIENCE: Duration = Duration::from_mins(5);
/// How often CDS is asked where logs go.
const CDN_PAUSE: Duration = Duration::from_secs(2);
/// How long one look waits for the whole inventory.
const FIRST_LOAD: Duration = Duration::from_mins(2);
const GOODBYE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Parts {
    pub settings: Settings,
    /// The vCenters of the process.
    pub vcenters: Vcenters,
    /// The other fronts of the process.
    pub beside: Vec<OtherFront>,
    pub vcenter: Arc<dyn Dial>,
    pub cds: Arc<dyn Dial>,
    pub clock: Clock,
    /// What everything random is drawn from.
    pub random: StdRng,
    /// Its pages, if they are served: see [`serve_pages`].
    pub pages: Option<Arc<Probes<Published>>>,
    /// What tells this process from another one of the same name.
    pub instance: String,
    pub hostname: String,
    pub version: String,
    /// What to do if there is another one of the same name.
    pub policy: Policy,
    /// The folder for what must outlive the process; none: nothing does.
    pub folder: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Running {
    pub published: Published,
    /// Cancelled when it cannot go on: CDS does not want it any more, or it does not lead any more.
    pub over: CancellationToken,
    lost: Lost,
    lease: Lease,
    reconciler: mpsc::Sender<Message>,
    wakes: Wakes,
    cds: Cds,
    vcenter: Vcenter,
    supervisor: Supervisor,
    halt: Halt,
}

/// Why a hatchery that runs cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// CDS does not take its heartbeats any more.
    #[error("CDS does not take this hatchery's heartbeats any more: restart it")]
    Unwanted,
    #[error("the hatchery has lost the lead")]
    Leadership(#[source] LeadershipLost),
    /// A task that it cannot do without has ended.
    #[error("a part of the hatchery has failed ({task}): restart it")]
    Broken { task: &'static str },
}

/// Why a hatchery does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("commonConfiguration.rsaPrivateKey cannot be used")]
    Key(#[from] InvalidKey),
    #[error("commonConfiguration.api.http.url cannot be used")]
    Api(#[from] InvalidApiAddress),
    #[error("the hatchery could not sign in to CDS")]
    SignIn(#[source] CdsError),
    #[error("the hatchery could not log in to vCenter")]
    VCenter(#[source] CallError),
    #[error(transparent)]
    Site(#[from] SiteError),
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error("the hatchery lost the lead while it started")]
    Leadership(#[source] LeadershipLost),
    /// It was told to stop before it had started.
    #[error("it was stopped before it had started")]
    Stopped,
}

/// Serves the pages of a hatchery from now on; before it has started they say so.
pub fn serve_pages(
    listener: TcpListener,
    settings: &Settings,
    supervisor: &Supervisor,
) -> Arc<Probes<Published>> {
    let probes = unserved_pages();
    let (shown, forwarded) = (Arc::clone(&probes), settings.listen.forwarded_header.clone());
    supervisor.spawn("monitoring pages", pages::serve(listener, shown, forwarded, supervisor.clone()));
    probes
}

fn unserved_pages() -> Arc<Probes<Published>> {
    Arc::new(Probes::new("the hatchery", report::error_page))
}

/// Starts a hatchery. Its tasks run under the supervisor.
pub async fn start(mut parts: Parts, supervisor: &Supervisor) -> Result<Running, StartError> {
    let stop = supervisor.token();
    let lease = Lease::new(parts.clock.clone());
    let probes = parts.pages.take().unwrap_or_else(unserved_pages);
    let (name, instance, policy) = (&parts.settings.identity.name, parts.instance.clone(), parts.policy);
    let agent = user_agent(&PRODUCT, &parts.version, name, &instance);
    let dial = Arc::clone(&parts.vcenter);
    let assembly = Box::pin(Assembly::connect(parts, agent, &lease)).await?;
    expiry::set_tokens(&assembly.expiries, &assembly.settings);
    let (cds, vcenter) = (assembly.cds.clone(), assembly.vcenter.clone());
    // CDS is told of this one only once it is the only one of its name.
    let (client, clock, name) =
        (vcenter.client().clone(), assembly.clock.clone(), &assembly.settings.identity.name);
    let mut election = Election::new(client, lease.clone(), clock.clone(), name, &instance);
    let (over, lost) = (CancellationToken::new(), Lost::default());
    let welcome = async {
        let won = election.win(policy, &probes, &stop).await?;
        probes.waits(None);
        if won == Won::Elected {
            let kept = election.keep(Arc::clone(&lost), over.clone(), stop.clone());
            supervisor.spawn_essential("election", kept);
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(StartError::Stopped),
            () = over.cancelled() => Err(lost.get().cloned().map_or(StartError::Stopped, StartError::Leadership)),
            signed = sign_in(&cds, &assembly.settings) => signed.map(|()| won),
        }
    };
    let running = match welcome.await {
        Ok(won) => {
            expiry::watch(&assembly.expiries, dial, clock, supervisor);
            let leading = Leading { won, lease, over, lost };
            Box::pin(assembly.assemble(leading, &probes, supervisor)).await
        }
        Err(error) => {
            // The session ends with the last one that uses it.
            drop(assembly);
            Err(error)
        }
    };
    if running.is_err() {
        timeout(GOODBYE, farewell(&cds, vcenter)).await.ok();
    }
    running
}

/// CDS as this hatchery speaks with it. Does nothing yet.
pub fn sign_up(
    settings: &Settings,
    dial: Arc<dyn Dial>,
    key: &HatcheryKey,
    clock: &Clock,
    version: &str,
    lease: &Lease,
    random: StdRng,
) -> Result<Cds, StartError> {
    let config = reported(settings).as_object().cloned().unwrap_or_default();
    let identity = Identity {
        name: settings.identity.name.clone(),
        http_url: settings.identity.url.to_string(),
        config,
        region: settings.queue.region.clone(),
        ignore_job_with_no_region: settings.queue.ignore_jobs_without_region,
        os_arch: settings.identity.os_arch.clone(),
        key: key.clone(),
        version: version.to_owned(),
    };
    Ok(Cds::new(rookery_cds::Options {
        api: ApiAddress::parse(&settings.api.url.to_string())?,
        dial,
        identity,
        v1: settings.api.token.clone(),
        v2: settings.api.token_v2.clone(),
        request_timeout: settings.api.request_timeout,
        user_agent: format!("rookery-hatchery/{version}"),
        clock: clock.clone(),
        lease: lease.clone(),
        random,
    }))
}

/// What the next pass would do, from one look. Nothing is changed, but signing in makes CDS know this hatchery.
pub async fn look(parts: Parts, supervisor: &Supervisor) -> Result<Planned, StartError> {
    // It only looks: there is nothing that it may change.
    let lease = Lease::new(parts.clock.clone());
    // Not as a hatchery: another one of this name would take this for one that works.
    let user_agent = format!("rookery/{} (hatchery plan; {})", parts.version, parts.instance);
    let mut assembly = Box::pin(Assembly::connect(parts, user_agent, &lease)).await?;
    let (cds, vcenter) = (assembly.cds.clone(), assembly.vcenter.clone());
    let looked = async {
        sign_in_once(&assembly.cds, &assembly.settings).await.map_err(StartError::SignIn)?;
        let Together { reconciler, published: _published, ahead } =
            assembly.put_together(None, supervisor).await?;
        let (context, inventory) = (reconciler.context.clone(), reconciler.inventory.clone());
        let sources = async {
            // One that is not complete by then is planned with as it is, which says so.
            timeout(FIRST_LOAD, inventory.until(Snapshot::is_complete)).await.ok();
            feed::once(&context, &assembly.settings, ahead).await;
        };
        Ok(Box::pin(reconciler.look(sources)).await)
    };
    let stop = supervisor.token();
    let looked = tokio::select! {
        biased;
        () = stop.cancelled() => Err(StartError::Stopped),
        looked = Box::pin(looked) => looked,
    };
    // The session ends with the last one that uses it.
    drop(assembly);
    goodbye(supervisor, &cds, vcenter).await;
    looked
}

/// Signs in to both protocols, with patience: CDS may be starting, too. A token that it refuses does not get better.
async fn sign_in(cds: &Cds, settings: &Settings) -> Result<(), StartError> {
    let begun = Instant::now();
    loop {
        match sign_in_once(cds, settings).await {
            Ok(()) => return Ok(()),
            Err(error @ CdsError::SignIn { .. }) => return Err(StartError::SignIn(error)),
            Err(error) if begun.elapsed() >= SIGN_IN_PATIENCE => return Err(StartError::SignIn(error)),
            Err(error) => {
                warn!(error = %chain(&error), "sign-in to CDS failed; trying again in {} s", SIGN_IN_PAUSE.as_secs());
                sleep(SIGN_IN_PAUSE).await;
            }
        }
    }
}

async fn sign_in_once(cds: &Cds, settings: &Settings) -> Result<(), CdsError> {
    if let Some(v1) = cds.v1() {
        let service = v1.service().await?;
        info!(id = service.id, "signed in to CDS for V1 jobs");
    } else {
        info!("there is no token for V1 jobs: none are served");
    }
    let Some(v2) = cds.v2() else {
        info!("there is no token for V2 jobs: none are served");
        return Ok(());
    };
    let region = v2.region().await?;
    info!(region, "signed in to CDS for V2 jobs");
    if let Some(own) = settings.queue.region.as_ref().filter(|own| **own != region) {
        warn!(v1 = %own, v2 = %region, "V1 jobs are served for the region of the settings, V2 jobs for that of CDS");
    }
    Ok(())
}

/// Where logs go, as CDS says; not asked if the settings say it.
async fn cdn(cds: &Cds, settings: &Settings) -> Option<rookery_cds::Cdn> {
    if !settings.cdn.http_url.is_empty() && !settings.cdn.tcp_url.is_empty() {
        return None;
    }
    loop {
        let asked = match (cds.v2(), cds.v1()) {
            (Some(v2), _) => v2.cdn().await,
            (None, Some(v1)) => v1.cdn().await,
            (None, None) => return None,
        };
        match asked {
            Ok(cdn) => return Some(cdn),
            Err(error) => {
                warn!(error = %chain(&error), "CDS does not say where logs go; trying again");
                sleep(CDN_PAUSE).await;
            }
        }
    }
}

pub fn site_names(settings: &Settings) -> SiteNames {
    let vcenter = &settings.vcenter;
    SiteNames {
        datacenter: vcenter.datacenter.clone(),
        folder: vcenter.folder.clone(),
        resource_pool: vcenter.resource_pool.clone(),
        datastore: vcenter.datastore.clone(),
        network: vcenter.network.clone(),
    }
}

impl Running {
    /// Waits until it cannot go on.
    pub async fn ended(&self) -> Ended {
        tokio::select! {
            biased;
            task = self.broken() => Ended::Broken { task },
            () = self.over.cancelled() => {
                self.lost.get().cloned().map_or(Ended::Unwanted, Ended::Leadership)
            }
        }
    }

    /// Waits until a task has ended that it cannot do without.
    async fn broken(&self) -> &'static str {
        tokio::select! {
            biased;
            task = self.supervisor.essential_ended() => task,
            task = self.vcenter.broken() => task,
        }
    }

    /// Takes no new jobs, or takes them again.
    pub async fn drain(&self, draining: bool) {
        self.reconciler.send(Message::Drain(draining)).await.ok();
    }

    /// What answers whoever may ask.
    pub fn control_state(&self) -> ControlState {
        let (published, reconciler) = (self.published.clone(), self.reconciler.clone());
        ControlState {
            published,
            reconciler,
            wakes: self.wakes.clone(),
            cds: self.cds.clone(),
            ends: Ends::default(),
        }
    }

    /// Answers on a control socket from now on.
    pub fn control(&self, socket: Socket) {
        let state = self.control_state();
        let answer = move |request: Request| {
            let state = state.clone();
            async move { state.answer(request).await }
        };
        self.supervisor.spawn("control socket", socket.serve(self.supervisor.clone(), answer));
    }
}

/// Stops all tasks, signs out and logs out.
async fn goodbye(supervisor: &Supervisor, cds: &Cds, vcenter: Vcenter) {
    shutdown::end(supervisor, farewell(cds, vcenter), GOODBYE).await;
}

/// Signs out and logs out, where that was in.
async fn farewell(cds: &Cds, vcenter: Vcenter) {
    if let Some(v1) = cds.v1()
        && let Err(error) = v1.sign_out().await
    {
        warn!(error = %chain(&error), "CDS did not take the sign-out");
    }
    vcenter.close().await;
}
