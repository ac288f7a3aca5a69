//! Gives a clone up: cancels its task, and reports what is left of it.
//!
//! ```text
//!   error, or no time left ──► was it ordered? ──no──► nothing is left
//!                                   │ yes
//!                                   ▼
//!                   cancel its task, wait for its end ──not seen to end──► it may still appear
//!                                   │ ended
//!                                   ▼
//!                   is there a VM of that name? ──cannot be seen──► it may still appear
//!                                   │
//!                                   ▼
//!                          that is left, or nothing
//! ```

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rookery_vim::methods::CancelTask;
use rookery_vim::objects::TaskState;
use rookery_vim::{MoRef, Wire as _};
use tokio::time::{sleep, timeout};
use tracing::debug;

use super::{CloneError, CloneOrder};
use crate::error::CallError;
use crate::machine::Machines;
use crate::made::child;
use crate::properties::{properties_of, property_of};

/// How long a cancelled task may take to end.
const CANCELLED: Duration = Duration::from_secs(10);
/// How often it is looked whether it has.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long giving up may take in all: whoever is out of time has little left to clean up.
const GIVING_UP: Duration = Duration::from_secs(20);

/// A clone that was given up.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the clone was given up")]
pub struct GivenUp {
    #[source]
    pub reason: CloneError,
    /// The VM that is there all the same.
    pub vm: Option<MoRef>,
    /// Set if a VM of that name may still appear, with the address that it was to have.
    pub unfinished: Option<UnfinishedClone>,
}

/// A clone that vCenter was not seen to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedClone {
    /// Its task; none if the answer to the order was lost.
    pub task: Option<MoRef>,
}

/// How far the order of a clone has come. It outlives the future that waits for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ordered(Arc<Mutex<Option<UnfinishedClone>>>);

impl Ordered {
    pub(crate) fn sent(&self) {
        self.set(Some(UnfinishedClone { task: None }));
    }

    pub(crate) fn taken(&self, task: &MoRef) {
        self.set(Some(UnfinishedClone { task: Some(task.clone()) }));
    }

    /// vCenter said how it ended, or that it was never begun.
    pub(crate) fn over(&self) {
        self.set(None);
    }

    fn set(&self, to: Option<UnfinishedClone>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }

    fn take(&self) -> Option<UnfinishedClone> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What has the name of a clone that was given up.
#[derive(Debug)]
enum Child {
    Ours(MoRef),
    /// Nothing, or something else.
    None,
    /// It cannot be seen what.
    Unseen,
}

/// What is left of a clone that was ordered, and whether it may still appear. What cannot be seen may be there.
fn left(
    child: Child,
    unfinished: Option<UnfinishedClone>,
    ordered: Option<UnfinishedClone>,
) -> (Option<MoRef>, Option<UnfinishedClone>) {
    match child {
        Child::Ours(vm) => (Some(vm), unfinished),
        Child::None => (None, unfinished),
        Child::Unseen => (None, unfinished.or(ordered).or(Some(UnfinishedClone { task: None }))),
    }
}

impl Machines {
    /// Makes a clone, as [`Machines::clone_vm`] does. One that fails, or that is not made when `until` comes, is given up.
    pub async fn clone_or_give_up(
        &self,
        order: &CloneOrder,
        deadline: Duration,
        until: impl Future<Output = ()>,
    ) -> Result<MoRef, Box<GivenUp>> {
        let ordered = Ordered::default();
        let tracked = self.tracked(&ordered);
        let making = Box::pin(tracked.clone_vm(order, deadline, None));
        let made = tokio::select! {
            biased;
            // First: nothing is ordered any more.
            () = until => Err(CloneError::OutOfTime { name: order.name.clone() }),
            made = making => made,
        };
        match made {
            Ok(vm) => Ok(vm),
            Err(reason) => Err(Box::new(self.give_up(order, reason, &ordered).await)),
        }
    }

