//! The keys that a process knows, as data.

use std::collections::BTreeSet;
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its place in the file, in `kebab-case`: `vcenter.endpoint`.
    pub path: &'static str,
    /// What its value must be.
    pub kind: Kind,
    /// The value if no layer sets one, written as in the environment.
    pub default: Option<&'static str>,
    /// Variables of other programs that set it too, the strongest first; weaker than our own.
    pub env: &'static [&'static str],
    /// What it is for, in one sentence.
    pub doc: &'static str,
}

/// What the value of a key must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number from zero up.
    Number,
    /// A time span with its unit.
    Duration,
    /// A number of bytes with its unit.
    Size,
    /// A path of the local file system; relative ones start at the working directory.
    Path,
    /// Text that is never shown.
    Secret,
}

impl Key {
    /// The name of our own environment variable for this key.
    pub fn variable(&self) -> String {
        variable(self.path)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text | Self::Secret => "text",
            Self::Flag => "true or false",
            Self::Number => "a whole number",
            Self::Duration => "a duration",
            Self::Size => "a size",
            Self::Path => "a path",
        })
    }
}

/// Our variable for a key path: `vcenter.password-file` is `ROOKERY_VCENTER__PASSWORD_FILE`.
pub(super) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.to_uppercase().replace('.', "__").replace('-', "_"))
}

/// What all our variables begin with.
pub(super) const PREFIX: &str = "ROOKERY_";

/// The companion of a secret, which names the file that holds it.
pub(super) fn secret_file(path: &str) -> String {
    format!("{path}-file")
}

/// Looks keys up, the companions of secrets included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema<'a>(pub(super) &'a [Key]);

impl<'a> Schema<'a> {
    pub(super) fn keys(self) -> impl Iterator<Item = &'a Key> {
        self.0.iter()
    }

    pub(super) fn kind(self, path: &str) -> Option<Kind> {
        let own = self.keys().find(|key| key.path == path).map(|key| key.kind);
        own.or_else(|| {
            let secret = path.strip_suffix("-file")?;
            self.keys().find(|key| key.path == secret && key.kind == Kind::Secret).map(|_| Kind::Path)
        })
    }

    pub(super) fn paths(self) -> impl Iterator<Item = String> {
        self.keys().flat_map(|key| {
            let companion = (key.kind == Kind::Secret).then(|| secret_file(key.path));
            [Some(key.path.to_owned()), companion].into_iter().flatten()
        })
    }

    /// Every table that holds a key, at any depth: `a.b.c` makes `a` and `a.b`.
    pub(super) fn tables(self) -> BTreeSet<&'a str> {
        let prefixes = |path: &'a str| path.match_indices('.').filter_map(move |(at, _)| path.get(..at));
        self.keys().flat_map(|key| prefixes(key.path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[Key] = &[
        Key { path: "a.b.c-d", kind: Kind::Text, default: None, env: &[], doc: "" },
        Key { path: "a.password", kind: Kind::Secret, default: None, env: &[], doc: "" },
    ];

    #[test]
    fn a_variable_is_derived_from_the_path() {
        assert_eq!(variable("vcenter.password-file"), "ROOKERY_VCENTER__PASSWORD_FILE");
        assert_eq!(KEYS[0].variable(), "ROOKERY_A__B__C_D");
    }

    #[test]
    fn only_a_secret_has_a_companion_file() {
        let schema = Schema(KEYS);
        assert_eq!(schema.kind("a.password-file"), Some(Kind::Path));
        assert_eq!(schema.kind("a.b.c-d-file"), None);
        assert_eq!(schema.paths().collect::<Vec<_>>(), ["a.b.c-d", "a.password", "a.password-file"]);
    }

    #[test]
    fn every_prefix_of_a_path_is_a_table() {
        assert_eq!(Schema(KEYS).tables().into_iter().collect::<Vec<_>>(), ["a", "a.b"]);
    }
}
