//! The shell: connections, websockets and one timer around the world.
//!
//! ```text
//!   request, websocket text, control ─┐                  ┌─► answers ─► connections
//!                                     ├─► World::step ───┼─► effects: websockets, connections, notices
//!   the time that was asked for ──────┘                  └─► the next wake
//! ```

mod websocket;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::Response;
use hyper::body::{Frame, Incoming};
use hyper::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, UPGRADE};
use rookery_daemon::Supervisor;
use rookery_sim::{Clock, Connections, Cut, Request, RequestId, accept, pipe};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::control::Control;
use crate::io::{Body, Effect, Input, Notice, Output, Reply, SocketId};
use crate::job::{Job, NewJob};
use crate::record::Entry;
use crate::workers::Worker;
use crate::world::World;

/// Requests larger than this are refused. A dump of a world must fit.
const LARGEST: usize = 64 << 20;
/// The notices that wait for a slow subscriber; beyond that it loses the oldest and is told so.
const NOTICES: usize = 4096;
/// How many messages wait for a websocket whose other side does not read; then it is ended.
const MESSAGES: usize = 4096;

/// A world that runs. Clones share it.
#[derive(Debug, Clone)]
pub struct Running {
    inbox: mpsc::UnboundedSender<Message>,
    tasks: Supervisor,
    connections: Connections,
    notices: broadcast::Sender<Notice>,
    url: Arc<OnceLock<String>>,
}

#[derive(Debug)]
enum Message {
    Request(Request, oneshot::Sender<Answer>),
    Control(Control, oneshot::Sender<Answer>),
    Text(SocketId, String),
    Gone(SocketId),
}

/// An answer, and what comes over the websocket that it opens.
struct Answer {
    reply: Reply,
    socket: Option<mpsc::Receiver<websocket::Outgoing>>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.reply.status).finish_non_exhaustive()
    }
}

/// From this size on an answer comes in chunks, without its length: so Go sends what does not fit its buffer.
const CHUNKED: usize = 2049;

type OutBody = Either<Full<Bytes>, Unsized>;

/// A body whose size is not told beforehand.
#[derive(Debug)]
struct Unsized(Option<Bytes>);

impl hyper::body::Body for Unsized {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(Frame::data).map(Ok))
    }
}

impl Running {
    /// Runs a world until the supervisor stops it. `clock` tells its time.
    pub fn start(world: World, clock: Clock, supervisor: &Supervisor) -> Self {
        let (inbox, messages) = mpsc::unbounded_channel();
        let connections = Connections::new("connection to the simulated CDS", supervisor);
        let (notices, _) = broadcast::channel(NOTICES);
        let shell = Shell {
            clock,
            connections: connections.clone(),
            notices: notices.clone(),
            waiting: HashMap::new(),
            sockets: HashMap::new(),
            last_request: 0,
        };
        supervisor.spawn_until_stopped("simulated CDS", run(world, shell, messages));
        let tasks = supervisor.clone();
        Self { inbox, tasks, connections, notices, url: Arc::default() }
    }

    /// Subscribes to changes of jobs and workers.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Calls the control API; the answer is JSON. None if the simulator has stopped.
    pub async fn control(&self, control: Control) -> Option<Reply> {
        let (sender, answer) = oneshot::channel();
        self.inbox.send(Message::Control(control, sender)).ok()?;
        answer.await.ok().map(|answer| answer.reply)
    }

    /// A new job; none if the simulator has stopped.
    pub async fn enqueue(&self, job: NewJob) -> Option<String> {
        let reply = self.control(Control::Enqueue(Box::new(job))).await?;
        reply.value()["id"].as_str().map(str::to_owned)
    }

    /// One job with all that happened to it.
    pub async fn job(&self, id: &str) -> Option<Job> {
        self.query(Control::Job(id.to_owned())).await
    }

    /// All jobs, oldest first; none if the simulator has stopped.
    pub async fn jobs(&self) -> Option<Vec<Job>> {
        self.query(Control::Jobs).await
    }

    /// All workers; none if the simulator has stopped.
    pub async fn workers(&self) -> Option<Vec<Worker>> {
        self.query(Control::Workers).await
    }

    /// The requests that came, oldest first; none if the simulator has stopped.
    pub async fn requests(&self) -> Option<Vec<Entry>> {
        self.query(Control::Requests).await
    }

    async fn query<T: DeserializeOwned>(&self, control: Control) -> Option<T> {
        serde_json::from_value(self.control(control).await?.value()).ok()
    }

    /// Where the first listener is reached; a name that leads nowhere if there are only pipes.
    pub fn url(&self) -> String {
        self.url.get().cloned().unwrap_or_else(|| "http://cds-sim".to_owned())
    }

    /// Serves a listener from now on, until the supervisor stops.
    pub fn serve(&self, listener: TcpListener) {
        if let Ok(address) = listener.local_addr() {
            // A second listener does not change where the first one is.
            self.url.get_or_init(|| format!("http://{address}"));
        }
        let running = self.clone();
        self.tasks.spawn_until_stopped("listener of the simulated CDS", async move {
            accept(listener, |stream, peer| running.spawn_connection(stream, peer)).await;
        });
    }

    /// A connection that does not leave the process.
    pub fn pipe(&self) -> DuplexStream {
        let (ours, theirs, peer) = pipe();
        self.spawn_connection(ours, peer);
        theirs
    }

