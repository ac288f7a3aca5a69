//! Jobs whose machine serves them no more. CDS shows such a job as being scheduled until its hatchery releases it, and
//! offers it to nobody meanwhile.

use rookery_cds::JobId;
use rookery_fleet::{MachineId, Power};

use super::{Action, Free, Pass, Unserving};
use crate::machine::Machine;
use crate::mark::Mark;
use crate::plan::hold::serves_nobody;
use crate::standing::{Standing, standing};

/// So many jobs of machines that went off are read at once.
const AT_ONCE: usize = 10;

impl Pass<'_> {
    /// Gives jobs back that nobody else is at work for: one may have been released and taken by us again meanwhile.
    pub(super) fn free_jobs(&mut self) {
        // Old news release nothing: they wait until it is known again who is at work.
        if self.stop.is_some() {
            return;
        }
        self.free_ended();
        self.free_abandoned();
    }

    /// Those of machines that were given up. On account of what the inventory has not confirmed nothing is released.
    fn free_ended(&mut self) {
        let view = self.seen.view;
        let is_certain = |machine: Option<&MachineId>| !machine.is_some_and(|id| view.is_unsettled(id));
        let freed = std::mem::take(&mut self.plan.carried.freed);
        for (of, machine) in freed {
            if !is_certain(machine.as_ref()) {
                self.plan.carried.freed.push((of, machine));
                continue;
            }
            let Ok(job) = of.job.parse::<JobId>() else { continue };
            if !self.is_served(&job, machine.as_ref()) {
                let machine = Unserving::Ended(machine);
                self.plan.actions.push(Action::Free(Free { job, worker: of.worker, machine }));
            }
        }
    }

    /// Those of V2 workers that went off and were never seen at work. Whether the job still waits for them is read before it
    /// is released, so one look at each is enough.
    fn free_abandoned(&mut self) {
        let is_free = |action: &Action| matches!(action, Action::Free(_));
        let reads = self.seen.running.iter().filter(|running| is_free(&running.action)).count();
        let owned = self.seen.view.owned(self.want.owner);
        let found = owned.filter_map(|(machine, mark)| Some((machine, self.abandoned(machine, mark)?)));
        let found: Vec<_> = found.take(AT_ONCE.saturating_sub(reads)).collect();
        for (machine, job) in found {
            if self.is_served(&job, Some(&machine.id)) {
                self.plan.carried.off_duty.insert(machine.id.clone());
                continue;
            }
            let (worker, machine) = (machine.name.clone(), Unserving::WentOff(machine.id.clone()));
            self.plan.actions.push(Action::Free(Free { job, worker, machine }));
        }
    }

    /// The job that a machine went off without having taken it.
    fn abandoned(&self, machine: &Machine, mark: &Mark) -> Option<JobId> {
        let job = mark.job_id.parse().ok().filter(|job| matches!(job, JobId::V2(_)))?;
        let is_abandoned = machine.power == Some(Power::Off)
            && standing(machine, self.want.owner) == Standing::Worker
            && !self.seen.took_job.contains(&machine.name)
            && !self.seen.carried.off_duty.contains(&machine.id)
            // On account of what the inventory has not confirmed nothing is released.
            && !self.seen.view.is_unsettled(&machine.id)
            && !serves_nobody(machine, mark)
            && !self.is_busy(machine);
        is_abandoned.then_some(job)
    }

    /// Whether somebody is at work for a job, or is about to be, beside that machine.
    fn is_served(&self, job: &JobId, beside: Option<&MachineId>) -> bool {
        let text = job.to_string();
        let serves = |other: &Machine| {
            let is_for = |mark: &Mark| mark.job_id == text && !serves_nobody(other, mark);
            other.possible_mark().is_some_and(is_for) && !self.plan.carried.off_duty.contains(&other.id)
        };
        let planned = || self.plan.actions.iter().filter_map(Action::job);
        self.seen.view.notable().any(|other| Some(&other.id) != beside && serves(other))
            || self.seen.running.jobs().contains(job)
            || planned().any(|other| other == job)
    }
}
