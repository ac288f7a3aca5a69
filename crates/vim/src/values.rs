//! Values that are one element's text, and trees.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use crate::element::Content;
use crate::node::{Node, Space};
use crate::wire::{DecodeError, Wire, once};
use crate::{Element, MoRef, Writer};

/// Values that are written as their text, each with the function that reads it.
macro_rules! text_values {
    ($($type:ty = $wire:literal by $read:expr),* $(,)?) => {$(
        impl Wire for $type {
            const TYPE: &'static str = $wire;
            fn write(&self, out: &mut Writer, name: &str, typed: bool) {
                out.leaf(name, typed.then_some(Self::TYPE), &self.to_string());
            }
            fn read(element: &mut Element<'_, '_>) -> Result<Self, DecodeError> {
                let content = element.content();
                read_text(element, &content, $read)
            }
            fn read_unless_unset(element: &mut Element<'_, '_>) -> Result<Option<Self>, DecodeError> {
                let content = element.content();
                if content.is_empty() { Ok(None) } else { read_text(element, &content, $read).map(Some) }
            }
        }
    )*};
}
text_values!(
    bool = "boolean" by boolean,
    i16 = "short" by number,
    i32 = "int" by number,
    i64 = "long" by number,
    f64 = "double" by number,
    Timestamp = "dateTime" by date,
);
once!(bool, i16, i32, i64, f64, String, MoRef, Timestamp, Hidden, Node);

fn read_text<T: Wire>(
    element: &Element<'_, '_>,
    content: &Content<'_>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, DecodeError> {
    let invalid = || DecodeError::invalid_text(element.name(), &content.text, T::TYPE);
    read(content.text.trim()).ok_or_else(invalid)
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn date(text: &str) -> Option<Timestamp> {
    // A date without a zone is the server's time, which is UTC.
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

impl Wire for String {
    const TYPE: &'static str = "string";
    fn write(&self, out: &mut Writer, name: &str, typed: bool) {
        out.leaf(name, typed.then_some(Self::TYPE), self);
    }
    fn read(element: &mut Element<'_, '_>) -> Result<Self, DecodeError> {
        Ok(element.content().text.into_owned())
    }
}

impl Wire for MoRef {
    const TYPE: &'static str = "ManagedObjectReference";
    fn write(&self, out: &mut Writer, name: &str, typed: bool) {
        out.reference(name, typed.then_some(Self::TYPE), self);
    }
    fn read(element: &mut Element<'_, '_>) -> Result<Self, DecodeError> {
        let content = element.content();
        reference(element, &content)
    }
    fn read_unless_unset(element: &mut Element<'_, '_>) -> Result<Option<Self>, DecodeError> {
        let content = element.content();
        if content.is_empty() { Ok(None) } else { reference(element, &content).map(Some) }
    }
}

fn reference(element: &Element<'_, '_>, content: &Content<'_>) -> Result<MoRef, DecodeError> {
    read_text(element, content, |id| {
        let kind = element.ref_type().filter(|_| !id.is_empty())?;
        Some(MoRef::new(kind, id))
    })
}

/// An open place (`anyType`): whatever stands there, to be read when its type is known.
impl Wire for Node {
    const TYPE: &'static str = "anyType";
    fn write(&self, out: &mut Writer, name: &str, _typed: bool) {
        out.start(name, self.ref_type.as_deref(), self.xsi_type.as_deref());
        // As in a parsed tree: an element holds text or children.
        if self.children.is_empty() {
            out.text(name, &self.text);
        }
        for child in &self.children {
            child.write(out, &child.name, false);
        }
        out.close(name);
    }
    fn read(element: &mut Element<'_, '_>) -> Result<Self, DecodeError> {
        Ok(element.take_node())
    }
}

impl Node {
    /// The value under another name and with its type stated, as `anyType` places need it.
    pub fn any<T: Wire>(value: &T) -> Result<Node, crate::ParseError> {
        let mut out = Writer::new();
        out.raw(crate::envelope::ANY_OPEN);
        value.write(&mut out, "val", true);
        out.raw("</any>");
        let mut any = crate::node::parse(out.finish()?.as_bytes(), &crate::Limits::default())?;
        any.take("val").ok_or(crate::ParseError::NoRoot)
    }

    /// The items of an `ArrayOf…` value.
    pub fn items<T: Wire>(self) -> Result<Vec<T>, DecodeError> {
        self.children.into_iter().filter(|item| item.space != Space::Foreign).map(T::from_node).collect()
    }
}

/// Text that must never be printed: a password on its way to the wire.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Wire for Hidden {
    const TYPE: &'static str = "string";
    fn write(&self, out: &mut Writer, name: &str, typed: bool) {
        self.0.write(out, name, typed);
    }
    fn read(element: &mut Element<'_, '_>) -> Result<Self, DecodeError> {
        String::read(element).map(Self)
    }
}
