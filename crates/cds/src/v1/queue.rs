//! V1 jobs: which wait, what they need, and whose they are.

use std::fmt;
use std::time::Duration;

use hyper::Method;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::V1;
use crate::api::{Call, Repeat};
use crate::error::{CdsError, ErrorId};
use crate::identity::MODEL_TYPE;
use crate::job::{JobStatus, V1JobId};
use crate::json::{self, ZERO_TIME};
use crate::path::query;
use crate::settle::{Seen, settle};

/// A V1 job, as far as a hatchery needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct V1Job {
    /// Which job.
    pub id: V1JobId,
    /// How far it is.
    #[serde(default)]
    pub status: JobStatus,
    /// Who has booked it.
    #[serde(default, rename = "bookedby")]
    pub booked_by: BookedBy,
    /// Since when it waits.
    #[serde(default, deserialize_with = "json::time")]
    pub queued: Option<Timestamp>,
    #[serde(default)]
    pub project_id: i64,
    /// The groups whose workers may run it.
    #[serde(default)]
    pub exec_groups: Vec<Group>,
    #[serde(default)]
    job: Definition,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Definition {
    action: Action,
    worker_name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Action {
    requirements: Vec<Requirement>,
}

impl V1Job {
    /// What its worker must have.
    pub fn requirements(&self) -> &[Requirement] {
        &self.job.action.requirements
    }

    /// The worker that has, or last had, the job; empty: none.
    pub fn worker_name(&self) -> &str {
        &self.job.worker_name
    }
}

/// Who has booked a job; nobody: number 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BookedBy {
    /// The number of the hatchery's service.
    pub id: i64,
    /// The hatchery.
    pub name: String,
}

/// A group of users.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Group {
    pub id: i64,
    pub name: String,
}

/// Something that a worker must have, or has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requirement {
    pub name: String,
    /// Of which kind it is.
    #[serde(rename = "type")]
    pub kind: RequirementKind,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequirementKind {
    Binary,
    Model,
    Hostname,
    Plugin,
    Service,
    Memory,
    #[serde(rename = "os-architecture")]
    OsArchitecture,
    Region,
    Secret,
    Flavor,
    /// A kind that this version does not know.
    #[serde(untagged)]
    Other(String),
}

/// As CDS writes it.
impl fmt::Display for RequirementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Default for RequirementKind {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// Which regions' jobs are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegionFilter {
    /// Those of all regions.
    Any,
    /// Those of one region.
    Only(String),
    /// Those of one region, and those without a region.
    OrNone(String),
}

impl RegionFilter {
    /// What a hatchery asks for. Without a region it takes every job.
    pub fn new(region: Option<&str>, ignore_job_with_no_region: bool) -> Self {
        match region.filter(|region| !region.is_empty()) {
            None => Self::Any,
            Some(region) if ignore_job_with_no_region => Self::Only(region.to_owned()),
            Some(region) => Self::OrNone(region.to_owned()),
        }
    }

    fn values(&self) -> Vec<&str> {
        match self {
            Self::Any => vec![],
            Self::Only(region) => vec![region],
            Self::OrNone(region) => vec![region, ""],
        }
    }
}

/// What a hatchery tells the people who wait for a job. CDS has the words, in each language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnInfo {
    /// A worker is being started.
    Starts { hatchery: String, worker: String, model: String },
    /// A worker could not be started.
    SpawnFailed { hatchery: String, model: String, after: Duration, error: String },
    /// No worker is started yet.
    Waits { hatchery: String, why: String },
    /// The model should not be used any more.
    DeprecatedModel { model: String },
}

impl SpawnInfo {
    fn wire(&self, now: Timestamp) -> Value {
        let (id, args) = match self {
            // Without its own type CDS shows it as plain information.
            Self::Waits { hatchery, why } => {
                let text = format!("hatchery {hatchery:?} does not start a worker yet: {why}");
                let message = json!({"id": "MsgSpawnInfoJobError", "args": [text], "type": "Warning"});
                return json!({"api_time": ZERO_TIME, "remote_time": now, "message": message});
            }
            Self::Starts { hatchery, worker, model } => {
                ("MsgSpawnInfoHatcheryStarts", vec![hatchery.clone(), worker.clone(), model.clone()])
            }
            Self::SpawnFailed { hatchery, model, after, error } => {
                let args = vec![hatchery.clone(), model.clone(), short(*after), error.clone()];
                ("MsgSpawnInfoHatcheryErrorSpawn", args)
            }
            Self::DeprecatedModel { model } => ("MsgSpawnInfoDeprecatedModel", vec![model.clone()]),
        };
        json!({"api_time": ZERO_TIME, "remote_time": now, "message": {"id": id, "args": args}})
    }
}

