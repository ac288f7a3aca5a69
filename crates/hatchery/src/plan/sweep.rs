//! Why a machine of a worker should go. Whether it may is the core's gate to say.
//!
//! | Power | Listed by the server | Deleted |
//! |---|---|---|
//! | off | either | after the grace period, counted from the power-off |
//! | on | yes | after the worker's time to live, counted from its start |
//! | on | no | after the time to register, counted from its start |
//!
//! The start stands in the mark. Where it does not, events tell it; they age out, and then the age of the machine has
//! to do, or an orphan would hold its address for ever.

mod reason;

use std::cell::RefCell;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rookery_fleet::brake::{Subject, Waiting, Weight};
use rookery_fleet::deletion::{self, Case, Evidence, Gate, Stop};
use rookery_fleet::expiring::Expiring;
use rookery_fleet::machine::History;
use rookery_fleet::reckoning::Reckoning;
use rookery_fleet::{MachineId, OwnerId, Power};

use crate::machine::{Brake, Machine, View};
use crate::mark::Mark;
use crate::plan::workers::{Listing, WorkerState};
use crate::standing::{Standing, standing};

pub use reason::{Condemned, KeepReason, Reason};

/// How long the making of a template may take.
pub const TEMPLATE_MAKING: SignedDuration = SignedDuration::from_mins(15);
/// How long what was read of a job is believed.
const JOB_BELIEVED: SignedDuration = SignedDuration::from_secs(60);
/// It is read again before that, or it would be too old at each second sweep.
const JOB_REREAD: SignedDuration = SignedDuration::from_secs(30);

/// What a sweep goes by.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Whose machines may be deleted.
    pub owner: &'a OwnerId,
    pub now: Timestamp,
    pub ours: Timestamp,
    /// Why nobody may be deleted; see [`deletion::stop_reason`].
    pub stop: Option<Stop>,
    /// How long a registered worker may run.
    pub worker_ttl: SignedDuration,
    pub registration_ttl: SignedDuration,
    /// How long a machine stays after its worker has ended.
    pub grace: SignedDuration,
    /// The workers that the server lists; `None` is a listing that failed.
    pub listing: Option<&'a Listing>,
    /// How many machines may be deleted now.
    pub budget: usize,
    pub brake: &'a Brake,
    /// Workers that are to be disabled in the same pass: they are counted together.
    pub disable: &'a [String],
}

/// What was noticed about single machines.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it holds closures")]
pub struct Noticed<'a> {
    pub busy: &'a dyn Fn(&Machine) -> bool,
    pub condemned: &'a Expiring<MachineId, Condemned>,
    /// When a machine was last seen to change, by our steady time; `None`: never.
    pub changed_at: &'a dyn Fn(&MachineId) -> Option<Timestamp>,
    /// Events of machines, as far as they were read. An entry without times says that there are none; `None` that what
    /// was read does not reach back far enough to tell.
    pub events: &'a BTreeMap<MachineId, Option<History>>,
    /// From when ages count, if the supplier's clock was set.
    pub reckoning: &'a Reckoning,
    /// What was read of the jobs of machines whose workers are not listed.
    pub jobs: &'a BTreeMap<MachineId, JobRead>,
    pub stubborn: &'a BTreeMap<MachineId, u32>,
}

/// What the server said when the job of a machine was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobRead {
    /// Whether the job is being built by the worker in that machine.
    pub runs_here: bool,
    /// When it was asked, by our steady time.
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sweep {
    /// Whom to delete, the most certain first.
    pub delete: Vec<(MachineId, Reason)>,
    /// Of whom the events are needed: their marks do not tell when they started.
    pub needs_events: Vec<MachineId>,
    /// Whose jobs are to be read: a list of workers can be empty and yet succeed.
    pub needs_jobs: Vec<MachineId>,
    /// What waits for a person, of machines and of workers.
    pub braked: Vec<Waiting>,
    /// Who of the owner's machines is kept, and why.
    pub kept: Vec<(MachineId, KeepReason)>,
    /// Why nobody may be deleted at all.
    pub stopped: Option<Stop>,
}

/// How old the list of workers is, as evidence.
pub fn evidence(listing: Option<&Listing>) -> Evidence {
    Evidence { of: "workers", begun: listing.map(|listing| listing.begun) }
}

/// Why nobody may be deleted, and what to do about it.
pub fn stop_text(stop: &Stop) -> String {
    let remedy = if let Stop::Lost(_) = stop { "; `rookery hatchery confirm` shows them" } else { "" };
    format!("{stop}{remedy}")
}

