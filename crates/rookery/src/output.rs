//! What commands answer: results to standard output as a table, JSON or YAML; remarks to standard error.

mod confirm;
mod local_time;
mod printable;
mod progress;
mod table;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use serde::Serialize;

pub use confirm::confirm;
pub use local_time::LocalTime;
pub use printable::{printable, printable_lines};
pub use progress::{StatusLine, showing_progress};
pub use table::table;

/// What results look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

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

impl Format {
    /// A whole result in this format, without the last line break.
    pub fn render(
        self,
        value: &impl Serialize,
        table: impl FnOnce() -> String,
    ) -> Result<String, OutputError> {
        Ok(match self {
            Self::Table => table(),
            Self::Json => serde_json::to_string_pretty(value)?,
            Self::Yaml => serde_saphyr::to_string(value)?.trim_end().to_owned(),
        })
    }

    /// One item of an endless series: a plain line, a JSON object on one line, or a YAML document.
    pub fn render_item(
        self,
        value: &impl Serialize,
        line: impl FnOnce() -> String,
    ) -> Result<String, OutputError> {
        Ok(match self {
            Self::Table => line(),
            Self::Json => serde_json::to_string(value)?,
            Self::Yaml => format!("---\n{}", serde_saphyr::to_string(value)?.trim_end()),
        })
    }
}

pub struct Out(Arc<Mutex<dyn Write + Send>>);

impl Out {
    pub fn stdout() -> Self {
        Self(Arc::new(Mutex::new(io::stdout())))
    }

    /// Standard error, for what another program says there.
    pub fn stderr() -> Self {
        Self(Arc::new(Mutex::new(io::stderr())))
    }

    /// Writes text and a line break, and hands it on at once.
    pub async fn line(&mut self, text: &str) -> Result<(), OutputError> {
        // One write: lines of several programs on one terminal do not mix.
        self.bytes(format!("{text}\n").into()).await
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

/// Tells the user something that is not the result. Not `eprintln!`, which panics when standard error is closed.
pub fn remark(text: &str) {
    writeln!(io::stderr(), "{}", printable_lines(text)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Refusing(io::ErrorKind);

    impl Write for Refusing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_reader_that_left_is_told_apart_from_a_full_disk() {
        let write = async |kind| Out(Arc::new(Mutex::new(Refusing(kind)))).line("x").await.unwrap_err();
        assert!(matches!(write(io::ErrorKind::BrokenPipe).await, OutputError::ReaderGone));
        assert!(matches!(write(io::ErrorKind::StorageFull).await, OutputError::Unwritable(_)));
    }

    #[test]
    fn a_series_has_one_line_or_document_each() {
        let value = serde_json::json!({"name": "a: b", "ip": null});
        let check = |format: Format, expected| {
            assert_eq!(format.render_item(&value, || "plain".to_owned()).unwrap(), expected);
        };
        check(Format::Table, "plain");
        check(Format::Json, r#"{"ip":null,"name":"a: b"}"#);
        check(Format::Yaml, "---\nip: null\nname: \"a: b\"");
    }
}
