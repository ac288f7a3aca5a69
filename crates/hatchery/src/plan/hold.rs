//! Which machines of failed workers are kept for somebody to look at. Keeping is counted: never more than were asked for.
//!
//! ```text
//!   worker is over ──► how did its job end? ──failed, or the worker was lost──► kept, if somebody wished for it
//!   (off, or to go)          │    │
//!                    not told│    └──well, or stopped by somebody──► it goes as ever
//!                            ▼
//!                     it stays until that is known
//! ```
//!
//! A wish is given once and may wait for days; what is kept says so in its own mark.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rookery_fleet::expiring::Expiring;
use rookery_fleet::{MachineId, OwnerId, Power};
use serde::{Deserialize, Serialize};

use crate::machine::{Machine, View};
use crate::mark::Mark;
use crate::plan::sweep::{Condemned, KeepReason, Reason, Sweep};
use crate::standing::{Standing, standing};

/// How long a machine may be kept, and how long a wish may wait.
pub const LONGEST: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The most machines that one wish may keep.
pub const MOST: u32 = 100;
/// How long what was told of a job that was not over is believed.
const BELIEVED: SignedDuration = SignedDuration::from_mins(1);

/// Whose failed workers a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Those of a model: the path of a V1 model, or the template of a V2 model.
    Model(String),
    Job(String),
}

impl Subject {
    /// Whether a machine with that mark is meant.
    pub fn is_of(&self, mark: &Mark) -> bool {
        match self {
            // A mark has one of the two, and the other is empty.
            Self::Model(model) => {
                let of_mark = [&mark.worker_model_path, &mark.vmware_model_path];
                !model.is_empty() && of_mark.contains(&model)
            }
            Self::Job(job) => !job.is_empty() && *job == mark.job_id,
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model(model) => write!(f, "model {model}"),
            Self::Job(job) => write!(f, "job {job}"),
        }
    }
}

/// The wish to keep machines of workers that fail from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRequest {
    /// What tells it from others.
    pub id: String,
    pub of: Subject,
    pub count: u32,
    /// How long each of them is kept.
    pub keep: SignedDuration,
    /// Until when it waits, by the supplier's time.
    pub until: Timestamp,
    pub reason: String,
    /// The machines that it has taken. They are written down before their marks are: after a crash they are kept all the
    /// same, and no others in their place.
    #[serde(default)]
    pub taken: BTreeSet<MachineId>,
}

impl HoldRequest {
    /// Whether nothing is left of it to do: it is over or served, and each machine that it took says so itself.
    pub fn is_spent(&self, view: &View, now: Timestamp) -> bool {
        let unmarked = |id: &MachineId| {
            let machine = view.machines.get(id);
            machine.is_some_and(|machine| machine.mark().is_none_or(|mark| mark.hold_until.is_none()))
        };
        let is_over = self.until <= now || self.taken.len() >= self.count as usize;
        is_over && view.complete && !self.taken.iter().any(unmarked)
    }

    /// The same after the supplier's clock was set by that much.
    #[must_use]
    pub fn shifted(&self, by: SignedDuration) -> Self {
        let until = self.until.checked_add(by).unwrap_or(self.until);
        Self { until, ..self.clone() }
    }

    fn names_a_job(&self) -> bool {
        matches!(self.of, Subject::Job(_))
    }
}

/// How the job of a worker has ended, as the server tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Failed,
    /// It ended, and did not fail.
    Ended,
    /// It was stopped: by somebody, or since its worker was not heard of any more.
    Stopped,
    /// It is not over, or over with another worker.
    Open,
    /// The server does not know it any more.
    Untold,
}

/// What the server told of the job of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    pub outcome: Outcome,
    /// When that was asked, by the supplier's time.
    pub at: Timestamp,
}

/// What is written into the mark of a machine that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Until when, by the supplier's time. That it is over ends it for good: no wish takes such a machine again.
    pub until: Timestamp,
    pub reason: String,
    /// The wish that it is kept for; empty: somebody named the machine.
    pub wish: String,
}

/// What is decided about keeping.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holding {
    pub keep: Vec<(MachineId, Hold)>,
    /// How the jobs of these have ended has to be asked first.
    pub ask: Vec<MachineId>,
}

#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct Facts<'a> {
    pub owner: &'a OwnerId,
    pub now: Timestamp,
    pub wishes: &'a [HoldRequest],
    /// What was told of the jobs of machines.
    pub told: &'a BTreeMap<MachineId, Told>,
    /// Machines that were given up.
    pub condemned: &'a Expiring<MachineId, Condemned>,
    /// Whether somebody is at a machine.
    pub busy: &'a dyn Fn(&Machine) -> bool,
}

