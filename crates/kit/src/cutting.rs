//! Streams that end too early, at a chosen byte.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use rookery_daemon::Supervisor;
use rookery_vim_client::{Dial, DialError, Dialing, Stream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Dials through another dialer and writes down what the server sends, one entry a connection.
#[derive(Debug)]
pub struct Recording {
    inner: Arc<dyn Dial>,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Recording {
    /// Records what comes over `inner`.
    pub fn new(inner: Arc<dyn Dial>) -> Self {
        Self { inner, heard: Arc::default() }
    }

    /// What each connection heard.
    pub fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().expect("nobody panicked").clone()
    }
}

impl Dial for Recording {
    fn dial(&self) -> Dialing {
        let (dialing, heard) = (self.inner.dial(), Arc::clone(&self.heard));
        Box::pin(async move {
            let inner = dialing.await?;
            let index = {
                let mut heard = heard.lock().expect("nobody panicked");
                heard.push(Vec::new());
                heard.len() - 1
            };
            Ok(Box::new(Tapped { inner, heard, index }) as Box<dyn Stream>)
        })
    }
}

struct Tapped {
    inner: Box<dyn Stream>,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    index: usize,
}

impl AsyncRead for Tapped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.inner).poll_read(cx, buf);
        let index = self.index;
        self.heard.lock().expect("nobody panicked")[index].extend_from_slice(&buf.filled()[before..]);
        poll
    }
}

impl AsyncWrite for Tapped {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Splits what a connection heard into its answers.
pub fn split_answers(stream: &[u8]) -> Vec<Vec<u8>> {
    let find = |bytes: &[u8], what: &[u8]| {
        bytes.windows(what.len()).position(|w| w == what).map(|at| at + what.len())
    };
    let mut answers = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let head = find(rest, b"\r\n\r\n").expect("a header");
        let text = String::from_utf8_lossy(&rest[..head]).to_ascii_lowercase();
        let length =
            text.lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let length = length.unwrap_or_else(|| find(&rest[head..], b"\r\n0\r\n\r\n").expect("a last chunk"));
        let (answer, after) = rest.split_at(head + length);
        answers.push(answer.to_vec());
        rest = after;
    }
    answers
}

/// An in-memory server that answers each connection's single request with the next of the given byte strings and
/// then hangs up. When they are used up it hangs up at once.
#[derive(Debug)]
pub struct PipeDial {
    answers: Mutex<std::vec::IntoIter<Vec<u8>>>,
    tasks: Supervisor,
}

impl PipeDial {
    /// Answers in this order.
    pub fn new(answers: Vec<Vec<u8>>, tasks: Supervisor) -> Self {
        Self { answers: Mutex::new(answers.into_iter()), tasks }
    }
}

impl Dial for PipeDial {
    fn dial(&self) -> Dialing {
        let answer = self.answers.lock().expect("nobody panicked").next();
        let (ours, mut theirs) = duplex(1 << 20);
        self.tasks.spawn("pipe", async move {
            let mut request = Vec::new();
            while !is_whole(&request) {
                if theirs.read_buf(&mut request).await.unwrap_or(0) == 0 {
                    return;
                }
            }
            theirs.write_all(&answer.unwrap_or_default()).await.ok();
        });
        Box::pin(async move { Ok::<_, DialError>(Box::new(ours) as Box<dyn Stream>) })
    }
}

/// Whether a request with its body has arrived.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// A TCP relay that can lose answers: first it swallows them, then it hangs up.
#[derive(Debug)]
pub struct Relay {
    /// Where clients connect to.
    pub socket: String,
    state: Arc<RelayState>,
}

#[derive(Debug, Default)]
struct RelayState {
    hang_up: Notify,
    muted: AtomicBool,
    swallowed: AtomicUsize,
}

impl Relay {
    /// Relays to `upstream` (`host:port`).
    pub async fn start(upstream: &str, tasks: &Supervisor) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let socket = listener.local_addr().expect("it is bound").to_string();
        let state = Arc::<RelayState>::default();
        let (upstream, shared, spawner) = (upstream.to_owned(), Arc::clone(&state), tasks.clone());
        tasks.spawn("relay", async move {
            while let Ok((client, _)) = listener.accept().await {
                let (upstream, shared) = (upstream.clone(), Arc::clone(&shared));
                spawner.spawn("relayed connection", async move {
                    let Ok(server) = TcpStream::connect(upstream).await else { return };
                    tokio::select! {
                        biased;
                        () = shared.hang_up.notified() => {}
                        () = pass(client, server, |_: &mut Vec<u8>| !shared.swallow()) => {}
                    }
                });
            }
        });
        Self { socket, state }
    }

    /// From now on the server's answers go nowhere.
    pub fn mute(&self) {
        self.state.muted.store(true, Ordering::SeqCst);
    }

    /// Whether an answer was lost since the last [`Self::hang_up`].
    pub fn has_swallowed(&self) -> bool {
        self.state.swallowed.load(Ordering::SeqCst) > 0
    }

    /// Cuts all connections that are open now; new ones are relayed in full.
    pub fn hang_up(&self) {
        self.state.muted.store(false, Ordering::SeqCst);
        self.state.swallowed.store(0, Ordering::SeqCst);
        self.state.hang_up.notify_waiters();
    }
}

impl RelayState {
    fn swallow(&self) -> bool {
        let muted = self.muted.load(Ordering::SeqCst);
        self.swallowed.fetch_add(usize::from(muted), Ordering::SeqCst);
        muted
    }
}

/// A TCP relay that hangs up after a number of bytes from the server, counted over all connections.
#[derive(Debug)]
pub struct CutAfter {
    /// Where clients connect to.
    pub socket: String,
    passed: Arc<Mutex<usize>>,
}

impl CutAfter {
    /// Relays to `upstream` (`host:port`) and hangs up once `limit` bytes came back from it.
    pub async fn start(upstream: &str, limit: usize, tasks: &Supervisor) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let socket = listener.local_addr().expect("it is bound").to_string();
        let passed = Arc::<Mutex<usize>>::default();
        let (upstream, count, spawner) = (upstream.to_owned(), Arc::clone(&passed), tasks.clone());
        tasks.spawn("cutting relay", async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawner
                    .spawn("relayed connection", relay(stream, upstream.clone(), limit, Arc::clone(&count)));
            }
        });
        Self { socket, passed }
    }

    /// How many bytes came back so far.
    pub fn passed(&self) -> usize {
        *self.passed.lock().expect("nobody panicked")
    }
}

async fn relay(client: TcpStream, upstream: String, limit: usize, passed: Arc<Mutex<usize>>) {
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let (end, mut ended) = tokio::sync::mpsc::channel(1);
    let admit = |chunk: &mut Vec<u8>| {
        let mut passed = passed.lock().expect("nobody panicked");
        let allowed = chunk.len().min(limit.saturating_sub(*passed));
        *passed += allowed;
        if allowed < chunk.len() {
            chunk.truncate(allowed);
            end.try_send(()).ok();
        }
        true
    };
    tokio::select! {
        biased;
        () = pass(client, server, admit) => {}
        _ = ended.recv() => {}
    }
}

/// Passes bytes both ways; `admit` sees what the server sends, may shorten it, and says whether it goes on.
async fn pass(client: TcpStream, server: TcpStream, admit: impl Fn(&mut Vec<u8>) -> bool) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let back = async {
        loop {
            let mut chunk = Vec::with_capacity(4096);
            if from_server.read_buf(&mut chunk).await.unwrap_or(0) == 0 {
                return;
            }
            if admit(&mut chunk) && to_client.write_all(&chunk).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        () = back => {}
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
    }
}
