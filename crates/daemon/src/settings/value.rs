//! A checked value. All layers end up as text and go through one parser, so they cannot disagree.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::units::{Size, UnitError, duration};
use super::{Kind, Origin};

/// What a secret looks like wherever it would be shown.
const HIDDEN: &str = "***";

/// A value with what may be shown of it and where it came from.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) value: Value,
    /// As the user wrote it; a secret is hidden.
    pub(super) shown: String,
    pub(super) origin: Origin,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Flag(bool),
    Number(u64),
    Duration(Duration),
    Size(Size),
    Path(PathBuf),
    Secret(SecretString),
}

/// Why a value does not fit its key. Of a secret it tells at most the type.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    #[error("expected {expected}, found {found}{advice}")]
    Kind { expected: Kind, found: String, advice: &'static str },
    #[error(transparent)]
    Unit(#[from] UnitError),
}

impl Setting {
    pub(super) fn parse(kind: Kind, text: String, origin: Origin) -> Result<Self, Unfit> {
        if kind == Kind::Secret {
            return Ok(Self::secret(text.into(), origin));
        }
        Ok(Self { shown: text.clone(), value: Value::parse(kind, text)?, origin })
    }

    pub(super) fn secret(text: SecretString, origin: Origin) -> Self {
        Self { value: Value::Secret(text), shown: HIDDEN.to_owned(), origin }
    }
}

impl Value {
    fn parse(kind: Kind, text: String) -> Result<Self, Unfit> {
        let unfit = |text: &str| Unfit::Kind { expected: kind, found: format!("{text:?}"), advice: "" };
        Ok(match kind {
            Kind::Text => Self::Text(text),
            Kind::Flag => Self::Flag(flag(&text).ok_or_else(|| unfit(&text))?),
            Kind::Number => Self::Number(text.parse().map_err(|_| unfit(&text))?),
            Kind::Duration => Self::Duration(duration(&text)?),
            Kind::Size => Self::Size(text.parse()?),
            Kind::Path if text.is_empty() => return Err(unfit(&text)),
            Kind::Path => Self::Path(text.into()),
            Kind::Secret => Self::Secret(text.into()),
        })
    }
}

/// Also as Go's `strconv.ParseBool` reads it: other programs' variables are written that way (`GOVC_INSECURE=1`).
fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Some(true),
        "false" | "f" | "0" => Some(false),
        _ => None,
    }
}

/// The text of a TOML value, provided that it has the type that the kind is written in.
pub(super) fn text_of(kind: Kind, value: toml::Value) -> Result<String, Unfit> {
    match (kind, value) {
        (Kind::Flag, toml::Value::Boolean(flag)) => Ok(flag.to_string()),
        // For quantities the parser refuses it, with an example of the unit that is missing.
        (Kind::Number | Kind::Duration | Kind::Size, toml::Value::Integer(number)) => Ok(number.to_string()),
        (Kind::Text | Kind::Path | Kind::Secret | Kind::Duration | Kind::Size, toml::Value::String(text)) => {
            Ok(text)
        }
        (expected, other) => {
            let is_text = matches!(expected, Kind::Text | Kind::Path | Kind::Secret);
            let advice = if other.is_str() {
                "; leave the quotes out"
            } else if is_text && (other.is_integer() || other.is_float()) {
                "; put it in quotes"
            } else {
                ""
            };
            Err(Unfit::Kind { expected, found: describe(&other).to_owned(), advice })
        }
    }
}

/// The type of a TOML value in plain words; never the value, which may be a secret in the wrong place.
pub fn describe(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "text in quotes",
        toml::Value::Integer(_) | toml::Value::Float(_) => "a number",
        toml::Value::Boolean(_) => "true or false",
        toml::Value::Datetime(_) => "a date",
        toml::Value::Array(_) => "a list",
        toml::Value::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_written_as_go_programs_take_it() {
        for yes in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(flag(yes), Some(true), "{yes}");
        }
        for no in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(flag(no), Some(false), "{no}");
        }
        for unclear in ["", "yes", "on", "2", "tr", " true"] {
            assert_eq!(flag(unclear), None, "{unclear}");
        }
    }
}
