//! What a process is called on its machine.

use std::fmt;
use std::path::{Path, PathBuf};

/// The front that a process runs, and the name that tells it from others of that front. Its lock and its control socket
/// are found by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessName {
    front: &'static str,
    name: String,
}

impl ProcessName {
    /// The process of a name.
    pub fn new(front: &'static str, name: &str) -> Self {
        Self { front, name: name.to_owned() }
    }

    /// A file of this process in a folder that it may share with others.
    pub fn file(&self, folder: &Path, ending: &str) -> PathBuf {
        let is_safe = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let safe: String = self.name.chars().map(|c| if is_safe(&c) { c } else { '_' }).collect();
        folder.join(format!("rookery-{}-{safe}.{ending}", self.front))
    }
}

impl ProcessName {
    /// The name that leads to a file of a process of this front, if it is one.
    pub(crate) fn of_file<'f>(front: &str, file: &'f str, ending: &str) -> Option<&'f str> {
        let rest = file.strip_prefix("rookery-")?.strip_prefix(front)?.strip_prefix('-')?;
        rest.strip_suffix(ending)?.strip_suffix('.')
    }
}

impl fmt::Display for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.front, self.name)
    }
}
