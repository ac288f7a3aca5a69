//! The shell: sockets, one timer, and files around the world.
//!
//! ```text
//!   connection ─► request (uploads go to blobs) ───────┐                    ┌─► answer ─► connection
//!   more of a file arrived ────────────────────────────┤                    │
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
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http_body_util::{BodyExt as _, Limited};
use hyper::Response;
use hyper::body::Incoming;
use rookery_daemon::Supervisor;
use rookery_sim::{Clock, Connections, Cut, Request, RequestId, accept, pipe};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use crate::control::Control;
use crate::io::{Effect, Input, Notice, Output, Reply, Upload};
use crate::world::World;
pub use blobs::Blobs;
use body::OutBody;
use exec::Programs;
pub use tls::{Identity, IdentityError};

/// Requests larger than this are refused, if they are not files.
const LARGEST: usize = 16 << 20;
/// A world that is loaded may be larger: it comes from this machine.
const LARGEST_WORLD: usize = 1 << 30;

/// The notices that wait for a slow subscriber; beyond that it loses the oldest and is told so.
const NOTICES: usize = 1024;

/// A world that runs. Clones share it.
#[derive(Debug, Clone)]
pub struct Running {
    inbox: mpsc::UnboundedSender<Message>,
    blobs: Arc<Blobs>,
    connections: Connections,
    last_request: Arc<AtomicU64>,
    notices: broadcast::Sender<Notice>,
}

#[derive(Debug)]
enum Message {
    /// An input that is answered under this number.
    Ask(RequestId, Box<Input>, oneshot::Sender<Reply>),
    /// More of an upload has arrived; acknowledged once the world knows.
    Content { request: RequestId, size: u64, whole: bool, taken: oneshot::Sender<()> },
    /// A client no longer waits.
    Gone(RequestId),
}

impl Running {
    /// Runs a world until the supervisor stops it. `clock` tells its time.
    pub fn start(world: World, clock: Clock, blobs: Blobs, supervisor: &Supervisor) -> Self {
        let (inbox, messages) = mpsc::unbounded_channel();
        let connections = Connections::new("connection to the simulated vCenter", supervisor);
        let blobs = Arc::new(blobs);
        let (notices, _) = broadcast::channel(NOTICES);
        let (programs, reports) = Programs::new(Arc::clone(&blobs), supervisor);
        let shell = Shell {
            clock,
            blobs: Arc::clone(&blobs),
            connections: connections.clone(),
            programs,
            notices: notices.clone(),
        };
        let over = supervisor.token();
        supervisor.spawn("simulated vCenter", async move {
            tokio::select! {
                () = run(world, shell, messages, reports) => {}
                () = over.cancelled() => {}
            }
        });
        let last_request = Arc::default();
        Self { inbox, blobs, connections, last_request, notices }
    }

    /// Subscribes to what other simulators may want to know.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Calls the control API; the answer is JSON. None if the simulator has stopped.
    pub async fn control(&self, control: Control) -> Option<Reply> {
        let (id, (sender, answer)) = (self.next_request(), oneshot::channel());
        self.inbox.send(Message::Ask(id, Box::new(Input::Control(id, control)), sender)).ok()?;
        answer.await.ok()
    }

    fn next_request(&self) -> RequestId {
        RequestId(self.last_request.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Serves a listener: over TLS if there is an acceptor.
    pub async fn serve(self, listener: TcpListener, tls: Option<TlsAcceptor>) {
        let serve = |stream, peer| {
            let (running, tls) = (self.clone(), tls.clone());
            self.connections.spawn(async move {
                match tls {
                    None => running.serve_connection(stream, peer).await,
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => running.serve_connection(stream, peer).await,
                        Err(error) => debug!(%error, %peer, "TLS handshake failed"),
                    },
                }
            });
        };
        accept(listener, serve).await;
    }

    /// A connection that does not leave the process.
    pub fn pipe(&self) -> DuplexStream {
        let (ours, theirs, peer) = pipe();
        self.connections.spawn(self.clone().serve_connection(ours, peer));
        theirs
    }

    async fn serve_connection(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
    ) {
        let answer = |request| {
            let running = self.clone();
            async move { running.answer(request, peer).await }
        };
        self.connections.clone().serve(stream, answer).await;
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Response<OutBody>, Cut> {
        let head = request.method() == hyper::Method::HEAD;
        let (mut request, body) = Request::split(request, peer);
        let is_upload = matches!(request.method.as_str(), "PUT" | "POST");
        if is_upload && request.path.starts_with("/folder") {
            let reply = self.receive(request, body).await?;
            return self.response(reply, head).await;
        }
        let (mut waiting, answer) = if is_upload && request.path.starts_with("/guestFile") {
            // The sender may be gone.
            let content = self.blobs.receive(body).await.map_err(|_| Cut)?;
            let upload = Upload { content, coming: false };
            self.ask(|id| Input::Upload(id, request, upload))?
        } else {
            let is_world = request.path.starts_with("/rookery/") && request.is_local();
            let largest = if is_world { LARGEST_WORLD } else { LARGEST };
            match Limited::new(body, largest).collect().await {
                Ok(body) => request.body = body.to_bytes(),
                Err(_) => return self.response(Reply::plain(413, "the request is too large"), head).await,
            }
            self.ask(|id| Input::Request(id, request))?
        };
        let reply = answer.await.map_err(|_| Cut)?;
        waiting.inbox = None;
        self.response(reply, head).await
    }

    /// Hands a request to the world.
    fn ask(
        &self,
        input: impl FnOnce(RequestId) -> Input,
    ) -> Result<(Waiting<'_>, oneshot::Receiver<Reply>), Cut> {
        let id = self.next_request();
        let (sender, answer) = oneshot::channel();
        self.inbox.send(Message::Ask(id, Box::new(input(id)), sender)).map_err(|_| Cut)?;
        Ok((Waiting { id, inbox: Some(&self.inbox) }, answer))
    }

    async fn response(&self, reply: Reply, head: bool) -> Result<Response<OutBody>, Cut> {
        let Reply { status, headers, body } = reply;
        let (body, length) = body::of(body, &self.blobs).await?;
        let body = if head { body::nothing() } else { body };
        let mut response = Response::from(rookery_sim::Reply { status, headers, body });
        if let Some(length) = length {
            response.headers_mut().insert(hyper::header::CONTENT_LENGTH, length.into());
        }
        Ok(response)
    }
}

/// Tells the world when the client no longer waits for an answer.
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

/// What carries out the effects of the world.
struct Shell {
    clock: Clock,
    blobs: Arc<Blobs>,
    connections: Connections,
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
                Some(Message::Ask(id, input, sender)) => {
                    waiting.insert(id, sender);
                    *input
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
                // The client may be gone.
                sender.send(reply).ok();
            }
        }
        if let Some(told) = told {
            // The sender may be gone.
            told.send(()).ok();
        }
        for effect in effects {
            match effect {
                Effect::Discard(blob) => shell.blobs.discard(blob),
                Effect::CutConnections => shell.connections.cut(),
                Effect::Advance(to) => shell.clock.advance_to(to),
                // There may be no subscriber.
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
