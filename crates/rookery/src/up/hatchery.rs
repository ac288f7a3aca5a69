//! The hatchery as a part of `up`, between a CDS and a vCenter; and what else it takes.
//!
//! ```text
//!   jobs ─► CDS ◄── HTTP ──► hatchery ◄── SOAP ──► vCenter
//!            ▲                                        │
//!            └────────────── workers in guests ◄──────┘
//! ```

#[cfg(feature = "sim")]
pub(super) mod cds;
#[cfg(feature = "sim")]
mod choose;
mod control;
pub(super) mod flags;
#[cfg(feature = "sim")]
pub(super) mod jobs;
pub(super) mod order;
mod overlay;
pub(super) mod page;
#[cfg(feature = "sim")]
mod survey;
#[cfg(feature = "sim")]
mod teardown;
mod watch;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{self, LocalBoxStream};
use rookery_fleet::MachineId;
#[cfg(feature = "sim")]
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::run::{self, Policy, Running};
#[cfg(feature = "sim")]
use rookery_hatchery::settings::Settings;
use rookery_hatchery::surface::control::{Answer, Request};
use rookery_hatchery::surface::report::{Published, Report, Status};
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

use super::Args;
use super::endpoint_kind::{Endpoint, EndpointKind};
use super::part::{News, Part, Removal};
use super::stack::{Process, listen};
use crate::Ending;
use crate::hatchery::top::Starts;
use crate::hatchery::{hostname, parts, runtime, sign_in};
use crate::live::{Model, Page};
use control::Control;
use order::Order;
use page::{Endpoints, Setting};

pub(super) struct Hatchery {
    #[cfg(feature = "sim")]
    pub(super) settings: Settings,
    #[cfg(feature = "sim")]
    vcenters: Vcenters,
    running: Running,
    setting: Setting,
    control: Control,
    made: RefCell<Made>,
    /// How long jobs of a real CDS took to start.
    starts: RefCell<Starts>,
    #[cfg(feature = "sim")]
    file: Option<std::path::PathBuf>,
}

/// How many machines were made since the beginning: on a real vCenter some may be older than this process.
#[derive(Debug, Default)]
struct Made {
    before: usize,
    /// All that were ever there.
    seen: BTreeSet<MachineId>,
}

impl Made {
    fn since(report: &Report) -> Self {
        let mut made = Self::default();
        made.look(report);
        Self { before: made.seen.len(), ..made }
    }

    fn look(&mut self, report: &Report) {
        self.seen.extend(report.own.iter().map(|(id, _)| id.clone()));
    }

    fn count(&self) -> usize {
        self.seen.len() - self.before
    }
}

/// As whoever asks over the control socket is told.
pub(super) fn status(published: &Published) -> Status {
    Status::new(&published.host, &published.report.borrow(), published.troubles.all())
}

/// The instance name, which tells this hatchery from others of its name, and the process lock, which a hatchery on a real
/// server takes before it starts. The instance name contains the lock's folder, so that a restart after a crash is
/// recognised as the same instance.
pub(super) struct Identity {
    instance: String,
    lock: Option<rookery_daemon::lock::Lock>,
}

impl Identity {
    pub(super) async fn of(order: &Order, stop: &CancellationToken) -> anyhow::Result<Self> {
        let Some(name) = order.seen_by_others()? else {
            return Ok(Self { instance: format!("up-{}", std::process::id()), lock: None });
        };
        let folder = runtime()?;
        let lock = run::lock(&folder, &name, Policy::Refuse, stop).await?;
        Ok(Self { instance: format!("{}:{}", hostname(), folder.display()), lock: Some(lock) })
    }
}

impl Hatchery {
    /// `guests` is what runs in the guests of the vCenter, in words.
    pub(super) async fn start(
        order: &Order,
        identity: Identity,
        (vcenter, cds): (String, String),
        guests: &'static str,
        args: &Args,
        default_file: Option<&Path>,
        process: &Process,
    ) -> anyhow::Result<Self> {
        let (listener, pages) = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let settings = order.settings(&vcenter, &cds, &pages)?;
        if order.cds.kind() == EndpointKind::Real {
            // A hatchery waits for its CDS; whoever sits here wants to know.
            sign_in(&settings).await?;
        }
        let Identity { instance, lock } = identity;
        let mut parts = parts(settings.clone(), &process.vcenters, instance, hostname(), Policy::Refuse)?;
        #[cfg(feature = "sim")]
        {
            parts.random = rand::SeedableRng::seed_from_u64(args.simulated.seed);
        }
        if order.vcenter.kind() == EndpointKind::Simulated {
            // What is to be kept there goes with it.
            parts.folder = None;
        }
        let supervisor = process.supervisor.child();
        parts.pages = Some(run::serve_pages(listener, &settings, &supervisor));
        let running = run::start(parts, &supervisor).await.context("the hatchery does not start")?;
        let control = Control::open(&running, &settings.identity.name, lock).await;
        let endpoints = Endpoints {
            vcenter: Endpoint { kind: order.vcenter.kind(), url: vcenter },
            cds: Endpoint { kind: order.cds.kind(), url: cds },
            pages,
        };
        let asked = control.is_open.then_some(settings.identity.name.as_str());
        let hints = page::hints(&endpoints, asked, default_file);
        Ok(Self {
            setting: Setting { endpoints, guests, faults: args.faults(), hints },
            #[cfg(feature = "sim")]
            settings,
            #[cfg(feature = "sim")]
            vcenters: process.vcenters.clone(),
            running,
            control,
            made: RefCell::default(),
            starts: RefCell::default(),
            #[cfg(feature = "sim")]
            file: order.path.clone(),
        })
    }