/// A duration in full seconds: `1h2m3s`, `37s`.
fn short(duration: Duration) -> String {
    let seconds = duration.saturating_add(Duration::from_millis(500)).as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

impl V1 {
    /// The jobs that wait for a worker of a model that this hatchery serves, oldest first.
    pub async fn queue(&self, regions: &RegionFilter) -> Result<Vec<V1Job>, CdsError> {
        let regions = regions.values().into_iter().map(|region| ("region", region));
        let path =
            format!("/queue/workflows{}", query([("modelType", MODEL_TYPE)].into_iter().chain(regions)));
        self.session.call(&Call::get("list the V1 queue", path)).await?.list()
    }

    /// A job. Whether it is over or not for this hatchery cannot be told apart: both are [`CdsError::Gone`].
    pub async fn job(&self, job: V1JobId) -> Result<V1Job, CdsError> {
        let call = Call::get(format!("read job {job}"), route(job, "/infos"));
        self.session.call(&call).await.map_err(|error| about(job, error))?.object()
    }

    /// Books a job for a while, so that no other hatchery starts a worker for it. No delay: what CDS thinks right.
    ///
    /// A booking whose answer was lost is looked up, never guessed.
    pub async fn book(&self, job: V1JobId, delay: Duration) -> Result<(), CdsError> {
        let book = Call::new(format!("book job {job}"), Method::POST, route(job, "/book"), Repeat::Never);
        let book = book.with(&json!({"delay": delay.as_secs()}))?;
        let attempt = async || self.session.call(&book).await.map(drop).map_err(|error| about(job, error));
        let look = async || {
            let booked_by = self.job(job).await?.booked_by;
            Ok(if booked_by.id == self.service().await?.id {
                Seen::Done(())
            } else if booked_by.id == 0 {
                Seen::NotDone
            } else {
                Seen::Impossible(CdsError::Taken { job: job.into(), by: booked_by.name })
            })
        };
        settle(attempt, look).await
    }

    /// Gives a booked job back. One that is not booked is released already.
    ///
    /// CDS would release the booking of another hatchery as well: after a lost answer it is looked up whose it is.
    /// This hatchery must not book the job again before the call has returned.
    pub async fn release(&self, job: V1JobId) -> Result<(), CdsError> {
        let release =
            Call::new(format!("release job {job}"), Method::DELETE, route(job, "/book"), Repeat::Never);
        let attempt = async || match self.session.call(&release).await {
            Ok(_) => Ok(()),
            Err(error) if error.is(ErrorId::JOB_NOT_BOOKED) => Ok(()),
            Err(error) => Err(about(job, error)),
        };
        let look = async || {
            let ours = match self.job(job).await {
                Ok(found) => found.booked_by.id == self.service().await?.id,
                Err(error) if error.is_gone() => false,
                Err(error) => return Err(error),
            };
            Ok(if ours { Seen::NotDone } else { Seen::Done(()) })
        };
        settle(attempt, look).await
    }

    /// Tells the people who wait for a job what happens.
    pub async fn spawn_info(&self, job: V1JobId, infos: &[SpawnInfo]) -> Result<(), CdsError> {
        let now = self.session.api.clock.now();
        let infos: Vec<Value> = infos.iter().map(|info| info.wire(now)).collect();
        let what = format!("send news of job {job}");
        let call =
            Call::new(what, Method::POST, route(job, "/spawn/infos"), Repeat::IfNotDone).with(&infos)?;
        self.session.call(&call).await.map(drop).map_err(|error| about(job, error))
    }

    /// Gives up a job that waits: it fails. One that is over already is no error if this call may have ended it.
    pub async fn fail(&self, job: V1JobId, reason: &str) -> Result<(), CdsError> {
        let now = self.session.api.clock.now();
        let fail = Call::new(format!("fail job {job}"), Method::POST, route(job, "/result"), Repeat::Never);
        let fail = fail.with(
            &json!({"id": job, "buildID": job, "status": JobStatus::Fail, "reason": reason, "remoteTime": now}),
        )?;
        let attempt = async || self.session.call(&fail).await.map(drop).map_err(|error| about(job, error));
        let look = async || match self.job(job).await {
            Ok(found) if found.status == JobStatus::Waiting => Ok(Seen::NotDone),
            Ok(_) => Ok(Seen::Done(())),
            Err(error) if error.is_gone() => Ok(Seen::Done(())),
            Err(error) => Err(error),
        };
        settle(attempt, look).await
    }
}

fn route(job: V1JobId, rest: &str) -> String {
    format!("/queue/workflows/{job}{rest}")
}

/// CDS hides that a job does not exist behind "forbidden", on each of its routes.
fn about(job: V1JobId, error: CdsError) -> CdsError {
    let CdsError::Refused { what, source } = error else { return error };
    if matches!(source.id, ErrorId::FORBIDDEN | ErrorId::NOT_FOUND | ErrorId::JOB_NOT_FOUND) {
        CdsError::Gone { job: job.into(), source }
    } else if source.id == ErrorId::JOB_ALREADY_BOOKED {
        CdsError::Taken { job: job.into(), by: source.from.unwrap_or(source.message) }
    } else {
        CdsError::Refused { what, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hatchery_without_a_region_takes_every_job() {
        for (region, ignore, expected) in [
            (None, false, RegionFilter::Any),
            (Some(""), true, RegionFilter::Any),
            (Some("rbx"), false, RegionFilter::OrNone("rbx".into())),
            (Some("rbx"), true, RegionFilter::Only("rbx".into())),
        ] {
            assert_eq!(RegionFilter::new(region, ignore), expected);
        }
    }

    #[test]
    fn durations_are_written_in_full_seconds() {
        for (millis, expected) in [
            (0, "0s"),
            (499, "0s"),
            (36_500, "37s"),
            (60_000, "1m0s"),
            (3_723_000, "1h2m3s"),
            (7_200_000, "2h0m0s"),
        ] {
            assert_eq!(short(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn an_unknown_requirement_is_kept() {
        let read = |text: &str| serde_json::from_str::<RequirementKind>(text).unwrap();
        assert_eq!(read("\"os-architecture\""), RequirementKind::OsArchitecture);
        assert_eq!(read("\"flavor\""), RequirementKind::Flavor);
        assert_eq!(read("\"gpu\""), RequirementKind::Other("gpu".into()));
    }

    #[test]
    fn every_type_of_requirement_is_written_as_it_is_read() {
        for kind in [
            "binary",
            "model",
            "hostname",
            "plugin",
            "service",
            "memory",
            "os-architecture",
            "region",
            "secret",
            "flavor",
            "network",
        ] {
            let read: RequirementKind = serde_json::from_value(json!(kind)).unwrap();
            assert_eq!(read.to_string(), kind);
            assert_eq!(matches!(read, RequirementKind::Other(_)), kind == "network");
        }
    }

    // It was told as a failed start, which CDS shows in red.
    #[test]
    fn that_a_job_waits_is_a_warning_and_no_failed_start() {
        let info = SpawnInfo::Waits { hatchery: "h".into(), why: "no address is free".into() };
        let wire = info.wire("2026-06-23T09:10:02Z".parse().unwrap());
        let text = "hatchery \"h\" does not start a worker yet: no address is free";
        assert_eq!(wire["message"], json!({"id": "MsgSpawnInfoJobError", "args": [text], "type": "Warning"}));
    }

    #[test]
    fn a_failed_start_is_told_with_its_four_arguments_in_order() {
        let info = SpawnInfo::SpawnFailed {
            hatchery: "h".into(),
            model: "m".into(),
            after: Duration::from_secs(37),
            error: "no address".into(),
        };
        let wire = info.wire("2026-06-23T09:10:02Z".parse().unwrap());
        assert_eq!(
            wire,
            json!({"api_time": "0001-01-01T00:00:00Z", "remote_time": "2026-06-23T09:10:02Z",
                   "message": {"id": "MsgSpawnInfoHatcheryErrorSpawn", "args": ["h", "m", "37s", "no address"]}})
        );
    }
}
