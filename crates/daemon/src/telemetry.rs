//! Logging for the whole process, to standard error: standard output belongs to the command's result.
//!
//! Nobody who logs ever waits for standard error or learns that it failed; lines that cannot be written are lost, and
//! counted ([`lost_lines`]). A process that ends waits a moment for the rest with [`flush`].

mod diversion;
mod lossy;

use std::env;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::os::fd::AsFd as _;
use std::panic;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::reload;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

pub use diversion::{divert, divert_no_more, diverted};
use lossy::Lossy;

/// The log of this process, once it is set up.
static LOG: OnceLock<Lossy> = OnceLock::new();

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people: one line per event, coloured on a terminal.
    #[default]
    Human,
    /// For machines: one JSON object per line.
    Json,
}

/// What is logged, and how.
#[derive(Debug, Clone)]
pub struct Telemetry {
    /// How log lines look.
    pub format: LogFormat,
    /// A level, or the directives of `RUST_LOG`: `info,rookery_vim_client=debug`.
    pub filter: String,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The format is not one of ours.
    #[error("log format {given:?} is neither \"human\" nor \"json\"")]
    Format { given: String },
    /// The filter cannot be parsed.
    #[error("log filter {filter:?} is not valid")]
    Filter {
        filter: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// Something else in this process logs already.
    #[error("logging is already set up")]
    Repeated(#[source] TryInitError),
    /// The thread that writes log lines does not start.
    #[error("the thread that writes the log cannot be started")]
    Thread(#[source] io::Error),
    /// Nothing is logged any more.
    #[error("the log filter cannot be changed")]
    Unchangeable(#[source] reload::Error),
}

/// What is logged, for those who change it while the process runs.
pub struct Filter(Box<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>);

impl Filter {
    /// Logs by another filter from now on.
    pub fn change(&self, filter: &str) -> Result<(), TelemetryError> {
        (self.0)(parse(filter)?).map_err(TelemetryError::Unchangeable)
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filter")
    }
}

/// Sets up logging for the whole process; once.
pub fn init(telemetry: &Telemetry) -> Result<Filter, TelemetryError> {
    let filter = parse(&telemetry.filter)?;
    let log = Lossy::start(standard_error()?).map_err(TelemetryError::Thread)?;
    // An internal error of the logger would be told on standard error by whoever logs, and could hold that one up.
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(log.clone()).log_internal_errors(false);
    let filter = match telemetry.format {
        LogFormat::Human => {
            let lines = lines.with_ansi(wants_colour()).with_filter_reloading();
            let handle = lines.reload_handle();
            lines.finish().try_init().map(|()| Filter(Box::new(move |filter| handle.reload(filter))))
        }
        LogFormat::Json => {
            let lines = lines.json().with_filter_reloading();
            let handle = lines.reload_handle();
            lines.finish().try_init().map(|()| Filter(Box::new(move |filter| handle.reload(filter))))
        }
    };
    let filter = filter.map_err(TelemetryError::Repeated)?;
    LOG.set(log).ok();
    Ok(filter)
}

/// Writes a line to the log as it is, or straight to standard error if there is no log yet; unless it is [`divert`]ed.
pub fn write_line(text: &str) {
    if diverted(text) {
        return;
    }
    let line = format!("{text}\n");
    match LOG.get() {
        Some(log) => log.push(line.as_bytes()),
        None => drop(io::stderr().write_all(line.as_bytes())),
    }
}

/// Waits until what was logged is written, but no longer than that.
pub fn flush(deadline: Duration) {
    if let Some(log) = LOG.get() {
        log.flush(deadline);
    }
}

/// How many lines of the log were lost because they could not be written.
pub fn lost_lines() -> u64 {
    LOG.get().map_or(0, Lossy::lost)
}

/// Not through the standard library's lock: whoever writes a result or a remark there must not wait for the log.
fn standard_error() -> Result<File, TelemetryError> {
    io::stderr().as_fd().try_clone_to_owned().map(File::from).map_err(TelemetryError::Thread)
}

/// Lets panics be logged like everything else: the usual hook writes to standard error itself, and would wait for
/// whoever does not read it.
pub fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, panic = panic.payload_as_str().unwrap_or("(not text)"), "panicked");
    }));
}

fn parse(filter: &str) -> Result<EnvFilter, TelemetryError> {
    EnvFilter::try_new(filter).map_err(|source| TelemetryError::Filter { filter: filter.to_owned(), source })
}

/// An error with its causes, `a: b: c`, leaving out a cause that its parent has already spelled out.
///
/// Log errors with it (`error = %chain(&error)`): of a plain error field the JSON format drops the causes.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let part = source.to_string();
        if !text.ends_with(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = source.source();
    }
    text
}

impl FromStr for LogFormat {
    type Err = TelemetryError;

    fn from_str(given: &str) -> Result<Self, TelemetryError> {
        match given {
            "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            _ => Err(TelemetryError::Format { given: given.to_owned() }),
        }
    }
}

/// Colour only for a terminal, and not where the user opted out (<https://no-color.org>).
fn wants_colour() -> bool {
    io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn stack(texts: &[&'static str]) -> Option<Box<Layer>> {
        let (text, rest) = texts.split_first()?;
        Some(Box::new(Layer { text, source: stack(rest) }))
    }

    #[test]
    fn a_chain_names_every_cause_once() {
        let check = |texts: &[&'static str], expected| assert_eq!(chain(&*stack(texts).unwrap()), expected);
        check(&["a"], "a");
        check(&["cannot log in", "connection refused"], "cannot log in: connection refused");
        check(&["a", "b", "c"], "a: b: c");
        check(&["cannot log in: refused", "refused"], "cannot log in: refused");
        check(&["same", "same", "deeper"], "same: deeper");
        check(&["a", "", "c"], "a: c");
    }

    #[test]
    fn a_wrong_filter_is_refused_with_its_text() {
        let wrong = Telemetry { format: LogFormat::Json, filter: "info,x=loudly".to_owned() };
        let error = init(&wrong).unwrap_err();
        assert!(
            chain(&error).starts_with("log filter \"info,x=loudly\" is not valid: "),
            "{}",
            chain(&error)
        );
    }

    #[test]
    fn a_second_set_up_is_refused_and_the_first_one_can_be_changed() {
        let quiet = Telemetry { format: LogFormat::Human, filter: "off".to_owned() };
        let filter = init(&quiet).unwrap();
        filter.change("info,rookery=debug").unwrap();
        assert!(matches!(filter.change("x=loudly"), Err(TelemetryError::Filter { .. })));
        assert!(matches!(init(&quiet), Err(TelemetryError::Repeated(_))));
    }

    #[test]
    fn formats_are_read_by_name() {
        assert_eq!("human".parse::<LogFormat>().unwrap(), LogFormat::Human);
        assert_eq!("json".parse::<LogFormat>().unwrap(), LogFormat::Json);
        assert_eq!(
            "xml".parse::<LogFormat>().unwrap_err().to_string(),
            r#"log format "xml" is neither "human" nor "json""#
        );
    }
}
