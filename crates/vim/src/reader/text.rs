//! Text as XML means it: line ends, references, and white space in attributes.

use std::borrow::Cow;

use crate::node::ParseError;

/// Text for an error message: errors go into logs, and what they quote may be as long as the document.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The text that the rest of a document begins with: its length, and what it means.
pub(super) fn first(rest: &str) -> (usize, Cow<'_, str>) {
    let ends = |b: u8| matches!(b, b'<' | b'&');
    // Most text has no line end that needs care, and is looked at only once.
    let plain = rest.bytes().position(|b| ends(b) || b == b'\r').unwrap_or(rest.len());
    if rest.as_bytes().get(plain) != Some(&b'\r') {
        return (plain, Cow::Borrowed(rest.get(..plain).unwrap_or_default()));
    }
    let length = rest.bytes().position(ends).unwrap_or(rest.len());
    (length, lines(rest.get(..length).unwrap_or_default()))
}

/// Line ends of any kind become line feeds.
pub(super) fn lines(text: &str) -> Cow<'_, str> {
    if !text.as_bytes().contains(&b'\r') {
        return Cow::Borrowed(text);
    }
    // Not `replace`, twice: of a text of nothing but line ends it would hold three copies.
    let mut lines = String::with_capacity(text.len());
    let mut pieces = text.split('\r');
    lines.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        lines.push('\n');
        lines.push_str(piece.strip_prefix('\n').unwrap_or(piece));
    }
    Cow::Owned(lines)
}

/// What stands between `&` and `;`. Entities are only those of XML itself: no document may define its own.
pub(super) fn resolve(name: &str) -> Result<Cow<'static, str>, ParseError> {
    let known = match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => return number(name).map(|c| Cow::Owned(c.to_string())).ok_or_else(|| unknown(name)),
    };
    Ok(Cow::Borrowed(known))
}

fn unknown(name: &str) -> ParseError {
    ParseError::UnknownEntity { name: shortened(name) }
}

fn number(name: &str) -> Option<char> {
    let digits = name.strip_prefix('#')?;
    let (digits, radix) = digits.strip_prefix('x').map_or((digits, 10), |hex| (hex, 16));
    // `from_str_radix` would take a sign.
    let code =
        digits.starts_with(|c: char| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, radix));
    code?.ok().and_then(char::from_u32).filter(|c| *c != '\0')
}

/// The value of an attribute: white space is spaces, references stand for what they name.
pub(super) fn attribute(raw: &str) -> Result<Cow<'_, str>, &'static str> {
    if !raw.bytes().any(|b| matches!(b, b'\t' | b'\n' | b'\r' | b'&')) {
        return Ok(Cow::Borrowed(raw));
    }
    let spaced = |text: &str| lines(text).replace(['\t', '\n'], " ");
    let mut pieces = raw.split('&');
    let mut value = spaced(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, text) = piece.split_once(';').ok_or("a reference in an attribute does not end")?;
        value.push_str(&resolve(name).map_err(|_| "an attribute has an unknown reference")?);
        value.push_str(&spaced(text));
    }
    Ok(Cow::Owned(value))
}
