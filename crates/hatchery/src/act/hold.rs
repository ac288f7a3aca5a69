//! Holding a job while a worker is started for it: booked (V1) or taken (V2).

use std::time::Duration;

use rookery_cds::{
    CdsError, InfoLevel, JobId, JobStatus, RunJob, SpawnInfo, V1, V1Job, V1JobId, V2JobId, WorkerStatus,
};
use rookery_daemon::telemetry::chain;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::{Crew, Ending};
use crate::model::{Guest, Runs};

/// How long a start may take in all. CDS gives a V2 job to somebody else after ten minutes.
pub(super) const START: Duration = Duration::from_secs(9 * 60 + 30);
/// A V1 booking must outlast the start, or the job is offered again while its worker boots.
const BOOKING: Duration = Duration::from_secs(11 * 60);

/// How often, and with which pauses, it is looked whose a job is after its answer was lost.
const LOOKS: usize = 12;
const PAUSE: Duration = Duration::from_secs(5);

/// A job that is ours.
#[derive(Debug, Clone)]
pub struct Held {
    job: JobId,
}

impl Crew {
    /// Takes a job. That somebody else was faster is [`CdsError::is_lost_race`] or [`CdsError::is_gone`].
    pub(super) async fn hold(&self, job: &JobId) -> Result<Held, CdsError> {
        match job {
            JobId::V1(id) => self.v1()?.book(*id, BOOKING).await?,
            JobId::V2(id) => drop(self.v2()?.take(id).await?),
        }
        Ok(Held { job: job.clone() })
    }

    /// Gives a job back that may be ours although nobody told us so: CDS would offer it to nobody for minutes. It is read
    /// first, since it may as well be somebody else's.
    pub(super) async fn let_go(&self, job: &JobId, lost: &CdsError) {
        if !lost.may_have_happened() {
            return;
        }
        if self.surely_release(job, "").await.is_none() {
            warn!(%job, "job may be ours, and cannot be read; CDS offers it again by itself");
        }
    }

    /// Gives a job back if it is ours, and says whether it was; none if CDS did not answer for a while.
    async fn surely_release(&self, job: &JobId, worker: &str) -> Option<bool> {
        for _ in 0..LOOKS {
            match self.release_if_ours(job, worker).await {
                Ok(released) => return Some(released),
                Err(error) => debug!(%job, error = %chain(&error), "whose a job is cannot be seen yet"),
            }
            sleep(PAUSE).await;
        }
        None
    }

    /// Gives a job back that waits for that worker, or for no other one of ours, and says whether it did. Releasing a V2
    /// job that is over would run it again, and a V1 job may be booked by others, so it is read first.
    async fn release_if_ours(&self, job: &JobId, worker: &str) -> Result<bool, CdsError> {
        let released = match job {
            JobId::V1(id) => self.release_v1_if_ours(*id, worker).await,
            JobId::V2(id) => self.release_v2_if_ours(id, worker).await,
        };
        released.or_else(|error| if error.is_gone() { Ok(false) } else { Err(error) })
    }

    async fn release_v1_if_ours(&self, id: V1JobId, worker: &str) -> Result<bool, CdsError> {
        let Some(v1) = self.cds.v1() else { return Ok(false) };
        let ours = is_booked_by(&v1.job(id).await?, v1.service().await?.id);
        if ours {
            if !worker.is_empty() {
                self.disable_idle(v1, worker).await;
            }
            v1.release(id).await?;
        }
        Ok(ours)
    }

    /// Disables the V1 worker of a deleted machine if it signed in and never took its job: CDS lets no other worker sign
    /// in for the job until then. One that CDS does not list has not come so far.
    async fn disable_idle(&self, v1: &V1, worker: &str) {
        let disabled = async {
            let mut listed = v1.workers().await?.into_iter();
            match listed.find(|one| one.name == worker && one.status == WorkerStatus::Waiting) {
                Some(idle) => v1.disable(&idle).await,
                None => Ok(()),
            }
        };
        if let Err(error) = disabled.await {
            warn!(worker, error = %chain(&error), "worker of a deleted machine could not be disabled");
        }
    }

