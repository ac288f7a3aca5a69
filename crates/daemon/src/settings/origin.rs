//! Where a value came from.

use std::fmt;
use std::path::PathBuf;

/// Where a value came from, in words that a user can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The schema.
    Default,
    /// A settings file, or for a secret the file that holds it.
    File(PathBuf),
    /// Derived by the program; the text says from what.
    Computed(String),
    /// The environment variable of this name.
    Environment(String),
    /// The command line flag of this name, without dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Computed(from) => f.write_str(from),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}
