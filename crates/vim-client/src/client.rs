//! The client: calls with a session, retries and deadlines.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, SET_COOKIE};
use hyper::{Response, StatusCode};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rookery_daemon::telemetry::chain;
use rookery_daemon::{Backoff, Lease, Supervisor, Tally};
use rookery_dial::{Body, Dial, Http, HttpError, Proxies, read_whole, whole};
use rookery_vim::envelope::{self, AnswerError, service_instance};
use rookery_vim::methods::{
    CancelWaitForUpdates, Login, Logout, Method, RetrieveServiceContent, WaitForUpdatesEx,
};
use rookery_vim::objects::ServiceContent;
use rookery_vim::{FaultKind, Limits};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::debug;

use crate::changing::changes_something;
use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::rate::Rate;
use crate::rest::{self, RestSession};
use crate::session::{Credentials, LoginAs, Session};
use crate::uuid::Uuid;
use crate::version::negotiate;

/// Repeatable calls are tried this often beyond the first time.
pub(crate) const RETRIES: Backoff =
    Backoff { first: Duration::from_millis(200), cap: Duration::from_secs(2), attempts: Some(3) };

/// What no limit holds up: a long poll costs a server little, and a session is not kept or ended late.
const GOES_AT_ONCE: [&str; 4] =
    [WaitForUpdatesEx::NAME, CancelWaitForUpdates::NAME, Login::NAME, Logout::NAME];

/// How large the list of versions may be: whoever is no vCenter may have a long page there.
const VERSIONS: usize = 1 << 20;

/// What all requests beside the SOAP interface are counted as.
const REST: &str = "REST";

/// What a client needs to know.
#[derive(Debug)]
pub struct Options {
    pub endpoint: Endpoint,
    pub user: String,
    pub password: SecretString,
    /// What an administrator sees in vCenter's session list.
    pub user_agent: String,
    /// How long to wait.
    pub deadlines: Deadlines,
    /// How large an answer may be.
    pub limits: Limits,
    /// How many SOAP calls are sent in a second, if there is a limit. Those beyond it wait for their turn, before their
    /// deadline begins. A second in which nothing was called may be made up for at once.
    pub calls_per_second: Option<NonZeroU32>,
    /// What calls that change something need, and need anew after each login.
    pub lease: Lease,
    /// Where jitter and operation names come from.
    pub random: StdRng,
}

/// How long to wait for answers.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    pub call: Duration,
    /// A login: it may take the way over a directory service.
    pub login: Duration,
    /// A page of a retrieve, or of the inventory's first load.
    pub page: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { call: Duration::from_secs(15), login: Duration::from_secs(60), page: Duration::from_secs(120) }
    }
}

/// A logged-in client. Clones share the session.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wire: Wire,
    login: LoginAs,
    session: Session,
    rest: RestSession,
    content: ServiceContent,
    lease: Lease,
    random: Mutex<StdRng>,
    logins: Supervisor,
}

impl Client {
    /// Finds out which version the server speaks, and logs in.
    pub async fn connect(options: Options, dial: Arc<dyn Dial>) -> Result<Self, CallError> {
        let mut random = options.random;
        let mut wire = Wire {
            http: Http::new(&options.endpoint, dial, &options.user_agent),
            endpoint: options.endpoint,
            soap_action: String::new(),
            deadlines: options.deadlines,
            limits: options.limits,
            rate: options.calls_per_second.map(Rate::new),
            operations: format!("rookery-{:08x}", random.random::<u32>()),
            operation: AtomicU64::new(0),
            requests: Tally::default(),
        };
        let content = wire.greeted().await?;
        let manager = content
            .session_manager
            .clone()
            .ok_or(CallError::Unavailable { method: RetrieveServiceContent::NAME, status: StatusCode::OK })?;
        let login = LoginAs::new(Credentials { user: options.user, password: options.password });
        let session = Session::new(manager);
        session.renew(&wire, &login, 0, Login::NAME).await?;
        let (rest, lease, random) = (RestSession::default(), options.lease, Mutex::new(random));
        let logins = Supervisor::new();
        Ok(Self(Arc::new(Inner { wire, login, session, rest, content, lease, random, logins })))
    }

