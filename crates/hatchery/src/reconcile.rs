//! The reconciler: one task that owns all that changes, and turns news into passes.
//!
//! ```text
//!   queue, workers, models, clocks, inventory ──► Message ──► State ──► plan ──► acts ──┐
//!                                                   ▲                                   │
//!                                                   └────────── how each has ended ─────┘
//! ```
//!
//! At most one pass runs at a time. News that come meanwhile are taken in together, and one more pass follows. Nothing in
//! here must survive a crash: what counts is written into the marks of machines and into CDS.

mod answers;
mod apart;
mod apply;
mod asked;
mod brake;
mod clocks;
mod doubts;
mod histories;
mod holding;
mod job_book;
mod jobs;
mod launches;
mod look;
mod message;
mod news;
mod out_of_reach;
mod politeness;
mod reserving;
mod start;
mod state;

use crate::act::ActionContext;
use crate::intake::feed::Wakes;
use crate::machine::Observer;
use crate::plan::{Plan, plan};
use crate::settings::Settings;
use crate::surface::holds::Book;
use crate::surface::report::Report;
pub use asked::Reply;
pub use clocks::Reading;
use jiff::Timestamp;
pub use message::Message;
use rand::rngs::StdRng;
pub use reserving::Reserving;
use rookery_daemon::Supervisor;
use rookery_daemon::routines::Routines;
use rookery_daemon::tracked::{Inbox, TrackedTasks};
use rookery_vim_client::{Governor, Inventory};
pub use state::{Room, State};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

/// How many news are taken in before a pass; more wait for the next one.
const AT_ONCE: usize = 4096;
/// How long nothing happens at most: what rests is looked at again.
const IDLE: Duration = Duration::from_secs(5);
/// How many jobs are read at once.
const READS: usize = 32;

#[derive(Debug)]
pub struct Reconciler {
    pub state: State,
    /// What names are drawn from.
    pub random: StdRng,
    pub inventory: Inventory,
    pub observer: Observer,
    pub context: ActionContext,
    /// How much vCenter is asked to do at once.
    pub governor: Governor,
    /// What new machines take, and what those of other fronts do.
    pub reserving: Reserving,
    pub settings: watch::Sender<Arc<Settings>>,
    pub inbox: Inbox<Message>,
    /// Whom to wake when something is needed.
    pub wakes: Wakes,
    pub report: watch::Sender<Arc<Report>>,
    pub routines: Routines,
    pub supervisor: Supervisor,
    /// Acts and questions, which end with news.
    pub tasks: TrackedTasks<Message>,
    /// Where it is written down what is to be kept.
    pub book: Book,
}

impl Reconciler {
    /// Runs passes until the supervisor stops.
    pub async fn run(mut self) {
        let _running = self.routines.running("mainRoutine");
        let stop = self.supervisor.token();
        let inventory = self.inventory.clone();
        let mut seen = inventory.snapshot();
        loop {
            let idle = IDLE.min(self.settings.borrow().cleaning.interval);
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                message = self.inbox.recv() => match message {
                    Some(message) => self.apply(message),
                    None => return,
                },
                newer = inventory.newer_than(&seen) => match newer {
                    Ok(newer) => seen = newer,
                    Err(_) => return,
                },
                () = sleep(idle) => {}
            }
            for _ in 0..AT_ONCE {
                let Some(message) = self.inbox.try_recv() else { break };
                self.apply(message);
            }
            self.pass();
        }
    }

    /// Observes, requests what is missing, plans, starts, reports.
    fn pass(&mut self) {
        let begun = Instant::now();
        let settings = Arc::clone(&self.settings.borrow());
        self.observe(&settings);
        let mut plan = self.plan(&settings);
        debug!(actions = plan.actions.len(), waiting = plan.waiting.len(), "pass planned");
        self.reserve(&mut plan);
        self.start(&mut plan);
        self.request(&plan);
        let report = Report::new(&self.state, &settings, &plan);
        self.state.note_served(&report.jobs_served, &plan);
        self.report.send_replace(Arc::new(report));
        self.context.metrics.pass_made(begun.elapsed());
    }

    /// Takes in what can be seen now, and has read what jobs ask for.
    fn observe(&mut self, settings: &Settings) {
        let now = self.look_at_clocks();
        let reserved = self.reserving.of_others();
        self.state.look(self.observer.view(now), &settings.identity.owner, now);
        self.let_launch(settings);
        self.state.vsphere.reserved = self.reserving.look(&self.state, reserved);
        self.state.vsphere.load = self.governor.load(&self.context.placement.workplace());
        for missing in self.state.find_demands(&settings.rules()) {
            self.read_model(missing);
        }
        for job in self.state.cds.queue.to_read(READS) {
            self.read_job(job);
        }
    }

    fn plan(&mut self, settings: &Settings) -> Plan {
        let observer = &self.observer;
        let changed_at = |id: &_| observer.changed_at(id);
        let plan = plan(&self.state.observed(&changed_at), &settings.desired(), &mut self.random);
        self.state.note_plan(&plan, settings);
        plan
    }

    /// Our steady time. If somebody set our clock, what was asked for before is not known any more.
    fn look_at_clocks(&mut self) -> Timestamp {
        let (steady, wall) = (self.context.clock.steady(), self.context.clock.now());
        self.state.times.wall = wall;
        if let Some(by) = self.state.times.clocks.look(steady, wall) {
            warn!(
                seconds = by.as_secs(),
                "the clock of this machine was set; nothing is deleted until workers and vCenter's clock are known again"
            );
            self.state.cds.listing = None;
            self.wakes.workers();
            self.wakes.clock();
        }
        steady
    }
}
