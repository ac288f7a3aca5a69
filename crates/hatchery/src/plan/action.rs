//! What a pass does, as values: `hatchery plan` shows them, metrics count them, and one dispatch starts them.

use std::fmt;
use std::net::Ipv4Addr;

use jiff::SignedDuration;
use rookery_cds::{JobId, Worker};
use rookery_fleet::brake::Weight;
use rookery_fleet::warm::Removal;
use rookery_fleet::{Hardware, MachineId, Power, Role};

use super::adopt::Adoption;
use super::hold::Hold;
use super::register::Registration;
use super::spawn::Spawn;
use super::sweep::{Condemned, Reason, weight};
use super::warm::Make;
use super::{Pass, capacity::Purpose};
use crate::machine::Machine;
use crate::mark::{self, Mark};
use crate::names::ModelKind;
use crate::standing::{Standing, standing};

#[derive(Debug, Clone)]
pub enum Action {
    Spawn(Box<Spawn>),
    /// Fail a job that was tried too often.
    GiveUp {
        job: JobId,
        /// How often it was tried.
        attempts: u32,
    },
    /// Register a V1 model, and make its template if need be.
    Register(Box<Registration>),
    Make(Box<Make>),
    /// Finish a warm machine that was left half-made.
    Finish(Finish),
    /// Put a machine that was claimed and never started back to the warm ones.
    Unclaim(Unclaim),
    /// Write into a machine's mark until when it is kept.
    Keep(Keep),
    Delete(Deletion),
    /// Disable a V1 worker that has no machine.
    Disable {
        /// The worker, as CDS tells of it.
        worker: Box<Worker>,
        /// The machine that it was in; vCenter is asked for it first.
        machine: MachineId,
    },
    /// Give the job of a machine that no longer serves it back to the queue, if it is still ours.
    Free(Free),
    /// Take a template of another hatchery over and set it aside.
    Adopt(Adoption),
}

#[derive(Debug, Clone)]
pub struct Finish {
    pub machine: MachineId,
    pub name: String,
    pub is_on: bool,
    pub kind: ModelKind,
    /// The path of a V1 model, or the template of a V2 model.
    pub model: String,
    /// The name of its flavor, if it has one.
    pub flavor: Option<String>,
    /// The address that its mark tells.
    pub address: Option<Ipv4Addr>,
    pub footprint: Hardware,
}

/// A machine that was claimed and never started.
#[derive(Debug, Clone)]
pub struct Unclaim {
    pub machine: MachineId,
    pub name: String,
    pub mark: Box<Mark>,
}

/// A machine that is kept for somebody to look at.
#[derive(Debug, Clone)]
pub struct Keep {
    pub machine: MachineId,
    pub name: String,
    pub hold: Hold,
    pub of: ServedJob,
}

/// A machine to delete, as the plan saw it.
#[derive(Debug, Clone)]
pub struct Deletion {
    pub machine: MachineId,
    pub name: String,
    pub reason: DeleteReason,
    pub of: ServedJob,
    /// How the brake counts it.
    pub weight: Weight,
    /// The path of the V1 model that it was to register, unless CDS was told already that this failed.
    pub registers: Option<String>,
    /// Whether it is a template, which stays while disks stand on its own.
    pub is_template: bool,
    /// The power that it goes for, if that is the reason.
    pub power: Option<Power>,
    /// How much longer it is kept than its mark says, since vCenter's clock was set.
    pub hold_shift: SignedDuration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteReason {
    /// A worker's machine that is of no use any more.
    Swept(Reason),
    /// A warm machine that is of no use any more.
    Pool(Removal),
    /// A template whose model has a newer one.
    Replaced,
}

impl DeleteReason {
    /// A word for metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Swept(reason) => reason.as_str(),
            Self::Pool(removal) => removal.as_str(),
            Self::Replaced => "replaced",
        }
    }

    /// Whether it goes for being off or on: then it goes only while it still is.
    fn is_by_power(&self) -> bool {
        match self {
            Self::Swept(reason) => reason.is_by_power(),
            Self::Pool(_) => true,
            Self::Replaced => false,
        }
    }
}

impl fmt::Display for DeleteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swept(reason) => reason.fmt(f),
            Self::Pool(removal) => removal.fmt(f),
            Self::Replaced => f.write_str("its model has a newer template"),
        }
    }
}

/// The job that a machine was for, and the worker in it, as its mark tells. Either may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServedJob {
    pub job: String,
    pub worker: String,
}

impl From<&Mark> for ServedJob {
    fn from(mark: &Mark) -> Self {
        Self { job: mark.job_id.clone(), worker: mark.worker_name.clone() }
    }
}

/// A job whose machine no longer serves it.
#[derive(Debug, Clone)]
pub struct Free {
    pub job: JobId,
    /// The worker that was started for it.
    pub worker: String,
    /// What became of the machine.
    pub machine: Unserving,
}

