//! What a process shows over HTTP. Pages only show; whatever changes something goes through the control socket.

mod write_deadline;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body as _;
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::Supervisor;
use write_deadline::WriteDeadline;

/// As Go's servers have it.
const LARGEST_HEAD: usize = 1 << 20;
/// A head that takes longer is an attack or a mistake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Whoever takes longer to read an answer is cut off.
const READING: Duration = Duration::from_secs(30);
/// Monitoring opens a few; beyond this callers wait for one to end.
const CONNECTIONS: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: u16,
    /// What the body is.
    pub kind: &'static str,
    pub body: String,
}

impl Page {
    /// A page of JSON.
    pub fn json(status: u16, value: &impl serde::Serialize) -> Self {
        Self { status, kind: "application/json", body: serde_json::to_string(value).unwrap_or_default() }
    }

    /// A page of text in Prometheus' format.
    pub fn metrics(body: String) -> Self {
        Self { status: 200, kind: "text/plain; version=0.0.4; charset=utf-8", body }
    }
}

/// The pages of a process.
pub trait Pages: Send + Sync + 'static {
    /// The page of a path; `None` is 404.
    fn page(&self, path: &str) -> Option<Page>;

    /// The page of an error, in a shape that those who read the other pages know.
    fn error(&self, status: u16, message: &str) -> Page {
        Page::json(status, &json!({ "message": message }))
    }

    /// Told of each request that was answered.
    fn served(&self, _served: &Served<'_>) {}
}

/// A request that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Served<'s> {
    /// The path that was asked for.
    pub path: &'s str,
    /// The method of the request.
    pub method: &'s str,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The size of the request's body.
    pub request_bytes: u64,
    /// The size of the answer's body.
    pub response_bytes: u64,
    /// How long the answer took.
    pub took: Duration,
}

/// Serves pages until the supervisor stops. In which header a proxy names the caller is for the log alone.
pub async fn serve(listener: TcpListener, pages: Arc<dyn Pages>, forwarded: String, supervisor: Supervisor) {
    let forwarded: Arc<str> = forwarded.into();
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let stop = supervisor.token();
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                warn!(%error, "cannot accept a connection to the monitoring pages; retrying");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (pages, forwarded) = (Arc::clone(&pages), Arc::clone(&forwarded));
        supervisor.spawn_until_stopped("a reader of the monitoring pages", async move {
            let service = service_fn(move |request: Request<_>| {
                let answer = answer(&request, &*pages);
                let (path, status) = (request.uri().path(), answer.status().as_u16());
                debug!(caller = %caller(request.headers(), &forwarded, peer), path, status, "page asked for");
                async { Ok::<_, Infallible>(answer) }
            });
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(LARGEST_HEAD);
            let stream = TokioIo::new(WriteDeadline::new(stream, READING));
            if let Err(error) = http.serve_connection(stream, service).await {
                debug!(%error, "a reader of the monitoring pages went away");
            }
            drop(permit);
        });
    }
}

/// Who asks: whom the first proxy named, if that is an address, else who is connected. It is believed for no decision.
fn caller(headers: &HeaderMap, forwarded: &str, peer: IpAddr) -> IpAddr {
    let named = headers.get(forwarded).and_then(|named| named.to_str().ok()?.split(',').next());
    named.and_then(|first| first.trim().parse().ok()).unwrap_or(peer)
}

fn answer<B>(request: &Request<B>, pages: &dyn Pages) -> Response<Full<Bytes>> {
    let begun = Instant::now();
    let response = answer_uncounted(request, pages);
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    pages.served(&Served {
        path: request.uri().path(),
        method: request.method().as_str(),
        status: response.status().as_u16(),
        request_bytes: length.unwrap_or(0),
        response_bytes: response.body().size_hint().lower(),
        took: begun.elapsed(),
    });
    response
}

fn answer_uncounted<B>(request: &Request<B>, pages: &dyn Pages) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut refused = respond(&pages.error(405, "only GET is answered here"));
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let path = request.uri().path();
    respond(&pages.page(path).unwrap_or_else(|| pages.error(404, "there is no such page")))
}

fn respond(page: &Page) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(page.body.clone())));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(page.kind));
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[derive(Debug)]
    struct One;
    impl Pages for One {
        fn page(&self, path: &str) -> Option<Page> {
            (path == "/mon/version").then(|| Page::json(200, &json!({ "version": "1" })))
        }
    }

    fn ask(method: Method, path: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path).body(()).expect("a request");
        let response = answer(&request, &One);
        let kind = response.headers().get(CONTENT_TYPE).expect("a type").to_str().expect("text").to_owned();
        (response.status().as_u16(), kind)
    }

    #[test]
    fn pages_are_read_only_and_unknown_ones_are_errors_in_json() {
        assert_eq!(ask(Method::GET, "/mon/version"), (200, "application/json".to_owned()));
        assert_eq!(ask(Method::GET, "/mon/version?x=1").0, 200);
        assert_eq!(ask(Method::GET, "/"), (404, "application/json".to_owned()));
        assert_eq!(ask(Method::POST, "/mon/version").0, 405);
        assert_eq!(ask(Method::DELETE, "/mon/version").0, 405);
    }

    /// More than the buffers of a connection hold.
    #[derive(Debug)]
    struct Large;
    impl Large {
        const SIZE: usize = 32 << 20;
    }
    impl Pages for Large {
        fn page(&self, _: &str) -> Option<Page> {
            Some(Page::metrics("x".repeat(Self::SIZE)))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_read_an_answer_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let supervisor = Supervisor::new();
        supervisor.spawn("pages", serve(listener, Arc::new(Large), String::new(), supervisor.clone()));
        for (pause, whole) in [(READING * 2, false), (Duration::ZERO, true)] {
            let mut stream = tokio::net::TcpStream::connect(address).await.expect("it serves");
            let request = b"GET /metrics HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
            stream.write_all(request).await.expect("it listens");
            tokio::time::sleep(pause).await;
            // Reading is as fast as it can be from here on.
            tokio::time::resume();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.ok();
            assert_eq!(answer.len() > Large::SIZE, whole, "{} bytes", answer.len());
            tokio::time::pause();
        }
        supervisor.shutdown(READING).await.expect("nobody is left");
    }

    #[test]
    fn a_caller_is_whom_the_configured_header_names_first_or_who_is_connected() {
        let peer = IpAddr::from([10, 0, 0, 1]);
        let check = |name: &'static str, value: &str, expected: &str| {
            let headers = HeaderMap::from_iter([(
                hyper::header::HeaderName::from_static(name),
                HeaderValue::from_str(value).expect("a value"),
            )]);
            assert_eq!(caller(&headers, "X-Real-IP", peer).to_string(), expected, "{name}: {value}");
        };
        check("x-real-ip", "192.0.2.7", "192.0.2.7");
        check("x-real-ip", " 2001:db8::7 , 10.1.1.1", "2001:db8::7");
        check("x-real-ip", "nobody", "10.0.0.1");
        check("x-real-ip", "", "10.0.0.1");
        check("x-forwarded-for", "192.0.2.7", "10.0.0.1");
        assert_eq!(caller(&HeaderMap::new(), "not a header", peer), peer);
    }
}
