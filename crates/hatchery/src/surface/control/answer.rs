//! What is answered.

use std::sync::Arc;
use std::time::Duration;

use rookery_cds::{Cds, JobId};
use rookery_daemon::telemetry::chain;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::info;

use super::{Answer, Request};
use crate::intake::feed::{self, Wakes};
use crate::intake::queue::QueuedJob;
use crate::reconcile::{Message, Reply};
use crate::surface::holds::Target;
use crate::surface::report::{Published, Report, Status};

/// How long a change may take to show.
const CHANGE: Duration = Duration::from_secs(15);

/// How long what is done may take to be seen.
const SHOWN: Duration = Duration::from_secs(5);

const NOT_TAKEN_UP: &str = "the hatchery has not taken it up yet; ask for its status";
const NOT_DONE: &str = "it is not done yet; ask for the status";

/// All that answers are made from. Clones share it.
#[derive(Debug, Clone)]
pub struct ControlState {
    pub(crate) published: Published,
    pub(crate) reconciler: mpsc::Sender<Message>,
    pub(crate) wakes: Wakes,
    pub(crate) cds: Cds,
}

/// What becomes of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    pub job: String,
    /// `waiting`, `starting`, `served` or `unknown`.
    pub state: String,
    pub why: String,
    /// Whether waiting alone will not help.
    pub permanent: bool,
    /// What CDS says of it.
    pub cds: String,
}

impl ControlState {
    pub async fn answer(&self, request: Request) -> Answer {
        match request {
            Request::Status => {
                let (host, troubles) = (&self.published.host, self.published.troubles.all());
                Answer::Status(Box::new(Status::new(host, &self.published.report.borrow(), troubles)))
            }
            Request::Explain { job } => match job.parse::<JobId>() {
                Ok(job) => Answer::Explained(self.explain(&job).await),
                Err(error) => Answer::Refused(error.to_string()),
            },
            Request::Drain => self.drain(true).await,
            Request::Resume => self.drain(false).await,
            Request::Look => {
                self.wakes.queues();
                Answer::Done("the queues are looked at now".to_owned())
            }
            Request::Hold(order) => {
                let of = order.of.clone();
                self.change(&of, true, |reply| Message::Hold(order, reply)).await
            }
            Request::Confirm { list } => self.done(NOT_TAKEN_UP, |reply| Message::Confirm(list, reply)).await,
            Request::Release { of } => {
                let released = of.clone();
                self.change(&of, false, |reply| Message::Release(released, reply)).await
            }
            Request::Adopt { model } => self.done(NOT_DONE, |reply| Message::Adopt(model, reply)).await,
            Request::AdoptVm { vm } => self.done(NOT_DONE, |reply| Message::AdoptVm(vm, reply)).await,
            Request::Unmark { vm } => self.done(NOT_DONE, |reply| Message::Unmark(vm, reply)).await,
        }
    }

    async fn done(&self, late: &str, message: impl FnOnce(Reply) -> Message) -> Answer {
        self.told(late, message).await.map_or_else(|refused| refused, Answer::Done)
    }

    async fn drain(&self, draining: bool) -> Answer {
        let mut report = self.published.report.clone();
        self.reconciler.send(Message::Drain(draining)).await.ok();
        if timeout(CHANGE, report.wait_for(|report| report.draining == draining)).await.is_err() {
            return Answer::Refused(NOT_TAKEN_UP.to_owned());
        }
        info!(draining, "asked over the control socket");
        Answer::Done(if draining {
            "no new jobs are taken; workers that run go on".to_owned()
        } else {
            "jobs are taken again".to_owned()
        })
    }

    /// Keeps something or lets it go, and waits until that can be seen: whoever looks next should not find it as before.
    async fn change(&self, of: &Target, kept: bool, message: impl FnOnce(Reply) -> Message) -> Answer {
        if let Target::Job(job) = of
            && let Err(error) = job.parse::<JobId>()
        {
            return Answer::Refused(error.to_string());
        }
        let told = match self.told("it is not done yet; ask for what is kept", message).await {
            Ok(told) => told,
            Err(refused) => return refused,
        };
        let shows = |report: &Arc<Report>| match of.subject() {
            Err(name) => report.held.iter().any(|held| held.machine == name),
            Ok(subject) => report.wishes.iter().any(|wish| wish.of == subject),
        };
        let mut report = self.published.report.clone();
        timeout(SHOWN, report.wait_for(|report| shows(report) == kept)).await.ok();
        info!(?of, kept, "asked over the control socket");
        Answer::Done(told)
    }

    /// What the reconciler says when it is done; `late` is said if that takes too long.
    async fn told(&self, late: &str, message: impl FnOnce(Reply) -> Message) -> Result<String, Answer> {
        let (reply, answer) = oneshot::channel();
        self.reconciler.send(message(reply)).await.ok();
        let refused = match timeout(CHANGE, answer).await {
            Ok(Ok(Ok(told))) => return Ok(told),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => "the hatchery is ending".to_owned(),
            Err(_) => late.to_owned(),
        };
        Err(Answer::Refused(refused))
    }

    async fn explain(&self, job: &JobId) -> Explained {
        let cds = self.cds_says(job).await;
        let report = self.published.report.borrow();
        let (state, why, permanent) = if let Some(waiting) = report.waiting.get(job) {
            ("waiting", waiting.to_string(), waiting.is_permanent())
        } else if let Some(work) = report.running.iter().find(|one| one.job.as_ref() == Some(job)) {
            ("starting", format!("it is being worked on: {work}"), false)
        } else if let Some(machine) = report.jobs_served.get(&job.to_string()) {
            ("served", format!("the machine {machine:?} is there for it"), false)
        } else {
            let why = "it is not in the queue as this hatchery saw it last: it may be over, served by another \
                       hatchery, or for another region or type of model";
            ("unknown", why.to_owned(), false)
        };
        Explained { job: job.to_string(), state: state.to_owned(), why, permanent, cds }
    }

    async fn cds_says(&self, job: &JobId) -> String {
        match feed::read_job(&self.cds, job).await {
            Some(Ok(QueuedJob::V1(job))) => format!("its status is {:?}", job.status),
            Some(Ok(QueuedJob::V2(detail))) => format!("its status is {:?}", detail.job.status),
            Some(Err(error)) => chain(&error),
            None => "there is no token for such jobs".to_owned(),
        }
    }
}
