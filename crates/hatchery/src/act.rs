//! The hands of the hatchery: each act is one piece of work, begun by a pass and reported to it when it has ended.
//!
//! An act makes no choices. Whatever it needs to know was decided by the plan, and when the world is not as the plan saw
//! it, it stops and says so.

mod delete;
mod halt;
mod launching;
mod make;
mod outcome;
mod register;
mod reserve;
mod spawn;

use crate::launch::config::Addresses;
use crate::machine::Hands;
use crate::plan::running::TaskId;
use crate::plan::sweep::Condemned;
use crate::plan::{Action, Spawn, Unusable};
use crate::reconcile::Message;
use crate::settings::Settings;
use crate::surface::metrics::Metrics;
pub use halt::Halt;
use jiff::Timestamp;
use rand::rngs::StdRng;
pub use reserve::{Attempt, Held};
use rookery_cds::{Cds, HatcheryKey, JobId};
use rookery_daemon::Clock;
use rookery_daemon::telemetry::chain;
use rookery_daemon::trouble::Troubles;
use rookery_fleet::{MachineId, OwnerId};
use rookery_fleet_vsphere::Placement;
use rookery_vim_client::Priority;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::warn;

/// All that acts need. Clones share it.
#[derive(Debug, Clone)]
pub struct ActionContext {
    pub cds: Cds,
    /// The hands, on behalf of people who wait.
    pub hands: Hands,
    pub placement: Placement,
    /// What signs the tokens of workers.
    pub key: HatcheryKey,
    /// Where workers find their servers.
    pub addresses: watch::Receiver<Addresses>,
    pub settings: watch::Receiver<Arc<Settings>>,
    pub clock: Clock,
    /// How far vCenter's clock is ahead of our steady time.
    pub ahead: watch::Receiver<jiff::SignedDuration>,
    /// What names and tokens are drawn from.
    pub random: Arc<Mutex<StdRng>>,
    pub reconciler: mpsc::Sender<Message>,
    pub metrics: Metrics,
    /// What gave no answer lately.
    pub troubles: Troubles,
    /// What starts are told when they are given up: the process is about to end.
    pub halt: Halt,
}

#[derive(Debug)]
pub enum Ending {
    Done,
    /// The job belongs to somebody else, or is gone: nothing was done.
    Lost,
    /// The job could not be taken; nothing was done.
    NotHeld {
        error: String,
    },
    /// It cannot be done as things are: nothing was done.
    Unprepared {
        /// The project whose jobs cannot use it, and the model by its [`ResolvedModel::identity`].
        ///
        /// [`ResolvedModel::identity`]: crate::intake::model::ResolvedModel::identity
        model: Unusable,
        error: String,
    },
    Failed(Failure),
    /// It was cut off in the middle, and nobody can say how far it came.
    CutOff,
}

impl Ending {
    /// A failure that leaves nothing behind.
    fn failed(error: String) -> Self {
        Self::Failed(Failure { error, ..Failure::default() })
    }

    /// What whoever asked for it is told.
    pub(crate) fn told(&self) -> Result<(), String> {
        match self {
            Self::Failed(failure) => Err(failure.error.clone()),
            Self::CutOff => Err("it was interrupted before it was done".to_owned()),
            Self::Done | Self::Lost | Self::NotHeld { .. } | Self::Unprepared { .. } => Ok(()),
        }
    }
}

/// What is left of work that failed.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Default)]
pub struct Failure {
    pub error: String,
    /// The machine that has to go.
    pub condemned: Option<(MachineId, Condemned)>,
    /// The name of the worker that it was to be, if that is another one than was planned first.
    pub worker: Option<String>,
    /// A clone that may still appear.
    pub unfinished: Option<Unfinished>,
    /// Whether another clone of the template would fail as well.
    pub blames_template: bool,
    /// Whether vCenter had no room, so that another start would fail as well.
    pub crowded: bool,
    /// Whether a start was really tried.
    pub tried: bool,
    /// Whether disks of other machines stand on the one that was to go.
    pub is_parent: bool,
}

/// A clone that was given up and that vCenter was not seen to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    pub name: String,
    /// The address that it was given; none: from DHCP.
    pub address: Option<Ipv4Addr>,
    /// vCenter's task; none if the answer to the order was lost.
    pub task: Option<String>,
    /// Why its machine has to go, should it appear; none: it is finished then.
    pub condemned_for: Option<Condemned>,
}

impl ActionContext {
    /// The same context for housekeeping: people go first.
    #[must_use]
    pub fn in_the_background(&self) -> Self {
        Self { hands: self.hands.with_priority(Priority::Housekeeping), ..self.clone() }
    }

    pub async fn perform(&self, id: TaskId, action: Action) -> Ending {
        match action {
            Action::Spawn(spawn) => Box::pin(self.spawn(id, *spawn)).await,
            Action::GiveUp { job, attempts } => self.give_up(&job, attempts).await,
            Action::Register(registration) => Box::pin(self.register(id, *registration)).await,
            Action::Make(make) => Box::pin(self.make(id, *make)).await,
            Action::Finish(finish) => self.finish(&finish).await,
            Action::Unclaim(unclaim) => self.unclaim(unclaim).await,
            Action::Keep(keep) => self.keep(&keep).await,
            Action::Delete(deletion) => self.delete(&deletion).await,
            Action::Disable { worker, machine } => self.disable(&worker, &machine).await,
            Action::Free(free) => self.free(&free).await,
            Action::Adopt(adoption) => self.adopt(&adoption).await,
        }
    }

    /// Fails a job that was tried too often. Only who holds a job may end it.
    pub async fn give_up(&self, job: &JobId, attempts: u32) -> Ending {
        let held = match self.hold(job).await {
            Ok(held) => held,
            Err(error) if error.is_lost_race() || error.is_gone() => return Ending::Lost,
            Err(error) => {
                self.release(job, &error).await;
                return Ending::NotHeld { error: chain(&error) };
            }
        };
        match self.fail(held, attempts).await {
            Ok(()) => {
                warn!(%job, attempts, "job failed: no attempt could start a worker");
                Ending::Lost
            }
            Err(error) => Ending::NotHeld { error: chain(&error) },
        }
    }

    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    pub fn owner(&self) -> OwnerId {
        self.settings.borrow().identity.owner.clone()
    }

    /// vCenter's time.
    pub(crate) fn now(&self) -> Timestamp {
        let ahead = *self.ahead.borrow();
        self.clock.steady().saturating_add(ahead).unwrap_or(Timestamp::MAX)
    }

    /// Says which machine a piece of work is about.
    async fn is_about(&self, action: TaskId, machine: &MachineId) {
        self.reconciler.send(Message::IsAbout(action, machine.clone())).await.ok();
    }

    /// Asks for another place for a worker whose first one was of no use.
    async fn another_place(&self, action: TaskId, useless: MachineId) -> Option<Spawn> {
        let (reply, answer) = oneshot::channel();
        self.reconciler.send(Message::AnotherPlace { action, useless, reply }).await.ok()?;
        answer.await.ok()?
    }

    /// Waits until CDS bears another worker that turns to it.
    async fn may_launch(&self, worker: &str) {
        let (reply, answer) = oneshot::channel();
        // Without an answer everything is ending.
        if self.reconciler.send(Message::ReadyToLaunch(worker.to_owned(), reply)).await.is_ok() {
            answer.await.ok();
        }
    }

    fn with_random<T>(&self, draw: impl FnOnce(&mut StdRng) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
