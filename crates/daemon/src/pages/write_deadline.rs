//! A stream whose writes have a deadline: a reader that takes an answer too slowly, or not at all, must not keep its
//! place and its page in memory for ever.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Fails if what was begun to be written is not written after a time.
#[derive(Debug)]
pub(super) struct WriteDeadline<S> {
    stream: S,
    patience: Duration,
    /// Runs from the first byte of an answer until all of it is handed over.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteDeadline<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, deadline: None }
    }

    fn write_by_deadline<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(&mut S, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        // First: a reader that takes a little now and then is as slow as one that takes nothing.
        if deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        write(&mut self.stream, context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write_by_deadline(context, |stream, context| Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write_by_deadline(context, |stream, context| {
            Pin::new(stream).poll_write_vectored(context, parts)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Whoever writes flushes once nothing is left to be written: then the answer is on its way.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        self.deadline = None;
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, timeout};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// How long an answer of 100 bytes takes over a pipe of 10, to a reader who takes so many bytes each second.
    async fn answer(each_second: usize) -> (io::Result<()>, Duration) {
        let (near, mut far) = duplex(10);
        let reader = async {
            let mut taken = vec![0; each_second];
            while each_second > 0 && far.read_exact(&mut taken).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
            std::future::pending::<()>().await;
        };
        let begun = Instant::now();
        let writer = async {
            let mut stream = WriteDeadline::new(near, PATIENCE);
            let written = async {
                stream.write_all(&[7; 100]).await?;
                stream.flush().await
            };
            let written = written.await;
            (written, begun.elapsed(), stream)
        };
        tokio::select! {
            biased;
            (written, took, _stream) = writer => (written, took),
            () = reader => unreachable!("it goes on for ever"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_too_long_is_cut_off_whether_it_takes_a_little_or_nothing() {
        for slow in [0, 1, 2] {
            let (written, took) = answer(slow).await;
            assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut, "{slow}");
            assert_eq!(took.as_secs(), PATIENCE.as_secs(), "{slow}");
        }
        assert!(answer(10).await.0.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn each_answer_has_its_own_time() {
        let (near, mut far) = duplex(10);
        let mut stream = WriteDeadline::new(near, PATIENCE);
        for _ in 0..5 {
            stream.write_all(&[7; 10]).await.unwrap();
            stream.flush().await.unwrap();
            sleep(PATIENCE).await;
            far.read_exact(&mut [0; 10]).await.unwrap();
        }
        let nothing = timeout(PATIENCE, far.read_u8()).await;
        assert!(nothing.is_err(), "nobody was cut off");
    }
}
