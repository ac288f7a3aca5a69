//! How a row of the tables in [`crate::objects`] and [`crate::methods`] becomes code.
//!
//! A row lists the members of a type in schema order. From it come the struct, a writer that keeps that order and
//! a reader that does not depend on it. [`Wire`] is one value in one element; [`Member`] adds how often the element
//! may stand: `T` once, `Option<T>` at most once, `Vec<T>` any number of times.

use std::fmt;

use jiff::Timestamp;

use crate::node::{Node, Space};
use crate::{MoRef, Writer};

/// A value that stands in one element.
pub trait Wire: Sized {
    /// Its type as `xsi:type` names it.
    const TYPE: &'static str;

    /// Writes the element; `typed` states the type, for places whose declared type is wider.
    fn write(&self, out: &mut Writer, name: &str, typed: bool);

    /// Reads the element. Unknown members are ignored, unknown types are kept where the place is open.
    fn read(node: Node) -> Result<Self, DecodeError>;

    /// Whether this element stands for "unset". Some servers send empty elements for unset numbers, dates and enums.
    fn is_unset(_node: &Node) -> bool {
        false
    }
}

/// Why an element does not hold what its place demands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("{of} lacks its member {member}")]
    Missing { of: Box<str>, member: &'static str },
    #[error("element {element} holds {text:?}, which is not of type {expected}")]
    Invalid { element: Box<str>, expected: &'static str, text: String },
}

impl DecodeError {
    /// The element's text is not of the expected type. Long text is shortened: it goes into logs.
    pub fn invalid(node: &Node, expected: &'static str) -> Self {
        Self::Invalid { element: node.name.clone(), expected, text: node.text.chars().take(40).collect() }
    }
}

/// A member of a type, in its multiplicity.
pub trait Member: Sized {
    /// Writes the member's elements, if any.
    fn write_member(&self, out: &mut Writer, name: &str);
    /// Takes the member out of the element that it belongs to.
    fn take_member(parent: &mut Node, name: &'static str) -> Result<Self, DecodeError>;
}

impl<T: Wire> Member for Option<T> {
    fn write_member(&self, out: &mut Writer, name: &str) {
        if let Some(value) = self {
            value.write(out, name, false);
        }
    }
    fn take_member(parent: &mut Node, name: &'static str) -> Result<Self, DecodeError> {
        match parent.take(name) {
            Some(node) if !T::is_unset(&node) => T::read(node).map(Some),
            Some(_) | None => Ok(None),
        }
    }
}

impl<T: Wire> Member for Vec<T> {
    fn write_member(&self, out: &mut Writer, name: &str) {
        for value in self {
            value.write(out, name, false);
        }
    }
    fn take_member(parent: &mut Node, name: &'static str) -> Result<Self, DecodeError> {
        parent.take_all(name).into_iter().filter(|node| !T::is_unset(node)).map(T::read).collect()
    }
}

/// Methods without a result.
impl Member for () {
    fn write_member(&self, _out: &mut Writer, _name: &str) {}
    fn take_member(_parent: &mut Node, _name: &'static str) -> Result<Self, DecodeError> {
        Ok(())
    }
}

/// Takes a member that must be there.
pub(crate) fn required<T: Wire>(parent: &mut Node, name: &'static str) -> Result<T, DecodeError> {
    match parent.take(name) {
        Some(node) => T::read(node),
        None => Err(DecodeError::Missing { of: parent.name.clone(), member: name }),
    }
}

/// `Member` for a type that stands exactly once. Not a blanket impl: it would overlap with `Option` and `Vec`.
macro_rules! once {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::wire::Member for $type {
            fn write_member(&self, out: &mut $crate::Writer, name: &str) {
                $crate::wire::Wire::write(self, out, name, false);
            }
            fn take_member(parent: &mut $crate::Node, name: &'static str) -> Result<Self, $crate::DecodeError> {
                $crate::wire::required(parent, name)
            }
        }
    )*};
}
pub(crate) use once;

