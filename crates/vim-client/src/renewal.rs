//! A login that is shared by all calls and renewed by one of them when the server has forgotten it. How to log in is
//! the caller's business.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::CallError;

/// vCenter locks accounts after a few wrong passwords; a password that was refused is not tried again before this.
const AFTER_REFUSAL: Duration = Duration::from_secs(60);
/// Callers that queued up behind a failed login share its failure instead of trying one after the other.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// One login at a time. `T` is what identifies it to the server.
#[derive(Debug, Default)]
pub(crate) struct Renewal<T> {
    current: Mutex<Current<T>>,
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
        self.with_current(|current| current.clone())
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
                let renewed = Current { generation: used + 1, token: Some(token) };
                self.with_current(|current| *current = renewed);
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

    /// No login comes after this. What was current is to be ended, while the gate is held.
    pub(crate) async fn close(&self) -> (tokio::sync::MutexGuard<'_, Gate>, Option<T>) {
        let mut gate = self.gate.lock().await;
        gate.closed = true;
        let token = self.with_current(|current| current.token.take());
        (gate, token)
    }

    fn with_current<R>(&self, work: impl FnOnce(&mut Current<T>) -> R) -> R {
        work(&mut self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
