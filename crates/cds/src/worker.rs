//! Workers as CDS knows them, and where they send their logs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::job::{JobId, V1JobId, V2JobId};
use crate::json;

/// A worker that has registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What names it in calls.
    pub id: String,
    /// Its name: that of its machine.
    pub name: String,
    /// How far it is.
    pub status: WorkerStatus,
    /// When it was last heard of.
    pub last_beat: Option<Timestamp>,
    /// The job that it was started for or runs.
    pub job: Option<JobId>,
    /// The model, if it has one.
    pub model: Option<String>,
    /// The hatchery that started it.
    pub hatchery: String,
}

/// How far a worker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerStatus {
    /// It has registered.
    Waiting,
    /// It runs a job.
    Building,
    /// It has ended, or was not heard of for too long.
    Disabled,
    /// A status that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl Default for WorkerStatus {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// A worker in the words of `GET /worker`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct V1Worker {
    id: String,
    name: String,
    status: WorkerStatus,
    #[serde(deserialize_with = "json::time")]
    lastbeat: Option<Timestamp>,
    job_run_id: i64,
    model_name: String,
    hatchery_name: String,
}

/// A worker in the words of `GET /v2/worker`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct V2Worker {
    id: String,
    name: String,
    status: WorkerStatus,
    #[serde(deserialize_with = "json::time")]
    last_beat: Option<Timestamp>,
    run_job_id: String,
    model_name: String,
    hatchery_name: String,
}

impl From<V1Worker> for Worker {
    fn from(worker: V1Worker) -> Self {
        let V1Worker { id, name, status, lastbeat, job_run_id, model_name, hatchery_name } = worker;
        let job = V1JobId::try_from(job_run_id).ok().map(JobId::V1);
        let model = Some(model_name).filter(|name| !name.is_empty());
        Self { id, name, status, last_beat: lastbeat, job, model, hatchery: hatchery_name }
    }
}

impl From<V2Worker> for Worker {
    fn from(worker: V2Worker) -> Self {
        let V2Worker { id, name, status, last_beat, run_job_id, model_name, hatchery_name } = worker;
        let job = V2JobId::try_from(run_job_id).ok().map(JobId::V2);
        let model = Some(model_name).filter(|name| !name.is_empty());
        Self { id, name, status, last_beat, job, model, hatchery: hatchery_name }
    }
}

/// Where workers send their logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Cdn {
    /// `host:port` for logs.
    pub tcp_url: String,
    /// Whether that takes TLS.
    pub tcp_url_enable_tls: bool,
    /// The URL for everything else.
    pub http_url: String,
}
