//! V2 jobs: which wait, what they run on, and whose they are.

use std::collections::BTreeMap;

use hyper::Method;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::V2;
use super::models::V2Model;
use crate::api::{Call, Repeat};
use crate::error::{CdsError, ErrorId};
use crate::job::{JobStatus, V2JobId};
use crate::json;
use crate::path::{query, segment};
use crate::settle::{Seen, settle};

/// A V2 job, as far as a hatchery needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RunJob {
    /// Which job.
    pub id: V2JobId,
    /// How far it is.
    #[serde(default)]
    pub status: JobStatus,
    /// The hatchery that has, or last had, the job; empty: none.
    #[serde(default)]
    pub hatchery_name: String,
    /// The worker that has, or last had, the job; empty: none.
    #[serde(default)]
    pub worker_name: String,
    /// Since when it waits.
    #[serde(default, deserialize_with = "json::time")]
    pub queued: Option<Timestamp>,
    #[serde(default, deserialize_with = "json::time")]
    pub ended: Option<Timestamp>,
    #[serde(default)]
    pub project_key: String,
    #[serde(default)]
    job: Definition,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Definition {
    #[serde(rename = "runs-on")]
    runs_on: RunsOn,
    services: BTreeMap<String, Value>,
}

impl RunJob {
    /// What it runs on.
    pub fn runs_on(&self) -> &RunsOn {
        &self.job.runs_on
    }

    /// The names of the containers that it wants beside it.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        self.job.services.keys().map(String::as_str)
    }
}

/// What a V2 job runs on. The wire has a text when there is but a model, and an object otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsOn {
    /// The path of the model; empty: none.
    pub model: String,
    /// Memory, as the workflow's author wrote it; empty: what the model has.
    pub memory: String,
    /// The flavor; empty: what the model has.
    pub flavor: String,
}

impl<'de> Deserialize<'de> for RunsOn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Model(String),
            Whole {
                #[serde(default)]
                model: String,
                #[serde(default)]
                memory: Memory,
                #[serde(default)]
                flavor: String,
            },
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Memory {
            Text(String),
            Number(u64),
        }
        impl Default for Memory {
            fn default() -> Self {
                Self::Text(String::new())
            }
        }
        Ok(match Wire::deserialize(from)? {
            Wire::Model(model) => Self { model, ..Self::default() },
            Wire::Whole { model, memory, flavor } => {
                let memory = match memory {
                    Memory::Text(text) => text,
                    Memory::Number(number) => number.to_string(),
                };
                Self { model, memory, flavor }
            }
        })
    }
}

/// A V2 job with its model.
#[derive(Debug, Clone)]
pub struct JobDetail {
    pub job: RunJob,
    /// Its model, if it has one.
    pub model: Option<V2Model>,
}

#[derive(Deserialize)]
struct Detail {
    runjob: RunJob,
    #[serde(default)]
    model: V2Model,
}

/// How serious a message to the people who wait for a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InfoLevel {
    Info,
    Warning,
    Error,
}

impl V2 {
    /// The jobs that wait for a model of this hatchery's type on one of these systems, oldest first.
    pub async fn queue(&self, os_arch: &[String]) -> Result<Vec<RunJob>, CdsError> {
        let query = query(os_arch.iter().map(|system| ("osarch", system.as_str())));
        let path = format!("/v2/queue/{}{query}", segment(&self.region().await?));
        self.session.call(&Call::get("list the V2 queue", path)).await?.list()
    }

    /// A job with its model.
    pub async fn job(&self, job: &V2JobId) -> Result<JobDetail, CdsError> {
        let call = Call::get(format!("read job {job}"), self.route(job, "").await?);
        let answer = self.session.call(&call).await.map_err(|error| about(job, error))?;
        let Detail { runjob, model } = answer.object()?;
        Ok(JobDetail { job: runjob, model: Some(model).filter(|model| !model.name.is_empty()) })
    }

