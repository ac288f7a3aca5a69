//! A login that is shared by all calls and renewed by one of them when the server has forgotten it. How to log in is
//! the caller's business.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::CallError;

/// vCenter locks accounts after a few wrong passwords; a password that was refused is not tried again before this.
const AFTER_REFUSAL: Duration = Duration::from_secs(60);
/// Callers that queued up behind a failed login share its failure instead of trying one after the other.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// One login at a time. `T` is what identifies it to the server.
#[derive(Debug, Default)]
pub(crate) struct Renewal<T> {
    current: watch::Sender<Current<T>>,
    /// Held while logging in or out: whoever waits for it finds a renewed login, or a fresh failure.
    gate: tokio::sync::Mutex<Gate>,
}

/// What a call needs to know: what it shows to the server, and which login that is.
#[derive(Clone, Default)]
pub(crate) struct Current<T> {
    pub(crate) generation: u64,
    pub(crate) token: Option<T>,
}

impl<T> fmt::Debug for Current<T> {
    /// The token opens the session to anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current").field("generation", &self.generation).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: bool,
    failed: Option<(Instant, CallError)>,
}

impl<T: Clone> Renewal<T> {
    /// The login to use for the next call.
    pub(crate) fn current(&self) -> Current<T> {
        self.current.borrow().clone()
    }

    /// Waits until another login has taken the place of this one.
    pub(crate) async fn is_replaced(&self, generation: u64) {
        let mut logins = self.current.subscribe();
        // The sender lives as long as this.
        logins.wait_for(|current| current.generation != generation).await.ok();
    }

    /// Logs in unless somebody else did since `used` was current.
    pub(crate) async fn renew(
        &self,
        used: u64,
        for_method: &'static str,
        login: impl Future<Output = Result<T, CallError>>,
    ) -> Result<(), CallError> {
        let mut gate = self.gate.lock().await;
        if gate.closed {
            return Err(CallError::Closed { method: for_method });
        }
        if self.current().generation != used {
            return Ok(());
        }
        if let Some((until, error)) = &gate.failed
            && Instant::now() < *until
        {
            return Err(error.clone());
        }
        match login.await {
            Ok(token) => {
                gate.failed = None;
                self.put(Some(token));
                Ok(())
            }
            Err(error) => {
                let pause = if matches!(error, CallError::Credentials { .. }) {
                    AFTER_REFUSAL
                } else {
                    AFTER_FAILURE
                };
                gate.failed = Some((Instant::now() + pause, error.clone()));
                Err(error)
            }
        }
    }

    /// Logs in otherwise than before. What was current goes on until then, and is to be ended after it; if the login
    /// fails, it goes on.
    pub(crate) async fn replace(
        &self,
        for_method: &'static str,
        login: impl Future<Output = Result<T, CallError>>,
    ) -> Result<Option<T>, CallError> {
        let mut gate = self.gate.lock().await;
        if gate.closed {
            return Err(CallError::Closed { method: for_method });
        }
        let token = login.await?;
        gate.failed = None;
        Ok(self.put(Some(token)))
    }

    /// Whoever comes next logs in. What was current is to be ended.
    pub(crate) async fn forget(&self) -> Option<T> {
        let mut gate = self.gate.lock().await;
        gate.failed = None;
        self.put(None)
    }

    /// No login comes after this. What was current is to be ended, while the gate is held.
    pub(crate) async fn close(&self) -> (tokio::sync::MutexGuard<'_, Gate>, Option<T>) {
        let mut gate = self.gate.lock().await;
        gate.closed = true;
        let mut token = None;
        self.current.send_modify(|current| token = current.token.take());
        (gate, token)
    }

    /// Another login from now on; gives the one before.
    fn put(&self, mut token: Option<T>) -> Option<T> {
        self.current.send_modify(|current| {
            current.generation += 1;
            std::mem::swap(&mut current.token, &mut token);
        });
        token
    }
}