/// Whether a machine is there for its job no more: it is, or was, kept after its worker had failed.
pub fn serves_nobody(machine: &Machine, mark: &Mark) -> bool {
    let over = machine.power == Some(Power::Off) || !mark.hold_wish.is_empty();
    mark.hold_until.is_some() && over
}

/// Whom to keep. Whoever is kept or asked about is taken off the sweep.
pub fn decide(view: &View, facts: &Facts<'_>, sweep: &mut Sweep) -> Holding {
    let mut holding = Holding::default();
    if facts.wishes.is_empty() {
        return holding;
    }
    let going: BTreeMap<MachineId, Reason> = sweep.delete.iter().cloned().collect();
    let mut left: Vec<usize> = facts.wishes.iter().map(|wish| open_places(wish, facts.now)).collect();
    let mut kept = BTreeMap::new();
    for (machine, mark) in view.owned(facts.owner) {
        let concerned = standing(machine, facts.owner) == Standing::Worker
            && !mark.job_id.is_empty()
            && mark.hold_until.is_none()
            && !(facts.busy)(machine);
        if !concerned {
            continue;
        }
        let promised = facts.wishes.iter().position(|wish| wish.taken.contains(&machine.id));
        let fate = match promised {
            Some(_) => Fate::Keep,
            None => facts.fate(machine, going.get(&machine.id)),
        };
        let open = || {
            let fits = |(wish, left): (&HoldRequest, &usize)| {
                *left > 0 && wish.of.is_of(mark) && (fate != Fate::KeepIfNamed || wish.names_a_job())
            };
            facts.wishes.iter().zip(&left).position(fits)
        };
        let Some(chosen) = promised.or_else(open).filter(|_| fate != Fate::Go) else { continue };
        let Some(wish) = facts.wishes.get(chosen) else { continue };
        if fate == Fate::Ask {
            kept.insert(machine.id.clone(), KeepReason::EndUnknown);
            holding.ask.push(machine.id.clone());
            continue;
        }
        if let Some(left) = left.get_mut(chosen).filter(|_| promised.is_none()) {
            *left -= 1;
        }
        let until = facts.now.saturating_add(wish.keep).unwrap_or(Timestamp::MAX);
        kept.insert(machine.id.clone(), KeepReason::Held { until });
        let hold = Hold { until, reason: wish.reason.clone(), wish: wish.id.clone() };
        holding.keep.push((machine.id.clone(), hold));
    }
    sweep.delete.retain(|(id, _)| !kept.contains_key(id));
    sweep.kept.extend(kept.into_iter().filter(|(id, _)| going.contains_key(id)));
    sweep.kept.sort_by(|(one, _), (other, _)| one.cmp(other));
    holding
}

fn open_places(wish: &HoldRequest, now: Timestamp) -> usize {
    let places = (wish.count as usize).saturating_sub(wish.taken.len());
    if now < wish.until { places } else { 0 }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    /// Nobody can say any more whether it failed. Who named the job wants its machine.
    KeepIfNamed,
    Ask,
    Go,
}

impl Facts<'_> {
    /// What becomes of a machine if somebody wishes for it; `going` is why it is about to be deleted.
    fn fate(&self, machine: &Machine, going: Option<&Reason>) -> Fate {
        match self.condemned.get(&machine.id) {
            Some(Condemned::SpawnFailed) => return Fate::Keep,
            Some(_) => return Fate::Go,
            None => {}
        }
        // One that has run for too long was at work until now.
        let goes = going.is_some_and(|reason| !matches!(reason, Reason::Expired { .. }));
        let is_off = machine.power == Some(Power::Off);
        if !goes && !is_off {
            return Fate::Go;
        }
        let told = self.told.get(&machine.id);
        let recent = |told: &Told| self.now.duration_since(told.at) <= BELIEVED;
        match told.map(|told| (told.outcome, recent(told))) {
            Some((Outcome::Ended, _)) => Fate::Go,
            // A guest whose job somebody stops goes off by itself.
            Some((Outcome::Stopped, _)) if is_off => Fate::Go,
            // What is off may be about to start, until its time is over.
            Some((Outcome::Stopped, _) | (Outcome::Open | Outcome::Untold, true)) if !goes => Fate::Go,
            Some((Outcome::Failed | Outcome::Stopped, _) | (Outcome::Open, true)) => Fate::Keep,
            Some((Outcome::Untold, true)) => Fate::KeepIfNamed,
            Some((Outcome::Open | Outcome::Untold, false)) | None => Fate::Ask,
        }
    }
}

#[cfg(test)]
mod tests;
