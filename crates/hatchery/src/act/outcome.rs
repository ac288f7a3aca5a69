//! How the job of a worker has ended, and keeping its machine.

use rookery_cds::{CdsError, JobId, JobStatus};
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use rookery_fleet::hold::{Hold, Outcome};
use tracing::{debug, info};

use super::{Crew, Ending, Failure};

impl Crew {
    /// How a job has ended; none if CDS does not answer now.
    pub async fn outcome(&self, job: &str, worker: &str) -> Option<Outcome> {
        let read = match job.parse::<JobId>() {
            Ok(JobId::V1(id)) => match self.v1() {
                Ok(v1) => v1.job(id).await.map(|job| of_status(&job.status)),
                Err(_) => return Some(Outcome::Untold),
            },
            Ok(JobId::V2(id)) => match self.v2() {
                Ok(v2) => {
                    v2.job(&id).await.map(|found| of_v2(&found.job.status, &found.job.worker_name, worker))
                }
                Err(_) => return Some(Outcome::Untold),
            },
            Err(_) => return Some(Outcome::Untold),
        };
        read.map_or_else(|error| without_answer(job, &error), Some)
    }

    /// Writes into the mark of a machine until when it is kept; a time that is over lets it go.
    pub async fn keep(&self, machine: &MachineId, name: &str, hold: &Hold) -> Ending {
        match self.hands.keep(machine, &self.wanted().name, hold).await {
            Ok(()) => {
                info!(vm = name, until = %hold.until, reason = %hold.reason, "machine is kept until then");
                Ending::Done
            }
            Err(error) => Ending::Failed(Failure { error: chain(&error), ..Failure::default() }),
        }
    }
}

fn without_answer(job: &str, error: &CdsError) -> Option<Outcome> {
    if error.is_gone() || error.is_forbidden() {
        return Some(Outcome::Untold);
    }
    debug!(job, error = %chain(error), "how a job has ended cannot be read yet");
    None
}

/// A job that another worker has or had was lost by this one.
fn of_v2(status: &JobStatus, has_it: &str, worker: &str) -> Outcome {
    if has_it.is_empty() || has_it == worker { of_status(status) } else { Outcome::Open }
}

fn of_status(status: &JobStatus) -> Outcome {
    match status {
        JobStatus::Fail => Outcome::Failed,
        JobStatus::Success | JobStatus::Cancelled | JobStatus::Skipped => Outcome::Ended,
        JobStatus::Stopped => Outcome::Stopped,
        JobStatus::Blocked
        | JobStatus::Waiting
        | JobStatus::Scheduling
        | JobStatus::Building
        | JobStatus::Retrying => Outcome::Open,
        JobStatus::Other(_) => Outcome::Untold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_failed_is_told_from_one_that_lost_its_worker_or_ended_well() {
        for (status, has_it, expected) in [
            (JobStatus::Fail, "w", Outcome::Failed),
            (JobStatus::Success, "w", Outcome::Ended),
            (JobStatus::Skipped, "", Outcome::Ended),
            (JobStatus::Cancelled, "w", Outcome::Ended),
            (JobStatus::Stopped, "w", Outcome::Stopped),
            (JobStatus::Building, "w", Outcome::Open),
            (JobStatus::Scheduling, "", Outcome::Open),
            (JobStatus::Waiting, "", Outcome::Open),
            // Another worker did what this one could not.
            (JobStatus::Success, "another", Outcome::Open),
            (JobStatus::Fail, "another", Outcome::Open),
            (JobStatus::Other("New".to_owned()), "w", Outcome::Untold),
        ] {
            assert_eq!(of_v2(&status, has_it, "w"), expected, "{status:?} {has_it}");
        }
    }
}