    async fn release_v2_if_ours(&self, id: &V2JobId, worker: &str) -> Result<bool, CdsError> {
        let Some(v2) = self.cds.v2() else { return Ok(false) };
        let ours = is_ours(&v2.job(id).await?.job, &self.wanted().name, worker);
        if ours {
            v2.release(id).await?;
        }
        Ok(ours)
    }

    /// Tells the people who wait for the job that its worker is being started.
    pub(super) async fn tell_start(&self, held: &Held, worker: &str, runs: &Runs, size: &str) {
        let hatchery = self.wanted().name.clone();
        let told = match &held.job {
            JobId::V1(id) => {
                let (worker, model) = (worker.to_owned(), runs.label.clone());
                let mut infos = vec![SpawnInfo::Starts { hatchery, worker, model: model.clone() }];
                if let Guest::V1 { deprecated: true, .. } = runs.guest {
                    infos.push(SpawnInfo::DeprecatedModel { model });
                }
                self.tell_v1(*id, &infos).await
            }
            JobId::V2(id) => {
                let text = format!(
                    "Hatchery {hatchery:?} is starting the worker {worker:?} from model {:?} ({size})",
                    runs.label
                );
                self.tell_v2(id, InfoLevel::Info, &text).await
            }
        };
        self.not_told(&held.job, told);
    }

    /// Tells the people who wait for the job that its worker could not be started, and gives it back.
    pub(super) async fn give_back(&self, held: Held, runs: &Runs, after: Duration, error: &str) {
        let hatchery = self.wanted().name.clone();
        let told = match &held.job {
            JobId::V1(id) => {
                let (model, error) = (runs.label.clone(), error.to_owned());
                self.tell_v1(*id, &[SpawnInfo::SpawnFailed { hatchery, model, after, error }]).await
            }
            JobId::V2(id) => {
                let seconds = after.as_secs();
                let text = format!(
                    "Hatchery {hatchery:?} failed to start a worker from model {:?} after {seconds}s: {error}",
                    runs.label
                );
                self.tell_v2(id, InfoLevel::Error, &text).await
            }
        };
        self.not_told(&held.job, told);
        let released = match &held.job {
            JobId::V1(id) => match self.v1() {
                Ok(v1) => v1.release(*id).await,
                Err(error) => Err(error),
            },
            JobId::V2(id) => match self.v2() {
                Ok(v2) => v2.release(id).await,
                Err(error) => Err(error),
            },
        };
        if let Err(error) = released {
            warn!(job = %held.job, error = %chain(&error), "job could not be released; CDS offers it again by itself");
        }
    }

    /// Fails a job that was tried too often.
    pub(super) async fn fail(&self, held: Held, attempts: u32) -> Result<(), CdsError> {
        let hatchery = self.wanted().name.clone();
        let reason = format!("hatchery {hatchery:?} failed to start worker after {attempts} attempts");
        match &held.job {
            JobId::V1(id) => self.v1()?.fail(*id, &reason).await,
            JobId::V2(id) => self.v2()?.fail(id, &reason).await,
        }
    }

    /// Gives the job of a machine that is gone back to the queue, if it is still ours and not over. Nobody else may be at
    /// work for it.
    pub async fn free(&self, job: &JobId, worker: &str) -> Ending {
        match self.surely_release(job, worker).await {
            Some(true) => info!(%job, worker, "job of a deleted machine is queued again"),
            Some(false) => {}
            None => {
                warn!(%job, "job of a deleted machine could not be released; CDS offers it again by itself");
            }
        }
        Ending::Done
    }

