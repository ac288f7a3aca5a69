//! Waiting for vCenter's tasks: all of them ride on one list view and one long poll, which runs only while there
//! are tasks to wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rookery_daemon::{Backoff, Supervisor, telemetry::chain};
use rookery_vim::methods::{CreateListView, ModifyListView};
use rookery_vim::objects::{LocalizedMethodFault, ObjectUpdate, ObjectUpdateKind, PropertyChange, TaskState};
use rookery_vim::{DecodeError, Fault, MoRef, Node, Wire};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::client::Client;
use crate::error::CallError;
use crate::properties::view_manager;
use crate::view_watch::{POLL, ViewWatch, poll};

/// Not `info` itself: the whole of it would be sent again with every per cent of progress.
const PATHS: [&str; 4] = ["info.state", "info.error", "info.result", "info.progress"];
const REBUILD: Backoff =
    Backoff { first: Duration::from_millis(250), cap: Duration::from_secs(15), attempts: None };
/// Callers beyond this wait for a place; each place is one task in flight.
const QUEUE: usize = 256;

/// A handle to the waiter. Clones share it.
#[derive(Debug, Clone)]
pub struct Tasks {
    requests: mpsc::Sender<Request>,
}

/// Why a task was not seen to succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TaskError {
    #[error("the task failed")]
    Failed(#[source] Fault),
    /// Nobody can say how it ended: look for its effect.
    #[error("it is unknown how the task {task} ended: {why}")]
    Unknown { task: MoRef, why: String },
    /// It had not ended at the deadline, and may still be running.
    #[error("the task {task} did not end within {} s", after.as_secs())]
    TimedOut { task: MoRef, after: Duration },
    /// The waiter was stopped.
    #[error("waiting for tasks was stopped")]
    Stopped,
}

#[derive(Debug)]
struct Request {
    task: MoRef,
    progress: Option<watch::Sender<i32>>,
    done: oneshot::Sender<Result<Option<Node>, TaskError>>,
}

impl Tasks {
    pub fn start(client: Client, supervisor: &Supervisor) -> Self {
        let (requests, receiver) = mpsc::channel(QUEUE);
        let waiter =
            Waiter { client, requests: receiver, watched: BTreeMap::new(), finished: BTreeSet::new() };
        supervisor.spawn_essential("tasks", waiter.run(supervisor.token()));
        Self { requests }
    }

    /// Waits until a task has ended; its result, if it has one.
    pub async fn finish(&self, task: MoRef, after: Duration) -> Result<Option<Node>, TaskError> {
        self.finish_showing(task, after, None).await
    }

    /// The same, with the per cent done written to a channel.
    pub async fn finish_showing(
        &self,
        task: MoRef,
        after: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<Option<Node>, TaskError> {
        let (done, ended) = oneshot::channel();
        let request = Request { task: task.clone(), progress, done };
        let wait = async {
            self.requests.send(request).await.map_err(|_| TaskError::Stopped)?;
            ended.await.unwrap_or(Err(TaskError::Stopped))
        };
        timeout(after, wait).await.unwrap_or(Err(TaskError::TimedOut { task, after }))
    }
}

/// The task behind [`Tasks`].
struct Waiter {
    client: Client,
    requests: mpsc::Receiver<Request>,
    watched: BTreeMap<MoRef, Watched>,
    /// Ended tasks that still stand in the view; they leave with the next change of it.
    finished: BTreeSet<MoRef>,
}

/// One task, as far as it was told.
#[derive(Debug)]
struct Watched {
    request: Request,
    state: Option<TaskState>,
    error: Option<Fault>,
    result: Option<Node>,
}

/// What was made on the server.
struct Built {
    watch: ViewWatch,
    version: String,
}

impl Waiter {
    async fn run(mut self, stop: CancellationToken) {
        let work = async {
            let mut built: Option<Built> = None;
            let mut delays = REBUILD.delays(self.client.fork_random());
            while self.has_work().await {
                match self.follow(&mut built).await {
                    Ok(()) => delays = REBUILD.delays(self.client.fork_random()),
                    Err(error) => {
                        debug!(error = %chain(&error), "waiting for tasks broke; building it again");
                        if let Some(built) = built.take() {
                            built.watch.remove(&self.client).await;
                        }
                        // Everything else may pass; the deadlines of the callers bound the waiting.
                        if matches!(error, CallError::Closed { .. }) || error.is_permission() {
                            self.give_up(&error);
                        }
                        sleep(delays.next().unwrap_or(REBUILD.cap)).await;
                    }
                }
            }
            // Nobody can ask any more. That is no failure of this task: it ends when the others do.
            std::future::pending::<()>().await;
        };
        // Whoever still waits learns that it was stopped when its channel closes. The server forgets the rest.
        stop.run_until_cancelled(work).await;
    }

