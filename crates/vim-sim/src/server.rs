//! The shell: sockets, one timer, and files around the world.
//!
//! ```text
//!   connection ─► request (files are put aside) ───────┐                    ┌─► answer ─► connection
//!   more has come of a file ───────────────────────────┤                    │
//!   connection gone ───────────────────────────────────┼─► World::step ─────┼─► effects: files, programs
//!   the time that the last step asked for ─────────────┘                    └─► the next wake
//! ```

mod blobs;
mod body;
pub mod exec;
mod scratch;
mod tls;
mod upload;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rookery_daemon::Supervisor;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use crate::clock::Clock;
use crate::control::Control;
use crate::io::{Effect, Input, Notice, Output, Reply, Request, RequestId};
use crate::world::World;
pub use blobs::Blobs;
use body::{Cut, OutBody};
use exec::Programs;
pub use tls::{Identity, IdentityError};

/// Requests larger than this are refused, if they are not files.
const LARGEST: usize = 16 << 20;
/// A world that is loaded may be larger: it comes from this machine.
const LARGEST_WORLD: usize = 1 << 30;
/// How much the pipe holds in either direction.
const PIPE: usize = 256 << 10;

/// How many notices wait for whoever is slow to take them; then the oldest are lost, which they are told.
const NOTICES: usize = 1024;

/// A world that runs. Clones share it.
#[derive(Debug, Clone)]
pub struct Running {
    inbox: mpsc::UnboundedSender<Message>,
    blobs: Arc<Blobs>,
    connections: Supervisor,
    last_request: Arc<AtomicU64>,
    /// Changes when all connections are to end.
    restarts: watch::Receiver<u64>,
    notices: broadcast::Sender<Notice>,
}

#[derive(Debug)]
enum Message {
    Request(RequestId, Request, oneshot::Sender<Reply>),
    Control(RequestId, Control, oneshot::Sender<Reply>),
    /// More of a request's content has come; told back once the world knows.
    Content {
        request: RequestId,
        size: u64,
        whole: bool,
        taken: oneshot::Sender<()>,
    },
    Gone(RequestId),
}

impl Running {
    /// Runs a world until the supervisor stops it. `clock` tells its time.
    pub fn start(world: World, clock: Clock, blobs: Blobs, supervisor: &Supervisor) -> Self {
        let (inbox, messages) = mpsc::unbounded_channel();
        let (restarted, restarts) = watch::channel(0);
        let blobs = Arc::new(blobs);
        let (notices, _) = broadcast::channel(NOTICES);
        let (programs, reports) = Programs::new(Arc::clone(&blobs), supervisor);
        let shell = Shell { clock, blobs: Arc::clone(&blobs), restarted, programs, notices: notices.clone() };
        let over = supervisor.token();
        supervisor.spawn("simulated vCenter", async move {
            tokio::select! {
                () = run(world, shell, messages, reports) => {}
                () = over.cancelled() => {}
            }
        });
        let last_request = Arc::default();
        Self { inbox, blobs, connections: supervisor.clone(), last_request, restarts, notices }
    }

    /// What happens from now on that other simulators may want to know.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Asks for something that only whoever runs the simulator may; the answer is JSON. None if it has stopped.
    pub async fn control(&self, control: Control) -> Option<Reply> {
        let (sender, answer) = oneshot::channel();
        self.inbox.send(Message::Control(self.next_request(), control, sender)).ok()?;
        answer.await.ok()
    }

