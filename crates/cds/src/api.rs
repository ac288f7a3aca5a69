//! One request to the API and its answer: headers, deadline, and what a failure means.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderName};
use jiff::{SignedDuration, Timestamp};
use rookery_daemon::{Clock, Lease, Tally};
use rookery_dial::{Dial, Http, HttpError, read_whole, whole};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};
use tracing::debug;

use crate::address::ApiAddress;
use crate::class::{changes_something, class};
use crate::error::CdsError;
use crate::json;
use crate::pace::CallTimes;

/// A queue of thousands of jobs with all of their parameters fits.
const MAX_ANSWER: usize = 32 << 20;

/// The second name under which the date is sent.
pub(crate) const REMOTE_TIME: HeaderName = HeaderName::from_static("x-cds-remotetime");
const API_TIME: HeaderName = HeaderName::from_static("x-api-time");

/// The API, without any session.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) address: ApiAddress,
    pub(crate) dial: Arc<dyn Dial>,
    http: Http,
    pub(crate) clock: Clock,
    pub(crate) lease: Lease,
    pub(crate) request_timeout: Duration,
    pub(crate) requests: Tally,
    pub(crate) times: CallTimes,
    /// How many seconds its clock is ahead of ours, as its last answer told.
    pub(crate) ahead: AtomicI64,
}

#[derive(Clone)]
pub(crate) struct Call {
    /// What it tries to do, as it follows "the request to".
    pub(crate) what: String,
    method: Method,
    path: String,
    body: Bytes,
    pub(crate) repeat: Repeat,
}

/// Which connection a request goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Kept,
    /// A request on a connection that the server is closing may or may not have been carried out, so that whatever
    /// changes something has its own.
    Fresh,
}

/// Whether a request whose answer was lost may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It leaves the same behind however often it is carried out.
    Harmless,
    /// Only if it is certain that it was not carried out.
    IfNotDone,
    /// Not here: whoever calls finds out what happened.
    Never,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) what: String,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn get(what: impl Into<String>, path: impl Into<String>) -> Self {
        Self::new(what, Method::GET, path, Repeat::Harmless)
    }

    pub(crate) fn new(
        what: impl Into<String>,
        method: Method,
        path: impl Into<String>,
        repeat: Repeat,
    ) -> Self {
        Self { what: what.into(), method, path: path.into(), body: Bytes::new(), repeat }
    }

    pub(crate) fn with(self, body: &impl Serialize) -> Result<Self, CdsError> {
        let body = serde_json::to_vec(body);
        let unsent = |reason: serde_json::Error| CdsError::NotUnderstood {
            what: self.what.clone(),
            reason: reason.to_string(),
        };
        let body = body.map_err(unsent)?.into();
        Ok(Self { body, ..self })
    }
}

impl fmt::Debug for Call {
    /// The body of a sign-in holds a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

impl Answer {
    /// The object in it.
    pub(crate) fn object<T: DeserializeOwned>(&self) -> Result<T, CdsError> {
        json::read(&self.body).map_err(|error| self.not_understood(&error))
    }

    /// The list in it.
    pub(crate) fn list<T: DeserializeOwned>(&self) -> Result<Vec<T>, CdsError> {
        json::read_list(&self.body).map_err(|error| self.not_understood(&error))
    }

    fn not_understood(&self, error: &serde_json::Error) -> CdsError {
        CdsError::NotUnderstood { what: self.what.clone(), reason: error.to_string() }
    }
}

impl Api {
    pub(crate) fn new(
        address: ApiAddress,
        dial: Arc<dyn Dial>,
        user_agent: &str,
        clock: Clock,
        lease: Lease,
        request_timeout: Duration,
    ) -> Self {
        let http = Http::new(address.endpoint(), Arc::clone(&dial), user_agent);
        let (requests, times, ahead) = (Tally::default(), CallTimes::default(), AtomicI64::default());
        Self { address, dial, http, clock, lease, request_timeout, requests, times, ahead }
    }

