//! What is answered.

use std::sync::Arc;
use std::time::Duration;

use rookery_cds::Cds;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::info;

use super::explained::Ends;
use super::naming::job_named;
use super::{Answer, Request};
use crate::intake::feed::Wakes;
use crate::plan::Denied;
use crate::plan::hold::Subject;
use crate::reconcile::{Message, Reply};
use crate::surface::holds::{Order, Target};
use crate::surface::report::{JobLine, Published, Report, Status};

/// How long a change may take to show.
const CHANGE: Duration = Duration::from_secs(15);

/// How long what is done may take to be seen.
const SHOWN: Duration = Duration::from_secs(5);

const ENDING: &str = "the hatchery is stopping";
const NOT_DONE: &str =
    "the hatchery did not do it in time; `rookery hatchery status` shows whether it has by now";
const NOT_HELD: &str = "the hatchery did not do it in time; `rookery vm holds` shows whether it has by now";

/// All that answers are made from. Clones share it.
#[derive(Debug, Clone)]
pub struct ControlState {
    pub(crate) published: Published,
    pub(crate) reconciler: mpsc::Sender<Message>,
    pub(crate) wakes: Wakes,
    pub(crate) cds: Cds,
    /// How jobs have ended, as CDS told when somebody asked.
    pub(crate) ends: Ends,
}

impl ControlState {
    pub async fn answer(&self, request: Request) -> Answer {
        let (mut request, mut dry_run) = (request, false);
        while let Request::DryRun { request: inner } = request {
            (request, dry_run) = (*inner, true);
        }
        self.answer_to(request, dry_run).await.unwrap_or_else(|denied| match denied {
            Denied::Refused(why) => Answer::Refused(why),
            Denied::Unclear(what) => Answer::Unclear(what),
        })
    }

    async fn answer_to(&self, request: Request, dry_run: bool) -> Result<Answer, Denied> {
        let done = match request {
            Request::Status => {
                let (host, troubles) = (&self.published.host, self.published.troubles.all());
                let status = Status::new(host, &self.published.report.borrow(), troubles);
                return Ok(Answer::Status(Box::new(status)));
            }
            Request::Jobs => return self.jobs_with_statuses().await.map(Answer::Jobs),
            Request::KnownJobs => return self.known_jobs().await.map(Answer::Jobs),
            Request::Explain { job } => return self.explain(&job).await.map(Box::new).map(Answer::Explained),
            Request::Drain => self.drain(true, dry_run).await?,
            Request::Resume => self.drain(false, dry_run).await?,
            Request::Look => {
                if !dry_run {
                    self.wakes.queues();
                }
                "the hatchery reads the queues now".to_owned()
            }
            Request::Hold(order) => {
                let of = self.meant(order.of).await?;
                let order = Order { of: of.clone(), ..order };
                self.change(&of, true, dry_run, |reply| Message::Hold(order, reply)).await?
            }
            Request::Release { of } => {
                let of = self.meant(of).await?;
                let released = of.clone();
                self.change(&of, false, dry_run, |reply| Message::Release(released, reply)).await?
            }
            Request::Confirm { list } if dry_run => {
                let report = self.published.report.borrow();
                let held_back = report.braked.iter().filter(|one| list.contains(&one.subject)).count();
                format!("{held_back} of {} held back are let through", list.len())
            }
            Request::Confirm { list } => {
                self.told(NOT_DONE, dry_run, |reply| Message::Confirm(list, reply)).await?
            }
            Request::Adopt { model } => {
                self.told(NOT_DONE, dry_run, |reply| Message::Adopt(model, reply)).await?
            }
            Request::AdoptVm { vm } => {
                self.told(NOT_DONE, dry_run, |reply| Message::AdoptVm(vm, reply)).await?
            }
            Request::Unmark { vm } => {
                self.told(NOT_DONE, dry_run, |reply| Message::Unmark(vm, reply)).await?
            }
            // It was taken off above.
            Request::DryRun { .. } => String::new(),
        };
        Ok(Answer::Done(done))
    }

    async fn drain(&self, draining: bool, dry_run: bool) -> Result<String, Denied> {
        if !dry_run {
            let mut report = self.published.report.clone();
            self.reconciler.send(Message::Drain(draining)).await.ok();
            if timeout(CHANGE, report.wait_for(|report| report.draining == draining)).await.is_err() {
                return Err(NOT_DONE.into());
            }
            info!(draining, "asked over the control socket");
        }
        Ok(if draining {
            "the hatchery takes no new jobs; running workers go on".to_owned()
        } else {
            "the hatchery takes jobs again".to_owned()
        })
    }

    /// Who is meant: of jobs the beginning of the id may be given.
    async fn meant(&self, of: Target) -> Result<Target, Denied> {
        let Target::Job(job) = of else { return Ok(of) };
        let lines = self.jobs().await?;
        let report = Arc::clone(&self.published.report.borrow());
        let wished = report.wishes.iter().filter_map(|wish| match &wish.of {
            Subject::Job(job) => Some(job.as_str()),
            Subject::Model(_) => None,
        });
        let held = report.held.iter().map(|held| held.job.as_str());
        let known = lines.iter().map(|line| line.job.as_str()).chain(wished).chain(held);
        Ok(Target::Job(job_named(&job, known)?.to_string()))
    }

    /// Keeps something or lets it go, and waits until that can be seen: whoever looks next should not find it as before.
    async fn change(
        &self,
        of: &Target,
        kept: bool,
        dry_run: bool,
        message: impl FnOnce(Reply) -> Message + Send,
    ) -> Result<String, Denied> {
        let told = self.told(NOT_HELD, dry_run, message).await?;
        if dry_run {
            return Ok(told);
        }
        let shows = |report: &Arc<Report>| match of.subject() {
            Err(name) => report.held.iter().any(|held| held.machine == name),
            Ok(subject) => report.wishes.iter().any(|wish| wish.of == subject),
        };
        let mut report = self.published.report.clone();
        timeout(SHOWN, report.wait_for(|report| shows(report) == kept)).await.ok();
        info!(?of, kept, "asked over the control socket");
        Ok(told)
    }

    /// What the reconciler says when it is done; `late` is said if that takes too long.
    async fn told(
        &self,
        late: &str,
        dry_run: bool,
        message: impl FnOnce(Reply) -> Message,
    ) -> Result<String, Denied> {
        let (reply, answer) = Reply::new(dry_run);
        self.reconciler.send(message(reply)).await.ok();
        match timeout(CHANGE, answer).await {
            Ok(Ok(told)) => told,
            Ok(Err(_)) => Err(ENDING.into()),
            Err(_) => Err(late.into()),
        }
    }

    /// The jobs that are known here.
    pub(super) async fn jobs(&self) -> Result<Vec<JobLine>, Denied> {
        let (reply, answer) = oneshot::channel();
        self.reconciler.send(Message::Jobs(reply)).await.ok();
        match timeout(CHANGE, answer).await {
            Ok(Ok(lines)) => Ok(lines),
            Ok(Err(_)) => Err(ENDING.into()),
            Err(_) => Err("the hatchery did not answer in time; ask again".into()),
        }
    }
}
