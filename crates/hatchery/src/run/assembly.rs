//! A hatchery from its parts, once both servers have let us in.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rookery_cds::{Cds, HatcheryKey};
use rookery_daemon::probes::Probes;
use rookery_daemon::routines::Routines;
use rookery_daemon::tracked::TrackedTasks;
use rookery_daemon::trouble::Troubles;
use rookery_daemon::{Clock, Lease, Supervisor};
use rookery_fleet::ownership::OtherFront;
use rookery_fleet::reservations::FrontId;
use rookery_fleet_vsphere::readiness::TimeOuts;
use rookery_fleet_vsphere::{Login, Sharing, Site, Vcenter};
use rookery_vim::Limits;
use rookery_vim_client::{Deadlines, Inventory, Options};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::election::{Lost, Won};
use super::expiry::Expiries;
use super::heartbeat::{self, Beats};
use super::{Parts, Running, StartError, cdn, sign_up, site_names};
use crate::act::{ActionContext, Halt};
use crate::intake::feed::{Feeds, Wakes};
use crate::machine::{Hands, Journal, Observer};
use crate::mark;
use crate::reconcile::{Reconciler, Reserving, State};
use crate::settings::Settings;
use crate::surface::holds::Book;
use crate::surface::metrics::Metrics;
use crate::surface::report::{Beside, Host, Published, Report};

/// How many news may wait for the reconciler; then whoever has some waits, too.
const INBOX: usize = 4096;

/// By which right a hatchery acts, and how it hears that it has lost it.
pub(super) struct Leading {
    pub(super) won: Won,
    pub(super) lease: Lease,
    pub(super) over: CancellationToken,
    pub(super) lost: Lost,
}

/// What is put together once both servers have let us in.
pub(super) struct Assembly {
    pub(super) settings: Settings,
    pub(super) cds: Cds,
    pub(super) vcenter: Vcenter,
    pub(super) beside: Vec<OtherFront>,
    pub(super) key: HatcheryKey,
    pub(super) clock: Clock,
    pub(super) random: StdRng,
    pub(super) hostname: String,
    pub(super) version: String,
    pub(super) book: Book,
    pub(super) expiries: Expiries,
}

impl Assembly {
    /// Logs in to vCenter, in a session of its own: a hatchery is elected by it. CDS hears nothing yet.
    pub(super) async fn connect(parts: Parts, user_agent: String, lease: &Lease) -> Result<Self, StartError> {
        let Parts { settings, vcenters, beside, vcenter: dial, cds, clock, mut random, .. } = parts;
        let Parts { hostname, version, folder, .. } = parts;
        let key = HatcheryKey::from_pem(&settings.identity.private_key)?;
        let seed = StdRng::seed_from_u64(random.random());
        let cds = sign_up(&settings, cds, &key, &clock, &version, lease, seed)?;
        let login = Login {
            options: Options {
                endpoint: settings.vcenter.endpoint.clone(),
                user: settings.vcenter.user.clone(),
                password: settings.vcenter.password.clone(),
                user_agent,
                deadlines: Deadlines::default(),
                limits: Limits::default(),
                calls_per_second: None,
                lease: lease.clone(),
                random: StdRng::seed_from_u64(random.random()),
            },
            dial,
            trust: settings.vcenter.trust.clone(),
            sharing: Sharing::Own,
            ceilings: settings.vcenter.ceilings,
        };
        let vcenter = vcenters.connect(login).await.map_err(StartError::VCenter)?;
        let (book, expiries) = (Book::new(folder.as_deref(), &settings.identity.name), Expiries::default());
        Ok(Self { settings, cds, vcenter, beside, key, clock, random, hostname, version, book, expiries })
    }