    /// The server's well-known objects.
    pub fn content(&self) -> &ServiceContent {
        &self.0.content
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.0.wire.endpoint
    }

    /// The API version that was agreed on.
    pub fn api_version(&self) -> &str {
        self.0.wire.soap_action.trim_start_matches("urn:vim25/")
    }

    /// How long this client waits.
    pub fn deadlines(&self) -> Deadlines {
        self.0.wire.deadlines
    }

    pub fn user(&self) -> String {
        self.0.login.current().user.clone()
    }

    /// Whether this is the password that it logs in with.
    pub fn logs_in_with(&self, password: &SecretString) -> bool {
        self.0.login.current().password.expose_secret() == password.expose_secret()
    }

    /// How many requests were sent, by method and by what came of them ([`CallError::as_str`], or `done`).
    pub fn requests(&self) -> &Tally {
        &self.0.wire.requests
    }

    /// The key of the current session, as vCenter's session list shows it.
    pub fn session_key(&self) -> Option<String> {
        self.login().map(|(_, key)| key)
    }

    /// The number of the current login, as a lease is granted to it, and the key of its session.
    pub fn login(&self) -> Option<(u64, String)> {
        let current = self.0.session.current();
        current.token.map(|token| (current.generation, token.key.clone()))
    }

    /// The keys of all sessions that this client has had lately, also of those that are over: vCenter may still list them.
    pub fn held_session_keys(&self) -> Vec<String> {
        self.0.session.held()
    }

    /// Waits until another login has taken the place of this one.
    pub async fn logs_in_again(&self, login: u64) {
        self.0.session.is_replaced(login).await;
    }

    /// Calls with the ordinary deadline.
    pub async fn call<M: Method>(&self, method: &M) -> Result<M::Output, CallError> {
        self.call_within(method, self.0.wire.deadlines.call).await
    }

    /// Calls; an expired session is renewed once. Repeatable methods are repeated after transient failures.
    pub async fn call_within<M: Method>(
        &self,
        method: &M,
        deadline: Duration,
    ) -> Result<M::Output, CallError> {
        let mut delays = RETRIES.delays(self.fork_random());
        loop {
            match self.call_once(method, deadline).await {
                // Whoever was refused a lease has waited for it already.
                Err(error @ CallError::NoLease { .. }) => return Err(error),
                Err(error) if M::REPEATABLE && error.is_transient() => match delays.next() {
                    Some(delay) => {
                        debug!(method = M::NAME, error = %chain(&error), "repeating a call");
                        tokio::time::sleep(delay).await;
                    }
                    None => return Err(error),
                },
                result => return result,
            }
        }
    }

