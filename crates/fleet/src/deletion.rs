//! The gate before every deletion: who may be deleted, on what proof, and how many at once. Deleting is the dangerous act:
//! whatever is not certain keeps a machine.
//!
//! A front says why a machine of its own should go; the gate lets nobody through that is a template, not told, out of
//! reach, moved, worked on, held, changed since the front's evidence was asked for, or one of unusually many.

mod stop;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::brake::{Brake, Subject, Waiting, Weight};
use crate::machine::{Machine, MachineId, Role, View};
use crate::ownership::OwnerId;
use crate::reckoning::Reckoning;

pub use stop::{Evidence, Grounds, MAX_EVIDENCE_AGE, MAX_SKEW, MAX_VIEW_AGE, Stop, stop_reason};

/// What the gate goes by.
pub struct Gate<'a, M> {
    pub view: &'a View<M>,
    /// Whose machines may be deleted.
    pub owner: &'a OwnerId,
    pub now: Timestamp,
    /// When the evidence was asked for that the front judges by, by our steady time.
    pub evidence_begun: Timestamp,
    /// How many machines may be deleted now.
    pub budget: usize,
    /// What holds back those that are unusually many.
    pub brake: &'a Brake<M>,
    /// What else the front is about to do that the brake counts.
    pub also: Vec<Waiting>,
    /// Whether somebody is at a machine.
    pub busy: &'a dyn Fn(&Machine<M>) -> bool,
    /// When a machine was last seen to change, by our steady time; `None`: never.
    pub changed_at: &'a dyn Fn(&MachineId) -> Option<Timestamp>,
    /// From when ages count, if the supplier's clock was set.
    pub reckoning: &'a Reckoning,
    /// How often in a row machines could not be changed.
    pub stubborn: &'a BTreeMap<MachineId, u32>,
}

impl<M> std::fmt::Debug for Gate<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("owner", self.owner).field("now", &self.now).finish_non_exhaustive()
    }
}

/// Why the gate keeps a machine, whatever its front says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It is a template: anybody may clone it.
    Template,
    /// What it is is not told yet.
    Unknown,
    /// It is not where the owner's machines are.
    Outside,
    /// It is on a host that cannot be reached.
    Unreachable,
    Busy,
    /// The inventory does not show yet what we did to it.
    Unconfirmed,
    /// It is kept for somebody to look at.
    Held {
        until: Timestamp,
    },
    /// It changed after the front asked for its evidence.
    ChangedSince,
    /// Unusually many that run would go: a person has to confirm it.
    Braked,
    /// As many are being deleted as may be at once.
    Budget,
}

/// A machine that its front would delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case<R> {
    pub reason: R,
    /// The most certain ones, with the smallest number, come first when not all can be deleted.
    pub urgency: u8,
    /// Among those of one urgency the oldest come first.
    pub age: SignedDuration,
    /// How the brake counts it.
    pub weight: Weight,
    /// Whether it rests on the front's evidence; if not, a later change of the machine does not matter.
    pub by_evidence: bool,
}

/// Who goes and who stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdicts<R, W> {
    /// Whom to delete, in this order.
    pub delete: Vec<(MachineId, R)>,
    /// Who of the owner's machines is kept, and why.
    pub kept: Vec<(MachineId, W)>,
    /// What waits for a person.
    pub braked: Vec<Waiting>,
}

/// Why a machine of the owner should go, or why not.
pub type Judge<'a, M, R, W> = dyn Fn(&Machine<M>, &M) -> Result<Case<R>, W> + 'a;

/// Who may be deleted. `judge` is asked about each machine of the owner that nothing else keeps.
pub fn decide<M, R: std::fmt::Display, W: From<Kept>>(
    gate: &Gate<'_, M>,
    judge: &Judge<'_, M, R, W>,
) -> Verdicts<R, W> {
    let (mut cases, mut kept) = (Vec::new(), Vec::new());
    for machine in gate.view.notable() {
        let Some(mark) = machine.mark_of(gate.owner) else { continue };
        let case = gate.untouchable(machine).map_or_else(|| judge(machine, mark), |why| Err(why.into()));
        match case.and_then(|case| gate.still_as_told(machine, case)) {
            Ok(case) => cases.push((machine, case)),
            Err(why) => kept.push((machine.id.clone(), why)),
        }
    }
    let braked = gate.hold_back(&mut cases, &mut kept);
    // Those that cannot be deleted would take every place for ever.
    let failures = |id: &MachineId| gate.stubborn.get(id).copied().unwrap_or_default();
    cases.sort_by_cached_key(|(machine, case)| {
        (failures(&machine.id), case.urgency, Reverse(case.age), machine.id.clone())
    });
    let over = cases.split_off(gate.budget.min(cases.len()));
    kept.extend(over.into_iter().map(|(machine, _)| (machine.id.clone(), Kept::Budget.into())));
    kept.sort_by(|(one, _), (other, _)| one.cmp(other));
    let delete = cases.into_iter().map(|(machine, case)| (machine.id.clone(), case.reason)).collect();
    Verdicts { delete, kept, braked }
}

impl<M> Gate<'_, M> {
    fn untouchable(&self, machine: &Machine<M>) -> Option<Kept> {
        // Whatever it was to become: what is a template may be cloned by anybody.
        if machine.role == Role::Template {
            return Some(Kept::Template);
        }
        if machine.is_unknown() {
            return Some(Kept::Unknown);
        }
        if machine.is_outside {
            return Some(Kept::Outside);
        }
        if !machine.reachable {
            return Some(Kept::Unreachable);
        }
        if (self.busy)(machine) {
            return Some(Kept::Busy);
        }
        if self.view.is_unsettled(&machine.id) || self.view.is_gone(&machine.id) {
            return Some(Kept::Unconfirmed);
        }
        let held = self.reckoning.hold_until(machine).filter(|until| *until > self.now);
        held.map(|until| Kept::Held { until })
    }

    /// Evidence that is older than the machine's last change tells nothing about it.
    fn still_as_told<R, W: From<Kept>>(&self, machine: &Machine<M>, case: Case<R>) -> Result<Case<R>, W> {
        match (self.changed_at)(&machine.id) {
            Some(changed) if case.by_evidence && changed >= self.evidence_begun => {
                Err(Kept::ChangedSince.into())
            }
            Some(_) | None => Ok(case),
        }
    }

    /// Before any budget: who deletes ten at a time deletes all of them, too.
    fn hold_back<R: std::fmt::Display, W: From<Kept>>(
        &self,
        cases: &mut Vec<(&Machine<M>, Case<R>)>,
        kept: &mut Vec<(MachineId, W)>,
    ) -> Vec<Waiting> {
        let counted = cases.iter().filter(|(_, case)| case.weight != Weight::None);
        let machines = counted.map(|(machine, case)| Waiting {
            subject: Subject::Machine(machine.id.clone()),
            name: machine.name.clone(),
            why: case.reason.to_string(),
        });
        let mut wanted: Vec<Waiting> = machines.chain(self.also.iter().cloned()).collect();
        let subjects = wanted.iter().map(|waiting| waiting.subject.clone()).collect();
        let held_back = self.brake.hold_back(&subjects, self.view, self.owner);
        wanted.retain(|waiting| held_back.contains(&waiting.subject));
        let waits = |machine: &Machine<M>| held_back.contains(&Subject::Machine(machine.id.clone()));
        let waiting = cases.extract_if(.., |(machine, _)| waits(machine));
        kept.extend(waiting.map(|(machine, _)| (machine.id.clone(), Kept::Braked.into())));
        wanted
    }
}

#[cfg(test)]
mod tests;