    /// Tells the people who wait for a job why it waits.
    pub async fn tell_waiting(&self, job: &JobId, model: &str, why: &str) {
        let hatchery = self.wanted().name.clone();
        let told = match job {
            JobId::V1(id) => {
                let (model, error) = (model.to_owned(), why.to_owned());
                let after = Duration::ZERO;
                self.tell_v1(*id, &[SpawnInfo::SpawnFailed { hatchery, model, after, error }]).await
            }
            JobId::V2(id) => {
                let text = format!("Hatchery {hatchery:?} does not start a worker yet: {why}");
                self.tell_v2(id, InfoLevel::Warning, &text).await
            }
        };
        self.not_told(job, told);
    }

    async fn tell_v1(&self, id: V1JobId, infos: &[SpawnInfo]) -> Result<(), CdsError> {
        self.v1()?.spawn_info(id, infos).await
    }

    async fn tell_v2(&self, id: &V2JobId, level: InfoLevel, text: &str) -> Result<(), CdsError> {
        self.v2()?.info(id, level, text).await
    }

    #[expect(clippy::unused_self, reason = "reads as what the crew does")]
    fn not_told(&self, job: &JobId, told: Result<(), CdsError>) {
        if let Err(error) = told {
            debug!(%job, error = %chain(&error), "job's users could not be told");
        }
    }

    pub(super) fn v1(&self) -> Result<&rookery_cds::V1, CdsError> {
        self.cds.v1().ok_or_else(|| CdsError::SignedOut { what: "speak of V1 jobs".to_owned() })
    }

    pub(super) fn v2(&self) -> Result<&rookery_cds::V2, CdsError> {
        self.cds.v2().ok_or_else(|| CdsError::SignedOut { what: "speak of V2 jobs".to_owned() })
    }
}

/// Whether a job waits for a worker of that service. It would be offered to nobody until the booking ends by itself.
fn is_booked_by(job: &V1Job, service: i64) -> bool {
    job.status == JobStatus::Waiting && job.booked_by.id == service
}

/// Whether a job waits for that worker, or for no other one of this hatchery, and is not over.
fn is_ours(job: &RunJob, hatchery: &str, worker: &str) -> bool {
    let held = matches!(job.status, JobStatus::Scheduling | JobStatus::Building);
    let of_worker = job.worker_name.is_empty() || job.worker_name == worker;
    held && of_worker && job.hatchery_name == hatchery
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_booking_of_ours_of_a_job_that_waits_is_given_back() {
        let check = |status: &str, booked_by: i64| {
            let text = serde_json::json!({ "id": 7, "status": status, "bookedby": { "id": booked_by } });
            is_booked_by(&serde_json::from_value(text).expect("a job"), 3)
        };
        assert!(check("Waiting", 3));
        assert!(!check("Waiting", 4), "another hatchery's");
        assert!(!check("Waiting", 0), "nobody's");
        for taken in ["Building", "Success", "Fail", "Stopped"] {
            assert!(!check(taken, 3), "{taken}");
        }
    }

    #[test]
    fn only_a_job_that_waits_for_the_worker_of_a_deleted_machine_is_given_back() {
        let check = |status: &str, hatchery: &str, worker: &str| {
            let id = "00000000-0000-4000-8000-000000000001";
            let text = serde_json::json!({
                "id": id, "status": status, "hatchery_name": hatchery, "worker_name": worker
            });
            is_ours(&serde_json::from_value(text).expect("a job"), "ours", "w")
        };
        assert!(check("Scheduling", "ours", "w"));
        assert!(check("Building", "ours", "w"));
        assert!(check("Scheduling", "ours", ""));
        for over in ["Waiting", "Success", "Fail", "Stopped", "Skipped", "Something"] {
            assert!(!check(over, "ours", "w"), "{over}: releasing it would run it again");
        }
        assert!(!check("Building", "theirs", "w"));
        assert!(!check("Building", "ours", "another"), "another worker of ours runs it");
    }
}
