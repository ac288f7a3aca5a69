//! Log lines on their way out. A thread of its own writes them, so that a sink which fails or hangs (a full disk, a
//! closed pipe, a pipe that nobody reads) costs lines and never holds up whoever logs.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use super::diversion::diverted;

/// How many bytes may wait to be written; lines beyond that are lost. It covers a sink that hangs for a while.
const LARGEST_BACKLOG: usize = 4 << 20;
/// How often a sink that does not take bytes right now is asked again.
const RETRY: Duration = Duration::from_millis(20);

/// A queue of lines and the thread that writes them. Clones share both.
#[derive(Debug, Clone)]
pub(super) struct Lossy(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    backlog: Mutex<Backlog>,
    changed: Condvar,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Backlog {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    is_writing: bool,
}

impl Lossy {
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let written = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || written.write_to(sink))?;
        Ok(Self(shared))
    }

    /// Hands a line over; it is lost if too much waits already.
    pub(super) fn push(&self, line: &[u8]) {
        let mut backlog = self.0.backlog();
        if backlog.bytes + line.len() > LARGEST_BACKLOG {
            drop(backlog);
            self.0.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        backlog.bytes += line.len();
        backlog.lines.push_back(line.to_vec());
        drop(backlog);
        self.0.changed.notify_all();
    }

    /// Waits until all lines so far are written or lost, but no longer than that.
    pub(super) fn flush(&self, deadline: Duration) {
        let backlog = self.0.backlog();
        let is_busy = |backlog: &mut Backlog| backlog.is_writing || !backlog.lines.is_empty();
        drop(self.0.changed.wait_timeout_while(backlog, deadline, is_busy));
    }

    /// How many lines were lost.
    pub(super) fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, mut sink: impl Write) {
        let mut told = 0;
        loop {
            let line = self.next();
            let written = write_whole(&mut sink, &line);
            if written.is_err() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            let is_idle = {
                let mut backlog = self.backlog();
                backlog.bytes -= line.len();
                backlog.is_writing = false;
                backlog.lines.is_empty()
            };
            self.changed.notify_all();
            // Only once the sink works again and keeps up: this is a line more.
            let lost = self.lost.load(Ordering::Relaxed);
            if is_idle && written.is_ok() && lost > told {
                told = lost;
                tracing::warn!(lost, "log lines were lost because they could not be written in time");
            }
        }
    }

    fn next(&self) -> Vec<u8> {
        let backlog = self.backlog();
        let waiting = self.changed.wait_while(backlog, |backlog| backlog.lines.is_empty());
        let mut backlog = waiting.unwrap_or_else(PoisonError::into_inner);
        backlog.is_writing = true;
        backlog.lines.pop_front().unwrap_or_default()
    }
}

/// Like `write_all`, for sinks that somebody else has made non-blocking, too.
fn write_whole(sink: &mut impl Write, mut line: &[u8]) -> io::Result<()> {
    while !line.is_empty() {
        match sink.write(line) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => line = line.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY),
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

/// What log events are written to: each arrives whole, in one call.
#[derive(Debug)]
pub(super) struct Line(Lossy);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !diverted(&String::from_utf8_lossy(bytes)) {
            self.0.push(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lossy {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(30);

    /// Takes a line when it is told to; with an error if that is what it is told.
    struct Gated {
        taken: Arc<Mutex<Vec<u8>>>,
        permits: mpsc::Receiver<Option<io::ErrorKind>>,
    }

    impl Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Ok(Some(kind)) = self.permits.recv() {
                return Err(kind.into());
            }
            // Not all at once: writers may take less than they are given.
            let part = bytes.len().div_ceil(2);
            self.taken.lock().unwrap().extend_from_slice(&bytes[..part]);
            Ok(part)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    type Permits = mpsc::Sender<Option<io::ErrorKind>>;
    type Taken = Arc<Mutex<Vec<u8>>>;

    fn gated() -> (Lossy, Permits, Taken) {
        let (permit, permits) = mpsc::channel();
        let taken = Taken::default();
        let log = Lossy::start(Gated { taken: Arc::clone(&taken), permits }).unwrap();
        (log, permit, taken)
    }

    #[test]
    fn lines_are_written_in_their_order() {
        let (log, permit, taken) = gated();
        drop(permit);
        for line in ["one\n", "two\n", "three\n"] {
            log.push(line.as_bytes());
        }
        log.flush(LONG);
        assert_eq!(taken.lock().unwrap().as_slice(), b"one\ntwo\nthree\n");
        assert_eq!(log.lost(), 0);
    }

    #[test]
    fn a_sink_that_hangs_holds_nobody_up_and_costs_what_does_not_fit() {
        let (log, permit, taken) = gated();
        let line = vec![b'x'; LARGEST_BACKLOG / 8];
        let begun = Instant::now();
        for _ in 0..20 {
            log.push(&line);
        }
        log.flush(SHORT);
        assert!(begun.elapsed() < LONG / 2, "nobody waited for the sink");
        assert_eq!(log.lost(), 12);
        drop(permit);
        log.flush(LONG);
        assert_eq!(taken.lock().unwrap().len(), LARGEST_BACKLOG, "what fitted is written once it can be");
    }

    #[test]
    fn a_line_that_cannot_be_written_is_counted_and_those_after_it_are_tried() {
        let (log, permit, taken) = gated();
        permit.send(Some(io::ErrorKind::StorageFull)).unwrap();
        permit.send(Some(io::ErrorKind::BrokenPipe)).unwrap();
        // Neither of these is a failure.
        permit.send(Some(io::ErrorKind::Interrupted)).unwrap();
        permit.send(Some(io::ErrorKind::WouldBlock)).unwrap();
        drop(permit);
        for line in ["full\n", "closed\n", "fine\n"] {
            log.push(line.as_bytes());
        }
        log.flush(LONG);
        assert_eq!(taken.lock().unwrap().as_slice(), b"fine\n");
        assert_eq!(log.lost(), 2);
    }
}