    /// Calls without repeating after a failure; an expired session is still renewed once, since nothing was done.
    pub async fn call_once<M: Method>(&self, method: &M, deadline: Duration) -> Result<M::Output, CallError> {
        let Inner { wire, session, .. } = &*self.0;
        let used = session.current();
        if let Some(token) = used.token
            && self.may_send::<M>(used.generation, deadline).await?
        {
            // A server need not end the long poll of a session that has ended; the new session knows nothing of it.
            let replaced: BoxFuture<'_, ()> = if M::NAME == WaitForUpdatesEx::NAME {
                session.is_replaced(used.generation).boxed()
            } else {
                pending().boxed()
            };
            tokio::select! {
                biased;
                result = wire.call(method, Some(&token.cookie), deadline) => match result {
                    Err(error) if error.is(FaultKind::NotAuthenticated) => {}
                    result => return result.map(|(output, _)| output),
                },
                () = replaced => {}
            }
        }
        let inner = Arc::clone(&self.0);
        self.log_in(M::NAME, async move {
            inner.session.renew(&inner.wire, &inner.login, used.generation, M::NAME).await
        })
        .await?;
        // Somebody else may have acted since the session before has ended: the lease is another one, too.
        let renewed = session.current();
        if !self.may_send::<M>(renewed.generation, deadline).await? {
            return Err(CallError::NoLease { method: M::NAME });
        }
        wire.call(method, renewed.token.as_ref().map(|token| token.cookie.as_str()), deadline)
            .await
            .map(|(output, _)| output)
    }

    /// Waits for the lease that a call which changes something needs; `false` if another login takes the place of this
    /// one meanwhile.
    async fn may_send<M: Method>(&self, login: u64, patience: Duration) -> Result<bool, CallError> {
        let lease = &self.0.lease;
        if !changes_something::<M>() || lease.is_held(Some(login)) {
            return Ok(true);
        }
        let granted = async {
            tokio::select! {
                biased;
                granted = lease.held(Some(login)) => granted.then_some(true),
                () = self.0.session.is_replaced(login) => Some(false),
            }
        };
        let granted = timeout(patience, granted).await.ok().flatten();
        granted.ok_or(CallError::NoLease { method: M::NAME })
    }

    /// The same for requests beside the SOAP interface, which do not wait.
    fn may_request(&self, what: &'static str, method: &hyper::Method) -> Result<(), CallError> {
        let reads = [hyper::Method::GET, hyper::Method::HEAD].contains(method);
        let login = self.0.session.current().generation;
        if reads || self.0.lease.is_held(Some(login)) {
            Ok(())
        } else {
            Err(CallError::NoLease { method: what })
        }
    }

    /// One request beside the SOAP interface, with the session's cookie; the body of its answer is still to be read. A
    /// session that expired shows in the answer's status.
    pub(crate) async fn send(
        &self,
        what: &'static str,
        method: hyper::Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: Body,
    ) -> Result<Response<Incoming>, CallError> {
        self.may_request(what, &method)?;
        let token = self.0.session.current().token;
        let mut headers = headers.to_vec();
        headers.extend(token.as_ref().map(|token| (COOKIE, token.cookie.as_str())));
        let wire = &self.0.wire;
        wire.http.send(method, path, &headers, body).await.map_err(|error| wire.failed(what, error))
    }

    /// One request to the REST service. Its session begins with the first request, and is renewed once if it expired,
    /// since nothing was done.
    pub(crate) async fn rest(&self, request: &rest::Request) -> Result<Reply, CallError> {
        let Inner { wire, rest: session, .. } = &*self.0;
        self.may_request(request.what, &request.method)?;
        let used = session.current();
        if let Some(id) = used.token {
            let answer = rest::ask(wire, request, &id).await?;
            if answer.status != StatusCode::UNAUTHORIZED {
                return Ok(answer);
            }
        }
        let (inner, method) = (Arc::clone(&self.0), request.what);
        self.log_in(method, async move {
            inner.rest.renew(&inner.wire, &inner.login, used.generation, method).await
        })
        .await?;
        let id = session.current().token.ok_or(CallError::Closed { method })?;
        rest::ask(wire, request, &id).await
    }

    /// Logs in in a task of its own: a caller that is cancelled in the middle of a login would leave a session behind
    /// that nobody knows.
    fn log_in<L>(
        &self,
        method: &'static str,
        login: L,
    ) -> impl Future<Output = Result<(), CallError>> + use<L>
    where
        L: Future<Output = Result<(), CallError>> + Send + 'static,
    {
        let (report, outcome) = oneshot::channel();
        self.0.logins.spawn("login", async move {
            // A caller that went away needs no answer; the session is there for the next one, or for the logout.
            report.send(login.await).ok();
        });
        outcome.map(move |outcome| outcome.unwrap_or(Err(CallError::Closed { method })))
    }

    /// Logs in as somebody else, who logs in from now on; the session before ends, and its calls are repeated in the new
    /// one. If the server refuses, nothing changes; if it could not be asked, the next login asks it.
    pub async fn change_login(&self, user: String, password: SecretString) -> Result<(), CallError> {
        self.log_in_as(Credentials { user, password }, CallError::is_transient).await
    }

    /// The same for somebody who joins those who use this client: whatever goes wrong, nothing changes for them.
    pub async fn join(&self, user: String, password: SecretString) -> Result<(), CallError> {
        self.log_in_as(Credentials { user, password }, |_| false).await
    }

    async fn log_in_as(
        &self,
        to: Credentials,
        is_tried_next: fn(&CallError) -> bool,
    ) -> Result<(), CallError> {
        let inner = Arc::clone(&self.0);
        self.log_in(Login::NAME, async move {
            let Inner { wire, session, rest, login, .. } = &*inner;
            session.change(wire, login, to, is_tried_next).await?;
            rest.forget(wire).await;
            Ok(())
        })
        .await
    }

    /// Ends the session, and the one of the REST service if there is one. Calls that come later fail.
    pub async fn close(&self) -> Result<(), CallError> {
        let Inner { wire, session, rest, .. } = &*self.0;
        let (soap, rest) = tokio::join!(session.close(wire), rest.close(wire));
        soap.and(rest)
    }

    /// The proxies that hosts, too, are reached through.
    pub(crate) fn proxies(&self) -> Proxies {
        self.0.wire.http.proxies()
    }

    /// A UUID for a new VM.
    pub fn random_uuid(&self) -> Uuid {
        Uuid::random(&mut self.fork_random())
    }

    /// A generator of its own for one series of delays.
    pub(crate) fn fork_random(&self) -> StdRng {
        StdRng::from_rng(&mut *self.0.random.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Everything below the session: one call, one answer.
#[derive(Debug)]
pub(crate) struct Wire {
    http: Http,
    pub(crate) endpoint: Endpoint,
    soap_action: String,
    pub(crate) deadlines: Deadlines,
    limits: Limits,
    rate: Option<Rate>,
    operations: String,
    operation: AtomicU64,
    requests: Tally,
}

impl Wire {
    /// One call; also the cookie that the server set, if any.
    pub(crate) async fn call<M: Method>(
        &self,
        method: &M,
        cookie: Option<&str>,
        deadline: Duration,
    ) -> Result<(M::Output, Option<String>), CallError> {
        // On the heap: everything that waits for vCenter has one of these inside.
        self.counted(M::NAME, Box::pin(self.call_uncounted(method, cookie, deadline)).await)
    }

    async fn call_uncounted<M: Method>(
        &self,
        method: &M,
        cookie: Option<&str>,
        deadline: Duration,
    ) -> Result<(M::Output, Option<String>), CallError> {
        if let Some(rate) = self.rate.as_ref().filter(|_| !GOES_AT_ONCE.contains(&M::NAME)) {
            rate.turn().await;
        }
        let operation = format!("{}-{}", self.operations, self.operation.fetch_add(1, Ordering::Relaxed));
        let mut headers = vec![
            (CONTENT_TYPE, "text/xml; charset=\"utf-8\""),
            (HeaderName::from_static("soapaction"), self.soap_action.as_str()),
        ];
        headers.extend(cookie.map(|cookie| (COOKIE, cookie)));
        let body = envelope::call(method, Some(&operation))
            .map_err(|source| CallError::Unwritable { method: M::NAME, source })?;
        let reply =
            self.exchange(hyper::Method::POST, "/sdk", headers, body, deadline, self.limits.bytes).await;
        let reply = reply.map_err(|error| self.failed(M::NAME, error))?;
        debug!(
            method = M::NAME,
            operation,
            status = reply.status.as_u16(),
            bytes = reply.body.len(),
            "called vCenter"
        );
        let output = envelope::answer::<M>(&reply.body, &self.limits)
            .map_err(|error| refused(M::NAME, reply.status, error))?;
        Ok((output, reply.cookie))
    }

    /// Asks, and reads the whole answer, with one deadline over all of it.
    async fn exchange(
        &self,
        method: hyper::Method,
        path: &str,
        mut headers: Vec<(HeaderName, &str)>,
        body: String,
        deadline: Duration,
        max_bytes: usize,
    ) -> Result<Reply, HttpError> {
        headers.push((ACCEPT_ENCODING, "gzip"));
        let exchange = async {
            let response = self.http.send(method, path, &headers, whole(body)).await?;
            let (status, cookie) = (response.status(), session_cookie(response.headers()));
            Ok(Reply { status, cookie, body: read_whole(response, max_bytes).await? })
        };
        timeout(deadline, exchange).await.unwrap_or(Err(HttpError::TimedOut(deadline)))
    }

    /// One request beside the SOAP interface, with one deadline over all of it.
    pub(crate) async fn request(
        &self,
        what: &'static str,
        method: hyper::Method,
        path: &str,
        headers: Vec<(HeaderName, &str)>,
        body: String,
        deadline: Duration,
    ) -> Result<Reply, CallError> {
        let outcome = self.exchange(method, path, headers, body, deadline, self.limits.bytes).await;
        self.counted(REST, outcome.map_err(|error| self.failed(what, error)))
    }

    fn counted<T>(&self, method: &'static str, outcome: Result<T, CallError>) -> Result<T, CallError> {
        self.requests.count(method, outcome.as_ref().map_or_else(CallError::as_str, |_| "done"));
        outcome
    }

    /// Agrees on a version and asks for what the server has.
    async fn greeted(&mut self) -> Result<ServiceContent, CallError> {
        self.soap_action = format!("urn:vim25/{}", self.negotiated_version().await?);
        let asked = RetrieveServiceContent { this: service_instance() };
        let (content, _) = self.call(&asked, None, self.deadlines.call).await?;
        Ok(content)
    }

    async fn negotiated_version(&self) -> Result<String, CallError> {
        let (path, deadline) = ("/sdk/vimServiceVersions.xml", self.deadlines.call);
        let get = self.exchange(hyper::Method::GET, path, Vec::new(), String::new(), deadline, VERSIONS);
        let reply = get.await;
        let reply = reply.map_err(|error| self.failed("vimServiceVersions.xml", error))?;
        // A server without the file is still spoken to, in the oldest version that has what we need.
        let offered = envelope::versions(&reply.body).unwrap_or_default();
        Ok(negotiate(offered.iter().map(String::as_str)).to_owned())
    }

    fn failed(&self, method: &'static str, error: HttpError) -> CallError {
        CallError::of_http(&self.endpoint, method, error)
    }
}

/// What came back, decompressed.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) cookie: Option<String>,
    pub(crate) body: Bytes,
}

/// Some servers set a cookie more than once; the last one counts. Only its name and value go back.
fn session_cookie(headers: &HeaderMap) -> Option<String> {
    let mut cookies = headers.get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let cookie = cookies.rfind(|cookie| cookie.starts_with("vmware_soap_session="))?;
    Some(cookie.split(';').next().unwrap_or(cookie).trim().to_owned())
}

/// An answer that is no result. Only SOAP answers are judged by their content: what stands in for a vCenter that
/// restarts is anything from an empty body to a web page.
fn refused(method: &'static str, status: StatusCode, error: AnswerError) -> CallError {
    match error {
        AnswerError::Fault(source) if source.has_detail() => CallError::Fault { method, source },
        AnswerError::Fault(_) => CallError::Unavailable { method, status },
        source @ (AnswerError::Unreadable { .. }
        | AnswerError::NotAnAnswer { .. }
        | AnswerError::Unexpected { .. }) => {
            if status == StatusCode::OK {
                CallError::NotUnderstood { method, source }
            } else {
                CallError::Unavailable { method, status }
            }
        }
    }
}
