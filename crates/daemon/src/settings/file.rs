//! The file layer: TOML, whose tables spell out the paths of the keys.

use std::path::Path;
use std::{fs, io};

use toml::Table;

use super::Origin;
use super::layers::{Layers, Rank};
use super::suggest::closest;
use super::value::{describe, text_of};

impl Layers<'_> {
    /// Adds a file that must exist.
    #[must_use]
    pub fn file(self, path: &Path) -> Self {
        self.add_file(path, fs::read_to_string(path))
    }

    /// Adds a file if it exists.
    #[must_use]
    pub fn optional_file(self, path: &Path) -> Self {
        match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self,
            text => self.add_file(path, text),
        }
    }

    fn add_file(mut self, path: &Path, text: io::Result<String>) -> Self {
        let origin = Origin::File(path.to_owned());
        let text = text.map_err(|error| format!("cannot be read: {error}"));
        if let Some(text) = self.keep("", &origin, text) {
            self.add_toml(&text, &origin);
        }
        self
    }

    fn add_toml(&mut self, text: &str, origin: &Origin) {
        let table = text.parse::<Table>().map_err(|error| syntax(text, &error));
        if let Some(table) = self.keep("", origin, table) {
            self.walk("", table, Rank::File(self.stack.len()), origin);
        }
    }

    /// Goes down only into tables of the schema, so its depth is that of the longest key path.
    fn walk(&mut self, at: &str, table: Table, rank: Rank, origin: &Origin) {
        for (name, value) in table {
            let path = if at.is_empty() { name } else { format!("{at}.{name}") };
            if let Some(kind) = self.schema.kind(&path) {
                if let Some(text) = self.keep(&path, origin, text_of(kind, value)) {
                    self.set(rank, &path, text, origin);
                }
            } else if !self.schema.tables().contains(path.as_str()) {
                self.note_unknown_key(&path, &value, origin);
            } else if let toml::Value::Table(inner) = value {
                self.walk(&path, inner, rank, origin);
            } else {
                self.problems.report(&path, origin, format!("expected a table, found {}", describe(&value)));
            }
        }
    }

    /// A section that no key lives in belongs to another part of the program, unless it is a slip of ours.
    fn note_unknown_key(&mut self, path: &str, value: &toml::Value, origin: &Origin) {
        let tables = self.schema.tables().into_iter().map(str::to_owned);
        let message = match closest(path, self.schema.paths().chain(tables)) {
            Some(meant) => format!("unknown key; did you mean {meant}?"),
            None if is_section(value) && !path.contains('.') => return,
            None => "unknown key".to_owned(),
        };
        // Escaped: a quoted key may hold anything, also what a terminal would obey.
        self.problems.report(path.escape_debug().to_string(), origin, message);
    }
}

/// `[name]` or `[[name]]`.
fn is_section(value: &toml::Value) -> bool {
    match value.as_array() {
        Some(list) => !list.is_empty() && list.iter().all(toml::Value::is_table),
        None => value.is_table(),
    }
}

/// What is wrong with a text that is not TOML, and where. Not the error's own text: that quotes the line, which may
/// hold a secret.
pub fn syntax(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return format!("is not valid TOML: {message}");
    };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
    format!("is not valid TOML at line {line}, column {column}: {message}")
}
