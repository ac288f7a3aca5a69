//! Reading the jobs of machines whose workers CDS does not list, before such a machine goes.

use crate::plan::sweep::JobRead;
use jiff::Timestamp;
use rookery_fleet::MachineId;

use super::{Message, Reconciler};
use crate::plan::Plan;

/// How many jobs are read at once; the others are read with the next passes.
const AT_ONCE: usize = 8;

impl Reconciler {
    /// Reads the jobs of these machines, and waits for the answers.
    pub(super) async fn read_jobs_now(&mut self, machines: &[MachineId]) {
        for id in machines {
            let Some(machine) = self.state.vsphere.view.machines.get(id) else { continue };
            let Some(mark) = machine.mark() else { continue };
            let begun = self.context.clock.steady();
            let names = [machine.name.clone(), mark.worker_name.clone()];
            let runs_here = self.context.builds(&mark.job_id, &names).await;
            self.apply_job_read(id.clone(), runs_here, begun);
        }
    }

    /// Reads the jobs that a sweep wants to know of.
    pub(super) fn read_jobs_of(&mut self, plan: &Plan) {
        for id in &plan.missing.jobs {
            let reads = &mut self.state.cds.job_reads;
            let Some(machine) = self.state.vsphere.view.machines.get(id) else { continue };
            let Some(mark) = machine.mark() else { continue };
            if reads.open() >= AT_ONCE {
                break;
            }
            if !reads.ask(id) {
                continue;
            }
            let names = [machine.name.clone(), mark.worker_name.clone()];
            let (job, id, begun) = (mark.job_id.clone(), id.clone(), self.context.clock.steady());
            let context = self.context.in_the_background();
            let cut_off = Message::JobRead { machine: id.clone(), runs_here: None, begun };
            self.tasks.start("question whether a job runs", cut_off, async move {
                let runs_here = context.builds(&job, &names).await;
                Message::JobRead { machine: id, runs_here, begun }
            });
        }
    }

    pub(super) fn apply_job_read(&mut self, id: MachineId, runs_here: Option<bool>, begun: Timestamp) {
        let read = runs_here.map(|runs_here| JobRead { runs_here, at: begun });
        self.state.cds.job_reads.answer(id, read, self.context.clock.steady());
    }
}
