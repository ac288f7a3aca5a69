//! Reading the jobs of machines whose workers CDS does not list, before such a machine goes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::machine::View;
use crate::plan::sweep::JobRead;
use jiff::Timestamp;
use rookery_fleet::MachineId;

use super::apply::later;
use super::{Message, Reconciler};
use crate::plan::Plan;

/// How long CDS is left alone after a job could not be read.
const PAUSE: Duration = Duration::from_secs(10);

/// How many jobs are read at once; the others are read with the next passes.
const AT_ONCE: usize = 8;

/// What was read of the jobs of machines.
#[derive(Debug, Default)]
pub(super) struct JobReads {
    pub(super) told: BTreeMap<MachineId, JobRead>,
    asking: BTreeSet<MachineId>,
    ask_after: BTreeMap<MachineId, Timestamp>,
}

impl JobReads {
    pub(super) fn forget(&mut self, view: &View, now: Timestamp) {
        if view.complete {
            self.told.retain(|id, _| view.machines.contains(id));
        }
        self.ask_after.retain(|_, until| *until > now);
    }

    fn apply(&mut self, id: MachineId, runs_here: Option<bool>, begun: Timestamp, now: Timestamp) {
        self.asking.remove(&id);
        match runs_here {
            Some(runs_here) => drop(self.told.insert(id, JobRead { runs_here, at: begun })),
            None => drop(self.ask_after.insert(id, later(now, PAUSE))),
        }
    }
}

impl Reconciler {
    /// Reads the jobs of these machines, and waits for the answers.
    pub(super) async fn read_jobs_now(&mut self, machines: &[MachineId]) {
        for id in machines {
            let Some(machine) = self.state.view.machines.get(id) else { continue };
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
            let reads = &mut self.state.job_reads;
            let Some(machine) = self.state.view.machines.get(id) else { continue };
            let Some(mark) = machine.mark() else { continue };
            if reads.asking.len() >= AT_ONCE {
                break;
            }
            if reads.ask_after.contains_key(id) || !reads.asking.insert(id.clone()) {
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
        self.state.job_reads.apply(id, runs_here, begun, self.context.clock.steady());
    }
}
