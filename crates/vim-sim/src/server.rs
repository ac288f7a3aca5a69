//! The shell: sockets and one timer around the world.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use rookery_daemon::Supervisor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tracing::debug;

use crate::io::{Body, Input, Reply, Request, RequestId};
use crate::world::World;

/// Requests larger than this are refused.
const LARGEST: usize = 16 << 20;

/// A world that runs. Clones share it.
#[derive(Debug, Clone)]
pub struct Running {
    inbox: mpsc::UnboundedSender<Message>,
}

#[derive(Debug)]
enum Message {
    Request(Request, oneshot::Sender<Reply>),
}

impl Running {
    /// Runs a world until the supervisor stops it.
    pub fn start(
        world: World,
        clock: impl Fn() -> Timestamp + Send + 'static,
        supervisor: &Supervisor,
    ) -> Self {
        let (inbox, messages) = mpsc::unbounded_channel();
        supervisor.spawn("simulated vCenter", run(world, clock, messages));
        Self { inbox }
    }

    /// Serves plain HTTP on a listener.
    pub async fn serve(self, listener: TcpListener, connections: Supervisor) {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    stream.set_nodelay(true).ok();
                    connections.spawn("connection to the simulated vCenter", self.clone().serve_connection(stream, peer));
                }
                Err(error) => {
                    debug!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Serves one connection, whatever it runs over.
    pub async fn serve_connection(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send,
        peer: SocketAddr,
    ) {
        let service = service_fn(move |request| {
            let running = self.clone();
            async move { Ok::<_, Infallible>(running.answer(request, peer).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = connection.await {
            debug!(%error, "a connection ended");
        }
    }

    async fn answer(&self, request: hyper::Request<Incoming>, peer: SocketAddr) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST).collect().await else {
            return response(Reply::plain(413, "the request is too large"));
        };
        let headers = head.headers.iter();
        let headers =
            headers.map(|(n, v)| (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned()));
        let request = Request {
            method: head.method.as_str().to_owned(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: headers.collect(),
            body: body.to_bytes().to_vec(),
            aside: None,
            peer: peer.to_string(),
        };
        let (sender, answer) = oneshot::channel();
        if self.inbox.send(Message::Request(request, sender)).is_err() {
            return response(Reply::plain(503, "the server is stopping"));
        }
        response(answer.await.unwrap_or_else(|_| Reply::plain(503, "the server is stopping")))
    }
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let body = match reply.body {
        Body::Text(text) | Body::Slow(text, _) => Bytes::from(text),
        Body::Head(_) | Body::Aside(_) | Body::Cut => Bytes::new(),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The one loop that owns the world.
async fn run(
    mut world: World,
    clock: impl Fn() -> Timestamp,
    mut messages: mpsc::UnboundedReceiver<Message>,
) {
    let mut waiting: HashMap<RequestId, oneshot::Sender<Reply>> = HashMap::new();
    let mut last = 0;
    let mut wake_at: Option<Timestamp> = None;
    loop {
        let sleep = wake_at.map(|at| Duration::try_from(at.duration_since(clock())).unwrap_or_default());
        let input = tokio::select! {
            message = messages.recv() => match message {
                None => return,
                Some(Message::Request(request, sender)) => {
                    last += 1;
                    waiting.insert(RequestId(last), sender);
                    Input::Request(RequestId(last), request)
                }
            },
            () = tokio::time::sleep(sleep.unwrap_or(Duration::from_secs(3600))), if sleep.is_some() => Input::Timer,
        };
        let output = world.step(clock(), input);
        for (id, reply) in output.replies {
            if let Some(sender) = waiting.remove(&id) {
                // Whoever asked may have gone.
                sender.send(reply).ok();
            }
        }
        wake_at = output.wake_at;
    }
}