/// Why a machine serves its job no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unserving {
    /// It was deleted, kept for itself or taken back; none: its start was cut off before it had one.
    Ended(Option<MachineId>),
    /// It went off before its worker took the job: that is read again before the job is released.
    WentOff(MachineId),
}

impl Action {
    /// A word for people.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Spawn(_) => "spawn",
            Self::GiveUp { .. } => "give up",
            Self::Register(_) => "register",
            Self::Make(_) => "make",
            Self::Finish(_) => "finish",
            Self::Unclaim(_) => "take back",
            Self::Keep(_) => "keep",
            Self::Delete(_) => "delete",
            Self::Disable { .. } => "disable",
            Self::Free(_) => "free",
            Self::Adopt(_) => "adopt",
        }
    }

    pub fn deletes(&self) -> Option<&MachineId> {
        if let Self::Delete(deletion) = self { Some(&deletion.machine) } else { None }
    }

    /// Whether somebody waits for it: housekeeping comes after that.
    pub fn is_awaited(&self) -> bool {
        matches!(
            self,
            Self::Spawn(_) | Self::GiveUp { .. } | Self::Keep(_) | Self::Disable { .. } | Self::Adopt(_)
        )
    }

    /// The job that it serves, ends or gives back.
    pub fn job(&self) -> Option<&JobId> {
        match self {
            Self::Spawn(spawn) => Some(&spawn.job),
            Self::GiveUp { job, .. } => Some(job),
            Self::Free(free) => Some(&free.job),
            Self::Register(_)
            | Self::Make(_)
            | Self::Finish(_)
            | Self::Unclaim(_)
            | Self::Keep(_)
            | Self::Delete(_)
            | Self::Disable { .. }
            | Self::Adopt(_) => None,
        }
    }

    /// The model whose template it needs.
    pub fn model(&self) -> Option<(ModelKind, String)> {
        self.makes().map(|(_, model)| model)
    }

    /// What its machine takes room for, if it takes any.
    pub(crate) fn purpose(&self) -> Option<Purpose> {
        self.makes().map(|(purpose, _)| purpose)
    }

    fn makes(&self) -> Option<(Purpose, (ModelKind, String))> {
        match self {
            Self::Spawn(spawn) => Some((Purpose::Work, (spawn.model.kind(), spawn.model.path()))),
            Self::Make(make) => Some((Purpose::Warmth, (make.kind, make.model.clone()))),
            Self::Finish(finish) => Some((Purpose::Warmth, (finish.kind, finish.model.clone()))),
            Self::Register(one) => Some((Purpose::Registration, (ModelKind::V1, one.model.path()))),
            Self::GiveUp { .. }
            | Self::Unclaim(_)
            | Self::Keep(_)
            | Self::Delete(_)
            | Self::Disable { .. }
            | Self::Free(_)
            | Self::Adopt(_) => None,
        }
    }
}

impl Pass<'_> {
    pub(super) fn delete(&mut self, id: &MachineId, reason: DeleteReason) {
        let Some(machine) = self.seen.view.machines.get(id) else { return };
        let Some(mark) = machine.mark() else { return };
        let is_by_power = reason.is_by_power();
        // What goes for its power goes only if that is known.
        if is_by_power && machine.power.is_none() {
            return;
        }
        let weight = match &reason {
            DeleteReason::Swept(reason) => weight(machine, self.want.owner, reason),
            DeleteReason::Pool(_) | DeleteReason::Replaced => Weight::None,
        };
        self.plan.actions.push(Action::Delete(Deletion {
            machine: id.clone(),
            name: machine.name.clone(),
            reason,
            of: mark.into(),
            weight,
            registers: self.unreported_registration(machine, mark),
            is_template: machine.role == Role::Template,
            power: machine.power.filter(|_| is_by_power),
            hold_shift: self.hold_shift(machine, mark),
        }));
    }

    /// How much longer a machine is kept than its mark says: vCenter's clock may have been set since it was written.
    fn hold_shift(&self, machine: &Machine, mark: &Mark) -> SignedDuration {
        let until = mark.hold_until.zip(self.seen.reckoning.hold_until(machine));
        until.map_or(SignedDuration::ZERO, |(said, until)| until.duration_since(said))
    }

    /// The model whose registration ends with this machine, if nobody has told CDS how.
    fn unreported_registration(&self, machine: &Machine, mark: &Mark) -> Option<String> {
        let registers = standing(machine, &mark::owner(&mark.hatchery_name)) == Standing::Registering;
        let told = self.seen.condemned.get(&machine.id) == Some(&Condemned::RegistrationEnded);
        (registers && !told).then(|| mark.worker_model_path.clone())
    }
}
