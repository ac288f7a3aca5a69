//! The columns of a list: declared once, by the keys that its JSON has as well.

use serde::Serialize;
use serde_json::Value;

use super::table::{Cell, grid};
use super::{OutputError, Paint, printable, value_text};

/// What can be shown of each row of a list.
#[derive(Debug)]
pub struct Columns<R: 'static> {
    /// The key by whose value a row is called: `-o name`.
    pub name: &'static str,
    /// All of them; the usual ones in the order in which they are shown.
    pub all: &'static [Column<R>],
}

/// One column.
#[derive(Debug)]
pub struct Column<R: 'static> {
    key: &'static str,
    /// Empty: the key in capitals.
    title: &'static str,
    /// Without one it is what the row has under this key in JSON.
    cell: Option<fn(&R) -> String>,
    usual: bool,
    is_state: bool,
}

impl<R> Column<R> {
    /// One that is always shown, unless others are chosen.
    pub const fn usual(key: &'static str) -> Self {
        Self { key, title: "", cell: None, usual: true, is_state: false }
    }

    /// One that is shown if it is chosen.
    pub const fn more(key: &'static str) -> Self {
        Self { key, title: "", cell: None, usual: false, is_state: false }
    }

    #[must_use]
    pub const fn titled(self, title: &'static str) -> Self {
        let Self { key, cell, usual, is_state, .. } = self;
        Self { key, title, cell, usual, is_state }
    }

    /// With a text that differs from the value in JSON. It is expected to be printable.
    #[must_use]
    pub const fn shown(self, cell: fn(&R) -> String) -> Self {
        let Self { key, title, usual, is_state, .. } = self;
        Self { key, title, cell: Some(cell), usual, is_state }
    }

    /// With colours that say how it stands.
    #[must_use]
    pub const fn state(self) -> Self {
        let Self { key, title, cell, usual, .. } = self;
        Self { key, title, cell, usual, is_state: true }
    }

    fn heading(&self) -> String {
        if self.title.is_empty() { self.key.replace('_', " ").to_uppercase() } else { self.title.to_owned() }
    }

    fn text(&self, row: &R, value: &Value) -> String {
        match self.cell {
            Some(cell) => cell(row),
            None => printable(&value_text(value.get(self.key).unwrap_or(&Value::Null), ", ")),
        }
    }
}

impl<R: Serialize> Columns<R> {
    /// The keys of all columns.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.all.iter().map(|column| column.key)
    }

    /// A table of the chosen columns, in the order in which they were chosen; without a choice of the usual ones.
    pub(super) fn table(&self, rows: &[R], chosen: &[&str], paint: Paint) -> Result<String, OutputError> {
        let columns: Vec<&Column<R>> = if chosen.is_empty() {
            self.all.iter().filter(|column| column.usual).collect()
        } else {
            chosen.iter().filter_map(|key| self.all.iter().find(|column| column.key == *key)).collect()
        };
        let row = |row: &R| {
            let value = serde_json::to_value(row)?;
            let cell = |column: &&Column<R>| {
                let text = column.text(row, &value);
                if column.is_state { Cell::state(text) } else { Cell::plain(text) }
            };
            Ok::<_, OutputError>(columns.iter().map(cell).collect())
        };
        let cells = rows.iter().map(row).collect::<Result<Vec<Vec<Cell>>, _>>()?;
        let header: Vec<String> = columns.iter().map(|column| column.heading()).collect();
        Ok(grid(&header, &cells, paint))
    }

    /// What each row is called, one below the other.
    pub(super) fn names(&self, rows: &[R]) -> Result<String, OutputError> {
        let name = |row: &R| {
            let value = serde_json::to_value(row)?;
            Ok::<_, OutputError>(printable(&value_text(value.get(self.name).unwrap_or(&Value::Null), ", ")))
        };
        Ok(rows.iter().map(name).collect::<Result<Vec<_>, _>>()?.join("\n"))
    }
}
