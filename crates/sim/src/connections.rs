//! The connections of a simulated server, which the server can end all at once.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rookery_daemon::Supervisor;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tracing::debug;

/// How many bytes a pipe holds in either direction.
const PIPE: usize = 256 << 10;
/// The pause after a connection could not be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// Makes the connection end without a reply.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut on purpose")]
pub struct Cut;

/// All connections of one server. Clones share them.
#[derive(Debug, Clone)]
pub struct Connections {
    task: &'static str,
    supervisor: Supervisor,
    /// Changes when all connections are to end.
    cuts: Arc<watch::Sender<u64>>,
}

impl Connections {
    /// None yet. `task` is what the supervisor calls the task of each.
    pub fn new(task: &'static str, supervisor: &Supervisor) -> Self {
        Self { task, supervisor: supervisor.clone(), cuts: Arc::default() }
    }

    /// Ends all connections. Replies that are on their way still go out.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Runs the task of one connection until it ends or the supervisor stops.
    pub fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let stop = self.supervisor.token();
        self.supervisor.spawn(self.task, async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = connection => {}
            }
        });
    }

    /// Serves HTTP on one connection.
    pub async fn serve<S, F, B>(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, answer: S)
    where
        S: Fn(hyper::Request<Incoming>) -> F,
        F: Future<Output = Result<Response<B>, Cut>>,
        B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
    {
        let mut cuts = self.cuts.subscribe();
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service_fn(answer))
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            _ = cuts.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection ended");
        }
    }
}

/// Accepts connections for as long as it is polled.
pub async fn accept(listener: TcpListener, mut serve: impl FnMut(TcpStream, SocketAddr)) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Replies are small and waited for.
                stream.set_nodelay(true).ok();
                serve(stream, peer);
            }
            Err(error) => {
                debug!(%error, "could not accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// A connection inside the process: the end of the server, its end for the client, and the address it comes from.
pub fn pipe() -> (DuplexStream, DuplexStream, SocketAddr) {
    let (ours, theirs) = tokio::io::duplex(PIPE);
    (ours, theirs, SocketAddr::from(([127, 0, 0, 1], 0)))
}
