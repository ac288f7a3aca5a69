//! HTTP to one server: keep-alive connections and bounded answers.

use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::rt::Executor as _;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use crate::address::Endpoint;
use crate::dial::{Dial, DialError, Stream};
use crate::encoding::unpack;
use crate::proxy::Proxies;

/// Below the minute after which front proxies close silently: reusing such a connection makes a POST ambiguous.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);
/// Commands in flight beyond this open further connections, which close when they are done.
const IDLE_CONNECTIONS: usize = 8;

/// Why an exchange gave no complete answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HttpError {
    /// The request was never sent.
    #[error(transparent)]
    Dial(DialError),
    /// The request was never sent: by the time that there was a connection, it must not be any more.
    #[error("connecting took all the time that the request had; it was not sent")]
    Withheld,
    /// The request may have been carried out.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The request may have been carried out.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The answer is too large to keep.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The answer's compression is damaged.
    #[error("the answer's compression is damaged: {0}")]
    Damaged(String),
    /// The answer came in an encoding that was not offered.
    #[error("the answer's content encoding is {0:?}; only gzip, deflate and identity can be read")]
    UnknownEncoding(String),
}

/// What is sent: all of it at once, or as it comes.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A body that is there already.
pub fn whole(content: impl Into<Bytes>) -> Body {
    Full::new(content.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Http {
    client: Client<Connector, Body>,
    dial: Arc<dyn Dial>,
    authority: String,
    user_agent: HeaderValue,
    /// Whether the server has answered: from then on it is not for want of TLS that an exchange breaks.
    understood: Arc<AtomicBool>,
}

impl Http {
    /// A client of the server that the dialer reaches; the endpoint is what it is called in requests.
    pub fn new(endpoint: &Endpoint, dial: Arc<dyn Dial>, user_agent: &str) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .build(Connector(Arc::clone(&dial)));
        let user_agent = HeaderValue::from_str(user_agent).unwrap_or(HeaderValue::from_static("rookery"));
        let (authority, understood) = (endpoint.authority(), Arc::default());
        Self { client, dial, authority, user_agent, understood }
    }

    /// The proxies that other servers, too, are reached through.
    pub fn proxies(&self) -> Proxies {
        self.dial.proxies()
    }

    /// Sends one request and gives its answer, the body of which is still to be read. No deadline: whoever asks knows
    /// how long this may take.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: Body,
    ) -> Result<Response<Incoming>, HttpError> {
        // TLS happens inside the dialer: to this layer every server speaks plain HTTP.
        let request = self.request(method, &format!("http://{}{path}", self.authority), headers, body)?;
        self.unless_in_tls(self.client.request(request).await.map_err(|error| classify(&error))).await
    }

    /// The same over a connection of its own, since one that the server is about to close makes it uncertain whether a
    /// request was carried out. Whether it may be sent is asked when the connection stands: a process that was paused
    /// while it dialed must not go on as if nothing had been.
    pub async fn send_alone(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: Body,
        may_send: impl Fn() -> bool,
    ) -> Result<Response<Incoming>, HttpError> {
        let mut request = self.request(method, path, headers, body)?;
        // As the client above writes it.
        let host = self.authority.strip_suffix(":80").unwrap_or(&self.authority);
        let host = HeaderValue::from_str(host).map_err(|_| never("the address"))?;
        request.headers_mut().insert(HOST, host);
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        let stream = self.dial.dial().await.map_err(HttpError::Dial)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        if !may_send() {
            return Err(HttpError::Withheld);
        }
        // Ends with the answer, or with whoever waits for it; how it broke is told there.
        TokioExecutor::new().execute(async move { connection.await.ok() });
        self.unless_in_tls(sender.send_request(request).await.map_err(|error| broken(&error))).await
    }

    /// The same, unless it is the first and the server speaks nothing but TLS: such a one breaks off, or complains of a bad
    /// request, if it is spoken to without.
    async fn unless_in_tls(
        &self,
        outcome: Result<Response<Incoming>, HttpError>,
    ) -> Result<Response<Incoming>, HttpError> {
        let may_be = match &outcome {
            Ok(response) => response.status() == StatusCode::BAD_REQUEST,
            Err(HttpError::Broken(_)) => true,
            Err(_) => return outcome,
        };
        if may_be
            && !self.understood.load(Ordering::Relaxed)
            && let Some(why) = self.dial.why_no_answer().await
        {
            return Err(HttpError::Dial(why));
        }
        if outcome.is_ok() {
            self.understood.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn request(
        &self,
        method: Method,
        uri: &str,
        headers: &[(HeaderName, &str)],
        body: Body,
    ) -> Result<Request<Body>, HttpError> {
        let uri: Uri = uri.parse().map_err(|_| never("the address"))?;
        let mut request = Request::builder().method(method).uri(uri).header(USER_AGENT, &self.user_agent);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        request.body(body).map_err(|_| never("a header"))
    }
}

fn broken(error: &hyper::Error) -> HttpError {
    HttpError::Broken(error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

/// A request that cannot be put together was not sent.
fn never(part: &str) -> HttpError {
    HttpError::Broken(format!("{part} has characters that an HTTP request cannot carry"))
}

fn classify(error: &hyper_util::client::legacy::Error) -> HttpError {
    let mut source = error.source();
    let mut innermost = error.to_string();
    while let Some(cause) = source {
        if let Some(dial) = cause.downcast_ref::<DialError>() {
            return HttpError::Dial(dial.clone());
        }
        innermost = cause.to_string();
        source = cause.source();
    }
    HttpError::Broken(innermost)
}

/// The body of an answer, decompressed. That of an error is empty if it breaks off, or cannot be decompressed or kept: its
/// status says more.
pub async fn read_whole(response: Response<Incoming>, limit: usize) -> Result<Bytes, HttpError> {
    let (head, body) = response.into_parts();
    let body = match collect(body, limit).await {
        Err(_) if !head.status.is_success() => return Ok(Bytes::new()),
        collected => collected?,
    };
    unpack(head.status, &head.headers, body, limit)
}

async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, HttpError> {
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| HttpError::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if collected.len() + data.len() > limit {
            return Err(HttpError::TooLarge { limit });
        }
        collected.extend_from_slice(&data);
    }
    Ok(collected.freeze())
}

/// Hands the dialer's streams to hyper.
#[derive(Debug, Clone)]
struct Connector(Arc<dyn Dial>);

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let dialing = self.0.dial();
        Box::pin(async move { dialing.await.map(TokioIo::new) })
    }
}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