    /// Takes a job, so that no other hatchery starts a worker for it.
    ///
    /// A take whose answer was lost is looked up, never guessed.
    pub async fn take(&self, job: &V2JobId) -> Result<RunJob, CdsError> {
        let path = self.route(job, "/hatchery/take").await?;
        let take = Call::new(format!("take job {job}"), Method::POST, path, Repeat::Never);
        let attempt = async || match self.session.call(&take).await {
            Ok(answer) => answer.object(),
            Err(error) if error.is(ErrorId::NOT_FOUND) => {
                Err(CdsError::Taken { job: job.clone().into(), by: "another hatchery".to_owned() })
            }
            Err(CdsError::Refused { source, .. }) if source.id == ErrorId::WRONG_REQUEST => {
                Err(CdsError::Gone { job: job.clone().into(), source })
            }
            Err(error) => Err(error),
        };
        let look = async || {
            let found = self.job(job).await?.job;
            Ok(if found.status == JobStatus::Waiting {
                Seen::NotDone
            } else if found.status == JobStatus::Scheduling && self.is_ours(&found) {
                Seen::Done(found)
            } else {
                Seen::Impossible(CdsError::Taken { job: job.clone().into(), by: found.hatchery_name })
            })
        };
        settle(attempt, look).await
    }

    /// Gives a job back, whatever its state: a finished one would run again. Read it first; at the fifth time, CDS
    /// fails it.
    ///
    /// After a lost answer it is looked up whose the job is. This hatchery must not take it again before the call
    /// has returned.
    pub async fn release(&self, job: &V2JobId) -> Result<(), CdsError> {
        let path = self.route(job, "/hatchery/take").await?;
        let release = Call::new(format!("release job {job}"), Method::DELETE, path, Repeat::Never);
        let attempt = async || self.session.call(&release).await.map(drop).map_err(|error| about(job, error));
        let look = async || match self.job(job).await {
            Ok(JobDetail { job: found, .. }) => {
                let held = matches!(found.status, JobStatus::Scheduling | JobStatus::Building);
                Ok(if held && self.is_ours(&found) { Seen::NotDone } else { Seen::Done(()) })
            }
            Err(error) if error.is_gone() => Ok(Seen::Done(())),
            Err(error) => Err(error),
        };
        settle(attempt, look).await
    }

    /// Tells the people who wait for a job what happens.
    pub async fn info(&self, job: &V2JobId, level: InfoLevel, message: &str) -> Result<(), CdsError> {
        let now = self.session.api.clock.now();
        let (what, path) = (format!("send news of job {job}"), self.route(job, "/info").await?);
        let call = Call::new(what, Method::POST, path, Repeat::IfNotDone);
        let call = call.with(&json!({"level": level, "message": message, "time": now}))?;
        self.session.call(&call).await.map(drop).map_err(|error| about(job, error))
    }

    /// Gives up a job that this hatchery has: it fails. One that is over already is no error if this call may have
    /// ended it.
    pub async fn fail(&self, job: &V2JobId, reason: &str) -> Result<(), CdsError> {
        let now = self.session.api.clock.now();
        let path = self.route(job, "/result").await?;
        let fail = Call::new(format!("fail job {job}"), Method::POST, path, Repeat::Never);
        let fail = fail.with(&json!({"status": JobStatus::Fail, "error": reason, "time": now}))?;
        let attempt = async || self.session.call(&fail).await.map(drop).map_err(|error| about(job, error));
        let look = async || match self.job(job).await {
            Ok(found) if found.job.status.is_final() => Ok(Seen::Done(())),
            Ok(_) => Ok(Seen::NotDone),
            Err(error) if error.is_gone() => Ok(Seen::Done(())),
            Err(error) => Err(error),
        };
        settle(attempt, look).await
    }

    async fn route(&self, job: &V2JobId, rest: &str) -> Result<String, CdsError> {
        Ok(format!("/v2/queue/{}/job/{job}{rest}", segment(&self.region().await?)))
    }

    fn is_ours(&self, job: &RunJob) -> bool {
        job.hatchery_name == self.session.identity.name
    }
}

fn about(job: &V2JobId, error: CdsError) -> CdsError {
    let CdsError::Refused { what, source } = error else { return error };
    if source.id == ErrorId::NOT_FOUND {
        CdsError::Gone { job: job.clone().into(), source }
    } else {
        CdsError::Refused { what, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_runs_on_a_model_or_on_more() {
        let read = |text: &str| json::read::<RunsOn>(text.as_bytes()).unwrap();
        let model = |memory: &str, flavor: &str| RunsOn {
            model: "P/v/o/r/m".into(),
            memory: memory.into(),
            flavor: flavor.into(),
        };
        assert_eq!(read("\"P/v/o/r/m\""), model("", ""));
        assert_eq!(read(r#"{"model":"P/v/o/r/m","memory":"4096","flavor":"large"}"#), model("4096", "large"));
        assert_eq!(read(r#"{"model":"P/v/o/r/m","memory":4096,"flavor":null}"#), model("4096", ""));
        assert_eq!(read("{}"), RunsOn::default());
    }
}