macro_rules! text_values {
    ($($type:ty = $wire:literal),* $(,)?) => {$(
        impl Wire for $type {
            const TYPE: &'static str = $wire;
            fn write(&self, out: &mut Writer, name: &str, typed: bool) {
                out.leaf(name, typed.then_some(Self::TYPE), &self.to_string());
            }
            fn read(node: Node) -> Result<Self, DecodeError> {
                node.text.trim().parse().map_err(|_| DecodeError::invalid(&node, $wire))
            }
            fn is_unset(node: &Node) -> bool {
                node.is_empty()
            }
        }
    )*};
}
text_values!(i16 = "short", i32 = "int", i64 = "long", f64 = "double");
once!(bool, i16, i32, i64, f64, String, MoRef, Timestamp, Hidden, Node);

impl Wire for bool {
    const TYPE: &'static str = "boolean";
    fn write(&self, out: &mut Writer, name: &str, typed: bool) {
        out.leaf(name, typed.then_some(Self::TYPE), if *self { "true" } else { "false" });
    }
    fn read(node: Node) -> Result<Self, DecodeError> {
        match node.text.trim() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(DecodeError::invalid(&node, "boolean")),
        }
    }
    fn is_unset(node: &Node) -> bool {
        node.is_empty()
    }
}

impl Wire for String {
    const TYPE: &'static str = "string";
    fn write(&self, out: &mut Writer, name: &str, typed: bool) {
        out.leaf(name, typed.then_some(Self::TYPE), self);
    }
    fn read(node: Node) -> Result<Self, DecodeError> {
        Ok(node.text)
    }
}

impl Wire for Timestamp {
    const TYPE: &'static str = "dateTime";
    fn write(&self, out: &mut Writer, name: &str, typed: bool) {
        out.leaf(name, typed.then_some(Self::TYPE), &self.to_string());
    }
    fn read(node: Node) -> Result<Self, DecodeError> {
        let text = node.text.trim();
        // A date without a zone is the server's time, which is UTC.
        text.parse()
            .or_else(|_| format!("{text}Z").parse())
            .map_err(|_: jiff::Error| DecodeError::invalid(&node, "dateTime"))
    }
    fn is_unset(node: &Node) -> bool {
        node.is_empty()
    }
}

impl Wire for MoRef {
    const TYPE: &'static str = "ManagedObjectReference";
    fn write(&self, out: &mut Writer, name: &str, typed: bool) {
        out.reference(name, typed.then_some(Self::TYPE), self);
    }
    fn read(node: Node) -> Result<Self, DecodeError> {
        match &node.ref_type {
            Some(kind) if !node.text.trim().is_empty() => Ok(MoRef::new(kind, node.text.trim())),
            Some(_) | None => Err(DecodeError::invalid(&node, "ManagedObjectReference")),
        }
    }
    fn is_unset(node: &Node) -> bool {
        node.is_empty()
    }
}

/// An open place (`anyType`): whatever stands there, to be read when its type is known.
impl Wire for Node {
    const TYPE: &'static str = "anyType";
    fn write(&self, out: &mut Writer, name: &str, _typed: bool) {
        out.start(name, self.ref_type.as_deref(), self.xsi_type.as_deref());
        // As in a parsed tree: an element holds text or children.
        if self.children.is_empty() {
            out.text(&self.text);
        }
        for child in &self.children {
            child.write(out, &child.name, false);
        }
        out.close(name);
    }
    fn read(node: Node) -> Result<Self, DecodeError> {
        Ok(node)
    }
}

impl Node {
    /// The value under another name and with its type stated, as `anyType` places need it.
    pub fn any<T: Wire>(value: &T) -> Result<Node, crate::ParseError> {
        let mut out = Writer::new();
        out.raw(crate::envelope::ANY_OPEN);
        value.write(&mut out, "val", true);
        out.raw("</any>");
        let mut any = crate::node::parse(out.into_string().as_bytes(), &crate::Limits::default())?;
        any.take("val").ok_or(crate::ParseError::NoRoot)
    }

    /// The items of an `ArrayOf…` value.
    pub fn items<T: Wire>(self) -> Result<Vec<T>, DecodeError> {
        self.children.into_iter().filter(|item| item.space != Space::Foreign).map(T::read).collect()
    }
}