    /// Waits for the first task to wait for; false when nobody can ask any more.
    async fn has_work(&mut self) -> bool {
        self.watched.retain(|_, w| !w.request.done.is_closed());
        if self.watched.is_empty() {
            match self.requests.recv().await {
                Some(request) => self.enlist(request),
                None => return false,
            };
        }
        true
    }

    fn enlist(&mut self, request: Request) -> MoRef {
        let task = request.task.clone();
        self.watched.insert(task.clone(), Watched { request, state: None, error: None, result: None });
        task
    }

    /// Follows the watched tasks until all have ended.
    async fn follow(&mut self, built: &mut Option<Built>) -> Result<(), CallError> {
        let mut added: Vec<MoRef> = self.watched.keys().cloned().collect();
        let built = match built {
            Some(built) => built,
            None => built.insert(build(&self.client).await?),
        };
        loop {
            while let Ok(request) = self.requests.try_recv() {
                added.push(self.enlist(request));
            }
            self.update_view(&built.watch.view, std::mem::take(&mut added)).await?;
            if self.watched.is_empty() {
                return Ok(());
            }
            let client = self.client.clone();
            let (collector, version) = (built.watch.collector.clone(), built.version.clone());
            let poll = poll(&client, collector, version, None, POLL);
            tokio::pin!(poll);
            let answer = loop {
                tokio::select! {
                    biased;
                    answer = &mut poll => break answer?,
                    // The view is live: a task that joins it is reported by the poll that is already waiting.
                    Some(request) = self.requests.recv() => {
                        let task = self.enlist(request);
                        self.update_view(&built.watch.view, vec![task]).await?;
                    }
                }
            };
            if let Some(set) = answer {
                built.version.clone_from(&set.version);
                set.filter_set.into_iter().flat_map(|f| f.object_set).for_each(|update| self.take(update));
            }
            self.watched.retain(|_, w| !w.request.done.is_closed());
        }
    }

    async fn update_view(&mut self, view: &MoRef, add: Vec<MoRef>) -> Result<(), CallError> {
        if add.is_empty() {
            return Ok(());
        }
        let remove = std::mem::take(&mut self.finished).into_iter().filter(|t| !add.contains(t)).collect();
        let lost = self.client.call(&ModifyListView { this: view.clone(), add, remove }).await?;
        for task in lost {
            self.end(&task, |task| {
                Err(TaskError::Unknown { task, why: "vCenter no longer knows the task".to_owned() })
            });
        }
        Ok(())
    }

    fn take(&mut self, update: ObjectUpdate) {
        let task = update.obj;
        let Some(watched) = self.watched.get_mut(&task) else { return };
        if update.kind == ObjectUpdateKind::Leave {
            let why = "vCenter removed the task".to_owned();
            return self.end(&task, |task| Err(TaskError::Unknown { task, why }));
        }
        for change in update.change_set {
            if let Err(error) = watched.apply(change) {
                let why = format!("vCenter's words about it were not understood ({error})");
                return self.end(&task, |task| Err(TaskError::Unknown { task, why }));
            }
        }
        match watched.state {
            Some(TaskState::Success) => {
                let result = watched.result.take();
                self.end(&task, |_| Ok(result));
            }
            Some(TaskState::Error) => {
                let fault = watched.error.take().unwrap_or_else(|| Fault::new(None, String::new()));
                self.end(&task, |_| Err(TaskError::Failed(fault)));
            }
            Some(TaskState::Queued | TaskState::Running | TaskState::Other(_)) | None => {}
        }
    }

    fn end(&mut self, task: &MoRef, outcome: impl FnOnce(MoRef) -> Result<Option<Node>, TaskError>) {
        if let Some(watched) = self.watched.remove(task) {
            self.finished.insert(task.clone());
            // Nobody listens any more: then nobody needs to know.
            watched.request.done.send(outcome(task.clone())).ok();
        }
    }

    fn give_up(&mut self, error: &CallError) {
        for task in self.watched.keys().cloned().collect::<Vec<_>>() {
            let why = chain(error);
            self.end(&task, |task| Err(TaskError::Unknown { task, why }));
        }
    }
}

impl Watched {
    fn apply(&mut self, change: PropertyChange) -> Result<(), DecodeError> {
        match (change.name.as_str(), change.val) {
            ("info.state", Some(val)) => self.state = Some(TaskState::from_node(val)?),
            ("info.error", Some(val)) if !val.is_empty() => {
                self.error = Some(LocalizedMethodFault::from_node(val)?.into_fault());
            }
            ("info.result", Some(val)) if !(val.is_empty() && val.ref_type.is_none()) => {
                self.result = Some(val);
            }
            ("info.progress", Some(val)) if !val.is_empty() => {
                if let Some(progress) = &self.request.progress {
                    progress.send_replace(i32::from_node(val)?);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

async fn build(client: &Client) -> Result<Built, CallError> {
    let view = client.call(&CreateListView { this: view_manager(client), obj: Vec::new() }).await?;
    let watch = ViewWatch::build(client, view, "Task", &PATHS).await?;
    Ok(Built { watch, version: String::new() })
}