    async fn give_up(&self, order: &CloneOrder, reason: CloneError, ordered: &Ordered) -> GivenUp {
        let known = reason.left_behind().cloned();
        let pending = ordered.take();
        let was_ordered = pending.is_some() || matches!(reason, CloneError::OutOfTime { .. });
        let rest = async {
            let (made, unfinished) = match pending.clone() {
                Some(UnfinishedClone { task: Some(task) }) => self.cancel_clone(task).await,
                unanswered => (None, unanswered),
            };
            let vm = known.clone().or(made);
            if vm.is_some() || !was_ordered {
                return (vm, unfinished);
            }
            left(self.marked_child(order).await, unfinished, pending.clone())
        };
        let (vm, unfinished) = timeout(GIVING_UP, rest).await.unwrap_or_else(|_| match &known {
            None if was_ordered => left(Child::Unseen, None, pending.clone()),
            known => (known.clone(), pending.clone()),
        });
        GivenUp { reason, vm, unfinished }
    }

    /// The VM of that name, if it carries the mark that was ordered: another one is nobody's to judge.
    async fn marked_child(&self, order: &CloneOrder) -> Child {
        let look = async {
            let Some(vm) = child(&self.client, &order.folder, &order.name).await? else {
                return Ok::<_, CallError>(Child::None);
            };
            let notes = property_of(&self.client, &vm, "config.annotation").await?;
            let notes = notes.and_then(|node| String::from_node(node).ok());
            Ok(match notes {
                // One that is in the making does not show its notes yet.
                None => Child::Unseen,
                notes if notes == order.change.annotation => Child::Ours(vm),
                Some(_) => Child::None,
            })
        };
        look.await.unwrap_or(Child::Unseen)
    }

    /// Cancels a task that clones. What it made all the same, and whether it was not seen to end.
    async fn cancel_clone(&self, task: MoRef) -> (Option<MoRef>, Option<UnfinishedClone>) {
        // A task that has ended or cannot be cancelled refuses this; what counts is how it ends.
        if let Err(error) = self.client.call(&CancelTask { this: task.clone() }).await {
            debug!(%task, error = %rookery_daemon::telemetry::chain(&error), "task could not be cancelled");
        }
        match timeout(CANCELLED, self.end_of(&task)).await {
            Ok(Some(made)) => (made, None),
            // vCenter has forgotten it, or works on.
            Ok(None) | Err(_) => (None, Some(UnfinishedClone { task: Some(task) })),
        }
    }

    /// Waits until a task has ended, and returns what it made; none if nobody knows the task any more. It is read by
    /// itself: whoever waits for tasks was told of its end already, perhaps, and is not told twice.
    async fn end_of(&self, task: &MoRef) -> Option<Option<MoRef>> {
        loop {
            match properties_of(&self.client, task, &["info.state", "info.result"]).await {
                Ok(mut found) => {
                    let state = found.remove("info.state").and_then(|node| TaskState::from_node(node).ok());
                    match state {
                        Some(TaskState::Success) => {
                            let made = found.remove("info.result");
                            return Some(made.and_then(|node| MoRef::from_node(node).ok()));
                        }
                        Some(TaskState::Error) => return Some(None),
                        Some(TaskState::Queued | TaskState::Running | TaskState::Other(_)) | None => {}
                    }
                }
                Err(error) if error.is_not_found() => return None,
                // It is not over until somebody says so.
                Err(_) => {}
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A look that failed was taken for one that found nothing: the address was given to the next one.
    #[test]
    fn a_clone_that_cannot_be_looked_for_may_still_appear() {
        let vm = || MoRef::new("VirtualMachine", "vm-1");
        let task = |id: Option<&str>| UnfinishedClone { task: id.map(|id| MoRef::new("Task", id)) };
        let known = || Some(task(Some("task-1")));
        for (child, unfinished, ordered, expected) in [
            (Child::Ours(vm()), None, known(), (Some(vm()), None)),
            (Child::Ours(vm()), known(), known(), (Some(vm()), known())),
            (Child::None, None, known(), (None, None)),
            (Child::None, known(), known(), (None, known())),
            (Child::Unseen, None, known(), (None, known())),
            (Child::Unseen, known(), known(), (None, known())),
            (Child::Unseen, None, None, (None, Some(task(None)))),
        ] {
            let shown = format!("{child:?} {unfinished:?} {ordered:?}");
            assert_eq!(left(child, unfinished, ordered), expected, "{shown}");
        }
    }
}
