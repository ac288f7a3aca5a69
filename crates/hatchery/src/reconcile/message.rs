//! News for the reconciler.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::braked::Subject;
use crate::plan::hold::Outcome;
use crate::plan::sweep::EventTimes;
use jiff::Timestamp;
use rookery_cds::{JobId, ModelPath, V1Model, V2Model, Worker};
use rookery_fleet::MachineId;
use rookery_fleet::disks::Disks;
use rookery_fleet_vsphere::hands::CloneTasks;
use rookery_vim_client::PoolCapacity;
use tokio::sync::oneshot;

use super::{Reading, Reply};
use crate::act::Ending;
use crate::intake::queue::{Moment, Protocol, QueuedJob};
use crate::plan::Spawn;
use crate::plan::running::TaskId;
use crate::settings::Settings;
use crate::surface::holds::{Order, Target};

#[derive(Debug)]
pub enum Message {
    /// Somebody is about to ask for a whole queue, and wants to know the moment.
    Moment(oneshot::Sender<Moment>),
    Listed(Protocol, Moment, Vec<(JobId, Option<QueuedJob>)>),
    Pushed(JobId),
    Read(JobId, Box<QueuedJob>),
    /// A job does not wait any more.
    Gone(JobId),
    /// A model was read, or not.
    Model(ModelPath, Box<Result<V2Model, String>>),
    /// All workers that CDS knows.
    Workers {
        /// When they were asked for.
        begun: Timestamp,
        /// Those of V1 jobs.
        v1: Vec<Worker>,
        /// Those of V2 jobs.
        v2: Vec<Worker>,
    },
    /// All V1 models that CDS knows.
    Models(Vec<V1Model>),
    /// The room in the pool; none if it could not be asked.
    Room {
        /// When it was asked for.
        begun: Timestamp,
        pool: Option<PoolCapacity>,
    },
    /// How large the disks of some machines are.
    Disks(Disks),
    Clock(Reading),
    /// Whether the worker in a machine is at work on its job; none if CDS did not say it.
    JobRead {
        machine: MachineId,
        runs_here: Option<bool>,
        /// When it was asked for.
        begun: Timestamp,
    },
    /// What vCenter remembers of machines, as far back as it was asked; nothing if it could not be asked.
    Histories(Option<BTreeMap<MachineId, Option<EventTimes>>>),
    /// The clones that vCenter lists.
    Clones {
        /// When they were asked for, by our clock.
        begun: Timestamp,
        listed: CloneTasks,
    },
    /// Which machine a piece of work is about.
    IsAbout(TaskId, MachineId),
    /// A claimed machine was of no use: where else can the worker go?
    AnotherPlace {
        action: TaskId,
        /// The machine that was of no use.
        useless: MachineId,
        reply: oneshot::Sender<Option<Spawn>>,
    },
    /// The machine of a worker is ready. The answer comes when CDS bears the launch.
    ReadyToLaunch(String, oneshot::Sender<()>),
    /// A piece of work has ended.
    Ended(TaskId, Ending),
    Settings(Arc<Settings>),
    /// A person has seen what the brake holds back, and lets it through.
    Confirm(Vec<Subject>, Reply),
    /// Take no new jobs, or take them again.
    Drain(bool),
    Hold(Order, Reply),
    Release(Target, Reply),
    /// Take over the template of another hatchery that stands in the way of a model.
    Adopt(String, Reply),
    /// Make a copy of a machine of ours ours.
    AdoptVm(String, Reply),
    /// Make a copy of a machine of ours nobody's.
    Unmark(String, Reply),
    /// How the job of a machine has ended; none if CDS did not say it.
    Outcome(MachineId, Option<Outcome>),
}