    pub(super) async fn assemble(
        mut self,
        leading: Leading,
        probes: &Probes<Published>,
        supervisor: &Supervisor,
    ) -> Result<Running, StartError> {
        let stop = supervisor.token();
        let cdn = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(StartError::Stopped),
            cdn = cdn(&self.cds, &self.settings) => cdn,
        };
        let Together { reconciler, published, ahead } = self.put_together(cdn.as_ref(), supervisor).await?;
        let (context, routines, wakes) =
            (reconciler.context.clone(), reconciler.routines.clone(), reconciler.wakes.clone());
        let (news, shown) = (context.reconciler.clone(), published.report.clone());
        let halt = context.halt.clone();
        supervisor.spawn_essential("keeper", reconciler.run());
        let settings = &self.settings;
        Feeds { context, report: shown, wakes: wakes.clone(), routines, ahead }.start(settings, supervisor);
        let Leading { won, lease, over, lost } = leading;
        published.metrics.election(won == Won::Elected);
        probes.started(published.clone());
        heartbeat::start(&self.cds, &published, settings.api.max_heartbeat_failures, &over, supervisor);
        Ok(Running {
            published,
            over,
            lost,
            lease,
            reconciler: news,
            wakes,
            cds: self.cds,
            vcenter: self.vcenter,
            supervisor: supervisor.clone(),
            halt,
        })
    }

    /// Everything but what sets it to work.
    pub(super) async fn put_together(
        &mut self,
        cdn: Option<&rookery_cds::Cdn>,
        supervisor: &Supervisor,
    ) -> Result<Together, StartError> {
        let settings = &self.settings;
        let vcenter = &self.vcenter;
        let site = Site::find(vcenter.client(), &site_names(settings)).await?;
        let recogniser = mark::recogniser().beside(self.beside.iter().cloned());
        // The keys of extra configuration that recognisers want are asked for by the observer.
        let inventory = vcenter.inventory(&site.datacenter, &BTreeSet::new());
        let journal = Journal::default();
        let Site { datacenter, placement, bounds } = site;
        let hands = Hands::new(
            vcenter.client().clone(),
            vcenter.machines().clone(),
            inventory.clone(),
            (datacenter, bounds.clone()),
            recogniser.clone(),
            TimeOuts::default(),
        )
        .with_journal(journal.clone());

        let (tasks, inbox) = TrackedTasks::new(supervisor, INBOX);
        let (reloaded, current) = watch::channel(Arc::new(settings.clone()));
        let (_, worker_addresses) = watch::channel(settings.worker_addresses(cdn));
        let (ahead, acting) = watch::channel(SignedDuration::ZERO);
        let (report, shown) = watch::channel(Arc::new(Report::default()));
        let owner = &settings.identity.owner;
        let front = FrontId::new(&format!("{} {owner}", owner.front()));
        let reserving = Reserving::new(vcenter.reservations(front), &placement);
        let (routines, wakes, metrics) = (Routines::default(), Wakes::default(), Metrics::default());
        let troubles = Troubles::default();
        let context = ActionContext {
            cds: self.cds.clone(),
            hands,
            placement,
            key: self.key.clone(),
            addresses: worker_addresses,
            settings: current,
            clock: self.clock.clone(),
            ahead: acting,
            random: Arc::new(Mutex::new(StdRng::seed_from_u64(self.random.random()))),
            reconciler: tasks.owner().clone(),
            metrics: metrics.clone(),
            troubles: troubles.clone(),
            halt: Halt::default(),
        };
        let host = Host {
            service: settings.identity.name.clone(),
            hostname: self.hostname.clone(),
            version: self.version.clone(),
            started: self.clock.now(),
        };
        let published = Published {
            host,
            report: shown,
            routines: routines.clone(),
            beats: Beats::default(),
            troubles,
            clock: self.clock.clone(),
            metrics,
            beside: self.beside(&inventory, supervisor),
        };
        let reconciler = Reconciler {
            state: State::new(self.book.read()),
            random: StdRng::seed_from_u64(self.random.random()),
            inventory: inventory.clone(),
            observer: Observer::beside(inventory, recogniser, bounds, journal),
            context,
            governor: vcenter.governor().clone(),
            reserving,
            settings: reloaded,
            inbox,
            wakes,
            report,
            routines,
            supervisor: supervisor.clone(),
            tasks,
            book: self.book.clone(),
        };
        Ok(Together { reconciler, published, ahead })
    }

    fn beside(&self, inventory: &Inventory, supervisor: &Supervisor) -> Beside {
        Beside {
            inventory: inventory.clone(),
            governor: self.vcenter.governor().clone(),
            vcenter: self.vcenter.client().requests().clone(),
            cds: self.cds.requests().clone(),
            supervisor: supervisor.clone(),
            expiries: self.expiries.clone(),
        }
    }
}

/// What a hatchery is before it works.
pub(super) struct Together {
    pub(super) reconciler: Reconciler,
    pub(super) published: Published,
    pub(super) ahead: watch::Sender<SignedDuration>,
}
