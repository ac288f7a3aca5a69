//! How the job of a worker has ended, and keeping its machine.

use crate::plan::Keep;
use crate::plan::hold::Outcome;
use rookery_cds::{CdsError, JobStatus};
use rookery_daemon::telemetry::chain;
use tracing::{debug, info};

use super::{ActionContext, Ending};
use crate::intake::feed;
use crate::intake::queue::QueuedJob;
use crate::mark::Mark;

impl ActionContext {
    /// How a job has ended; none if CDS does not answer now.
    pub async fn outcome(&self, job: &str, worker: &str) -> Option<Outcome> {
        let Ok(id) = job.parse() else { return Some(Outcome::Untold) };
        let Some(read) = feed::read_job(&self.cds, &id).await else { return Some(Outcome::Untold) };
        match read {
            Ok(QueuedJob::V1(job)) => Some(of_status(&job.status)),
            Ok(QueuedJob::V2(found)) => Some(of_v2(&found.job.status, &found.job.worker_name, worker)),
            Err(error) => without_answer(job, &error),
        }
    }

    /// Whether a job is being built by the worker of one of these names; none if CDS does not tell it now.
    pub async fn builds(&self, job: &str, workers: &[String]) -> Option<bool> {
        // Else there is no such job.
        let Ok(id) = job.parse() else { return Some(false) };
        match feed::read_job(&self.cds, &id).await? {
            Ok(QueuedJob::V1(job)) => Some(is_built_by(&job.status, job.worker_name(), workers)),
            Ok(QueuedJob::V2(found)) => Some(is_built_by(&found.job.status, &found.job.worker_name, workers)),
            Err(error) if error.is_gone() => Some(false),
            Err(error) => {
                debug!(job, error = %chain(&error), "whether a job runs cannot be read yet");
                None
            }
        }
    }

    /// Writes into the mark of a machine until when it is kept; a time that is over lets it go.
    pub async fn keep(&self, keep: &Keep) -> Ending {
        let Keep { machine, name, hold, .. } = keep;
        let with_hold = |mark: &Mark| Mark {
            hold_until: Some(hold.until),
            hold_reason: hold.reason.clone(),
            hold_wish: hold.wish.clone(),
            ..mark.clone()
        };
        match self.hands.mark_anew(machine, &self.owner(), with_hold).await {
            Ok(()) => {
                if hold.until > self.now() {
                    info!(vm = name, until = %hold.until, reason = %hold.reason, "machine is kept for somebody to look at");
                } else {
                    info!(vm = name, reason = %hold.reason, "machine is released; it is deleted as any other");
                }
                Ending::Done
            }
            Err(error) => Ending::failed(chain(&error)),
        }
    }
}

/// A job that is being built, and by nobody that CDS names, may be built by anybody.
fn is_built_by(status: &JobStatus, has_it: &str, workers: &[String]) -> bool {
    *status == JobStatus::Building && (has_it.is_empty() || workers.iter().any(|worker| worker == has_it))
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
    fn a_job_runs_in_a_machine_while_it_is_built_by_the_worker_there() {
        let workers = ["w".to_owned(), "provision-v2-w".to_owned()];
        for (status, has_it, expected) in [
            (JobStatus::Building, "w", true),
            (JobStatus::Building, "provision-v2-w", true),
            (JobStatus::Building, "", true),
            (JobStatus::Building, "another", false),
            (JobStatus::Scheduling, "", false),
            (JobStatus::Waiting, "w", false),
            (JobStatus::Success, "w", false),
            (JobStatus::Stopped, "w", false),
        ] {
            assert_eq!(is_built_by(&status, has_it, &workers), expected, "{status:?} {has_it}");
        }
    }

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
