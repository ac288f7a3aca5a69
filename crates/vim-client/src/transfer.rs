//! Bytes of any number, sent and received as they come.
//!
//! A file is whole or it is an error: a source must give exactly what was announced, and a server too. Memory is a few
//! chunks, whatever the size. There is no deadline over all of it, but bytes must keep moving.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{ACCEPT_ENCODING, HeaderName};
use rookery_dial::{Body, HttpError, encodings};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::error::CallError;

/// Large enough that the work is in the bytes and not in the calls; a transfer holds three or four of these.
const CHUNK: u64 = 128 * 1024;

/// Why not all bytes went from one end to the other.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// What was to be sent could not be read.
    #[error("could not read the file to be sent")]
    Source(#[source] io::Error),
    /// There was less to send than announced.
    #[error("the source ended after {got} of {announced} bytes")]
    SourceShort { announced: u64, got: u64 },
    /// There was more to send than announced.
    #[error("the source goes on after the announced {announced} bytes")]
    SourceLong { announced: u64 },
    /// What was received could not be written.
    #[error("could not write the received file to its destination")]
    Sink(#[source] io::Error),
    /// Nothing moved for too long.
    #[error("{end} moved no byte for {} s, after {moved} bytes", after.as_secs())]
    Stalled { end: TransferEnd, after: Duration, moved: u64 },
    /// The connection broke while bytes were on their way.
    #[error("the connection broke after {moved} bytes")]
    Broken { moved: u64, source: CallError },
    /// Everything was sent, and what became of it is not known.
    #[error("all bytes were sent, but no answer came")]
    Unanswered(#[source] CallError),
    /// The server was content before it had everything.
    #[error("the server answered when it had {moved} of {announced} bytes")]
    TooEarly { announced: u64, moved: u64 },
    /// Nobody can tell whether everything came.
    #[error("the server does not say how many bytes it sends")]
    NoLength,
    /// What comes is not the file itself, although nothing else was asked for.
    #[error(
        "the server sends the file with content encoding {encoding:?} although it was asked for it as it is"
    )]
    Encoded { encoding: String },
}

impl TransferError {
    /// Whether the same may succeed later without anybody doing anything about it.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Stalled { .. } | Self::TooEarly { .. } | Self::NoLength => true,
            Self::Broken { source, .. } | Self::Unanswered(source) => source.is_transient(),
            Self::Source(_)
            | Self::SourceShort { .. }
            | Self::SourceLong { .. }
            | Self::Sink(_)
            | Self::Encoded { .. } => false,
        }
    }
}

/// One end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferEnd {
    /// Where bytes to send come from.
    Source,
    /// Where received bytes go.
    Sink,
    Server,
}

impl std::fmt::Display for TransferEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Source => "the source",
            Self::Sink => "the receiver",
            Self::Server => "the server",
        })
    }
}

/// How a transfer is watched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch<'a> {
    /// Gets the number of bytes moved so far.
    pub(crate) progress: &'a watch::Sender<u64>,
    /// How long no byte may move.
    pub(crate) stall: Duration,
}

impl Watch<'_> {
    async fn within<T>(
        self,
        end: TransferEnd,
        moved: u64,
        step: impl Future<Output = T>,
    ) -> Result<T, TransferError> {
        let after = self.stall;
        timeout(after, step).await.map_err(|_| TransferError::Stalled { end, after, moved })
    }
}

/// Sends exactly `size` bytes in the request that `send` makes of a body; its answer, whatever it is.
///
/// The request says the length in its header: an empty body would be sent without. Nothing is sent before the source has given its first bytes, and the last ones only when it has ended.
pub(crate) async fn upload<R, F>(
    reader: R,
    size: u64,
    send: impl FnOnce(Body) -> F,
    watch: Watch<'_>,
) -> Result<Response<Incoming>, TransferError>
where
    R: AsyncRead + Unpin,
    F: Future<Output = Result<Response<Incoming>, CallError>>,
{
    watch.progress.send_replace(0);
    let mut source = Source { reader, size, left: size };
    let first = source.next(watch).await?;
    let (feed, chunks) = mpsc::channel(1);
    let mut answer = pin!(send(ChannelBody { chunks, left: size }.boxed_unsync()));
    let mut moved = 0;
    let pumped = tokio::select! {
        biased;
        early = &mut answer => return answered_early(early, size, moved),
        pumped = pump(first, &mut source, feed, &mut moved, watch) => pumped?,
    };
    let answer = watch.within(TransferEnd::Server, moved, answer).await?;
    match pumped {
        Pumped::All => answer.map_err(TransferError::Unanswered),
        // Whoever took the bytes has gone; the answer tells why.
        Pumped::Unwanted => answered_early(answer, size, moved),
    }
}

