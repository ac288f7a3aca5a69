//! Reads one table of the file key by key.
//!
//! serde stops at the first value of a wrong type, and gives neither the paths of unknown keys nor all of them. A section
//! hands out each value once, checks its type, and reports the keys that were not read.
//!
//! Like the Go hatchery, it ignores the case of keys and accepts numbers and flags in quotes.

use std::path::Path;
use std::time::Duration;

use rookery_daemon::settings::{Problems, SecretFileError, closest, describe};
use rookery_daemon::telemetry::chain;
use secrecy::{ExposeSecret, SecretString};
use toml::{Table, Value};

use super::keys::{self, WhenUnset};
use super::{Unknown, Warning};

/// Reads a secret from the file that holds it.
pub type ReadSecret<'a> = &'a dyn Fn(&Path) -> Result<SecretString, SecretFileError>;

/// What all sections of a file report.
pub(super) struct Notes<'a> {
    pub(super) problems: Problems,
    pub(super) warnings: Vec<Warning>,
    pub(super) unknown: Vec<Unknown>,
    pub(super) holds_secrets: bool,
    read_secret: ReadSecret<'a>,
}

impl<'a> Notes<'a> {
    pub(super) fn new(read_secret: ReadSecret<'a>) -> Self {
        Self {
            problems: Problems::new(),
            warnings: vec![],
            unknown: vec![],
            holds_secrets: false,
            read_secret,
        }
    }

    pub(super) fn warn(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.warnings.push(Warning { path: path.into(), message: message.into() });
    }
}

/// A number that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    /// Not set, or 0: the default.
    Unset(u32),
    At(u32),
    Off,
}

impl Switch {
    pub(super) fn number(self) -> Option<u32> {
        match self {
            Self::Unset(number) | Self::At(number) => Some(number),
            Self::Off => None,
        }
    }
}

pub(super) struct Section<'n, 'a> {
    at: String,
    /// The path as in the table of keys: without the layout's prefix and without indices.
    row: String,
    table: Table,
    asked: Vec<String>,
    pub(super) notes: &'n mut Notes<'a>,
}

impl<'n, 'a> Section<'n, 'a> {
    /// The table with all our keys; `at` is its path, empty for the whole file.
    pub(super) fn new(at: impl Into<String>, table: Table, notes: &'n mut Notes<'a>) -> Self {
        Self { at: at.into(), row: String::new(), table, asked: vec![], notes }
    }

    /// An entry of the list `name`.
    pub(super) fn entry(&mut self, name: &str, at: String, table: Table) -> Section<'_, 'a> {
        let row = join(&self.row, &format!("{name}[]"));
        Section { at, row, table, asked: vec![], notes: self.notes }
    }

