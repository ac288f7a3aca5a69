//! Consistency of the world: what no sequence of calls may ever lead to.

use std::collections::BTreeSet;

use crate::job::{Protocol, Status};
use crate::workers;
use crate::world::World;

impl World {
    /// Everything that is wrong: identifiers that stand twice, statuses that do not follow from each other, jobs that
    /// two workers build, and held jobs without a holder.
    pub fn check(&self) -> Vec<String> {
        let (jobs, workers) = (&self.state.jobs, &self.state.workers);
        let mut findings = Vec::new();
        let ids: BTreeSet<_> =
            jobs.values().map(|job| &job.id).chain(workers.values().map(|worker| &worker.id)).collect();
        if ids.len() != jobs.len() + workers.len() {
            findings.push("an identifier stands twice".to_owned());
        }
        for job in jobs.values() {
            let (id, protocol) = (&job.id, job.asked.protocol);
            for pair in job.history.windows(2) {
                let [(before, from), (after, to)] = pair else { continue };
                if before > after || !from.leads_to(*to, protocol) {
                    findings.push(format!("{protocol:?} job {id} went from {from} to {to}"));
                }
            }
            if job.history.last().map(|(_, status)| *status) != Some(job.status) {
                findings.push(format!("the history of job {id} does not end with {}", job.status));
            }
            // A worker whose machine was cut off counts as building until it was silent for long enough.
            let since = job.scheduled.unwrap_or(job.queued);
            let builders = workers.values().filter(|worker| {
                let builds = worker.status == workers::Status::Building && worker.job.as_ref() == Some(id);
                builds && worker.last_beat >= since
            });
            let builders: Vec<_> = builders.map(|worker| worker.name.as_str()).collect();
            if builders.len() > 1 {
                findings.push(format!("job {id} is built by {}", builders.join(" and ")));
            }
            if job.status == Status::Building && job.worker_id.is_empty() {
                findings.push(format!("job {id} is built by nobody"));
            }
            let held =
                protocol == Protocol::V2 && matches!(job.status, Status::Scheduling | Status::Building);
            if held && job.hatchery.is_empty() {
                findings.push(format!("job {id} is {} and nobody's", job.status));
            }
        }
        findings
    }
}
