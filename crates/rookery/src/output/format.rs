//! What results look like: `-o table|table=COLUMN,…|json|yaml|name`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use serde::Serialize;

use super::{Columns, OutputError, Paint, printable};

/// What results look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// For people; with the chosen columns, or the usual ones if none are chosen.
    Table(Vec<&'static str>),
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// Names alone, one on each line.
    Name,
}

impl Default for Format {
    fn default() -> Self {
        Self::Table(Vec::new())
    }
}

impl Format {
    /// What `-o` takes for a list.
    pub fn of_list<R: Serialize>(columns: &Columns<R>) -> FormatParser {
        FormatParser { columns: columns.keys().collect() }
    }

    /// What `-o` takes for a result that has no columns.
    pub fn of_one() -> FormatParser {
        FormatParser { columns: Vec::new() }
    }

    /// A whole list in this format, without the last line break.
    pub fn list<R: Serialize>(&self, columns: &Columns<R>, rows: &[R]) -> Result<String, OutputError> {
        match self {
            Self::Table(chosen) => columns.table(rows, chosen, Paint::of_stdout()),
            Self::Json => Ok(serde_json::to_string_pretty(rows)?),
            Self::Yaml => yaml(&rows),
            Self::Name => columns.names(rows),
        }
    }

    /// A whole result in this format, without the last line break; `names` are what it is about.
    pub fn render(
        &self,
        value: &impl Serialize,
        names: impl IntoIterator<Item = impl AsRef<str>>,
        table: impl FnOnce() -> String,
    ) -> Result<String, OutputError> {
        Ok(match self {
            Self::Table(_) => table(),
            Self::Json => serde_json::to_string_pretty(value)?,
            Self::Yaml => yaml(value)?,
            Self::Name => {
                names.into_iter().map(|name| printable(name.as_ref())).collect::<Vec<_>>().join("\n")
            }
        })
    }

    /// One item of an endless series: a plain line, a JSON object on one line, or a YAML document.
    pub fn render_item(
        &self,
        value: &impl Serialize,
        name: &str,
        line: impl FnOnce() -> String,
    ) -> Result<String, OutputError> {
        Ok(match self {
            Self::Table(_) => line(),
            Self::Json => serde_json::to_string(value)?,
            Self::Yaml => format!("---\n{}", yaml(value)?),
            Self::Name => printable(name),
        })
    }

    /// Whether it is for people, and they chose no columns.
    pub fn is_for_people(&self) -> bool {
        *self == Self::default()
    }
}

fn yaml(value: &impl Serialize) -> Result<String, OutputError> {
    Ok(serde_saphyr::to_string(value)?.trim_end().to_owned())
}

/// Reads a format, and knows the columns that there are.
#[derive(Debug, Clone)]
pub struct FormatParser {
    columns: Vec<&'static str>,
}

impl FormatParser {
    fn parse(&self, text: &str) -> Result<Format, String> {
        let columns = match text.split_once('=') {
            Some(("table", columns)) => columns,
            None if text == "table" => return Ok(Format::default()),
            None if text == "json" => return Ok(Format::Json),
            None if text == "yaml" => return Ok(Format::Yaml),
            None if text == "name" => return Ok(Format::Name),
            Some(_) | None => {
                let columns = if self.columns.is_empty() { "" } else { ", table=COLUMN,…" };
                return Err(format!("expected table{columns}, json, yaml or name, found {text:?}"));
            }
        };
        if self.columns.is_empty() {
            return Err("this result has no columns to choose from".to_owned());
        }
        let known = |key: &str| {
            let found = self.columns.iter().copied().find(|column| *column == key);
            found.ok_or_else(|| format!("there is no column {key:?}; there are: {}", self.columns.join(", ")))
        };
        Ok(Format::Table(columns.split(',').map(|key| known(key.trim())).collect::<Result<_, _>>()?))
    }
}

impl TypedValueParser for FormatParser {
    type Value = Format;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, text: &OsStr) -> Result<Format, Error> {
        self.parse(&text.to_string_lossy()).map_err(|why| {
            let mut error = Error::raw(ErrorKind::ValueValidation, why).with_cmd(command);
            if let Some(arg) = arg {
                error.insert(ContextKind::InvalidArg, ContextValue::String(arg.to_string()));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(["table", "json", "yaml", "name"].into_iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Column;

    fn check(columns: &[&'static str], text: &str, expected: Result<Format, &str>) {
        let parser = FormatParser { columns: columns.to_vec() };
        assert_eq!(parser.parse(text), expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn columns_are_chosen_among_those_that_there_are() {
        let there_are = ["name", "power", "ip"];
        check(&there_are, "table", Ok(Format::Table(Vec::new())));
        check(&there_are, "table=ip,name", Ok(Format::Table(vec!["ip", "name"])));
        check(&there_are, "json", Ok(Format::Json));
        check(&there_are, "name", Ok(Format::Name));
        let unknown = "there is no column \"IP\"; there are: name, power, ip";
        check(&there_are, "table=name,IP", Err(unknown));
        check(&there_are, "table=", Err("there is no column \"\"; there are: name, power, ip"));
        check(&there_are, "xml", Err("expected table, table=COLUMN,…, json, yaml or name, found \"xml\""));
        check(
            &there_are,
            "json=name",
            Err("expected table, table=COLUMN,…, json, yaml or name, found \"json=name\""),
        );
        check(&[], "table=name", Err("this result has no columns to choose from"));
        check(&[], "", Err("expected table, json, yaml or name, found \"\""));
    }

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        memory_mb: Option<i32>,
    }

    const COLUMNS: Columns<Row> = Columns {
        name: "name",
        all: &[
            Column::usual("name"),
            Column::more("memory_mb"),
            Column::usual("size")
                .shown(|row: &Row| if row.memory_mb.is_some() { "big" } else { "-" }.to_owned()),
        ],
    };

    #[test]
    fn a_list_is_shown_as_it_was_asked_for() {
        let rows = [Row { name: "a\x1b", memory_mb: None }, Row { name: "b", memory_mb: Some(7) }];
        let shown = |format: &str| {
            let format = Format::of_list(&COLUMNS).parse(format).expect("a format");
            format.list(&COLUMNS, &rows).expect("it can be shown")
        };
        insta::assert_snapshot!(shown("table"), @r"
        NAME     SIZE
        a\u{1b}  -
        b        big
        ");
        insta::assert_snapshot!(shown("table=memory_mb,name"), @r"
        MEMORY MB  NAME
        -          a\u{1b}
        7          b
        ");
        assert_eq!(shown("name"), "a\\u{1b}\nb");
        let json: serde_json::Value = serde_json::from_str(&shown("json")).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!([{"name": "a\x1b", "memory_mb": null}, {"name": "b", "memory_mb": 7}])
        );
    }

    #[test]
    fn an_item_of_a_series_is_a_line_an_object_or_a_document() {
        let row = Row { name: "a", memory_mb: None };
        let shown =
            |format: Format| format.render_item(&row, row.name, || "a line".to_owned()).expect("shown");
        assert_eq!(shown(Format::default()), "a line");
        assert_eq!(shown(Format::Json), r#"{"name":"a","memory_mb":null}"#);
        assert_eq!(shown(Format::Yaml), "---\nname: a\nmemory_mb: null");
        assert_eq!(shown(Format::Name), "a");
    }
}