    /// Reads keys that belong to the top of the file but are in this table.
    pub(super) fn as_top<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let row = std::mem::take(&mut self.row);
        let found = read(self);
        self.row = row;
        found
    }

    /// The full path of a key.
    pub(super) fn path(&self, name: &str) -> String {
        join(&self.at, name)
    }

    /// The default of a key; empty for none.
    pub(super) fn default(&self, name: &str) -> &'static str {
        match keys::find(&join(&self.row, name)).map(|key| key.default) {
            Some(WhenUnset::Is(default)) => default,
            Some(WhenUnset::Mandatory) | None => "",
        }
    }

    pub(super) fn default_number(&self, name: &str) -> u32 {
        self.default(name).parse().unwrap_or_default()
    }

    /// The path of the table itself.
    pub(super) fn at(&self) -> &str {
        &self.at
    }

    pub(super) fn problem(&mut self, name: &str, message: impl Into<String>) {
        let path = self.path(name);
        self.notes.problems.push(path, message);
    }

    pub(super) fn warn(&mut self, name: &str, message: impl Into<String>) {
        let path = self.path(name);
        self.notes.warn(path, message);
    }

    /// An empty text counts as not set, as in the Go hatchery.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let value = self.take(name)?;
        let Some(text) = value.as_str() else { return self.unfit(name, "text in quotes", &value) };
        Some(text.to_owned()).filter(|text| !text.trim().is_empty())
    }

    pub(super) fn text_or_default(&mut self, name: &str) -> String {
        self.text(name).unwrap_or_else(|| self.default(name).to_owned())
    }

    /// A text that must be set.
    pub(super) fn required(&mut self, name: &str) -> Option<String> {
        let known = self.notes.problems.as_slice().len();
        let word = if self.holds(name) { "is empty" } else { "is not set" };
        let text = self.text(name);
        if text.is_none() && self.notes.problems.as_slice().len() == known {
            self.problem(name, word);
        }
        text
    }

    pub(super) fn flag(&mut self, name: &str) -> bool {
        let default = self.default(name) == "true";
        let Some(value) = self.take(name) else { return default };
        let quoted = value.as_str().map(str::trim);
        let flag = value.as_bool().or_else(|| quoted?.parse().ok());
        if flag.is_none() && quoted != Some("") {
            self.unfit(name, "true or false", &value).unwrap_or(());
        }
        flag.unwrap_or(default)
    }

    pub(super) fn integer(&mut self, name: &str) -> Option<i64> {
        let value = self.take(name)?;
        let quoted = value.as_str().map(str::trim);
        let number = value.as_integer().or_else(|| quoted?.parse().ok());
        if number.is_none() && quoted != Some("") {
            return self.unfit(name, "a whole number", &value);
        }
        number
    }

    /// A number from 0 to `i32::MAX`: enough for every key, and far from overflows.
    pub(super) fn natural(&mut self, name: &str) -> Option<u32> {
        let number = self.integer(name)?;
        if number < 0 {
            self.problem(name, format!("{number} is negative"));
            return None;
        }
        let fits = u32::try_from(number).ok().filter(|number| i32::try_from(*number).is_ok());
        if fits.is_none() {
            self.problem(name, format!("{number} is more than {}", i32::MAX));
        }
        fits
    }

    pub(super) fn natural_or_default(&mut self, name: &str) -> u32 {
        self.natural(name).unwrap_or_else(|| self.default_number(name))
    }

    /// A number for which 0, as in generated files, means the default.
    pub(super) fn positive(&mut self, name: &str) -> u32 {
        self.natural(name).filter(|number| *number != 0).unwrap_or_else(|| self.default_number(name))
    }

    pub(super) fn seconds(&mut self, name: &str) -> Duration {
        Duration::from_secs(self.positive(name).into())
    }

    /// A number for which 0 means the default and -1 means off.
    pub(super) fn switchable(&mut self, name: &str) -> Switch {
        let default = self.default_number(name);
        match self.integer(name) {
            None | Some(0) => Switch::Unset(default),
            Some(-1) => Switch::Off,
            Some(given) => {
                let Ok(number) = u32::try_from(given) else {
                    let most = u32::MAX;
                    self.problem(name, format!("{given} is neither -1, which means off, nor at most {most}"));
                    return Switch::Unset(default);
                };
                Switch::At(number)
            }
        }
    }

    /// A list of texts, or one text with commas.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let Some(value) = self.take(name) else { return vec![] };
        if let Some(text) = value.as_str() {
            let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
            return texts.map(str::to_owned).collect();
        }
        let Some(items) = value.as_array() else {
            return self.unfit(name, "a list of texts in quotes", &value).unwrap_or_default();
        };
        let mut texts = vec![];
        for (index, item) in items.iter().enumerate() {
            match item.as_str() {
                Some(text) => texts.extend(Some(text.to_owned()).filter(|text| !text.is_empty())),
                None => self.unfit(&format!("{name}[{index}]"), "text in quotes", item).unwrap_or(()),
            }
        }
        texts
    }

    /// A secret, inline or in the file that the key with the suffix `File` names.
    pub(super) fn secret(&mut self, name: &str) -> Option<SecretString> {
        let inline = self.text(name);
        self.notes.holds_secrets |= inline.is_some();
        let beside = format!("{name}File");
        let Some(file) = self.text(&beside) else { return inline.map(SecretString::from) };
        if inline.is_some() {
            let other = self.path(name);
            self.problem(&beside, format!("{other} is set too; give the secret once"));
            return None;
        }
        match (self.notes.read_secret)(Path::new(&file)) {
            Ok(secret) if secret.expose_secret().trim().is_empty() => {
                self.problem(&beside, format!("{file} is empty"));
                None
            }
            Ok(secret) => Some(secret),
            Err(error) => {
                self.problem(&beside, chain(&error));
                None
            }
        }
    }

    /// A table in this one; empty if it is not set.
    pub(super) fn section(&mut self, name: &str) -> Section<'_, 'a> {
        let (at, row) = (self.path(name), join(&self.row, name));
        let table = match self.take(name) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(other) => self.unfit(name, "a table", &other).unwrap_or_default(),
        };
        Section { at, row, table, asked: vec![], notes: self.notes }
    }

    pub(super) fn entries<T>(
        &mut self,
        name: &str,
        mut read: impl FnMut(&mut Section<'_, 'a>) -> Option<T>,
    ) -> Vec<T> {
        let mut found = vec![];
        for (at, table) in self.tables(name) {
            let mut entry = self.entry(name, at, table);
            found.extend(read(&mut entry));
            entry.end();
        }
        found
    }

    /// The tables of a list, each with its path, without the blank ones of generated files.
    pub(super) fn tables(&mut self, name: &str) -> Vec<(String, Table)> {
        let Some(value) = self.take(name) else { return vec![] };
        let Some(items) = value.as_array() else {
            return self.unfit(name, "a list of tables", &value).unwrap_or_default();
        };
        let mut tables = vec![];
        for (index, item) in items.iter().enumerate() {
            let entry = format!("{name}[{index}]");
            match item.as_table() {
                Some(table) if table.values().all(is_zero) => {}
                Some(table) => tables.push((self.path(&entry), table.clone())),
                None => self.unfit(&entry, "a table", item).unwrap_or(()),
            }
        }
        tables
    }

    /// The value of a key, whatever its type.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        let row = join(&self.row, name);
        debug_assert!(keys::is_stated(&row), "{row} is read, but is not in the table of keys");
        self.asked.push(name.to_owned());
        if let Some(value) = self.table.remove(name) {
            return Some(value);
        }
        let similar = self.table.keys().find(|key| key.eq_ignore_ascii_case(name))?.clone();
        self.warn(&similar, format!("read as {name}; write it that way"));
        self.table.remove(&similar)
    }

    /// Reports the keys that were not read.
    pub(super) fn end(self) {
        for name in self.table.keys() {
            // Escaped: a quoted key may contain control characters.
            let path = self.path(&name.escape_debug().to_string());
            let meant = closest(name, self.asked.iter().cloned());
            self.notes.unknown.push(Unknown { path, meant });
        }
    }

    fn holds(&self, name: &str) -> bool {
        self.table.keys().any(|key| key.eq_ignore_ascii_case(name))
    }

    /// Whether the key is set to something other than an empty or zero value.
    pub(super) fn is_filled(&self, name: &str) -> bool {
        self.table.iter().any(|(key, value)| key.eq_ignore_ascii_case(name) && !is_zero(value))
    }

    /// Reports the type and never the value: it may be a misplaced secret.
    fn unfit<T>(&mut self, name: &str, expected: &str, found: &Value) -> Option<T> {
        self.problem(name, format!("expected {expected}, found {}", describe(found)));
        None
    }
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Integer(number) => *number == 0,
        Value::Boolean(flag) => !flag,
        Value::Array(items) => items.is_empty(),
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => false,
    }
}
