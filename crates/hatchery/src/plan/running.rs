//! Work under way: what was begun and is not yet to be seen in the inventory. It is part of what a plan is made from.

use crate::machine::Machine;
use crate::names::ModelKind;
use crate::plan::capacity::Purpose;
use crate::plan::{Spawn, WorkerPlacement};
use rookery_cds::JobId;
pub use rookery_daemon::tracked::TaskId;
use rookery_daemon::tracked::UnderWay;
use rookery_fleet::MachineId;
use rookery_fleet::capacity::InFlight;
use rookery_fleet::flavor::Footprint;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::{Deref, DerefMut};

/// One piece of work under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningAction {
    /// What is done.
    pub work: Work,
    /// The name of the machine, as it will be.
    pub name: String,
    /// The machine, once it is known which one it is.
    pub machine: Option<MachineId>,
    /// The address that it was given.
    pub address: Option<Ipv4Addr>,
    /// What it takes.
    pub footprint: Footprint,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A worker is started for a job.
    Spawn {
        /// The job.
        job: JobId,
        /// The kind of its model.
        kind: ModelKind,
        /// The model's path or template.
        model: String,
    },
    /// A job that was tried too often is failed.
    GiveUp {
        /// The job.
        job: JobId,
    },
    /// A warm machine is made.
    Make {
        /// What it is made for.
        kind: ModelKind,
        /// The model's path or template.
        model: String,
        /// Its size.
        flavor: Option<String>,
    },
    /// A warm machine that was left half-made is finished.
    Finish {
        /// What it is made for.
        kind: ModelKind,
        /// The model's path or template.
        model: String,
        /// Its size.
        flavor: Option<String>,
    },
    /// A machine that was claimed and never started goes back to the warm ones.
    Unclaim(Trace),
    /// A V1 model is registered, and its template made if need be.
    Register {
        /// The model's path.
        model: String,
    },
    /// A template of another hatchery is taken over and set aside.
    Adopt {
        /// The path of its model.
        model: String,
    },
    /// It is written into a machine's mark until when it is kept.
    Keep(Trace),
    /// A machine is deleted.
    Delete(Trace),
    /// The job of a machine that is gone goes back to the queue, if it is still ours.
    Free {
        /// The job.
        job: JobId,
    },
}

/// What a machine was for that is given up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// The job, as its mark says.
    pub job: String,
    /// The worker.
    pub worker: String,
}

/// All work under way.
#[derive(Debug, Clone, Default)]
pub struct RunningActions(UnderWay<RunningAction>);

impl Deref for RunningActions {
    type Target = UnderWay<RunningAction>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for RunningActions {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl RunningActions {
    /// What is at work, by machine and by name, to look many machines up.
    pub fn index(&self) -> Busy<'_> {
        Busy {
            machines: self.iter().filter_map(|action| action.machine.as_ref()).collect(),
            names: self.iter().map(|action| action.name.as_str()).filter(|name| !name.is_empty()).collect(),
        }
    }

    /// As the ledger counts them.
    pub fn capacity(&self) -> Vec<(Purpose, InFlight)> {
        self.iter().filter_map(RunningAction::capacity).collect()
    }

    /// Whether a model is being registered.
    pub fn registers(&self, path: &str) -> bool {
        self.iter().any(|action| matches!(&action.work, Work::Register { model } if model == path))
    }

    /// The jobs that are being served.
    pub fn jobs(&self) -> BTreeSet<&JobId> {
        self.iter().filter_map(RunningAction::job).collect()
    }
}

/// Machines that somebody is at work on.
#[derive(Debug)]
pub struct Busy<'f> {
    machines: BTreeSet<&'f MachineId>,
    names: BTreeSet<&'f str>,
}

impl Busy<'_> {
    /// Whether somebody is at work on this machine.
    pub fn has(&self, machine: &Machine) -> bool {
        self.machines.contains(&machine.id) || self.has_name(&machine.name)
    }

    /// Whether somebody is at work on a machine of that name.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

impl RunningAction {
    /// A worker that is started.
    pub fn of_spawn(spawn: &Spawn) -> Self {
        let (machine, address) = match &spawn.path {
            WorkerPlacement::Claim { machine, mark, .. } => (Some(machine.clone()), mark.address()),
            WorkerPlacement::Clone { address, .. } => (None, address.as_ref().map(|assigned| assigned.ip)),
        };
        let (job, kind, model) = (spawn.job.clone(), spawn.model.kind(), spawn.model.path());
        let work = Work::Spawn { job, kind, model };
        Self { work, name: spawn.name.clone(), machine, address, footprint: spawn.footprint }
    }

    /// The job that it serves.
    pub fn job(&self) -> Option<&JobId> {
        match &self.work {
            Work::Spawn { job, .. } | Work::GiveUp { job } | Work::Free { job } => Some(job),
            Work::Make { .. }
            | Work::Finish { .. }
            | Work::Unclaim(_)
            | Work::Register { .. }
            | Work::Adopt { .. }
            | Work::Keep(_)
            | Work::Delete(_) => None,
        }
    }

    fn capacity(&self) -> Option<(Purpose, InFlight)> {
        let purpose = match self.work {
            Work::Spawn { .. } => Purpose::Work,
            Work::Register { .. } => Purpose::Registration,
            Work::Make { .. } | Work::Finish { .. } => Purpose::Warmth,
            Work::GiveUp { .. }
            | Work::Unclaim(_)
            | Work::Adopt { .. }
            | Work::Keep(_)
            | Work::Delete(_)
            | Work::Free { .. } => return None,
        };
        let (name, machine, footprint) = (self.name.clone(), self.machine.clone(), self.footprint);
        Some((purpose, InFlight { name, machine, footprint }))
    }
}
