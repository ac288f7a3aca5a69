//! How a row of the tables in [`crate::objects`] and [`crate::methods`] becomes code.
//!
//! A row lists the members of a type in schema order. From it come the struct, a writer that keeps that order and
//! a reader that does not depend on it. [`Wire`] is one value in one element; [`Member`] adds how often the element
//! may stand: `T` once, `Option<T>` at most once, `Vec<T>` any number of times.
//!
//! Reading goes through the children of an element once, as they come out of the document, and puts each into the
//! slot of its member. Nothing is built that is not part of the value.

use crate::node::Node;
use crate::{Element, Writer};

/// A value that stands in one element.
pub trait Wire: Sized {
    /// Its type as `xsi:type` names it.
    const TYPE: &'static str;

    /// Writes the element; `typed` states the type, for places whose declared type is wider.
    fn write(&self, out: &mut Writer, name: &str, typed: bool);

    /// Reads the element. Unknown members are ignored, unknown types are kept where the place is open.
    fn read(element: &mut Element<'_, '_>) -> Result<Self, DecodeError>;

    /// Reads the element where none need be. Some servers send empty elements for unset numbers, dates and enums.
    fn read_unless_unset(element: &mut Element<'_, '_>) -> Result<Option<Self>, DecodeError> {
        Self::read(element).map(Some)
    }

    /// Reads a value that was kept as a tree until its type was known.
    fn from_node(node: Node) -> Result<Self, DecodeError> {
        Self::read(&mut node.into())
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
    /// The element's text is not of the expected type.
    pub fn invalid(node: &Node, expected: &'static str) -> Self {
        Self::invalid_text(&node.name, &node.text, expected)
    }

    /// The same, with the element's name and text. Long text is shortened: it goes into logs.
    pub(crate) fn invalid_text(element: &str, text: &str, expected: &'static str) -> Self {
        Self::Invalid { element: element.into(), expected, text: text.chars().take(40).collect() }
    }

    pub(crate) fn missing(of: &Element<'_, '_>, member: &'static str) -> Self {
        Self::Missing { of: of.name().into(), member }
    }
}

/// A member of a type, in its multiplicity.
pub trait Member: Sized {
    /// What is known of the member while its parent is being read.
    type Slot: Default;

    /// Writes the member's elements, if any.
    fn write_member(&self, out: &mut Writer, name: &str);

    /// Takes up one element of the member's name.
    fn fill(slot: &mut Self::Slot, element: &mut Element<'_, '_>) -> Result<(), DecodeError>;

    /// The member, when no element of its parent is left.
    fn finish(slot: Self::Slot, parent: &Element<'_, '_>, name: &'static str) -> Result<Self, DecodeError>;
}

impl<T: Wire> Member for Option<T> {
    /// The outer option says whether there was an element: the first counts, even if it stands for "unset".
    type Slot = Option<Option<T>>;

    fn write_member(&self, out: &mut Writer, name: &str) {
        if let Some(value) = self {
            value.write(out, name, false);
        }
    }
    fn fill(slot: &mut Self::Slot, element: &mut Element<'_, '_>) -> Result<(), DecodeError> {
        if slot.is_none() {
            *slot = Some(T::read_unless_unset(element)?);
        }
        Ok(())
    }
    fn finish(slot: Self::Slot, _: &Element<'_, '_>, _: &'static str) -> Result<Self, DecodeError> {
        Ok(slot.flatten())
    }
}

impl<T: Wire> Member for Vec<T> {
    type Slot = Self;

    fn write_member(&self, out: &mut Writer, name: &str) {
        for value in self {
            value.write(out, name, false);
        }
    }
    fn fill(slot: &mut Self::Slot, element: &mut Element<'_, '_>) -> Result<(), DecodeError> {
        if let Some(value) = T::read_unless_unset(element)? {
            slot.push(value);
        }
        Ok(())
    }
    fn finish(slot: Self::Slot, _: &Element<'_, '_>, _: &'static str) -> Result<Self, DecodeError> {
        Ok(slot)
    }
}

/// Methods without a result.
impl Member for () {
    type Slot = ();

