//! Start tags: the name of an element, and of its attributes those few that mean something.

use std::borrow::Cow;

use super::{Open, Reader, Token, text};
use crate::node::{ParseError, Space};

/// Attributes of one element, namespace declarations among them; vSphere writes at most a handful. Telling
/// duplicates apart takes time for each pair, so an element made of nothing else must end somewhere.
const ATTRIBUTES: usize = 64;

/// Bytes in the name of an element; vSphere's longest are below a hundred. Names go into errors and so into logs.
const NAME: usize = 256;

/// What a start tag says.
#[derive(Default)]
pub(crate) struct Head<'d> {
    pub(crate) space: Space,
    /// Local name.
    pub(crate) name: &'d str,
    /// Local part of `xsi:type`.
    pub(crate) xsi_type: Option<Cow<'d, str>>,
    /// The plain `type` attribute.
    pub(crate) ref_type: Option<Cow<'d, str>>,
    /// `xsi:nil`: the element states that there is no value.
    pub(crate) nil: bool,
}

/// What is known of the attributes while a start tag is being read.
#[derive(Default)]
pub(super) struct Attributes<'d> {
    names: Vec<&'d str>,
    prefixed: Vec<Prefixed<'d>>,
}

/// An attribute that counts only if its prefix, which may be declared behind it, is that of `xsi`.
struct Prefixed<'d> {
    prefix: &'d str,
    kind: Kind,
    value: Cow<'d, str>,
}

#[derive(Clone, Copy)]
enum Kind {
    Type,
    Nil,
}

impl<'d> Reader<'d> {
    pub(super) fn start_tag(&mut self) -> Result<Token<'d>, ParseError> {
        let inside = self.rest.get(1..).unwrap_or_default();
        let (name, prefix, local) = split_name(inside);
        if name.is_empty() || name.len() > NAME {
            return Err(self.malformed("an element has no name, or too long a name"));
        }
        self.rest = inside.get(name.len()..).unwrap_or_default();
        let declared = self.scope.len();
        self.head = Head { name: local, ..Head::default() };
        match self.rest.strip_prefix('>') {
            Some(rest) => self.rest = rest,
            None => self.attributes()?,
        }
        self.head.space =
            prefix.map_or_else(|| self.scope.default_space(), |prefix| self.scope.space(prefix));
        self.open(Open { name, declared })?;
        Ok(Token::Start)
    }

    fn open(&mut self, element: Open<'d>) -> Result<(), ParseError> {
        if self.open.is_empty() && self.elements > 0 {
            return Err(ParseError::TrailingData);
        }
        self.elements += 1;
        if self.elements > self.limits.elements {
            return Err(ParseError::TooManyElements { limit: self.limits.elements });
        }
        if self.open.len() >= self.limits.depth {
            return Err(ParseError::TooDeep { limit: self.limits.depth });
        }
        self.open.push(element);
        Ok(())
    }

    /// Reads the attributes and the end of the tag.
    fn attributes(&mut self) -> Result<(), ParseError> {
        self.attributes.names.clear();
        loop {
            self.rest = skip_space(self.rest);
            match self.rest.as_bytes() {
                [b'>', ..] => {
                    self.take(1);
                    break;
                }
                [b'/', b'>', ..] => {
                    self.take(2);
                    self.empty = true;
                    break;
                }
                _ => self.attribute()?,
            }
        }
        for Prefixed { prefix, kind, value } in self.attributes.prefixed.drain(..) {
            match kind {
                Kind::Type if self.scope.is_xsi(prefix) => {
                    let class = local_part(value);
                    self.not_authenticated |= class == "NotAuthenticated";
                    self.head.xsi_type = Some(class);
                }
                Kind::Nil if self.scope.is_xsi(prefix) => {
                    self.head.nil = matches!(value.trim(), "true" | "1");
                }
                Kind::Type | Kind::Nil => {}
            }
        }
        Ok(())
    }

    fn attribute(&mut self) -> Result<(), ParseError> {
        let (key, prefix, local) = split_name(self.rest);
        if key.is_empty() {
            return Err(self.malformed("an element does not end, or has an attribute without a name"));
        }
        if self.attributes.names.contains(&key) {
            return Err(self.malformed("an element has an attribute twice"));
        }
        if self.attributes.names.len() >= ATTRIBUTES {
            return Err(self.malformed("an element has too many attributes"));
        }
        self.attributes.names.push(key);
        self.take(key.len());
        let raw = self.quoted().ok_or_else(|| self.malformed("an attribute has no value"))?;
        let read = match (prefix, local) {
            (None, "xmlns") => self.scope.declare_default(raw),
            (Some("xmlns"), prefix) => self.scope.declare(prefix, raw),
            (None, "type") => text::attribute(raw).map(|value| self.head.ref_type = Some(value)),
            (Some(prefix), "type") => self.prefixed(prefix, Kind::Type, raw),
            (Some(prefix), "nil") => self.prefixed(prefix, Kind::Nil, raw),
            (_, _) => Ok(()),
        };
        read.map_err(|reason| self.malformed(reason))
    }

    fn prefixed(&mut self, prefix: &'d str, kind: Kind, raw: &'d str) -> Result<(), &'static str> {
        let value = text::attribute(raw)?;
        self.attributes.prefixed.push(Prefixed { prefix, kind, value });
        Ok(())
    }

    /// Reads `= "…"`.
    fn quoted(&mut self) -> Option<&'d str> {
        let value = skip_space(skip_space(self.rest).strip_prefix('=')?);
        let quote = *value.as_bytes().first().filter(|b| matches!(b, b'"' | b'\''))?;
        let value = value.get(1..)?;
        let end = value.bytes().position(|b| b == quote)?;
        self.rest = value.get(end + 1..)?;
        value.get(..end)
    }
}

/// What is behind the white space that the text begins with.
pub(super) fn skip_space(text: &str) -> &str {
    let spaces = text.bytes().position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
    text.get(spaces.unwrap_or(text.len())..).unwrap_or_default()
}

/// The name that the text begins with, then its prefix, then its local part.
pub(super) fn split_name(text: &str) -> (&str, Option<&str>, &str) {
    let ends =
        |b: u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'/' | b'=' | b'<' | b'&' | b'"' | b'\'');
    let bytes = text.as_bytes();
    let first = bytes.iter().position(|b| *b == b':' || ends(*b)).unwrap_or(bytes.len());
    if bytes.get(first) != Some(&b':') {
        let name = text.get(..first).unwrap_or_default();
        return (name, None, name);
    }
    let behind = text.get(first + 1..).unwrap_or_default();
    let length = behind.bytes().position(ends).unwrap_or(behind.len());
    let name = text.get(..first + 1 + length).unwrap_or_default();
    (name, text.get(..first), behind.get(..length).unwrap_or_default())
}

/// The class without its prefix, which need not be declared: govc sends `xsd:string` so.
fn local_part(value: Cow<'_, str>) -> Cow<'_, str> {
    fn of(value: &str) -> &str {
        let value = value.trim();
        value.rsplit(':').next().unwrap_or(value)
    }
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(of(value)),
        Cow::Owned(value) => Cow::Owned(of(&value).to_owned()),
    }
}