/// Text that must never be printed: a password on its way to the wire.
#[derive(Clone, PartialEq, Eq)]
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
    fn read(node: Node) -> Result<Self, DecodeError> {
        Ok(Self(node.text))
    }
}

/// Data objects: each row is a struct with its members in schema order, and their names on the wire. A row may name
/// the member without which the whole object stands for "unset".
macro_rules! objects {
    ($(
        $(#[$meta:meta])*
        $name:ident $( (unset without $key:literal) )?
        { $( $(#[$member_meta:meta])* $member:ident: $type:ty = $wire:literal ),* $(,)? }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $( $(#[$member_meta])* pub $member: $type ),* }

        impl $crate::wire::Wire for $name {
            const TYPE: &'static str = stringify!($name);
            #[allow(unused_variables, reason = "a row may have no members")]
            fn write(&self, out: &mut $crate::Writer, name: &str, typed: bool) {
                out.open(name, typed.then_some(Self::TYPE));
                $( $crate::wire::Member::write_member(&self.$member, out, $wire); )*
                out.close(name);
            }
            #[allow(unused_mut, unused_variables, reason = "a row may have no members")]
            fn read(mut node: $crate::Node) -> Result<Self, $crate::DecodeError> {
                Ok(Self { $( $member: $crate::wire::Member::take_member(&mut node, $wire)? ),* })
            }
            $( fn is_unset(node: &$crate::Node) -> bool {
                node.child($key).is_none()
            } )?
        }
        $crate::wire::once!($name);
    )*};
}
pub(crate) use objects;

/// Places whose declared type has subclasses: told apart by `xsi:type` (without one the declared type `of` counts),
/// unknown classes kept as they came.
macro_rules! variants {
    ($( $(#[$meta:meta])* $name:ident of $base:literal { $($class:ident),* $(,)? } )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $( #[doc = concat!("Class `", stringify!($class), "`.")] $class($class), )*
            /// A class that this table does not know.
            Other($crate::Node),
        }
        impl $crate::wire::Wire for $name {
            const TYPE: &'static str = $base;
            fn write(&self, out: &mut $crate::Writer, name: &str, _typed: bool) {
                match self {
                    $( Self::$class(value) => value.write(out, name, true), )*
                    Self::Other(node) => node.write(out, name, true),
                }
            }
            fn read(node: $crate::Node) -> Result<Self, $crate::DecodeError> {
                match node.xsi_type.as_deref().unwrap_or(Self::TYPE) {
                    $( stringify!($class) => <$class as $crate::wire::Wire>::read(node).map(Self::$class), )*
                    _ => Ok(Self::Other(node)),
                }
            }
        }
        $crate::wire::once!($name);
    )*};
}
pub(crate) use variants;

/// Enumerations, each with its type on the wire: newer servers may add values, which are kept as text.
macro_rules! enums {
    ($( $(#[$meta:meta])* $name:ident of $wire_type:literal { $($value:ident = $wire:literal),* $(,)? } )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $( #[doc = concat!("`", $wire, "`.")] $value, )*
            /// A value that this table does not know.
            Other(String),
        }
        impl $name {
            /// The value as the wire spells it.
            pub fn as_str(&self) -> &str {
                match self { $( Self::$value => $wire, )* Self::Other(text) => text }
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() { $( $wire => Self::$value, )* _ => Self::Other(text) }
            }
        }
        impl $crate::wire::Wire for $name {
            const TYPE: &'static str = $wire_type;
            fn write(&self, out: &mut $crate::Writer, name: &str, typed: bool) {
                out.leaf(name, typed.then_some(Self::TYPE), self.as_str());
            }
            fn read(node: $crate::Node) -> Result<Self, $crate::DecodeError> {
                Ok(Self::from(node.text))
            }
            fn is_unset(node: &$crate::Node) -> bool {
                node.is_empty()
            }
        }
        $crate::wire::once!($name);
    )*};
}
pub(crate) use enums;
