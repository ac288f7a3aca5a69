//! News for the reconciler.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::braked::Subject;
use crate::plan::hold::Outcome;
use jiff::Timestamp;
use rookery_cds::{JobId, ModelPath, V1Model, V2Model, Worker};
use rookery_fleet::MachineId;
use rookery_fleet::disks::Disks;
use rookery_fleet::machine::History;
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
use crate::surface::report::JobLine;

#[derive(Debug)]
pub enum Message {
    /// Somebody is about to ask for a whole queue, and wants to know the moment.
    Moment(oneshot::Sender<Moment>),
    Listed(Protocol, Moment, Vec<(JobId, Option<QueuedJob>)>),
    Pushed(JobId),
    Read(JobId, Box<QueuedJob>),
    Gone(JobId),
    /// A model was read, or not.
    Model(ModelPath, Box<Result<V2Model, String>>),
    /// All workers that CDS knows.
    Workers {
        /// When they were asked for.
        begun: Timestamp,
        v1: Vec<Worker>,
        v2: Vec<Worker>,
    },
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
        begun: Timestamp,
    },
    /// What vCenter remembers of machines, as far back as it was asked; nothing if it could not be asked.
    Histories(Option<BTreeMap<MachineId, Option<History>>>),
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
    Ended(TaskId, Ending),
    Settings(Arc<Settings>),
    /// A person has seen what the brake holds back, and lets it through.
    Confirm(Vec<Subject>, Reply),
    /// Take no new jobs, or take them again.
    Drain(bool),
    /// Which jobs wait, are served, or have ended.
    Jobs(oneshot::Sender<Vec<JobLine>>),
    Hold(Order, Reply),
    Release(Target, Reply),
    /// Take over the template of another hatchery that stands in the way of a model.
    Adopt(String, Reply),
    AdoptVm(String, Reply),
    Unmark(String, Reply),
    /// How the job of a machine has ended; none if CDS did not say it.
    Outcome(MachineId, Option<Outcome>),
}