pub fn verdicts(view: &View, facts: &Facts<'_>, noticed: &Noticed<'_>) -> Sweep {
    let listing = match (facts.stop, facts.listing) {
        (None, Some(listing)) => listing,
        (stopped, _) => {
            let Evidence { of, .. } = evidence(None);
            return Sweep { stopped: stopped.or(Some(Stop::NoEvidence { of })), ..Sweep::default() };
        }
    };
    let judge = Judge { view, facts, noticed, listing, unlisted: RefCell::default() };
    let without_machine = facts.disable.iter().map(|name| Waiting {
        subject: Subject::Other(name.clone()),
        name: name.clone(),
        why: "it has no machine".to_owned(),
    });
    let gate = Gate {
        view,
        owner: facts.owner,
        now: facts.now,
        evidence_begun: listing.begun,
        budget: facts.budget,
        brake: facts.brake,
        also: without_machine.collect(),
        busy: noticed.busy,
        changed_at: noticed.changed_at,
        reckoning: noticed.reckoning,
        stubborn: noticed.stubborn,
    };
    let deletion::Verdicts { delete, kept, braked } =
        deletion::decide(&gate, &|machine, mark| judge.case(machine, mark));
    let needs_jobs = judge.unread_jobs();
    let unread = kept.iter().filter(|(_, why)| *why == KeepReason::NeedsEvents);
    let needs_events = unread.map(|(id, _)| id.clone()).collect();
    Sweep { delete, needs_events, needs_jobs, braked, kept, stopped: None }
}

/// How the deletion of a machine for that reason is counted by the brake.
pub fn weight(machine: &Machine, owner: &OwnerId, reason: &Reason) -> Weight {
    let is_warm = matches!(standing(machine, owner), Standing::Pooled);
    match reason {
        _ if is_warm || machine.power == Some(Power::Off) => Weight::None,
        Reason::Doomed(_) => Weight::None,
        // Workers are disabled all day long, each when it signs out, and their machines go off a moment later; that many are
        // disabled while their machines run is what is unusual.
        Reason::Disabled => Weight::AtOnce,
        Reason::Finished { .. }
        | Reason::NeverStarted { .. }
        | Reason::NeverRegistered { .. }
        | Reason::OrphanedTemplate { .. }
        | Reason::Expired { .. } => Weight::Lasting,
    }
}

struct Judge<'a> {
    view: &'a View,
    facts: &'a Facts<'a>,
    noticed: &'a Noticed<'a>,
    listing: &'a Listing,
    /// Machines whose workers are not listed although it is time: their jobs tell.
    unlisted: RefCell<Vec<MachineId>>,
}

