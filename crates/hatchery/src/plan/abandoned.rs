//! Jobs whose worker went off before it took them. CDS shows such a job as being scheduled until its hatchery releases it, and
//! offers it to nobody meanwhile.

use crate::machine::Machine;
use crate::mark::Mark;
use crate::plan::hold::serves_nobody;
use crate::standing::{Standing, standing};
use rookery_cds::JobId;
use rookery_fleet::Power;

use super::Pass;
use crate::plan::running::Work;

/// So many jobs are read for this at once.
const AT_ONCE: usize = 10;

impl Pass<'_> {
    /// Finds workers of V2 jobs that are off and were never seen at work. Whether the job still waits for them is read before
    /// it is released, so one look at each is enough.
    pub(super) fn find_abandoned(&mut self) {
        // Old news release nothing.
        if self.stop.is_some() {
            return;
        }
        let reads = self.seen.running.iter().filter(|action| matches!(action.work, Work::Free { .. }));
        let left = AT_ONCE.saturating_sub(reads.count());
        let owned = self.seen.view.owned(self.want.owner);
        let found = owned.filter(|(machine, mark)| self.is_abandoned(machine, mark));
        self.plan.abandoned = found.take(left).map(|(machine, _)| machine.id.clone()).collect();
    }

    fn is_abandoned(&self, machine: &Machine, mark: &Mark) -> bool {
        machine.power == Some(Power::Off)
            && standing(machine, self.want.owner) == Standing::Worker
            && matches!(mark.job_id.parse(), Ok(JobId::V2(_)))
            && !self.seen.took_job.contains(&machine.name)
            && !self.seen.off_duty.contains(&machine.id)
            // On account of what the inventory has not confirmed nothing is released.
            && !self.seen.view.is_unsettled(&machine.id)
            && !serves_nobody(machine, mark)
            && !self.is_busy(machine)
    }
}
