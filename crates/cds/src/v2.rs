//! The conversation about V2 jobs: UUIDs in the queue of the one region that CDS has given to this hatchery.

mod model_path;
mod models;
mod queue;
mod sign_in;

use std::sync::Arc;

use hyper::Method;
use rookery_daemon::Supervisor;
use secrecy::SecretString;
use tokio::sync::mpsc;

use crate::api::{Call, Repeat};
use crate::error::CdsError;
use crate::feed;
use crate::job::V2JobId;
use crate::monitoring::MonitoringStatus;
use crate::session::Session;
use crate::worker::{Cdn, V2Worker, Worker};

pub use model_path::{InvalidModelPath, ModelPath};
pub use models::{V2Model, V2ModelSpec};
pub use queue::{InfoLevel, JobDetail, RunJob, RunsOn};
pub(crate) use sign_in::Consumer;

/// The conversation about V2 jobs. Cheap to clone; clones share their session.
#[derive(Debug, Clone)]
pub struct V2 {
    session: Arc<Session<Consumer>>,
}

impl V2 {
    pub(crate) fn new(session: Session<Consumer>) -> Self {
        Self { session: Arc::new(session) }
    }

    /// The region whose jobs this hatchery serves: CDS decides it. Signs in if need be.
    pub async fn region(&self) -> Result<String, CdsError> {
        Ok(self.session.grant("sign in").await?.registered.clone())
    }

    /// Signs in with another token, which signs in from now on. One that CDS refuses changes nothing; one that could not
    /// be tried is, with the next sign-in.
    pub async fn change_token(&self, token: SecretString) -> Result<(), CdsError> {
        self.session.change_token(token).await
    }

    /// Says that the hatchery lives, and how it is.
    pub async fn heartbeat(&self, status: &MonitoringStatus) -> Result<(), CdsError> {
        let call = Call::new("send a heartbeat", Method::POST, "/v2/hatchery/heartbeat", Repeat::Harmless);
        self.session.call(&call.with(status)?).await.map(drop)
    }

    /// The workers of this hatchery that have registered. One that has ended disappears within seconds.
    pub async fn workers(&self) -> Result<Vec<Worker>, CdsError> {
        let answer = self.session.call(&Call::get("list the V2 workers", "/v2/worker")).await?;
        Ok(answer.list::<V2Worker>()?.into_iter().map(Worker::from).collect())
    }

    /// Where workers send their logs.
    pub async fn cdn(&self) -> Result<Cdn, CdsError> {
        self.session.call(&Call::get("look up where logs go", "/v2/config/cdn")).await?.object()
    }

    /// Jobs as they enter the queue. They come late, twice or never: the queue is to be listed as well.
    pub fn watch(&self, supervisor: &Supervisor) -> mpsc::Receiver<V2JobId> {
        feed::watch(&self.session, "cds-v2-feed", supervisor)
    }
}