    fn spawn_connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
    ) {
        let running = self.clone();
        let serve = self.connections.clone().serve(stream, move |request| {
            let running = running.clone();
            async move { running.answer(request, peer).await }
        });
        self.connections.spawn(serve);
    }

    async fn answer(
        &self,
        mut request: hyper::Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Response<OutBody>, Cut> {
        let key = request.headers().get("sec-websocket-key").map(|key| derive_accept_key(key.as_bytes()));
        let upgrade = key.as_ref().map(|_| hyper::upgrade::on(&mut request));
        let (mut request, body) = Request::split(request, peer);
        request.body = Limited::new(body, LARGEST).collect().await.map_err(|_| Cut)?.to_bytes();
        let (sender, answer) = oneshot::channel();
        self.inbox.send(Message::Request(request, sender)).map_err(|_| Cut)?;
        let Answer { reply, socket } = answer.await.map_err(|_| Cut)?;
        let opened = if let Body::Socket(id) = reply.body { Some(id) } else { None };
        let mut response = response(reply)?;
        if let (Some(id), Some(key), Some(upgrade), Some(socket)) = (opened, key, upgrade, socket) {
            let headers = response.headers_mut();
            headers.insert(UPGRADE, hyper::header::HeaderValue::from_static("websocket"));
            headers.insert(CONNECTION, hyper::header::HeaderValue::from_static("Upgrade"));
            headers.insert(SEC_WEBSOCKET_ACCEPT, key.parse().map_err(|_| Cut)?);
            self.spawn_websocket(id, upgrade, socket);
        }
        Ok(response)
    }

    fn spawn_websocket(
        &self,
        id: SocketId,
        upgrade: hyper::upgrade::OnUpgrade,
        outgoing: mpsc::Receiver<websocket::Outgoing>,
    ) {
        let (inbox, over) = (self.inbox.clone(), self.tasks.token());
        self.tasks.spawn("websocket of the simulated CDS", async move {
            let heard = |text| inbox.send(Message::Text(id, text)).is_ok();
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = websocket::carry(upgrade, outgoing, heard) => {}
            }
            // A world that has stopped has nothing to forget.
            inbox.send(Message::Gone(id)).ok();
        });
    }
}

fn response(Reply { status, headers, body }: Reply) -> Result<Response<OutBody>, Cut> {
    let content = match body {
        Body::Content(content) => content,
        Body::Empty | Body::Socket(_) => Bytes::new(),
        Body::Cut => return Err(Cut),
    };
    let body = if content.len() < CHUNKED {
        Either::Left(Full::new(content))
    } else {
        Either::Right(Unsized(Some(content)))
    };
    Ok(rookery_sim::Reply { status, headers, body }.into())
}

/// What the world's answers and effects need.
struct Shell {
    clock: Clock,
    connections: Connections,
    notices: broadcast::Sender<Notice>,
    waiting: HashMap<RequestId, oneshot::Sender<Answer>>,
    sockets: HashMap<SocketId, mpsc::Sender<websocket::Outgoing>>,
    last_request: u64,
}

/// The one loop that owns the world.
async fn run(mut world: World, mut shell: Shell, mut messages: mpsc::UnboundedReceiver<Message>) {
    let mut wake_at = None;
    loop {
        let input = tokio::select! {
            // Requests never keep the world from what is due: every step lets time pass first.
            biased;
            message = messages.recv() => match message {
                None => return,
                Some(message) => shell.input(message),
            },
            () = shell.clock.until(wake_at) => Input::Timer,
        };
        let output = world.step(shell.clock.now(), input);
        wake_at = output.wake_at;
        shell.carry_out(output);
    }
}

impl Shell {
    fn input(&mut self, message: Message) -> Input {
        match message {
            Message::Request(request, sender) => Input::Request(self.expect(sender), request),
            Message::Control(control, sender) => Input::Control(self.expect(sender), control),
            Message::Text(socket, text) => Input::Text(socket, text),
            Message::Gone(socket) => {
                self.sockets.remove(&socket);
                Input::Gone(socket)
            }
        }
    }

    fn expect(&mut self, sender: oneshot::Sender<Answer>) -> RequestId {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        self.waiting.insert(id, sender);
        id
    }

    fn carry_out(&mut self, output: Output) {
        for (id, reply) in output.replies {
            let socket = match &reply.body {
                Body::Socket(socket) => {
                    let (sender, receiver) = mpsc::channel(MESSAGES);
                    self.sockets.insert(*socket, sender);
                    Some(receiver)
                }
                Body::Empty | Body::Content(_) | Body::Cut => None,
            };
            if let Some(sender) = self.waiting.remove(&id) {
                // The client may be gone.
                sender.send(Answer { reply, socket }).ok();
            }
        }
        for effect in output.effects {
            match effect {
                Effect::Send(socket, text) => self.send(socket, websocket::Outgoing::Text(text)),
                Effect::Close { socket, politely } => {
                    if politely {
                        self.send(socket, websocket::Outgoing::Close);
                    }
                    self.sockets.remove(&socket);
                }
                Effect::CutConnections => self.connections.cut(),
                Effect::Advance(to) => self.clock.advance_to(to),
                // There may be no subscriber.
                Effect::Notice(notice) => drop(self.notices.send(notice)),
            }
        }
    }

    /// A websocket that is full or gone is ended.
    fn send(&mut self, socket: SocketId, outgoing: websocket::Outgoing) {
        if self.sockets.get(&socket).is_some_and(|sender| sender.try_send(outgoing).is_err()) {
            self.sockets.remove(&socket);
        }
    }
}
