//! The conversation about V1 jobs: numbers in a queue, booked for a while.

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
use crate::job::V1JobId;
use crate::monitoring::MonitoringStatus;
use crate::path::segment;
use crate::session::Session;
use crate::worker::{Cdn, V1Worker, Worker};

pub use models::{ModelSecret, V1Model, VirtualMachine};
pub use queue::{BookedBy, Group, RegionFilter, Requirement, RequirementKind, SpawnInfo, V1Job};
pub(crate) use sign_in::Builtin;
pub use sign_in::Service;

/// The conversation about V1 jobs. Cheap to clone; clones share their session.
#[derive(Debug, Clone)]
pub struct V1 {
    session: Arc<Session<Builtin>>,
}

impl V1 {
    pub(crate) fn new(session: Session<Builtin>) -> Self {
        Self { session: Arc::new(session) }
    }

    /// Signs in if need be, and gives what CDS knows this hatchery as.
    pub async fn service(&self) -> Result<Service, CdsError> {
        Ok(self.session.grant("sign in").await?.registered.clone())
    }

    /// Signs in with another token, which signs in from now on. One that CDS refuses changes nothing; one that could not
    /// be tried is, with the next sign-in.
    pub async fn change_token(&self, token: SecretString) -> Result<(), CdsError> {
        self.session.change_token(token).await
    }

    /// Signs out. Later calls fail instead of signing in again.
    pub async fn sign_out(&self) -> Result<(), CdsError> {
        let call = Call::new("sign out", Method::POST, "/auth/consumer/signout", Repeat::Harmless);
        self.session.close(&call).await
    }

    /// Says that the hatchery lives, and how it is.
    pub async fn heartbeat(&self, status: &MonitoringStatus) -> Result<(), CdsError> {
        let call = Call::new("send a heartbeat", Method::POST, "/services/heartbeat", Repeat::Harmless);
        self.session.call(&call.with(status)?).await.map(drop)
    }

    /// The workers of this hatchery that have registered, disabled ones included.
    pub async fn workers(&self) -> Result<Vec<Worker>, CdsError> {
        let answer = self.session.call(&Call::get("list the V1 workers", "/worker")).await?;
        Ok(answer.list::<V1Worker>()?.into_iter().map(Worker::from).collect())
    }

    /// Disables a worker. If it runs a job, CDS fails that job.
    pub async fn disable(&self, worker: &Worker) -> Result<(), CdsError> {
        let (what, path) =
            (format!("disable worker {}", worker.name), format!("/worker/{}/disable", segment(&worker.id)));
        self.session.call(&Call::new(what, Method::POST, path, Repeat::Harmless)).await.map(drop)
    }

    /// Where workers send their logs.
    pub async fn cdn(&self) -> Result<Cdn, CdsError> {
        self.session.call(&Call::get("look up where logs go", "/config/cdn")).await?.object()
    }

    /// Jobs as they enter the queue. They come late, twice or never: the queue is to be listed as well.
    pub fn watch(&self, supervisor: &Supervisor) -> mpsc::Receiver<V1JobId> {
        feed::watch(&self.session, "cds-v1-feed", supervisor)
    }
}