impl Judge<'_> {
    fn case(&self, machine: &Machine, mark: &Mark) -> Result<Case<Reason>, KeepReason> {
        let reason = self.reason(machine, mark)?;
        Ok(Case {
            reason,
            urgency: reason.urgency(),
            age: reason.age(),
            weight: weight(machine, self.facts.owner, &reason),
            // What never became a worker is not judged by the listing.
            by_evidence: !matches!(
                reason,
                Reason::Doomed(Condemned::SpawnFailed | Condemned::ProvisionFailed)
            ),
        })
    }

    fn reason(&self, machine: &Machine, mark: &Mark) -> Result<Reason, KeepReason> {
        let standing = standing(machine, self.facts.owner);
        match standing {
            Standing::Foreign | Standing::Unknown => return Err(KeepReason::Unknown),
            Standing::Template => return Err(KeepReason::Template),
            Standing::TemplateInMaking
            | Standing::Pooled
            | Standing::HalfClaimed
            | Standing::Worker
            | Standing::Registering => {}
        }
        if let Some(condemned_for) = self.noticed.condemned.get(&machine.id) {
            return Ok(Reason::Doomed(*condemned_for));
        }
        match (standing, machine.power) {
            (Standing::Pooled, _) | (Standing::HalfClaimed, Some(Power::Off)) => Err(KeepReason::Warm),
            (Standing::TemplateInMaking, _) => self.template_in_making(machine, mark),
            (_, None) => Err(KeepReason::PowerUnknown),
            (_, Some(power)) => self.worker(machine, mark, power),
        }
    }

    fn template_in_making(&self, machine: &Machine, mark: &Mark) -> Result<Reason, KeepReason> {
        let age = self.age(machine, created(machine, mark).ok_or(KeepReason::AgeUnknown)?);
        after(age, TEMPLATE_MAKING, Reason::OrphanedTemplate { age })
    }

    fn worker(&self, machine: &Machine, mark: &Mark, power: Power) -> Result<Reason, KeepReason> {
        let listed = match self.listing.state_of(machine, mark) {
            Some(WorkerState::Disabled) => return Ok(Reason::Disabled),
            Some(WorkerState::Alive) => true,
            None => false,
        };
        let facts = self.facts;
        let start = self.start(machine, mark)?;
        let age = self.age(machine, start.at);
        match (power, listed) {
            (Power::Off, false) if start.only_renamed => {
                let limit = facts.registration_ttl;
                after(age, limit, Reason::NeverStarted { age, limit })
            }
            (Power::Off, listed) => {
                let ended = self.ended(machine).unwrap_or(age);
                let age = ended.min(age);
                after(age, facts.grace, Reason::Finished { age, listed })
            }
            (Power::On | Power::Suspended, true) => {
                let limit = facts.worker_ttl;
                after(age, limit, Reason::Expired { age, limit })
            }
            (Power::On | Power::Suspended, false) => {
                let limit = facts.registration_ttl;
                after(age, limit, Reason::NeverRegistered { age, limit })?;
                self.unlisted.borrow_mut().push(machine.id.clone());
                self.job_is_not_here(machine, mark)?;
                Ok(Reason::NeverRegistered { age, limit })
            }
        }
    }

    /// A list of workers can be empty and yet succeed: the job itself says whether somebody is at work.
    fn job_is_not_here(&self, machine: &Machine, mark: &Mark) -> Result<(), KeepReason> {
        if mark.job_id.is_empty() {
            return Ok(());
        }
        match self.noticed.jobs.get(&machine.id) {
            Some(read) if self.facts.ours.duration_since(read.at) > JOB_BELIEVED => {
                Err(KeepReason::JobUnread)
            }
            Some(read) if read.runs_here => Err(KeepReason::JobRuns),
            Some(_) => Ok(()),
            None => Err(KeepReason::JobUnread),
        }
    }

    /// Those whose jobs have to be read, for the first time or again; whether they can go now or not.
    fn unread_jobs(&self) -> Vec<MachineId> {
        let is_old = |read: &JobRead| self.facts.ours.duration_since(read.at) >= JOB_REREAD;
        let is_due = |id: &&MachineId| {
            let has_job = self.view.machines.get(id).and_then(|machine| machine.mark());
            has_job.is_some_and(|mark| !mark.job_id.is_empty())
                && self.noticed.jobs.get(*id).is_none_or(is_old)
        };
        self.unlisted.borrow().iter().filter(is_due).cloned().collect()
    }

    fn start(&self, machine: &Machine, mark: &Mark) -> Result<Start, KeepReason> {
        let at = |at| Start { at, only_renamed: false };
        if let Some(start) = mark.worker_start_time {
            return Ok(at(start));
        }
        let events = self.noticed.events.get(&machine.id).ok_or(KeepReason::NeedsEvents)?;
        let events = events.ok_or(KeepReason::HistoryTooShort)?;
        // A start before the renaming was the pool's, not the worker's.
        let started =
            events.started.filter(|started| events.renamed.is_none_or(|renamed| renamed <= *started));
        match (started, events.renamed) {
            (Some(started), _) => Ok(at(started)),
            (None, Some(renamed)) => Ok(Start { at: renamed, only_renamed: true }),
            (None, None) => created(machine, mark).map(at).ok_or(KeepReason::AgeUnknown),
        }
    }

    /// For how long the machine has been off, as far as that is known.
    fn ended(&self, machine: &Machine) -> Option<SignedDuration> {
        let event = self.noticed.events.get(&machine.id).and_then(|events| (*events)?.powered_off);
        let seen = || Some(self.facts.ours.duration_since((self.noticed.changed_at)(&machine.id)?));
        event.map(|at| self.age(machine, at)).or_else(seen)
    }

    fn age(&self, machine: &Machine, at: Timestamp) -> SignedDuration {
        let since = self.noticed.reckoning.since(&machine.id, at, self.facts.now);
        self.facts.now.duration_since(since)
    }
}

struct Start {
    at: Timestamp,
    only_renamed: bool,
}

/// The later of what the mark and the supplier say.
fn created(machine: &Machine, mark: &Mark) -> Option<Timestamp> {
    machine.created.max(mark.created)
}

fn after(age: SignedDuration, limit: SignedDuration, reason: Reason) -> Result<Reason, KeepReason> {
    if age >= limit { Ok(reason) } else { Err(KeepReason::Young { age, limit }) }
}

#[cfg(test)]
mod tests;
