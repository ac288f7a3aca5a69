//! The effective values: the strongest layer of each key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::layers::{Layers, Rank};
use super::schema::{Schema, secret_file};
use super::value::{Setting, Value};
use super::{Key, Kind, Origin, Problems, Size, secret};
use crate::telemetry::chain;

/// The effective values with their origin.
///
/// Asking for a key with a kind that is not its own is a mistake in the program; it stops a debug build.
#[derive(Debug)]
pub struct Settings {
    schema: Vec<Key>,
    found: BTreeMap<String, Setting>,
    warnings: Vec<String>,
}

/// One effective value for people to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub path: String,
    /// The value as it was written; a secret is shown as `***`.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
    /// What the key is for.
    pub doc: &'static str,
}

impl Layers<'_> {
    /// The strongest value of each key, or everything that is wrong in any layer.
    pub fn resolve(self) -> Result<Settings, Problems> {
        let (settings, problems) = self.resolve_what_is_right();
        problems.into_result(settings)
    }

    /// The strongest right value of each key, beside everything that is wrong in any layer: for a caller that
    /// adds its own checks, so that the user sees all problems at once.
    pub fn resolve_what_is_right(mut self) -> (Settings, Problems) {
        let mut settings =
            Settings { schema: self.schema.0.to_vec(), found: BTreeMap::new(), warnings: Vec::new() };
        for key in self.schema.keys() {
            if key.kind == Kind::Secret {
                self.resolve_secret(key.path, &mut settings);
            } else if let Some((_, setting)) = self.strongest(key.path) {
                settings.found.insert(key.path.to_owned(), setting);
            }
        }
        (settings, self.problems)
    }

    fn strongest(&self, path: &str) -> Option<(Rank, Setting)> {
        self.stack.iter().rev().find_map(|(rank, found)| Some((*rank, found.get(path)?.clone())))
    }

    fn resolve_secret(&mut self, path: &str, settings: &mut Settings) {
        let file_path = secret_file(path);
        for found in self.stack.values() {
            if let (Some(_), Some(file)) = (found.get(path), found.get(&file_path)) {
                let message = format!("contradicts {path}, which is set in the same place; keep one");
                self.problems.report(&file_path, &file.origin, message);
            }
        }
        let inline = self.strongest(path);
        let file = self.strongest(&file_path);
        let inline_rank = inline.as_ref().map(|(rank, _)| *rank);
        match file {
            Some((rank, file)) if Some(rank) > inline_rank => self.read_secret(path, file, settings),
            _ => settings.found.extend(inline.map(|(_, setting)| (path.to_owned(), setting))),
        }
        settings.warn_if_exposed(path);
    }

    fn read_secret(&mut self, path: &str, file: Setting, settings: &mut Settings) {
        let file_path = secret_file(path);
        let Value::Path(place) = &file.value else { return };
        let text = secret::read_secret(place).map_err(|error| chain(&error));
        if let Some(text) = self.keep(&file_path, &file.origin, text) {
            settings.found.insert(path.to_owned(), Setting::secret(text, Origin::File(place.clone())));
            settings.found.insert(file_path, file);
        }
    }
}

impl Settings {
    /// The value of a [`Kind::Text`] key.
    pub fn text(&self, path: &str) -> Option<&str> {
        let Value::Text(text) = self.value(path, Kind::Text)? else { return None };
        Some(text)
    }

    /// The value of a [`Kind::Flag`] key; false if it is not set.
    pub fn flag(&self, path: &str) -> bool {
        matches!(self.value(path, Kind::Flag), Some(Value::Flag(true)))
    }

    /// The value of a [`Kind::Number`] key.
    pub fn number(&self, path: &str) -> Option<u64> {
        let Value::Number(number) = self.value(path, Kind::Number)? else { return None };
        Some(*number)
    }

    /// The value of a [`Kind::Duration`] key.
    pub fn duration(&self, path: &str) -> Option<Duration> {
        let Value::Duration(duration) = self.value(path, Kind::Duration)? else { return None };
        Some(*duration)
    }

    /// The value of a [`Kind::Size`] key.
    pub fn size(&self, path: &str) -> Option<Size> {
        let Value::Size(size) = self.value(path, Kind::Size)? else { return None };
        Some(*size)
    }

    /// The value of a [`Kind::Path`] key.
    pub fn path(&self, path: &str) -> Option<PathBuf> {
        let Value::Path(place) = self.value(path, Kind::Path)? else { return None };
        Some(place.clone())
    }

    /// The value of a [`Kind::Secret`] key, wherever it was read from.
    pub fn secret(&self, path: &str) -> Option<SecretString> {
        let Value::Secret(secret) = self.value(path, Kind::Secret)? else { return None };
        Some(secret.clone())
    }

    /// Where the value of a key came from, if it has one.
    pub fn origin(&self, path: &str) -> Option<&Origin> {
        self.found.get(path).map(|setting| &setting.origin)
    }

    /// Every key that has a value, in the order of the schema.
    pub fn explain(&self) -> Vec<Explained> {
        let explain = |path: String, doc| {
            let Setting { shown, origin, .. } = self.found.get(&path)?.clone();
            Some(Explained { path, value: shown, origin, doc })
        };
        let both = self
            .schema
            .iter()
            .flat_map(|key| [explain(key.path.to_owned(), key.doc), explain(secret_file(key.path), key.doc)]);
        both.flatten().collect()
    }

    /// What is allowed but unwise, for the log.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds to problems that the caller found where each value came from.
    #[must_use]
    pub fn locate(&self, mut problems: Problems) -> Problems {
        for problem in &mut problems.0 {
            problem.origin = problem.origin.take().or_else(|| self.origin(&problem.path).cloned());
        }
        problems
    }

    fn value(&self, path: &str, kind: Kind) -> Option<&Value> {
        debug_assert_eq!(Schema(&self.schema).kind(path), Some(kind), "settings key {path}");
        self.found.get(path).map(|setting| &setting.value)
    }

    fn warn_if_exposed(&mut self, path: &str) {
        if let Some(Origin::File(file)) = self.origin(path) {
            self.warnings.extend(secret::exposure(file));
        }
    }
}
