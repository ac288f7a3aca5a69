//! A transport that counts requests and knows at which of them its client dies.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use rookery_vim_client::{Dial, Dialing, Stream};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::watch;

/// When in an exchange the client dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Nothing of the request leaves.
    BeforeRequest,
    /// The server has done what was asked, and nobody hears its answer.
    BeforeAnswer,
    /// The answer has come, and nothing leaves after it.
    AfterAnswer,
}

impl Moment {
    pub const ALL: [Self; 3] = [Self::BeforeRequest, Self::BeforeAnswer, Self::AfterAnswer];
}

/// All that one client sends to all of its servers, counted together. From its death on nothing goes in or out: what the
/// client does then, nobody sees. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Wire(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    books: Mutex<Books>,
    dead: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Books {
    requests: Vec<String>,
    /// How many of them had left before the count began; nothing is counted before.
    before: Option<usize>,
    fate: Option<(usize, Moment)>,
    watch: Option<Watch>,
}

impl Books {
    fn begin_to_count(&mut self) -> usize {
        *self.before.insert(self.requests.len())
    }
}

/// Lets nothing pass before somebody has looked.
#[derive(Debug, Default)]
struct Watch {
    held: VecDeque<(Step, Waker)>,
    seen: BTreeSet<Step>,
    watcher: Option<Waker>,
}

/// A request leaves, or the answer to it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The request of that number, counted from 1 and from where the count began.
    Request(usize),
    /// The answer to it.
    Answer(usize),
}

impl Wire {
    /// Counts from here on.
    pub fn count_anew(&self) {
        self.books().begin_to_count();
    }

    /// The client dies at the request of that number, counted from 1 and from here on.
    pub fn die_at(&self, number: usize, moment: Moment) {
        let mut books = self.books();
        let before = books.begin_to_count();
        books.fate = Some((before + number, moment));
    }

    /// What was asked since the count began, in words.
    pub fn requests(&self) -> Vec<String> {
        let books = self.books();
        books.requests.iter().skip(books.before.unwrap_or_default()).cloned().collect()
    }

    /// Holds each request back before it leaves, and each answer when it comes, until somebody has looked. Never ends.
    pub async fn watch<F: Future<Output = ()>>(&self, mut look: impl FnMut(Step) -> F) {
        self.books().watch = Some(Watch::default());
        loop {
            let (step, waker) = poll_fn(|cx| self.poll_held(cx)).await;
            look(step).await;
            self.books().watch.get_or_insert_default().seen.insert(step);
            waker.wake();
        }
    }

    fn poll_held(&self, cx: &Context<'_>) -> Poll<(Step, Waker)> {
        let mut books = self.books();
        let watch = books.watch.get_or_insert_default();
        watch.watcher = Some(cx.waker().clone());
        watch.held.pop_front().map_or(Poll::Pending, Poll::Ready)
    }

    /// Whether a step of an exchange has to wait until somebody has looked.
    fn holds(&self, number: usize, step: impl Fn(usize) -> Step, cx: &Context<'_>) -> bool {
        let mut books = self.books();
        let counted = books.before.and_then(|before| number.checked_sub(before)).filter(|number| *number > 0);
        let (Some(step), Some(watch)) = (counted.map(step), &mut books.watch) else { return false };
        if watch.seen.contains(&step) {
            return false;
        }
        if watch.held.iter().all(|(held, _)| *held != step) {
            watch.held.push_back((step, cx.waker().clone()));
            if let Some(watcher) = watch.watcher.take() {
                watcher.wake();
            }
        }
        true
    }

    /// Comes when the client is dead.
    pub async fn death(&self) {
        self.0.dead.subscribe().wait_for(|dead| *dead).await.expect("the wire is there");
    }

    /// Whether the client is dead.
    pub fn is_dead(&self) -> bool {
        *self.0.dead.borrow()
    }

    /// A way to a server that is reached by pipes.
    pub fn to(&self, pipe: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Arc<dyn Dial> {
        Arc::new(Piped { wire: self.clone(), pipe: Box::new(pipe) })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.books.lock().expect("nobody panicked")
    }

    /// Writes a request down; its number.
    fn begin(&self, bytes: &[u8]) -> usize {
        let mut books = self.books();
        books.requests.push(in_words(bytes));
        books.requests.len()
    }

    /// Whether the client dies at this moment of this exchange.
    fn is_fatal(&self, number: usize, moment: Moment) -> bool {
        let fatal = self.books().fate == Some((number, moment));
        if fatal {
            self.0.dead.send_replace(true);
        }
        fatal
    }
}

struct Piped {
    wire: Wire,
    pipe: Box<dyn Fn() -> DuplexStream + Send + Sync>,
}

impl fmt::Debug for Piped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Piped").field("wire", &self.wire).finish_non_exhaustive()
    }
}

impl Dial for Piped {
    fn dial(&self) -> Dialing {
        if self.wire.is_dead() {
            return Box::pin(std::future::pending());
        }
        let stream =
            Counted { wire: self.wire.clone(), inner: (self.pipe)(), exchange: Exchange::None, heard: None };
        Box::pin(async move { Ok(Box::new(stream) as Box<dyn Stream>) })
    }
}

/// A connection of HTTP/1.1, where a request is only sent when the one before was answered.
struct Counted {
    wire: Wire,
    inner: DuplexStream,
    exchange: Exchange,
    /// The beginning of an answer that somebody has to look at first.
    heard: Option<Vec<u8>>,
}

#[derive(Clone, Copy)]
enum Exchange {
    None,
    Leaving(usize),
    Asked(usize),
    /// A websocket: nothing is asked any more.
    Upgraded,
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.wire.is_dead() {
            return Poll::Pending;
        }
        if let Exchange::None = self.exchange {
            let number = self.wire.begin(buf);
            self.exchange = Exchange::Leaving(number);
            if self.wire.is_fatal(number, Moment::BeforeRequest) {
                return Poll::Pending;
            }
        }
        if let Exchange::Leaving(number) = self.exchange {
            if self.wire.holds(number, Step::Request, cx) {
                return Poll::Pending;
            }
            self.exchange = Exchange::Asked(number);
        }
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.wire.is_dead() {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.wire.is_dead() {
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let poll = match self.heard.take() {
            None => Pin::new(&mut self.inner).poll_read(cx, buf),
            Some(heard) => {
                buf.put_slice(&heard);
                Poll::Ready(Ok(()))
            }
        };
        let (Exchange::Asked(number), answer) = (self.exchange, &buf.filled()[before..]) else { return poll };
        if answer.is_empty() {
            return poll;
        }
        if self.wire.holds(number, Step::Answer, cx) {
            self.heard = Some(answer.to_vec());
            buf.set_filled(before);
            return Poll::Pending;
        }
        let upgraded = answer.starts_with(b"HTTP/1.1 101");
        self.exchange = if upgraded { Exchange::Upgraded } else { Exchange::None };
        if self.wire.is_fatal(number, Moment::BeforeAnswer) {
            buf.set_filled(before);
            return Poll::Pending;
        }
        self.wire.is_fatal(number, Moment::AfterAnswer);
        poll
    }
}

/// `GET /v2/worker`, or the SOAP method.
pub(crate) fn in_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let soap = text.split_once(":Body><").and_then(|(_, body)| body.split([' ', '>', '/']).next());
    let line = || text.split(" HTTP/").next().unwrap_or_default();
    soap.unwrap_or_else(line).chars().take(80).collect()
}