    fn write_member(&self, _: &mut Writer, _: &str) {}
    fn fill((): &mut (), _: &mut Element<'_, '_>) -> Result<(), DecodeError> {
        Ok(())
    }
    fn finish((): (), _: &Element<'_, '_>, _: &'static str) -> Result<Self, DecodeError> {
        Ok(())
    }
}

/// `Member` for a type that stands exactly once. Not a blanket impl: it would overlap with `Option` and `Vec`.
macro_rules! once {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::wire::Member for $type {
            type Slot = Option<Self>;

            fn write_member(&self, out: &mut $crate::Writer, name: &str) {
                $crate::wire::Wire::write(self, out, name, false);
            }
            fn fill(slot: &mut Option<Self>, element: &mut $crate::Element<'_, '_>) -> Result<(), $crate::DecodeError> {
                if slot.is_none() {
                    *slot = Some($crate::wire::Wire::read(element)?);
                }
                Ok(())
            }
            fn finish(
                slot: Option<Self>,
                parent: &$crate::Element<'_, '_>,
                name: &'static str,
            ) -> Result<Self, $crate::DecodeError> {
                slot.ok_or_else(|| $crate::DecodeError::missing(parent, name))
            }
        }
    )*};
}
pub(crate) use once;

/// Reads the members of an element into variables of their names, each of which holds a slot.
macro_rules! fill_members {
    ($element:ident, $( $member:ident: $type:ty = $wire:literal ),* $(,)?) => {
        $( let mut $member = <$type as $crate::wire::Member>::Slot::default(); )*
        while let Some(mut child) = $element.member() {
            match child.name() {
                $( $wire => <$type as $crate::wire::Member>::fill(&mut $member, &mut child)?, )*
                _ => {}
            }
        }
    };
}
pub(crate) use fill_members;

/// Data objects: each row is a struct with its members in schema order, and their names on the wire. A row may name
/// the member without which the whole object stands for "unset"; no part of that object may have a member so named.
macro_rules! objects {
    ($(
        $(#[$meta:meta])*
        $name:ident $( (unset without $key:ident) )?
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
            #[allow(unused_mut, reason = "a row may have no members")]
            fn read(element: &mut $crate::Element<'_, '_>) -> Result<Self, $crate::DecodeError> {
                $crate::wire::fill_members!(element, $( $member: $type = $wire ),*);
                $( if $key.is_none() {
                    return Err($crate::DecodeError::missing(element, stringify!($key)));
                } )?
                Ok(Self { $( $member: $crate::wire::Member::finish($member, element, $wire)? ),* })
            }
            $( fn read_unless_unset(
                element: &mut $crate::Element<'_, '_>,
            ) -> Result<Option<Self>, $crate::DecodeError> {
                match Self::read(element) {
                    Err($crate::DecodeError::Missing { member: stringify!($key), .. }) => Ok(None),
                    read => read.map(Some),
                }
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
            fn read(element: &mut $crate::Element<'_, '_>) -> Result<Self, $crate::DecodeError> {
                match element.xsi_type().unwrap_or(Self::TYPE) {
                    $( stringify!($class) => <$class as $crate::wire::Wire>::read(element).map(Self::$class), )*
                    _ => Ok(Self::Other(element.take_node())),
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
        impl From<std::borrow::Cow<'_, str>> for $name {
            fn from(text: std::borrow::Cow<'_, str>) -> Self {
                match &*text { $( $wire => Self::$value, )* _ => Self::Other(text.into_owned()) }
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::from(std::borrow::Cow::Owned(text))
            }
        }
        impl $crate::wire::Wire for $name {
            const TYPE: &'static str = $wire_type;
            fn write(&self, out: &mut $crate::Writer, name: &str, typed: bool) {
                out.leaf(name, typed.then_some(Self::TYPE), self.as_str());
            }
            fn read(element: &mut $crate::Element<'_, '_>) -> Result<Self, $crate::DecodeError> {
                Ok(Self::from(element.content().text))
            }
            fn read_unless_unset(
                element: &mut $crate::Element<'_, '_>,
            ) -> Result<Option<Self>, $crate::DecodeError> {
                let content = element.content();
                Ok((!content.is_empty()).then(|| Self::from(content.text)))
            }
        }
        $crate::wire::once!($name);
    )*};
}
pub(crate) use enums;
