//! The one error type: a sentence for a person. A build tool has no caller that could handle more.

use std::fmt;

/// What went wrong, ready to print.
#[derive(Debug)]
pub(crate) struct Failure(String);

pub(crate) type Outcome<T> = Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Self(sentence)
    }
}

impl From<&str> for Failure {
    fn from(sentence: &str) -> Self {
        Self(sentence.to_owned())
    }
}

/// The only way from a foreign error to a [`Failure`]: it has to say what was tried.
pub(crate) trait Trying<T> {
    fn trying(self, what: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: fmt::Display> Trying<T> for Result<T, E> {
    fn trying(self, what: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| Failure(format!("{}: {error}", what())))
    }
}
