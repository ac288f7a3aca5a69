//! Tasks whose owner hears that they have ended, whatever becomes of them.
//!
//! An owner is one task with an [`Inbox`]. What it starts reports to that inbox when it is done. A task that panics, or is
//! dropped in the middle, cannot wait for room there, and work that is never seen to end would count as under way for
//! ever: what its owner is told then is fixed when the task starts, and comes by a way of its own.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use crate::Supervisor;

/// Identifies a task among those of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// What each task under way is about, as its owner keeps it.
#[derive(Debug, Clone)]
pub struct UnderWay<T> {
    last: u64,
    tasks: BTreeMap<TaskId, T>,
}

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        Self { last: 0, tasks: BTreeMap::new() }
    }
}

impl<T> UnderWay<T> {
    /// Adds a task that begins. No two tasks have the same identifier.
    pub fn begin(&mut self, about: T) -> TaskId {
        self.last += 1;
        let id = TaskId(self.last);
        self.tasks.insert(id, about);
        id
    }

    /// Removes a task that has ended.
    pub fn end(&mut self, id: TaskId) -> Option<T> {
        self.tasks.remove(&id)
    }

    /// What a task is about, to say more of it.
    pub fn get_mut(&mut self, id: TaskId) -> Option<&mut T> {
        self.tasks.get_mut(&id)
    }

    /// All of them, in the order of their start.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.tasks.values()
    }
}

/// Starts tasks that report to one owner.
#[derive(Debug)]
pub struct TrackedTasks<M> {
    supervisor: Supervisor,
    owner: mpsc::Sender<M>,
    /// One message for each task at most.
    cut_off: mpsc::UnboundedSender<M>,
}

/// What an owner hears: messages, and the endings of tasks that were cut off.
#[derive(Debug)]
pub struct Inbox<M> {
    messages: mpsc::Receiver<M>,
    cut_off: mpsc::UnboundedReceiver<M>,
}

impl<M> Inbox<M> {
    /// Waits for the next message; none if nobody can send one any more.
    pub async fn recv(&mut self) -> Option<M> {
        tokio::select! {
            biased;
            message = self.messages.recv() => message,
            Some(message) = self.cut_off.recv() => Some(message),
        }
    }

    /// The next message, if there is one already.
    pub fn try_recv(&mut self) -> Option<M> {
        self.messages.try_recv().or_else(|_| self.cut_off.try_recv()).ok()
    }
}

impl<M: Send + 'static> TrackedTasks<M> {
    /// Tasks under a supervisor, and the inbox of their owner. If so many messages wait there, whoever has another one
    /// waits, too.
    pub fn new(supervisor: &Supervisor, capacity: usize) -> (Self, Inbox<M>) {
        let (owner, messages) = mpsc::channel(capacity);
        let (cut_off, ended) = mpsc::unbounded_channel();
        (Self { supervisor: supervisor.clone(), owner, cut_off }, Inbox { messages, cut_off: ended })
    }

    /// Where others write to the owner.
    pub fn owner(&self) -> &mpsc::Sender<M> {
        &self.owner
    }

    /// Starts a task that ends with a message to the owner. If it panics or the supervisor stops, `cut_off` is that message.
    pub fn start(&self, name: &'static str, cut_off: M, task: impl Future<Output = M> + Send + 'static) {
        let guard =
            CompletionGuard { owner: self.owner.clone(), lost: self.cut_off.clone(), cut_off: Some(cut_off) };
        self.supervisor.spawn_until_stopped(name, async move { guard.report(task.await).await });
    }
}

/// Reports how a task has ended, and that it was cut off if it is dropped before.
#[derive(Debug)]
struct CompletionGuard<M> {
    owner: mpsc::Sender<M>,
    lost: mpsc::UnboundedSender<M>,
    cut_off: Option<M>,
}

impl<M> CompletionGuard<M> {
    async fn report(mut self, message: M) {
        self.owner.send(message).await.ok();
        self.cut_off = None;
    }
}

impl<M> Drop for CompletionGuard<M> {
    fn drop(&mut self) {
        if let Some(message) = self.cut_off.take() {
            self.lost.send(message).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::iter;
    use std::time::Duration;

    use tokio::time::{sleep, timeout};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(1);

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Ended {
        Done(u64),
        CutOff(u64),
    }
    use Ended::{CutOff, Done};

    // Work that was cut off while the inbox was full was under way for ever.
    #[tokio::test(start_paused = true)]
    async fn a_task_that_is_cut_off_is_seen_to_end_however_full_the_inbox_is() {
        let supervisor = Supervisor::new();
        let (tasks, mut inbox) = TrackedTasks::new(&supervisor, 1);
        tasks.start("done", CutOff(1), async { Done(1) });
        sleep(PATIENCE).await;
        tasks.start("cut off", CutOff(2), pending());
        // In the middle of its report: there is no room for it.
        tasks.start("reporting", CutOff(3), async { Done(3) });
        sleep(PATIENCE).await;
        supervisor.shutdown(PATIENCE).await.unwrap();
        let mut heard: Vec<_> = iter::from_fn(|| inbox.try_recv()).collect();
        heard.sort();
        assert_eq!(heard, [Done(1), CutOff(2), CutOff(3)]);
    }

    // A question that had panicked was never asked again, and whoever needed the answer waited for ever.
    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_wakes_its_owner_and_each_is_told_once() {
        let supervisor = Supervisor::new();
        let (tasks, mut inbox) = TrackedTasks::new(&supervisor, 8);
        tasks.start("answered", CutOff(1), async { Done(1) });
        assert_eq!(timeout(PATIENCE, inbox.recv()).await, Ok(Some(Done(1))));
        tasks.start("panics", CutOff(2), async { panic!("on purpose") });
        assert_eq!(timeout(PATIENCE, inbox.recv()).await, Ok(Some(CutOff(2))));
        supervisor.shutdown(PATIENCE).await.unwrap();
        drop(tasks);
        assert_eq!(inbox.recv().await, None, "each is told once");
    }

    #[test]
    fn a_task_that_has_ended_is_not_under_way_and_its_identifier_not_used_again() {
        let mut tasks = UnderWay::default();
        let [one, two] = ["one", "two"].map(|about| tasks.begin(about));
        assert_eq!((tasks.end(two), tasks.end(two)), (Some("two"), None));
        assert!(tasks.begin("three") > two);
        *tasks.get_mut(one).unwrap() = "first";
        assert_eq!(tasks.iter().copied().collect::<Vec<_>>(), ["first", "three"]);
    }
}
