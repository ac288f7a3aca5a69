use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use hyper_util::rt::TokioIo;
use rookery_daemon::Supervisor;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as AsyncMutex, oneshot, watch};
use tokio::time::Instant;

/// Stands between a client and a plain-HTTP vCenter and writes down every exchange.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: String,
    books: Books,
}

/// What was exchanged, which requests are still to be held or to go wrong, and which answers wait or are told differently.
#[derive(Debug, Clone, Default)]
struct Books {
    log: Arc<Mutex<Vec<Exchange>>>,
    to_lose: Arc<Mutex<Vec<String>>>,
    to_refuse: Arc<Mutex<Vec<(String, StatusCode)>>>,
    /// Method, text, and what stands in its place.
    to_rewrite: Arc<Mutex<Vec<[String; 3]>>>,
    to_amend: Arc<Mutex<Vec<(String, Amend)>>>,
    to_hold: Arc<Mutex<Vec<(String, Gate)>>>,
    held_answers: Arc<watch::Sender<BTreeSet<String>>>,
}

/// What becomes of a request's body; nothing if it must not reach the server.
pub type Amend = fn(&str) -> Option<String>;

/// Where a held request tells that it has come, and waits until it may go on.
#[derive(Debug)]
struct Gate {
    came: oneshot::Sender<()>,
    open: oneshot::Receiver<()>,
}

/// A request that will be held, or is. Goes on when this is dropped.
#[derive(Debug)]
pub struct Held {
    came: oneshot::Receiver<()>,
    _open: oneshot::Sender<()>,
}

impl Held {
    /// Waits until the request has come.
    pub async fn arrived(&mut self) {
        (&mut self.came).await.expect("the proxy runs");
    }
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The SOAP method, or what else is asked for and how: `PUT /folder/a?dcPath=DC0`.
    pub method: String,
    /// When the request arrived.
    pub at: Instant,
    /// The answer's body, once it has arrived.
    pub answer: Option<Bytes>,
}

impl Proxy {
    /// Starts a proxy in front of `upstream` (`host:port`).
    pub async fn start(upstream: &str, supervisor: &Supervisor) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let books = Books::default();
        let (upstream, seen, tasks) = (upstream.to_owned(), books.clone(), supervisor.clone());
        supervisor.spawn("proxy", async move {
            while let Ok((stream, _)) = listener.accept().await {
                tasks.spawn(
                    "proxied connection",
                    serve(stream, upstream.clone(), seen.clone(), tasks.clone()),
                );
            }
        });
        Self { address, books }
    }

    /// Where clients connect to.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Everything that was exchanged so far, in the order of the requests.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.books.log.lock().expect("nobody panicked").clone()
    }

    /// Loses the next answer to a method, such as `CloneVM_Task` or `PUT`: the server has done it, and the client's
    /// connection breaks.
    pub fn lose(&self, method: &str) {
        self.books.to_lose.lock().expect("nobody panicked").push(method.to_owned());
    }

    /// Answers the next request of a method with a status; the server does not hear of it.
    pub fn refuse(&self, method: &str, status: StatusCode) {
        self.books.to_refuse.lock().expect("nobody panicked").push((method.to_owned(), status));
    }

    /// Replaces a text in all later answers to a method: the client hears of another server than there is.
    pub fn rewrite(&self, method: &str, text: &str, by: &str) {
        let rule = [method, text, by].map(str::to_owned);
        self.books.to_rewrite.lock().expect("nobody panicked").push(rule);
    }

    /// Changes all later requests of a method: the server hears of another client than there is. One that cannot be
    /// changed is refused.
    pub fn amend(&self, method: &str, amend: Amend) {
        self.books.to_amend.lock().expect("nobody panicked").push((method.to_owned(), amend));
    }

    /// Holds the next request of a method before the server sees it: time for the world to change.
    pub fn hold(&self, method: &str) -> Held {
        let ((came, has_come), (may_go, open)) = (oneshot::channel(), oneshot::channel());
        self.books.to_hold.lock().expect("nobody panicked").push((method.to_owned(), Gate { came, open }));
        Held { came: has_come, _open: may_go }
    }

    /// Holds back all answers to a method, until they are released.
    pub fn hold_answers(&self, method: &str) {
        self.books.held_answers.send_modify(|held| held.extend([method.to_owned()]));
    }

    /// Lets the answers to a method pass again, those that were held first.
    pub fn release_answers(&self, method: &str) {
        self.books.held_answers.send_modify(|held| held.retain(|name| name != method));
    }
}

