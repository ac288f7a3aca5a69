//! What people ask of the reconciler: decided first, then done, unless it is only to be said what would be done.

use crate::plan::hold::HoldRequest;
use crate::plan::{Action, Denied};
use tokio::sync::oneshot;

use super::Reconciler;

/// Where it goes what is said to whoever asked.
#[derive(Debug)]
pub struct Reply {
    to: oneshot::Sender<Result<String, Denied>>,
    /// Whether it is only to be said what would be done.
    pub dry_run: bool,
}

impl Reply {
    pub fn new(dry_run: bool) -> (Self, oneshot::Receiver<Result<String, Denied>>) {
        let (to, answer) = oneshot::channel();
        (Self { to, dry_run }, answer)
    }

    pub(super) fn tell(self, told: Result<String, Denied>) {
        self.to.send(told).ok();
    }
}

/// What will be done for whoever asked. Nothing of it has begun.
#[derive(Debug)]
pub(super) struct Intended {
    /// What is said once it is done.
    pub(super) told: String,
    /// The wishes to be written down first.
    pub(super) wishes: Option<Vec<HoldRequest>>,
    pub(super) actions: Vec<Action>,
}

impl Intended {
    pub(super) fn action(told: String, action: Action) -> Self {
        Self { told, wishes: None, actions: vec![action] }
    }
}

impl Reconciler {
    /// Does what was decided, and tells whoever asked once all of it is done.
    pub(super) fn carry_out(&mut self, decided: Result<Intended, Denied>, reply: Reply) {
        let begun = decided.and_then(|Intended { told, wishes, actions }| {
            if reply.dry_run {
                return Ok((told, Vec::new()));
            }
            if let Some(wishes) = wishes {
                self.write_down(wishes)?;
            }
            Ok((told, actions.into_iter().map(|action| self.start_asked(action)).collect()))
        });
        let (told, asked) = match begun {
            Ok(begun) => begun,
            Err(why) => return reply.tell(Err(why)),
        };
        self.supervisor.spawn_until_stopped("answer to whoever asked", async move {
            let mut failures = Vec::new();
            for one in asked {
                match one.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => failures.push(error),
                    Err(_) => failures.push("it was interrupted before it was done".to_owned()),
                }
            }
            reply.tell(if failures.is_empty() { Ok(told) } else { Err(failures.join("; ").into()) });
        });
    }

    /// Starts an action that somebody asked for; how it has ended comes back.
    fn start_asked(&mut self, action: Action) -> oneshot::Receiver<Result<(), String>> {
        let (tell, told) = oneshot::channel();
        self.start_action(action, Some(tell));
        told
    }
}
