//! The stack of layers before it is resolved.

use std::collections::BTreeMap;
use std::fmt;

use super::schema::Schema;
use super::value::Setting;
use super::{Key, Origin, Problems};

/// Layers of settings over a schema; the order in which they are added matters only between files.
#[derive(Debug)]
pub struct Layers<'a> {
    pub(super) schema: Schema<'a>,
    pub(super) stack: BTreeMap<Rank, BTreeMap<String, Setting>>,
    pub(super) problems: Problems,
}

/// How strong a layer is, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Default,
    /// A later file is stronger.
    File(usize),
    Computed,
    Foreign,
    Environment,
    Flag,
}

impl<'a> Layers<'a> {
    /// The defaults alone.
    pub fn new(schema: &'a [Key]) -> Self {
        let mut this = Self { schema: Schema(schema), stack: BTreeMap::new(), problems: Problems::new() };
        for key in schema {
            if let Some(default) = key.default {
                this.set(Rank::Default, key.path, default.to_owned(), &Origin::Default);
            }
        }
        this
    }

    /// Adds values that the caller derived, stronger than files and weaker than any variable.
    ///
    /// `origin` says from what, as a user would: `environment GOVC_URL`.
    #[must_use]
    pub fn computed(
        mut self,
        origin: &str,
        values: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let origin = Origin::Computed(origin.to_owned());
        for (path, value) in values {
            self.set(Rank::Computed, path, value, &origin);
        }
        self
    }

    /// Adds the value of a command line flag, if it was given; the flag is named like the key's last part.
    #[must_use]
    pub fn flag(self, path: &str, value: Option<String>) -> Self {
        let name = path.rsplit('.').next().unwrap_or(path);
        match value {
            Some(value) => self.implied_by_flag(path, name, value),
            None => self,
        }
    }

    /// Adds a value that stands inside that of another flag, such as a user in an address: as strong, and from there.
    #[must_use]
    pub fn implied_by_flag(mut self, path: &str, flag: &str, value: String) -> Self {
        self.set(Rank::Flag, path, value, &Origin::Flag(flag.to_owned()));
        self
    }

    pub(super) fn set(&mut self, rank: Rank, path: &str, text: String, origin: &Origin) {
        let Some(kind) = self.schema.kind(path) else {
            return self.problems.report(path, origin, "the program sets a key that its schema lacks");
        };
        let parsed = Setting::parse(kind, text, origin.clone());
        if let Some(setting) = self.keep(path, origin, parsed) {
            self.stack.entry(rank).or_default().insert(path.to_owned(), setting);
        }
    }

    pub(super) fn keep<T>(
        &mut self,
        path: &str,
        origin: &Origin,
        checked: Result<T, impl fmt::Display>,
    ) -> Option<T> {
        checked.map_err(|error| self.problems.report(path, origin, error)).ok()
    }
}