    /// What time it is by the clock of the API.
    pub(crate) fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed));
        let now = self.clock.now();
        now.saturating_add(ahead).unwrap_or(now)
    }

    /// Sends a request once. A read goes over a connection that is kept.
    pub(crate) async fn send(&self, call: &Call, token: Option<&SecretString>) -> Result<Answer, CdsError> {
        let way = if call.method == Method::GET { Way::Kept } else { Way::Fresh };
        self.send_by(way, call, token).await
    }

    /// Sends a request once, over a connection of its own.
    pub(crate) async fn send_freshly(
        &self,
        call: &Call,
        token: Option<&SecretString>,
    ) -> Result<Answer, CdsError> {
        self.send_by(Way::Fresh, call, token).await
    }

    async fn send_by(&self, way: Way, call: &Call, token: Option<&SecretString>) -> Result<Answer, CdsError> {
        let outcome = self.send_uncounted(way, call, token).await;
        let how = outcome.as_ref().map_or_else(CdsError::as_str, |_| "done");
        self.requests.count(class(&call.method, &call.path), how);
        outcome
    }

    async fn send_uncounted(
        &self,
        way: Way,
        call: &Call,
        token: Option<&SecretString>,
    ) -> Result<Answer, CdsError> {
        let deadline = self.request_timeout;
        let exchange = loop {
            self.may_send(call).await?;
            // What we waited for before is not how CDS is doing.
            let begun = Instant::now();
            let exchange = timeout(deadline, self.exchange(way, call, token)).await;
            if let Ok(Err(HttpError::Withheld)) = exchange {
                continue;
            }
            self.times.ended(begun);
            break exchange;
        };
        let (status, body) = exchange
            .unwrap_or(Err(HttpError::TimedOut(deadline)))
            .map_err(|error| CdsError::of_http(&call.what, error))?;
        debug!(method = %call.method, path = call.path, status, bytes = body.len(), "called CDS");
        if (200..300).contains(&status) {
            Ok(Answer { what: call.what.clone(), body })
        } else {
            Err(CdsError::of_answer(&call.what, status, &body))
        }
    }

    fn is_allowed(&self, call: &Call) -> bool {
        !changes_something(&call.method, &call.path) || self.lease.is_held(None)
    }

    /// Waits for the lease that a request which changes something needs.
    async fn may_send(&self, call: &Call) -> Result<(), CdsError> {
        if self.is_allowed(call) {
            return Ok(());
        }
        match timeout(self.request_timeout, self.lease.held(None)).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(CdsError::NoLease { what: call.what.clone() }),
        }
    }

    async fn exchange(
        &self,
        way: Way,
        call: &Call,
        token: Option<&SecretString>,
    ) -> Result<(u16, Bytes), HttpError> {
        let date = date(self.clock.now());
        let bearer = token.map(bearer);
        // No Accept: for some routes JSON is what comes without it.
        let mut headers = vec![
            (CONTENT_TYPE, "application/json"),
            (ACCEPT_ENCODING, "gzip"),
            (DATE, date.as_str()),
            (REMOTE_TIME, date.as_str()),
        ];
        headers.extend(bearer.as_deref().map(|bearer| (AUTHORIZATION, bearer)));
        let path = self.address.route(&call.path);
        let (method, body) = (call.method.clone(), whole(call.body.clone()));
        let may_send = || self.is_allowed(call);
        let response = match way {
            Way::Kept => self.http.send(method, &path, &headers, body).await?,
            Way::Fresh => self.http.send_alone(method, &path, &headers, body, may_send).await?,
        };
        let status = response.status().as_u16();
        let told = response.headers().get(API_TIME).and_then(|time| time.to_str().ok());
        if let Some(told) = told.and_then(|time| time.parse::<Timestamp>().ok()) {
            let ahead = told.as_second().saturating_sub(self.clock.now().as_second());
            self.ahead.store(ahead, Ordering::Relaxed);
        }
        Ok((status, read_whole(response, MAX_ANSWER).await?))
    }
}

/// The value of the header that carries a session.
pub(crate) fn bearer(token: &SecretString) -> String {
    format!("Bearer {}", token.expose_secret())
}

/// A date as CDS's own clients write it: without the day of the week.
pub(crate) fn date(now: Timestamp) -> String {
    now.strftime("%-d %b %Y %H:%M:%S +0000").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_no_weekday_and_no_leading_zero() {
        assert_eq!(date("2026-11-05T07:10:00.9Z".parse().unwrap()), "5 Nov 2026 07:10:00 +0000");
        assert_eq!(date("2026-06-23T21:00:01Z".parse().unwrap()), "23 Jun 2026 21:00:01 +0000");
    }
}
