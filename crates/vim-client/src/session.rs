//! The SOAP session, and who logs in.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rookery_daemon::telemetry::chain;
use rookery_vim::methods::{Login, Logout, Method as _};
use rookery_vim::{FaultKind, Hidden, MoRef};
use secrecy::{ExposeSecret, SecretString};
use tracing::{info, warn};

use crate::client::Wire;
use crate::error::CallError;
use crate::renewal::{Current, Renewal};

#[derive(Debug)]
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: SecretString,
}

impl Credentials {
    /// That the server did not take them.
    pub(crate) fn refused(&self, wire: &Wire) -> CallError {
        CallError::Credentials { endpoint: wire.endpoint.to_string(), user: self.user.clone() }
    }
}

/// Who logs in next. It is asked when a login begins, not when somebody decides to wait for one.
#[derive(Debug)]
pub(crate) struct LoginAs(Mutex<Arc<Credentials>>);

impl LoginAs {
    pub(crate) fn new(credentials: Credentials) -> Self {
        Self(Mutex::new(Arc::new(credentials)))
    }

    pub(crate) fn current(&self) -> Arc<Credentials> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, credentials: Credentials) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(credentials);
    }
}

/// So many keys of sessions are remembered. One that is forgotten and still listed is nobody's that we know.
const REMEMBERED: usize = 64;

/// The session of a client.
pub(crate) struct Session {
    manager: MoRef,
    login: Renewal<Arc<Token>>,
    /// The keys of this session and of those before: vCenter lists one for a while after its successor has begun.
    held: Mutex<VecDeque<String>>,
}

impl fmt::Debug for Session {
    /// A key opens its session to anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("login", &self.login).finish_non_exhaustive()
    }
}

/// What identifies the session: in calls, and in vCenter's session list.
#[derive(Default)]
pub(crate) struct Token {
    pub(crate) cookie: String,
    pub(crate) key: String,
}

impl fmt::Debug for Token {
    /// Both open the session to anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(manager: MoRef) -> Self {
        Self { manager, login: Renewal::default(), held: Mutex::default() }
    }

    /// The login to use for the next call.
    pub(crate) fn current(&self) -> Current<Arc<Token>> {
        self.login.current()
    }

    /// The keys of all sessions that this client has had lately, also of those that are over.
    pub(crate) fn held(&self) -> Vec<String> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Waits until another login has taken the place of this one.
    pub(crate) async fn is_replaced(&self, generation: u64) {
        self.login.is_replaced(generation).await;
    }

    /// Logs in unless somebody else did since `used` was current.
    pub(crate) async fn renew(
        &self,
        wire: &Wire,
        login: &LoginAs,
        used: u64,
        for_method: &'static str,
    ) -> Result<(), CallError> {
        let renewed = async { self.log_in(wire, &login.current()).await };
        self.login.renew(used, for_method, renewed).await
    }

    /// Logs in as somebody else, who logs in from now on, and ends the session before. After a failure nothing changes,
    /// unless it is one after which the next login is to try the same.
    pub(crate) async fn change(
        &self,
        wire: &Wire,
        login: &LoginAs,
        to: Credentials,
        is_tried_next: fn(&CallError) -> bool,
    ) -> Result<(), CallError> {
        let changed = async {
            let outcome = self.log_in(wire, &to).await;
            if outcome.as_ref().err().is_none_or(is_tried_next) {
                login.change(to);
            }
            outcome
        };
        let before = self.login.replace(Login::NAME, changed).await?;
        if let Err(error) = self.log_out(wire, before).await {
            warn!(error = %chain(&error), "could not end the previous session; vCenter ends it when it has been idle");
        }
        Ok(())
    }

    /// Logs out. Later calls fail instead of logging in again.
    pub(crate) async fn close(&self, wire: &Wire) -> Result<(), CallError> {
        let (_gate, token) = self.login.close().await;
        self.log_out(wire, token).await
    }

    async fn log_out(&self, wire: &Wire, session: Option<Arc<Token>>) -> Result<(), CallError> {
        let Some(token) = session else { return Ok(()) };
        let logout = Logout { this: self.manager.clone() };
        match wire.call(&logout, Some(&token.cookie), wire.deadlines.call).await {
            Ok(_) => Ok(()),
            Err(error) if error.is(FaultKind::NotAuthenticated) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Without a cookie: a login on a live session is refused as if the password were wrong.
    async fn log_in(&self, wire: &Wire, credentials: &Credentials) -> Result<Arc<Token>, CallError> {
        let login = Login {
            this: self.manager.clone(),
            user_name: credentials.user.clone(),
            password: Hidden(credentials.password.expose_secret().to_owned()),
            locale: Some("en_US".into()),
        };
        let (session, cookie) = wire.call(&login, None, wire.deadlines.login).await.map_err(|error| {
            if error.is(FaultKind::InvalidLogin) { credentials.refused(wire) } else { error }
        })?;
        info!(user = %credentials.user, "logged in to vCenter");
        // Without a cookie the key itself is what identifies the session.
        let cookie = cookie.unwrap_or_else(|| format!("vmware_soap_session={}", session.key.0));
        self.hold(session.key.0.clone());
        Ok(Arc::new(Token { cookie, key: session.key.0 }))
    }

    fn hold(&self, key: String) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() == REMEMBERED {
            held.pop_front();
        }
        held.push_back(key);
    }
}
