//! Holding a job while a worker is started for it: booked (V1) or taken (V2).

use std::future::Future;
use std::time::Duration;

use rookery_cds::{
    CdsError, InfoLevel, JobId, JobStatus, RunJob, SpawnInfo, V1, V1Job, V1JobId, V2JobId, WorkerStatus,
};
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use rookery_fleet_vsphere::ActError;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::{ActionContext, Ending};
use crate::intake::model::{ModelSource, ResolvedModel};
use crate::plan::{Free, Unserving};

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

/// The worker that a job was held for, as far as there is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempt<'a> {
    /// Its name; empty if it has none yet.
    pub worker: &'a str,
    pub machine: Option<&'a MachineId>,
}

/// Why it could not be found out whose a job is, or it could not be released.
#[derive(Debug, thiserror::Error)]
enum Unreleased {
    #[error(transparent)]
    Cds(#[from] CdsError),
    #[error(transparent)]
    Vm(#[from] ActError),
}

impl ActionContext {
    /// Takes a job. That somebody else was faster is [`CdsError::is_lost_race`] or [`CdsError::is_gone`].
    pub(super) async fn hold(&self, job: &JobId) -> Result<Held, CdsError> {
        match job {
            JobId::V1(id) => self.v1()?.book(*id, BOOKING).await?,
            JobId::V2(id) => drop(self.v2()?.take(id).await?),
        }
        Ok(Held { job: job.clone() })
    }

    /// Gives a job back that may be ours although nobody told us so: CDS would offer it to nobody for minutes.
    pub(super) async fn release(&self, job: &JobId, lost: &CdsError) {
        if !lost.may_have_happened() {
            return;
        }
        if self.surely_release(job, &Attempt::default(), async {}).await.is_none() {
            warn!(%job, "cannot tell whether this hatchery has the job, so it is not released; CDS offers it again by itself");
        }
    }

    /// Gives a job back if it is ours, and says whether it was; none if that could not be found out for a while. The news
    /// are told before, once, and only if it is ours.
    async fn surely_release(
        &self,
        job: &JobId,
        attempt: &Attempt<'_>,
        news: impl Future<Output = ()>,
    ) -> Option<bool> {
        let mut news = Some(news);
        for _ in 0..LOOKS {
            match self.release_if_ours(job, attempt, &mut news).await {
                Ok(released) => return Some(released),
                Err(error) => debug!(%job, error, "whose a job is cannot be seen yet"),
            }
            sleep(PAUSE).await;
        }
        None
    }

    /// The only way to release a job. It is read before: CDS releases V1 bookings of other hatcheries as well, and V2 jobs
    /// whatever their status is, so that a finished one would run again.
    async fn release_if_ours(
        &self,
        job: &JobId,
        attempt: &Attempt<'_>,
        news: &mut Option<impl Future<Output = ()>>,
    ) -> Result<bool, String> {
        let released: Result<bool, Unreleased> = async {
            if !self.is_ours(job, attempt).await? {
                return Ok(false);
            }
            if let Some(news) = news.take() {
                news.await;
            }
            match job {
                JobId::V1(id) => {
                    let v1 = self.v1()?;
                    let is_gone = match attempt.machine {
                        Some(machine) => self.hands.is_gone(machine).await.unwrap_or(false),
                        None => false,
                    };
                    if is_gone && !attempt.worker.is_empty() {
                        self.disable_idle(v1, attempt.worker).await;
                    }
                    v1.release(*id).await?;
                }
                JobId::V2(id) => {
                    self.v2()?.release(id).await?;
                }
            }
            Ok(true)
        }
        .await;
        match released {
            Err(Unreleased::Cds(error)) if error.is_gone() => Ok(false),
            Err(error) => Err(chain(&error)),
            Ok(released) => Ok(released),
        }
    }

    async fn is_ours(&self, job: &JobId, attempt: &Attempt<'_>) -> Result<bool, Unreleased> {
        let verdict = match job {
            JobId::V1(id) => {
                let Some(v1) = self.cds.v1() else { return Ok(false) };
                let found = v1.job(*id).await?;
                let service = v1.service().await?.id;
                if is_booked_by(&found, service) { Verdict::Release } else { Verdict::Keep }
            }
            JobId::V2(id) => {
                let Some(v2) = self.cds.v2() else { return Ok(false) };
                let found = v2.job(id).await?.job;
                v2_verdict(&found, &self.settings().identity.name, attempt.worker)
            }
        };
        match (verdict, attempt.machine) {
            (Verdict::Release, _) => Ok(true),
            (Verdict::ReleaseIfOff, Some(machine)) => Ok(self.hands.is_off(machine).await?),
            (Verdict::ReleaseIfOff, None) | (Verdict::Keep, _) => Ok(false),
        }
    }

    /// Disables the V1 worker of a machine that is gone if it signed in and never took its job: CDS lets no other worker
    /// sign in for the job until then. One that CDS does not list has not come so far.
    async fn disable_idle(&self, v1: &V1, worker: &str) {
        let disabled = async {
            let mut listed = v1.workers().await?.into_iter();
            match listed.find(|one| one.name == worker && one.status == WorkerStatus::Waiting) {
                Some(idle) => v1.disable(&idle).await,
                None => Ok(()),
            }
        };
        if let Err(error) = disabled.await {
            warn!(worker, error = %chain(&error), "could not disable the worker of a machine that no longer serves its job");
        }
    }

    /// Tells the people who wait for the job that its worker is being started.
    pub(super) async fn tell_start(&self, held: &Held, worker: &str, model: &ResolvedModel, size: &str) {
        let hatchery = self.settings().identity.name.clone();
        let told = match &held.job {
            JobId::V1(id) => {
                let (worker, label) = (worker.to_owned(), model.label());
                let mut infos = vec![SpawnInfo::Starts { hatchery, worker, model: label.clone() }];
                if matches!(&model.source, ModelSource::V1(model) if model.is_deprecated) {
                    infos.push(SpawnInfo::DeprecatedModel { model: label });
                }
                self.tell_v1(*id, &infos).await
            }
            JobId::V2(id) => {
                let text = format!(
                    "Hatchery {hatchery:?} is starting the worker {worker:?} from model {:?} ({size})",
                    model.label()
                );
                self.tell_v2(id, InfoLevel::Info, &text).await
            }
        };
        note_untold(&held.job, told);
    }

    /// Tells the people who wait for the job that its worker could not be started, and gives it back; neither if it has
    /// become somebody else's meanwhile. The machine is the one that the worker was started in, if there is one.
    pub(super) async fn give_back(
        &self,
        held: Held,
        worker: &str,
        machine: Option<&MachineId>,
        model: &ResolvedModel,
        after: Duration,
        error: &str,
    ) {
        let job = &held.job;
        if !self.halt.gives_back(job) {
            return info!(%job, worker, "not releasing the job of an interrupted start; CDS offers it again by itself");
        }
        let attempt = Attempt { worker, machine };
        match self.surely_release(job, &attempt, self.tell_failure(job, model, after, error)).await {
            Some(true) => {}
            Some(false) => {
                info!(%job, worker, "job of a failed start is no longer this hatchery's; not releasing it");
            }
            None => warn!(%job, worker, "job could not be released; CDS offers it again by itself"),
        }
    }

    async fn tell_failure(&self, job: &JobId, model: &ResolvedModel, after: Duration, error: &str) {
        let hatchery = self.settings().identity.name.clone();
        let told = match job {
            JobId::V1(id) => {
                let (model, error) = (model.label(), error.to_owned());
                self.tell_v1(*id, &[SpawnInfo::SpawnFailed { hatchery, model, after, error }]).await
            }
            JobId::V2(id) => {
                let seconds = after.as_secs();
                let text = format!(
                    "Hatchery {hatchery:?} failed to start a worker from model {:?} after {seconds}s: {error}",
                    model.label()
                );
                self.tell_v2(id, InfoLevel::Error, &text).await
            }
        };
        note_untold(job, told);
    }

    /// Fails a job that was tried too often.
    pub(super) async fn fail(&self, held: Held, attempts: u32) -> Result<(), CdsError> {
        let hatchery = self.settings().identity.name.clone();
        let reason = format!("hatchery {hatchery:?} failed to start worker after {attempts} attempts");
        match &held.job {
            JobId::V1(id) => self.v1()?.fail(*id, &reason).await,
            JobId::V2(id) => self.v2()?.fail(id, &reason).await,
        }
    }

    /// Gives the job of a machine that no longer serves it back to the queue, if it is still ours and not over.
    pub async fn free(&self, free: &Free) -> Ending {
        match &free.machine {
            Unserving::Ended(machine) => self.free_ended(&free.job, &free.worker, machine.as_ref()).await,
            Unserving::WentOff(machine) => self.free_abandoned(&free.job, &free.worker, machine).await,
        }
    }

    async fn free_ended(&self, job: &JobId, worker: &str, machine: Option<&MachineId>) -> Ending {
        match self.surely_release(job, &Attempt { worker, machine }, async {}).await {
            Some(true) => info!(%job, worker, "job is queued again: its machine no longer serves it"),
            Some(false) => {}
            None => {
                warn!(%job, worker, "could not release the job of a machine that no longer serves it; CDS offers it again by itself");
            }
        }
        Ending::Done
    }

    /// A job that its worker has taken may have ended well, and CDS may not have stored that yet: only one that still waits
    /// for a worker goes back.
    async fn free_abandoned(&self, job: &JobId, worker: &str, machine: &MachineId) -> Ending {
        match self.hands.is_off(machine).await {
            Ok(true) => {}
            Ok(false) => return Ending::failed("the machine is on".to_owned()),
            Err(error) => return Ending::failed(chain(&error)),
        }
        match self.surely_release(job, &Attempt { worker, machine: None }, async {}).await {
            Some(true) => {
                info!(%job, worker, "machine went off before its worker took the job; the job is queued again");
                Ending::Done
            }
            Some(false) => Ending::Done,
            None => Ending::failed("CDS does not say whose the job is".to_owned()),
        }
    }

    /// Tells the people who wait for a job why it waits. V1 has no message for that; its own "unable to run this job" is
    /// the only one with free text that does not claim that a start has failed.
    pub async fn tell_waiting(&self, job: &JobId, why: &str) {
        let hatchery = self.settings().identity.name.clone();
        let told = match job {
            JobId::V1(id) => {
                let why = why.to_owned();
                self.tell_v1(*id, &[SpawnInfo::Waits { hatchery, why }]).await
            }
            JobId::V2(id) => {
                let text = format!("Hatchery {hatchery:?} does not start a worker yet: {why}");
                self.tell_v2(id, InfoLevel::Warning, &text).await
            }
        };
        note_untold(job, told);
    }

    async fn tell_v1(&self, id: V1JobId, infos: &[SpawnInfo]) -> Result<(), CdsError> {
        self.v1()?.spawn_info(id, infos).await
    }

    async fn tell_v2(&self, id: &V2JobId, level: InfoLevel, text: &str) -> Result<(), CdsError> {
        self.v2()?.info(id, level, text).await
    }

    pub(super) fn v1(&self) -> Result<&rookery_cds::V1, CdsError> {
        self.cds.v1().ok_or_else(|| CdsError::SignedOut { what: "call CDS about V1 jobs".to_owned() })
    }

    pub(super) fn v2(&self) -> Result<&rookery_cds::V2, CdsError> {
        self.cds.v2().ok_or_else(|| CdsError::SignedOut { what: "call CDS about V2 jobs".to_owned() })
    }
}

fn note_untold(job: &JobId, told: Result<(), CdsError>) {
    if let Err(error) = told {
        debug!(%job, error = %chain(&error), "job's users could not be told");
    }
}

/// Whether a job waits for a worker of that service. It would be offered to nobody until the booking ends by itself.
fn is_booked_by(job: &V1Job, service: i64) -> bool {
    job.status == JobStatus::Waiting && job.booked_by.id == service
}

/// What is to be done about a V2 job that we held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Release,
    /// Its worker has taken it, and would go on with it if its VM were not off.
    ReleaseIfOff,
    Keep,
}

/// Whether a V2 job may be released that a worker was started for. The name of a worker is that of the last one that took
/// it, and stays there when the job is queued again: only of a job that is being built it says whose it is.
fn v2_verdict(job: &RunJob, hatchery: &str, worker: &str) -> Verdict {
    let of_worker = !worker.is_empty() && job.worker_name == worker;
    match job.status {
        _ if job.hatchery_name != hatchery => Verdict::Keep,
        JobStatus::Scheduling => Verdict::Release,
        JobStatus::Building if of_worker => Verdict::ReleaseIfOff,
        JobStatus::Building
        | JobStatus::Blocked
        | JobStatus::Waiting
        | JobStatus::Retrying
        | JobStatus::Success
        | JobStatus::Fail
        | JobStatus::Stopped
        | JobStatus::Cancelled
        | JobStatus::Skipped
        | JobStatus::Other(_) => Verdict::Keep,
    }
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
            v2_verdict(&serde_json::from_value(text).expect("a job"), "ours", "w")
        };
        assert_eq!(check("Scheduling", "ours", ""), Verdict::Release);
        assert_eq!(check("Scheduling", "ours", "w"), Verdict::Release);
        assert_eq!(check("Scheduling", "ours", "another"), Verdict::Release, "the worker of an earlier try");
        assert_eq!(check("Building", "ours", "w"), Verdict::ReleaseIfOff);
        assert_eq!(check("Building", "ours", "another"), Verdict::Keep, "another worker of ours runs it");
        for over in ["Waiting", "Success", "Fail", "Stopped", "Skipped", "Something"] {
            assert_eq!(check(over, "ours", "w"), Verdict::Keep, "{over}: releasing it would run it again");
        }
        for status in ["Scheduling", "Building"] {
            assert_eq!(check(status, "theirs", "w"), Verdict::Keep, "{status}");
        }
    }

    #[test]
    fn without_a_worker_nothing_that_is_being_built_is_given_back() {
        let job = serde_json::json!({
            "id": "00000000-0000-4000-8000-000000000001", "status": "Building", "hatchery_name": "ours"
        });
        assert_eq!(v2_verdict(&serde_json::from_value(job).expect("a job"), "ours", ""), Verdict::Keep);
    }
}