    fn next_request(&self) -> RequestId {
        RequestId(self.last_request.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Serves a listener: over TLS if there is an acceptor.
    pub async fn serve(self, listener: TcpListener, tls: Option<TlsAcceptor>) {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    // Answers are small and waited for.
                    stream.set_nodelay(true).ok();
                    let (running, tls) = (self.clone(), tls.clone());
                    self.connections.spawn("connection to the simulated vCenter", async move {
                        match tls {
                            None => running.serve_connection(stream, peer).await,
                            Some(tls) => match tls.accept(stream).await {
                                Ok(stream) => running.serve_connection(stream, peer).await,
                                Err(error) => debug!(%error, %peer, "no TLS came about"),
                            },
                        }
                    });
                }
                Err(error) => {
                    debug!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// A connection that does not leave the process.
    pub fn pipe(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let peer = SocketAddr::from(([127, 0, 0, 1], 0));
        self.connections.spawn("pipe to the simulated vCenter", self.clone().serve_connection(ours, peer));
        theirs
    }

    /// Serves one connection, whatever it runs over.
    pub async fn serve_connection(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send,
        peer: SocketAddr,
    ) {
        let mut restarts = self.restarts.clone();
        restarts.mark_unchanged();
        let service = service_fn(move |request| {
            let running = self.clone();
            async move { running.answer(request, peer).await }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            // A world that has stopped cuts everything anyway.
            _ = restarts.changed() => {
                // Whoever was answered in this moment still hears it.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection ended");
        }
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Response<OutBody>, Cut> {
        let head = request.method() == hyper::Method::HEAD;
        let (mut request, body) = taken_apart(request, peer);
        if request.path.starts_with("/folder") && is_upload(&request) {
            let reply = self.receive(request, body).await?;
            return self.response(reply, head).await;
        }
        match self.take_in(&mut request, body, peer).await {
            Ok(None) => {}
            Ok(Some(refusal)) => return self.response(refusal, head).await,
            // Whoever was sending has gone.
            Err(_) => return Err(Cut),
        }
        let (mut waiting, answer) = self.ask(request)?;
        let reply = answer.await.map_err(|_| Cut)?;
        waiting.inbox = None;
        self.response(reply, head).await
    }

    /// Hands a request to the world.
    fn ask(&self, request: Request) -> Result<(Waiting<'_>, oneshot::Receiver<Reply>), Cut> {
        let id = self.next_request();
        let (sender, answer) = oneshot::channel();
        self.inbox.send(Message::Request(id, request, sender)).map_err(|_| Cut)?;
        Ok((Waiting { id, inbox: Some(&self.inbox) }, answer))
    }

    /// Reads the body of a request. Files for guests go to the disk as they come; all else must be small.
    async fn take_in(
        &self,
        request: &mut Request,
        body: Incoming,
        peer: SocketAddr,
    ) -> io::Result<Option<Reply>> {
        if request.path.starts_with("/guestFile") && is_upload(request) {
            request.aside = Some(self.blobs.put_aside(body).await?);
            return Ok(None);
        }
        let is_world = request.path.starts_with("/rookery/") && peer.ip().is_loopback();
        let largest = if is_world { LARGEST_WORLD } else { LARGEST };
        match Limited::new(body, largest).collect().await {
            Ok(body) => {
                request.body = body.to_bytes().to_vec();
                Ok(None)
            }
            Err(_) => Ok(Some(Reply::plain(413, "the request is too large"))),
        }
    }

    async fn response(&self, reply: Reply, head: bool) -> Result<Response<OutBody>, Cut> {
        let (body, length) = body::of(reply.body, &self.blobs).await?;
        let mut response = Response::new(if head { body::nothing() } else { body });
        *response.status_mut() =
            StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in reply.headers {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
        if let Some(length) = length {
            response.headers_mut().insert(hyper::header::CONTENT_LENGTH, length.into());
        }
        Ok(response)
    }
}

/// All of a request but its body.
fn taken_apart(request: hyper::Request<Incoming>, peer: SocketAddr) -> (Request, Incoming) {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter();
    let headers =
        headers.map(|(n, v)| (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned()));
    let request = Request {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        peer: peer.to_string(),
        ..Request::default()
    };
    (request, body)
}

fn is_upload(request: &Request) -> bool {
    matches!(request.method.as_str(), "PUT" | "POST")
}

/// Tells the world when nobody waits for an answer any more.
struct Waiting<'r> {
    id: RequestId,
    inbox: Option<&'r mpsc::UnboundedSender<Message>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(inbox) = self.inbox {
            // A world that has stopped has nothing to forget.
            inbox.send(Message::Gone(self.id)).ok();
        }
    }
}

/// What the world's effects need.
struct Shell {
    clock: Clock,
    blobs: Arc<Blobs>,
    restarted: watch::Sender<u64>,
    programs: Programs,
    notices: broadcast::Sender<Notice>,
}

/// The one loop that owns the world.
async fn run(
    mut world: World,
    mut shell: Shell,
    mut messages: mpsc::UnboundedReceiver<Message>,
    mut reports: mpsc::UnboundedReceiver<Input>,
) {
    let mut waiting: HashMap<RequestId, oneshot::Sender<Reply>> = HashMap::new();
    let mut wake_at = None;
    loop {
        let mut told = None;
        let input = tokio::select! {
            // Requests never keep the world from what is due: every step lets time pass first.
            biased;
            message = messages.recv() => match message {
                None => return,
                Some(Message::Request(id, request, sender)) => {
                    waiting.insert(id, sender);
                    Input::Request(id, request)
                }
                Some(Message::Control(id, control, sender)) => {
                    waiting.insert(id, sender);
                    Input::Control(id, control)
                }
                Some(Message::Content { request, size, whole, taken }) => {
                    told = Some(taken);
                    Input::Content { request, size, whole }
                }
                Some(Message::Gone(id)) => {
                    waiting.remove(&id);
                    Input::Gone(id)
                }
            },
            Some(report) = reports.recv() => report,
            () = shell.clock.until(wake_at) => Input::Timer,
        };
        let Output { replies, effects, wake_at: next } = world.step(shell.clock.now(), input);
        for (id, reply) in replies {
            if let Some(sender) = waiting.remove(&id) {
                // Whoever asked may have gone.
                sender.send(reply).ok();
            }
        }
        if let Some(told) = told {
            // Whoever sent it may have gone.
            told.send(()).ok();
        }
        for effect in effects {
            match effect {
                Effect::Discard(blob) => shell.blobs.discard(blob),
                Effect::CutConnections => shell.restarted.send_modify(|restarts| *restarts += 1),
                Effect::Advance(to) => shell.clock.advance_to(to),
                // Perhaps nobody wants to know.
                Effect::Notice(notice) => drop(shell.notices.send(notice)),
                effect @ (Effect::Start(_)
                | Effect::Stop { .. }
                | Effect::StopAll(_)
                | Effect::Erase(_)
                | Effect::File(_)) => shell.programs.carry_out(effect),
            }
        }
        wake_at = next;
    }
}
