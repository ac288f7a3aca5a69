//! What commands answer: results to standard output as a table, JSON, YAML or names; remarks to standard error.

mod colour;
mod columns;
mod confirm;
mod format;
mod local_time;
mod printable;
mod progress;
mod report;
mod table;
mod value_text;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rookery_daemon::telemetry;
use tokio::io::{AsyncRead, AsyncReadExt as _};

pub use colour::Paint;
pub use columns::{Column, Columns};
pub use confirm::{Typed, answer, confirm};
pub use format::{Format, FormatParser};
pub use local_time::LocalTime;
pub use printable::{printable, printable_lines};
pub use progress::{StatusLine, showing_progress};
pub use report::{ActionResult, Did, Outcome, Report, Subject};
pub use table::{plain_table, table};
pub use value_text::value_text;

/// Why a result did not reach its reader.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The reader has seen enough (`| head`): nothing is wrong.
    #[error("nobody reads the output any more")]
    ReaderGone,
    /// The disk is full, for example.
    #[error("the result cannot be written to standard output")]
    Unwritable(#[source] io::Error),
    /// A mistake in the program.
    #[error("the result cannot be put into JSON")]
    Json(#[from] serde_json::Error),
    /// A mistake in the program.
    #[error("the result cannot be put into YAML")]
    Yaml(#[from] serde_saphyr::SerializeError),
}

/// How much of what comes is written at a time.
pub(crate) const PIECE: usize = 64 * 1024;

pub struct Out(Arc<Mutex<dyn Write + Send>>);

impl Out {
    pub fn stdout() -> Self {
        Self(Arc::new(Mutex::new(io::stdout())))
    }

    /// Standard error, for what another program says there.
    pub fn stderr() -> Self {
        Self(Arc::new(Mutex::new(io::stderr())))
    }

    /// Writes lines, of which there may be none.
    pub async fn lines(&mut self, text: &str) -> Result<(), OutputError> {
        if text.is_empty() { Ok(()) } else { self.line(text).await }
    }

    /// Writes text and a line break, and hands it on at once.
    pub async fn line(&mut self, text: &str) -> Result<(), OutputError> {
        // One write: lines of several programs on one terminal do not mix.
        self.bytes(format!("{text}\n").into()).await
    }

    /// Writes what comes as it is, until it ends.
    pub async fn copy(&mut self, mut from: impl AsyncRead + Unpin) -> anyhow::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let count = from.read(&mut piece).await?;
            if count == 0 {
                return Ok(());
            }
            self.bytes(piece.iter().copied().take(count).collect()).await?;
        }
    }

    /// Writes bytes as they are, and hands them on at once.
    ///
    /// On a thread of its own: a reader that does not read (`| less`) holds up the writing, but must not keep a signal
    /// from being heard, nor the session from being ended.
    pub async fn bytes(&mut self, bytes: Vec<u8>) -> Result<(), OutputError> {
        let sink = Arc::clone(&self.0);
        let write = move || {
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            sink.write_all(&bytes).and_then(|()| sink.flush())
        };
        let written = tokio::task::spawn_blocking(write).await.map_err(io::Error::other).flatten();
        written.map_err(|error| {
            let gone = error.kind() == io::ErrorKind::BrokenPipe;
            if gone { OutputError::ReaderGone } else { OutputError::Unwritable(error) }
        })
    }
}

impl std::fmt::Debug for Out {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Out")
    }
}

/// Tells the user something that is not the result; on a live page it is an event. Not `eprintln!`, which panics when
/// standard error is closed.
pub fn remark(text: &str) {
    let text = printable_lines(text);
    if !telemetry::diverted(&text) {
        writeln!(io::stderr(), "{text}").ok();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An output, and what was written to it.
    pub(crate) fn captured() -> (Out, impl Fn() -> String) {
        let written = Arc::new(Mutex::new(Vec::new()));
        let out = Out(Arc::clone(&written) as _);
        (out, move || String::from_utf8_lossy(&written.lock().unwrap()).into_owned())
    }

    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An output that takes nothing.
    pub(crate) fn refusing(kind: io::ErrorKind) -> Out {
        Out(Arc::new(Mutex::new(Refusing(kind))))
    }

    #[tokio::test]
    async fn a_reader_that_left_is_told_apart_from_a_full_disk() {
        let write = async |kind| refusing(kind).line("x").await.unwrap_err();
        assert!(matches!(write(io::ErrorKind::BrokenPipe).await, OutputError::ReaderGone));
        assert!(matches!(write(io::ErrorKind::StorageFull).await, OutputError::Unwritable(_)));
    }
}
