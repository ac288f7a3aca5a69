//! vCenter's REST service, for what the SOAP interface does not have: a session of its own, and JSON.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName};
use hyper::{Method, StatusCode};
use rookery_daemon::telemetry::chain;
use secrecy::ExposeSecret;
use serde::Deserialize;
use tracing::{debug, info, warn};

use crate::client::{Reply, Wire};
use crate::error::CallError;
use crate::renewal::{Current, Renewal};
use crate::session::{Credentials, LoginAs};

const SESSION: &str = "/rest/com/vmware/cis/session";
const SESSION_ID: HeaderName = HeaderName::from_static("vmware-api-session-id");

#[derive(Debug)]
pub(crate) struct Request {
    /// For errors and the log.
    pub(crate) what: &'static str,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// JSON, if there is a body.
    pub(crate) body: Option<String>,
}

/// The REST session of a client. There is none until somebody needs it.
#[derive(Debug, Default)]
pub(crate) struct RestSession(Renewal<String>);

impl RestSession {
    /// The login to use for the next request.
    pub(crate) fn current(&self) -> Current<String> {
        self.0.current()
    }

    /// Logs in unless somebody else did since `used` was current.
    pub(crate) async fn renew(
        &self,
        wire: &Wire,
        login: &LoginAs,
        used: u64,
        what: &'static str,
    ) -> Result<(), CallError> {
        self.0.renew(used, what, async { log_in(wire, &login.current()).await }).await
    }

    /// Ends the session, if there is one. Later requests fail instead of logging in again.
    pub(crate) async fn close(&self, wire: &Wire) -> Result<(), CallError> {
        let (_gate, id) = self.0.close().await;
        log_out(wire, id).await
    }

    /// Ends the session, if there is one. The next request logs in again.
    pub(crate) async fn forget(&self, wire: &Wire) {
        if let Err(error) = log_out(wire, self.0.forget().await).await {
            warn!(error = %chain(&error), "could not end the previous REST session; vCenter ends it when it has been idle");
        }
    }
}

async fn log_out(wire: &Wire, session: Option<String>) -> Result<(), CallError> {
    let Some(id) = session else { return Ok(()) };
    let what = "the REST logout";
    let logout = Request { what, method: Method::DELETE, path: SESSION.to_owned(), body: None };
    let Reply { status, .. } = send(wire, &logout, (SESSION_ID, &id), wire.deadlines.call).await?;
    // A session that the server has forgotten is ended, too.
    if status.is_success() || status == StatusCode::UNAUTHORIZED {
        Ok(())
    } else {
        Err(CallError::Unavailable { method: what, status })
    }
}

async fn log_in(wire: &Wire, credentials: &Credentials) -> Result<String, CallError> {
    let Credentials { user, password } = credentials;
    let what = "the REST login";
    let login = Request { what, method: Method::POST, path: SESSION.to_owned(), body: None };
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{}", password.expose_secret())));
    let Reply { status, body, .. } =
        send(wire, &login, (AUTHORIZATION, &basic), wire.deadlines.login).await?;
    if status == StatusCode::UNAUTHORIZED {
        return Err(credentials.refused(wire));
    }
    // Not even the reason of a mistake is told: it may quote the session.
    let granted: Option<Granted> = serde_json::from_slice(&body).ok().filter(|_| status.is_success());
    let Granted { value } = granted.ok_or(CallError::Unavailable { method: what, status })?;
    info!(user = %user, "logged in to vCenter's REST service");
    Ok(value)
}

#[derive(Deserialize)]
struct Granted {
    value: String,
}

/// One request within a session; that the session has expired shows in the status.
pub(crate) async fn ask(wire: &Wire, request: &Request, session: &str) -> Result<Reply, CallError> {
    send(wire, request, (SESSION_ID, session), wire.deadlines.call).await
}

async fn send(
    wire: &Wire,
    request: &Request,
    who: (HeaderName, &str),
    deadline: Duration,
) -> Result<Reply, CallError> {
    let Request { what, method, path, body } = request;
    let mut headers = vec![(ACCEPT, "application/json"), who];
    headers.extend(body.as_ref().map(|_| (CONTENT_TYPE, "application/json")));
    let body = body.clone().unwrap_or_default();
    let answer = wire.request(what, method.clone(), path, headers, body, deadline).await?;
    let status = answer.status;
    debug!(what, status = status.as_u16(), bytes = answer.body.len(), "asked vCenter's REST service");
    if status.is_server_error() {
        return Err(CallError::Unavailable { method: what, status });
    }
    Ok(answer)
}
