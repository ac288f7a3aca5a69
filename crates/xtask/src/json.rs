//! A small JSON reader for what cargo prints. Numbers keep their spelling: nothing here computes with them.

use crate::failure::{Outcome, Trying};

/// A JSON value. Members keep their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Deeper input than cargo's is refused instead of exhausting the stack.
const DEEPEST: usize = 64;

impl Json {
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        let mut reader = Reader { rest: text.trim_start() };
        let value = reader.value(0).trying(|| {
            let (line, column) = position(text, reader.rest);
            format!("JSON, line {line}, column {column}")
        })?;
        if reader.rest.is_empty() { Ok(value) } else { Err("JSON: text after the value".into()) }
    }

    /// The member of that name; [`Json::Null`] when there is none, as a foreign program would read it.
    pub(crate) fn get(&self, name: &str) -> &Self {
        let Self::Object(members) = self else { return &Self::Null };
        members.iter().find(|(key, _)| key == name).map_or(&Self::Null, |(_, value)| value)
    }

    /// The elements of an array, nothing for any other value.
    pub(crate) fn items(&self) -> &[Self] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    /// The names of the members of an object, nothing for any other value.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let members = if let Self::Object(members) = self { members.as_slice() } else { &[] };
        members.iter().map(|(name, _)| name.as_str())
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// Line and column of where `rest` begins in `text`.
fn position(text: &str, rest: &str) -> (usize, usize) {
    let read = text.get(..text.len() - rest.len()).unwrap_or_default();
    let line_start = read.rfind('\n').map_or(0, |at| at + 1);
    (read.matches('\n').count() + 1, read.len() - line_start + 1)
}

/// `rest` never begins with white space between tokens.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, &'static str> {
        if depth > DEEPEST {
            return Err("nested too deeply");
        }
        match self.rest.chars().next() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string().map(Json::Text),
            Some('-' | '0'..='9') => Ok(self.number()),
            _ if self.eat("null") => Ok(Json::Null),
            _ if self.eat("true") => Ok(Json::Bool(true)),
            _ if self.eat("false") => Ok(Json::Bool(false)),
            _ => Err("a value was expected"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, &'static str> {
        let mut members = vec![];
        self.eat("{");
        while !self.eat("}") {
            if !members.is_empty() && !self.eat(",") {
                return Err("`,` or `}` was expected");
            }
            let name = self.string()?;
            if !self.eat(":") {
                return Err("`:` was expected");
            }
            members.push((name, self.value(depth + 1)?));
        }
        Ok(Json::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<Json, &'static str> {
        let mut items = vec![];
        self.eat("[");
        while !self.eat("]") {
            if !items.is_empty() && !self.eat(",") {
                return Err("`,` or `]` was expected");
            }
            items.push(self.value(depth + 1)?);
        }
        Ok(Json::Array(items))
    }

    fn number(&mut self) -> Json {
        let ends = |c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest.trim_start();
        Json::Number(digits.to_owned())
    }

    fn string(&mut self) -> Result<String, &'static str> {
        let mut rest = self.rest.strip_prefix('"').ok_or("a string was expected")?;
        let mut text = String::new();
        loop {
            let plain = rest.find(['"', '\\']).ok_or("a string does not end")?;
            let (before, tail) = rest.split_at(plain);
            text.push_str(before);
            if let Some(after) = tail.strip_prefix('"') {
                self.rest = after.trim_start();
                return Ok(text);
            }
            let (escaped, after) = escape(tail.get(1..).unwrap_or_default())?;
            text.push(escaped);
            rest = after;
        }
    }

    /// Takes a token and the white space after it.
    fn eat(&mut self, token: &str) -> bool {
        self.rest.strip_prefix(token).map(|rest| self.rest = rest.trim_start()).is_some()
    }
}

/// The character that an escape stands for, and what follows it. `text` begins after the backslash.
fn escape(text: &str) -> Result<(char, &str), &'static str> {
    let letter = text.chars().next().ok_or("a string does not end")?;
    let rest = text.get(letter.len_utf8()..).unwrap_or_default();
    let character = match letter {
        '"' | '\\' | '/' => letter,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(rest),
        _ => return Err("unknown escape"),
    };
    Ok((character, rest))
}

/// `\uXXXX`, or two of them for a character beyond the basic plane.
fn unicode(text: &str) -> Result<(char, &str), &'static str> {
    let (high, rest) = hex(text)?;
    if let Some(character) = char::from_u32(high) {
        return Ok((character, rest));
    }
    let (low, rest) = hex(rest.strip_prefix("\\u").ok_or("half of a surrogate pair")?)?;
    let pair = char::decode_utf16([high, low].map(|unit| u16::try_from(unit).unwrap_or_default())).next();
    pair.and_then(Result::ok).map(|character| (character, rest)).ok_or("half of a surrogate pair")
}

fn hex(text: &str) -> Result<(u32, &str), &'static str> {
    let digits = text.get(..4).ok_or("four hexadecimal digits were expected")?;
    let unit = u32::from_str_radix(digits, 16).map_err(|_| "four hexadecimal digits were expected")?;
    Ok((unit, text.get(4..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_with_its_order() {
        let json =
            Json::parse(r#" { "b": [1, -2.5e3, true, null], "a": {"x": "y"}, "e": [], "o": {} } "#).unwrap();
        let numbers: Vec<_> = json.get("b").items().to_vec();
        let number = |digits: &str| Json::Number(digits.to_owned());
        assert_eq!(numbers, [number("1"), number("-2.5e3"), Json::Bool(true), Json::Null]);
        assert_eq!(json.get("a").get("x").text(), Some("y"));
        assert_eq!(json.get("missing"), &Json::Null);
        assert_eq!(json.get("e").items(), []);
    }

    #[test]
    fn escapes_are_undone() {
        let read = |text: &str| Json::parse(text).unwrap().text().map(str::to_owned);
        assert_eq!(read(r#""\"\\\/\n\t""#).as_deref(), Some("\"\\/\n\t"));
        assert_eq!(read(r#""\u00e9é\ud83d\ude00""#).as_deref(), Some("éé😀"));
    }

    #[test]
    fn broken_documents_are_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "[1,]",
            "[1 2]",
            "{\"a\" 1}",
            "\"a",
            "\"\\x\"",
            "\"\\ud83d\"",
            "\"\\u12\"",
            "nul",
            "1 2",
            &deep,
        ] {
            assert!(Json::parse(text).is_err(), "{}", text.get(..9).unwrap_or(text));
        }
    }

    #[test]
    fn the_place_of_an_error_is_told() {
        let error = Json::parse("{\n  \"a\": x\n}").unwrap_err().to_string();
        assert_eq!(error, "JSON, line 2, column 8: a value was expected");
    }
}