    pub(super) fn report(&self) -> Receiver<Arc<Report>> {
        self.running.published.report.clone()
    }

    #[cfg(feature = "sim")]
    pub(super) fn published(&self) -> &Published {
        &self.running.published
    }

    fn kinds(&self) -> (EndpointKind, EndpointKind) {
        (self.setting.endpoints.vcenter.kind, self.setting.endpoints.cds.kind)
    }

    /// Asks what is known of jobs whenever others are served.
    async fn note_starts(&self) -> Infallible {
        let (mut report, mut seen) = (self.report(), None);
        loop {
            let at_work = {
                let report = report.borrow_and_update();
                let running: Vec<_> = report.running.iter().map(|one| one.name.clone()).collect();
                Some((report.jobs_served.clone(), running))
            };
            if at_work != seen {
                seen = at_work;
                if let Answer::Jobs(jobs) = self.running.control_state().answer(Request::KnownJobs).await {
                    self.starts.borrow_mut().note(&jobs);
                }
            }
            if report.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// Confirms whatever the brake holds back, as a person would who knows that the faults are injected. On a real server
    /// the person decides.
    #[cfg(feature = "sim")]
    async fn confirm(&self) -> anyhow::Result<Infallible> {
        let mut report = self.report();
        loop {
            let braked = report.wait_for(|report| !report.braked.is_empty()).await;
            let list = braked
                .context("the hatchery has ended")?
                .braked
                .iter()
                .map(|one| one.subject.clone())
                .collect();
            self.running.control_state().answer(Request::Confirm { list }).await;
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
    }
}

impl Part for Hatchery {
    fn ready(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async {
            let mut report = self.report();
            let report = report.wait_for(|report| report.complete).await.context("the hatchery has ended")?;
            *self.made.borrow_mut() = Made::since(&report);
            Ok(())
        })
    }

    fn name(&self) -> &'static str {
        "the hatchery"
    }

    fn shown(&self) -> Model {
        let published = &self.running.published;
        let starts = self.starts.borrow().all();
        page::shown(&self.setting, &status(published), &published.report.borrow(), starts)
    }

    fn changes(&self) -> LocalBoxStream<'static, ()> {
        Box::pin(stream::unfold(self.report(), async |mut report| {
            report.changed().await.ok()?;
            Some(((), report))
        }))
    }

    fn summary(&self) -> Vec<String> {
        let count = self.made.borrow().count();
        let left = page::left(&self.setting.endpoints, self.running.published.report.borrow().own.len());
        let left = left.map(|left| format!("left         {left}"));
        std::iter::once(format!("machines     {count} made")).chain(left).collect()
    }

    fn run<'a>(&'a self, news: &'a News) -> LocalBoxFuture<'a, anyhow::Error> {
        let works = async {
            let never = match self.kinds() {
                (_, EndpointKind::Real) => tokio::select! {
                    biased;
                    ended = watch::watch(self.report(), news) => ended,
                    never = self.note_starts() => Ok(never),
                },
                #[cfg(feature = "sim")]
                (EndpointKind::Simulated, EndpointKind::Simulated) if self.setting.faults => {
                    self.confirm().await
                }
                (_, EndpointKind::Simulated) => Ok(pending().await),
            };
            let Err(error) = never;
            error
        };
        let counts = async {
            let mut report = self.report();
            loop {
                self.made.borrow_mut().look(&report.borrow_and_update());
                if report.changed().await.is_err() {
                    pending::<()>().await;
                }
            }
        };
        Box::pin(async {
            tokio::select! {
                biased;
                ended = self.running.ended() => ended.into(),
                error = works => error,
                error = counts => error,
            }
        })
    }

    #[cfg_attr(
        not(feature = "sim"),
        expect(unused_variables, reason = "only sample jobs leave machines to remove")
    )]
    fn stop<'p>(
        self: Box<Self>,
        removal: Removal,
        page: &'p mut Page<'_>,
    ) -> LocalBoxFuture<'p, anyhow::Result<Ending>> {
        Box::pin(async move {
            // Others of its name are kept away until it has removed what it made.
            let _control = self.control;
            match (self.setting.endpoints.vcenter.kind, self.setting.endpoints.cds.kind) {
                _ if removal == Removal::Nothing => self.running.stop().await,
                #[cfg(feature = "sim")]
                (EndpointKind::Real, EndpointKind::Simulated) => {
                    let teardown = teardown::Teardown::new(self.vcenters, self.settings, self.file);
                    return teardown::from_vcenter(self.running, &teardown, page).await;
                }
                #[cfg(feature = "sim")]
                (EndpointKind::Simulated, EndpointKind::Real) => teardown::from_cds(self.running).await,
                _ => self.running.stop().await,
            }
            Ok(Ending::Done)
        })
    }
}