type Sender = client::conn::http1::SendRequest<Full<Bytes>>;

async fn serve(stream: TcpStream, upstream: String, books: Books, tasks: Supervisor) {
    let Ok(onward) = TcpStream::connect(&upstream).await else { return };
    let Ok((sender, connection)) = client::conn::http1::handshake(TokioIo::new(onward)).await else { return };
    tasks.spawn("connection to the server", async move {
        // A connection that breaks is part of the test; the client sees it as well.
        connection.await.ok();
    });
    let sender = Arc::new(AsyncMutex::new(sender));
    let service = service_fn(move |request| forward(request, Arc::clone(&sender), books.clone()));
    server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

async fn forward(
    request: Request<Incoming>,
    sender: Arc<AsyncMutex<Sender>>,
    books: Books,
) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let method = soap_method(&body).unwrap_or_else(|| format!("{} {}", head.method, head.uri));
    let index = {
        let mut log = books.log.lock().expect("nobody panicked");
        log.push(Exchange { method: method.clone(), at: Instant::now(), answer: None });
        log.len() - 1
    };
    books.pass_gate(&method).await;
    if let Some(status) = books.refusal(&method) {
        let mut refusal = Response::default();
        *refusal.status_mut() = status;
        return Ok(refusal);
    }
    let Some(request) = books.amended(&method, Request::from_parts(head, body)) else {
        let mut refusal = Response::default();
        *refusal.status_mut() = StatusCode::BAD_GATEWAY;
        return Ok(refusal);
    };
    let response = sender.lock().await.send_request(request).await.map_err(io::Error::other)?;
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    books.log.lock().expect("nobody panicked")[index].answer = Some(body.clone());
    books
        .held_answers
        .subscribe()
        .wait_for(|held| !held.contains(&method))
        .await
        .map_err(io::Error::other)?;
    let mut to_lose = books.to_lose.lock().expect("nobody panicked");
    if let Some(at) = to_lose.iter().position(|lost| is_meant(lost, &method)) {
        to_lose.remove(at);
        return Err(io::Error::other("this answer is lost on purpose"));
    }
    Ok(books.rewritten(&method, Response::from_parts(head, body)))
}

impl Books {
    async fn pass_gate(&self, method: &str) {
        let gate = {
            let mut to_hold = self.to_hold.lock().expect("nobody panicked");
            let at = to_hold.iter().position(|(held, _)| is_meant(held, method));
            at.map(|at| to_hold.remove(at).1)
        };
        if let Some(Gate { came, open }) = gate {
            // Whoever no longer waits for it lets it pass, by being gone.
            came.send(()).ok();
            open.await.ok();
        }
    }

    fn refusal(&self, method: &str) -> Option<StatusCode> {
        let mut to_refuse = self.to_refuse.lock().expect("nobody panicked");
        let at = to_refuse.iter().position(|(refused, _)| is_meant(refused, method))?;
        Some(to_refuse.remove(at).1)
    }

    fn amended(&self, method: &str, request: Request<Bytes>) -> Option<Request<Full<Bytes>>> {
        let (mut head, mut body) = request.into_parts();
        for (of, amend) in self.to_amend.lock().expect("nobody panicked").iter() {
            if is_meant(of, method) {
                body = amend(std::str::from_utf8(&body).ok()?)?.into();
                head.headers.remove(CONTENT_LENGTH);
            }
        }
        Some(Request::from_parts(head, Full::new(body)))
    }

    fn rewritten(&self, method: &str, response: Response<Bytes>) -> Response<Full<Bytes>> {
        let (mut head, mut body) = response.into_parts();
        for [of, text, by] in self.to_rewrite.lock().expect("nobody panicked").iter() {
            if is_meant(of, method) {
                body = String::from_utf8_lossy(&body).replace(text, by).into();
                head.headers.remove(CONTENT_LENGTH);
            }
        }
        Response::from_parts(head, Full::new(body))
    }
}

/// An HTTP method alone means every path, and a path alone every query.
fn is_meant(named: &str, method: &str) -> bool {
    method.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '?']))
}

/// The name of the first element inside the body of an envelope.
fn soap_method(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let after = text.split_once(":Body><")?.1;
    Some(after.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?.to_owned())
}
