//! A transport that can be cut and mended, and writes down what was sent over it, and when.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use rookery_vim_client::{Dial, Dialing, Stream};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::crash::in_words;

/// The network between one client and one server. While it is cut, everything is
/// held back silently. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Cable(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    cut: watch::Sender<bool>,
    waiting: Mutex<Vec<Waker>>,
    sent: Mutex<Vec<(Instant, String)>>,
}

impl Cable {
    /// Nothing passes from now on.
    pub fn cut(&self) {
        self.0.cut.send_replace(true);
    }

    /// Everything passes again, also what was on its way.
    pub fn mend(&self) {
        self.0.cut.send_replace(false);
        for waker in locked(&self.0.waiting).drain(..) {
            waker.wake();
        }
    }

    /// What was sent since a moment, in words.
    pub fn sent_since(&self, moment: Instant) -> Vec<String> {
        let sent = locked(&self.0.sent);
        sent.iter().filter(|(at, _)| *at >= moment).map(|(_, words)| words.clone()).collect()
    }

    /// A way to a server that is reached by pipes.
    pub fn to(&self, pipe: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Arc<dyn Dial> {
        Arc::new(CableDial { cable: self.clone(), pipe: Arc::new(pipe) })
    }

    fn holds(&self, cx: &Context<'_>) -> bool {
        let cut = *self.0.cut.borrow();
        if cut {
            locked(&self.0.waiting).push(cx.waker().clone());
        }
        cut
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panicked")
}

struct CableDial {
    cable: Cable,
    pipe: Arc<dyn Fn() -> DuplexStream + Send + Sync>,
}

impl fmt::Debug for CableDial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CableDial").field("cable", &self.cable).finish_non_exhaustive()
    }
}

impl Dial for CableDial {
    fn dial(&self) -> Dialing {
        let (cable, pipe) = (self.cable.clone(), Arc::clone(&self.pipe));
        Box::pin(async move {
            cable.0.cut.subscribe().wait_for(|cut| !cut).await.expect("the cable is there");
            Ok(Box::new(CableStream { inner: pipe(), cable }) as Box<dyn Stream>)
        })
    }
}

struct CableStream {
    cable: Cable,
    inner: DuplexStream,
}

impl AsyncWrite for CableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.cable.holds(cx) {
            return Poll::Pending;
        }
        if [&b"POST "[..], b"GET ", b"PUT ", b"DELETE "].iter().any(|method| buf.starts_with(method)) {
            locked(&self.cable.0.sent).push((Instant::now(), in_words(buf)));
        }
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl AsyncRead for CableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.cable.holds(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}
