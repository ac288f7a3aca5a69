//! One login, shared by all calls and renewed by one of them when the server has forgotten it.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rookery_vim::methods::{Login, Logout};
use rookery_vim::objects::UserSession;
use rookery_vim::{FaultKind, Hidden, MoRef};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use tracing::info;

use crate::client::Wire;
use crate::error::CallError;

/// vCenter locks accounts after a few wrong passwords; a password that was refused is not tried again before this.
const AFTER_REFUSAL: Duration = Duration::from_secs(60);
/// Callers that queued up behind a failed login share its failure instead of trying one after the other.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The session of a client.
#[derive(Debug)]
pub(crate) struct Session {
    manager: MoRef,
    user: String,
    password: SecretString,
    current: Mutex<Current>,
    /// Held while logging in or out: whoever waits for it finds a renewed session, or a fresh failure.
    gate: tokio::sync::Mutex<Gate>,
}

/// What a call needs to know: the cookie it sends, and which login that is.
#[derive(Clone, Default)]
pub(crate) struct Current {
    pub(crate) generation: u64,
    pub(crate) cookie: Option<String>,
    pub(crate) key: Option<String>,
}

impl fmt::Debug for Current {
    /// The cookie and the key open the session to anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current").field("generation", &self.generation).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Gate {
    closed: bool,
    failed: Option<(Instant, CallError)>,
}

impl Session {
    pub(crate) fn new(manager: MoRef, user: String, password: SecretString) -> Self {
        Self { manager, user, password, current: Mutex::default(), gate: tokio::sync::Mutex::default() }
    }

    /// The login to use for the next call.
    pub(crate) fn current(&self) -> Current {
        self.lock().clone()
    }

    /// Logs in unless somebody else did since `used` was current.
    pub(crate) async fn renew(
        &self,
        wire: &Wire,
        used: u64,
        for_method: &'static str,
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
        match self.login(wire).await {
            Ok((session, cookie)) => {
                gate.failed = None;
                let generation = used + 1;
                info!(user = %self.user, generation, "logged in to vCenter");
                *self.lock() = Current { generation, cookie: Some(cookie), key: Some(session.key.0) };
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

    /// Logs out. Later calls fail instead of logging in again.
    pub(crate) async fn close(&self, wire: &Wire) -> Result<(), CallError> {
        let mut gate = self.gate.lock().await;
        gate.closed = true;
        let Some(cookie) = self.lock().cookie.take() else { return Ok(()) };
        let logout = Logout { this: self.manager.clone() };
        match wire.call(&logout, Some(&cookie), wire.deadlines.call).await {
            Ok(_) => Ok(()),
            Err(error) if error.is(FaultKind::NotAuthenticated) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Without a cookie: a login on a live session is refused as if the password were wrong.
    async fn login(&self, wire: &Wire) -> Result<(UserSession, String), CallError> {
        let login = Login {
            this: self.manager.clone(),
            user_name: self.user.clone(),
            password: Hidden(self.password.expose_secret().to_owned()),
            locale: Some("en_US".into()),
        };
        let (session, cookie) = wire.call(&login, None, wire.deadlines.login).await.map_err(|error| {
            if error.is(FaultKind::InvalidLogin) {
                CallError::Credentials { endpoint: wire.endpoint.to_string(), user: self.user.clone() }
            } else {
                error
            }
        })?;
        // Without a cookie the key itself is what identifies the session.
        let cookie = cookie.unwrap_or_else(|| format!("vmware_soap_session={}", session.key.0));
        Ok((session, cookie))
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