/// A server that does not want all bytes has a reason, which is no success.
fn answered_early(
    answer: Result<Response<Incoming>, CallError>,
    announced: u64,
    moved: u64,
) -> Result<Response<Incoming>, TransferError> {
    match answer {
        Ok(response) if response.status().is_success() => Err(TransferError::TooEarly { announced, moved }),
        Ok(response) => Ok(response),
        Err(source) => Err(TransferError::Broken { moved, source }),
    }
}

enum Pumped {
    All,
    Unwanted,
}

/// Feeds the request. When this ends early, so does the feed, and the request breaks off.
async fn pump<R: AsyncRead + Unpin>(
    first: Option<Bytes>,
    source: &mut Source<R>,
    feed: mpsc::Sender<Bytes>,
    moved: &mut u64,
    watch: Watch<'_>,
) -> Result<Pumped, TransferError> {
    let mut next = first;
    while let Some(chunk) = next {
        let length = chunk.len() as u64;
        if watch.within(TransferEnd::Server, *moved, feed.send(chunk)).await?.is_err() {
            return Ok(Pumped::Unwanted);
        }
        *moved += length;
        watch.progress.send_replace(*moved);
        next = source.next(watch).await?;
    }
    Ok(Pumped::All)
}

/// A reader that must give exactly so many bytes.
struct Source<R> {
    reader: R,
    size: u64,
    left: u64,
}

impl<R: AsyncRead + Unpin> Source<R> {
    async fn next(&mut self, watch: Watch<'_>) -> Result<Option<Bytes>, TransferError> {
        let want = usize::try_from(self.left.min(CHUNK)).unwrap_or_default();
        let mut room = BytesMut::with_capacity(want).limit(want);
        while room.has_remaining_mut() {
            let got = self.size - self.left + room.get_ref().len() as u64;
            let read = watch.within(TransferEnd::Source, got, self.reader.read_buf(&mut room)).await?;
            if read.map_err(TransferError::Source)? == 0 {
                return Err(TransferError::SourceShort { announced: self.size, got });
            }
        }
        self.left -= want as u64;
        if self.left == 0 && (want > 0 || self.size == 0) {
            self.expect_end(watch).await?;
        }
        Ok(Some(room.into_inner().freeze()).filter(|chunk| !chunk.is_empty()))
    }

    async fn expect_end(&mut self, watch: Watch<'_>) -> Result<(), TransferError> {
        let more = watch.within(TransferEnd::Source, self.size, self.reader.read(&mut [0; 1])).await?;
        match more.map_err(TransferError::Source)? {
            0 => Ok(()),
            _ => Err(TransferError::SourceLong { announced: self.size }),
        }
    }
}

/// The body of a request, fed from outside.
struct ChannelBody {
    chunks: mpsc::Receiver<Bytes>,
    left: u64,
}

impl HttpBody for ChannelBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(match ready!(self.chunks.poll_recv(cx)) {
            Some(chunk) => {
                self.left = self.left.saturating_sub(chunk.len() as u64);
                Some(Ok(Frame::data(chunk)))
            }
            None if self.left == 0 => None,
            // An error makes the connection break off: the server must not take this for the end.
            None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A file is wanted byte for byte: a server that is not told so may compress it.
pub(crate) const AS_IT_IS: [(HeaderName, &str); 1] = [(ACCEPT_ENCODING, "identity")];

/// Whether a server must say beforehand how many bytes it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Required,
    /// It need not: the caller knows what to expect.
    Optional,
}

/// Writes the body of an answer to `sink`; how many bytes that were.
pub(crate) async fn download<W: AsyncWrite + Unpin>(
    what: &'static str,
    response: Response<Incoming>,
    length: Length,
    sink: &mut W,
    watch: Watch<'_>,
) -> Result<u64, TransferError> {
    watch.progress.send_replace(0);
    let encodings = encodings(response.headers());
    if !encodings.is_empty() {
        return Err(TransferError::Encoded { encoding: encodings.join(", ") });
    }
    let mut body = response.into_body();
    // With a length, hyper takes a stream that ends before it for broken.
    if length == Length::Required && body.size_hint().exact().is_none() {
        return Err(TransferError::NoLength);
    }
    let mut moved = 0;
    while let Some(frame) = watch.within(TransferEnd::Server, moved, body.frame()).await? {
        let lost = |error: hyper::Error| {
            let source = HttpError::Broken(error.to_string());
            TransferError::Broken { moved, source: CallError::Lost { method: what, source } }
        };
        let Ok(data) = frame.map_err(lost)?.into_data() else { continue };
        watch.within(TransferEnd::Sink, moved, sink.write_all(&data)).await?.map_err(TransferError::Sink)?;
        moved += data.len() as u64;
        watch.progress.send_replace(moved);
    }
    watch.within(TransferEnd::Sink, moved, sink.flush()).await?.map_err(TransferError::Sink)?;
    Ok(moved)
}

#[cfg(test)]
mod tests;
