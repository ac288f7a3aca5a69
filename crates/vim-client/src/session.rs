//! The SOAP session, and who logs in.

use std::fmt;
use std::sync::Arc;

use rookery_vim::methods::{Login, Logout};
use rookery_vim::{FaultKind, Hidden, MoRef};
use secrecy::{ExposeSecret, SecretString};
use tracing::info;

use crate::client::Wire;
use crate::error::CallError;
use crate::renewal::{Current, Renewal};

/// Who logs in.
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

/// The session of a client.
#[derive(Debug)]
pub(crate) struct Session {
    manager: MoRef,
    login: Renewal<Arc<Token>>,
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
        Self { manager, login: Renewal::default() }
    }

    /// The login to use for the next call.
    pub(crate) fn current(&self) -> Current<Arc<Token>> {
        self.login.current()
    }

    /// Logs in unless somebody else did since `used` was current.
    pub(crate) async fn renew(
        &self,
        wire: &Wire,
        credentials: &Credentials,
        used: u64,
        for_method: &'static str,
    ) -> Result<(), CallError> {
        self.login.renew(used, for_method, self.log_in(wire, credentials)).await
    }

    /// Logs out. Later calls fail instead of logging in again.
    pub(crate) async fn close(&self, wire: &Wire) -> Result<(), CallError> {
        let (_gate, token) = self.login.close().await;
        let Some(token) = token else { return Ok(()) };
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
        Ok(Arc::new(Token { cookie, key: session.key.0 }))
    }
}
