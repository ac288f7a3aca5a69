//! The properties of managed objects: each class is described once, and from that come its properties, whole or in part.
//!
//! A description names the members of a class in schema order. Depending on what was asked for, a member is written in
//! place (a whole object), is the one that a path leads to, or is one of all properties. Nothing else is computed, and
//! nothing is built in between: what a property costs is its own text.

mod device;
mod guest;
mod hardware;
mod hosts;
mod keyed;
mod managers;
mod places;
mod pools;
mod storage;
mod tasks;
mod views;
mod vm;

use jiff::Timestamp;
use rookery_vim::{Node, Wire, Writer};

use crate::id::Id;
pub(crate) use device::{is_fixed, mac_text};
pub(crate) use managers::{user_session, write_event};
pub(crate) use storage::search_results;
pub(crate) use tasks::write_task_info;
pub(crate) use views::{all, exists, find, networks_of, property};

/// What became of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The class has no such property.
    Invalid,
    /// It has, but this object's is not set.
    Unset,
    Written,
}

/// Which properties of an object are written, and how.
#[derive(Clone, Copy)]
enum Selection<'p> {
    /// All members, each in its place.
    Whole,
    /// Only what this path leads to, under the given element name.
    Path(&'p str, &'p [&'p str]),
    /// Those of all members that are shown, each as a property.
    Properties(Frame, &'p dyn Fn(&str) -> bool),
}

/// The element that properties are wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    /// In a retrieve.
    PropSet,
    /// In an update.
    ChangeSet,
}

impl Frame {
    pub(crate) fn element(self) -> &'static str {
        match self {
            Self::PropSet => "propSet",
            Self::ChangeSet => "changeSet",
        }
    }

    /// Opens the frame of one property.
    pub(crate) fn open(self, out: &mut Writer, name: &str) {
        out.open(self.element(), None);
        out.leaf("name", None, name);
        if self == Self::ChangeSet {
            out.leaf("op", None, "assign");
        }
    }
}

/// The members of one object as they are being described.
pub(crate) struct Members<'o, 'p> {
    out: &'o mut Writer,
    wanted: Selection<'p>,
    found: Found,
}

/// How one member is to be written.
struct Place<'p> {
    element: &'p str,
    /// The rest of the path, below this member.
    rest: &'p [&'p str],
    typed: bool,
}

impl<'o, 'p> Members<'o, 'p> {
    /// Looks for one property, to be written as an element of that name.
    pub(crate) fn one(out: &'o mut Writer, element: &'p str, path: &'p [&'p str]) -> Self {
        Self { out, wanted: Selection::Path(element, path), found: Found::Invalid }
    }

    /// All properties that are set and shown.
    pub(crate) fn all(out: &'o mut Writer, frame: Frame, shown: &'p dyn Fn(&str) -> bool) -> Self {
        Self { out, wanted: Selection::Properties(frame, shown), found: Found::Invalid }
    }

    /// Members of an object that is open already.
    pub(crate) fn whole(out: &'o mut Writer) -> Self {
        Self { out, wanted: Selection::Whole, found: Found::Invalid }
    }

    pub(crate) fn found(&self) -> Found {
        self.found
    }

    /// Whether the member is asked for, and how.
    fn place<'n: 'p>(&self, name: &'n str) -> Option<Place<'p>> {
        match self.wanted {
            Selection::Whole => Some(Place { element: name, rest: &[], typed: false }),
            Selection::Path(element, path) => {
                let (first, rest) = path.split_first()?;
                (*first == name).then_some(Place { element, rest, typed: true })
            }
            Selection::Properties(_, shown) => {
                shown(name).then_some(Place { element: "val", rest: &[], typed: true })
            }
        }
    }

    fn open_property(&mut self, name: &str) {
        if let Selection::Properties(frame, _) = self.wanted {
            frame.open(self.out, name);
        }
    }

    fn close_property(&mut self) {
        if let Selection::Properties(frame, _) = self.wanted {
            self.out.close(frame.element());
        }
    }

    /// A value that has no members of its own.
    fn simple(&mut self, name: &'static str, write: impl FnOnce(&mut Writer, &str, bool)) {
        let Some(place) = self.place(name) else { return };
        if !place.rest.is_empty() {
            return;
        }
        self.open_property(name);
        write(self.out, place.element, place.typed);
        self.close_property();
        self.found = Found::Written;
    }

    /// A member that this class has and this object has not.
    pub(crate) fn unset(&mut self, name: &'static str) {
        if matches!(self.wanted, Selection::Path(..)) && self.place(name).is_some() {
            self.found = Found::Unset;
        }
    }

    /// Members that this class has and this object has not. Where they stand among the others makes no difference.
    pub(crate) fn without(&mut self, names: &[&'static str]) {
        for name in names {
            self.unset(name);
        }
    }

    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        self.simple(name, |out, element, typed| out.leaf(element, typed.then_some("string"), text));
    }

    /// An enumeration of that type.
    pub(crate) fn one_of(&mut self, name: &'static str, class: &str, text: &str) {
        self.simple(name, |out, element, typed| out.leaf(element, typed.then_some(class), text));
    }

    pub(crate) fn value<T: Wire>(&mut self, name: &'static str, value: &T) {
        self.simple(name, |out, element, typed| value.write(out, element, typed));
    }

    pub(crate) fn int(&mut self, name: &'static str, value: i32) {
        self.value(name, &value);
    }

    /// A number that is as large as it can be if it is too large.
    pub(crate) fn count(&mut self, name: &'static str, value: impl TryInto<i32>) {
        self.int(name, value.try_into().unwrap_or(i32::MAX));
    }

    pub(crate) fn long(&mut self, name: &'static str, value: i64) {
        self.value(name, &value);
    }

    pub(crate) fn flag(&mut self, name: &'static str, value: bool) {
        self.value(name, &value);
    }

    pub(crate) fn time(&mut self, name: &'static str, value: Timestamp) {
        self.value(name, &value);
    }

    pub(crate) fn maybe<T>(
        &mut self,
        name: &'static str,
        value: Option<T>,
        write: impl FnOnce(&mut Self, &'static str, T),
    ) {
        match value {
            Some(value) => write(self, name, value),
            None => self.unset(name),
        }
    }

    pub(crate) fn maybe_text(&mut self, name: &'static str, text: Option<&str>) {
        self.maybe(name, text, Self::text);
    }

    pub(crate) fn reference(&mut self, name: &'static str, id: Id) {
        self.value(name, &id.reference());
    }

    pub(crate) fn maybe_reference(&mut self, name: &'static str, id: Option<Id>) {
        self.maybe(name, id, Self::reference);
    }

    /// A reference in a place that is open to anything: it says what it is even there.
    pub(crate) fn any_reference(&mut self, name: &'static str, id: Id) {
        self.simple(name, |out, element, _| {
            out.reference(element, Some("ManagedObjectReference"), &id.reference());
        });
    }

    /// A fault with its words.
    pub(crate) fn fault(&mut self, name: &'static str, refusal: &crate::refusal::Refusal) {
        self.simple(name, |out, element, typed| refusal.write_localized(out, element, typed));
    }

    /// XML of that very element, with its type stated.
    pub(crate) fn raw(&mut self, name: &'static str, xml: &str) {
        self.simple(name, |out, element, _| {
            let inner =
                xml.strip_prefix(&format!("<{name}")).and_then(|x| x.strip_suffix(&format!("{name}>")));
            match inner {
                Some(inner) => out.raw(&format!("<{element}{inner}{element}>")),
                None => out.raw(xml),
            }
        });
    }

    /// An element that is written as it was given.
    pub(crate) fn node(&mut self, name: &'static str, node: &Node) {
        let Some(place) = self.place(name) else { return };
        let Some(node) = place.rest.iter().try_fold(node, |node, step| node.child(step)) else {
            self.found = Found::Unset;
            return;
        };
        self.open_property(name);
        node.write(self.out, place.element, true);
        self.close_property();
        self.found = Found::Written;
    }

    /// An object of that class.
    pub(crate) fn object(
        &mut self,
        name: &'static str,
        class: &str,
        describe: impl FnOnce(&mut Members<'_, '_>),
    ) {
        self.any_object(name, class, false, describe);
    }

    /// An object whose declared class is wider: its own class stands beside it even in its place.
    pub(crate) fn variant(
        &mut self,
        name: &'static str,
        class: &str,
        describe: impl FnOnce(&mut Members<'_, '_>),
    ) {
        self.any_object(name, class, true, describe);
    }

    fn any_object(
        &mut self,
        name: &'static str,
        class: &str,
        variant: bool,
        describe: impl FnOnce(&mut Members<'_, '_>),
    ) {
        let Some(place) = self.place(name) else { return };
        if !place.rest.is_empty() {
            let mut below = Members {
                out: self.out,
                wanted: Selection::Path(place.element, place.rest),
                found: Found::Invalid,
            };
            describe(&mut below);
            self.found = below.found;
            return;
        }
        self.open_property(name);
        self.out.open(place.element, (place.typed || variant).then_some(class));
        describe(&mut Members::whole(self.out));
        self.out.close(place.element);
        self.close_property();
        self.found = Found::Written;
    }

    /// The members of a value that the vocabulary describes, one by one.
    pub(crate) fn members<T: Wire>(&mut self, value: &T) {
        if let Ok(node) = Node::any(value) {
            for child in &node.children {
                self.dynamic(child);
            }
        }
    }

    fn dynamic(&mut self, node: &Node) {
        match self.wanted {
            Selection::Whole => node.write(self.out, &node.name, false),
            Selection::Path(element, path) => {
                let Some((first, rest)) = path.split_first() else { return };
                let found = rest.iter().try_fold(node, |node, step| node.child(step));
                if **first == *node.name
                    && let Some(found) = found
                {
                    found.write(self.out, element, false);
                    self.found = Found::Written;
                }
            }
            Selection::Properties(..) => {}
        }
    }

    /// A list of objects of that class, which may be a wider one.
    pub(crate) fn objects<T>(
        &mut self,
        name: &'static str,
        class: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Writer, &str, T),
    ) {
        let Some(place) = self.place(name) else { return };
        if !place.rest.is_empty() {
            return;
        }
        self.open_property(name);
        if place.typed {
            self.out.open(place.element, Some(&format!("ArrayOf{}", capital(class))));
            for item in items {
                write(self.out, class, item);
            }
            self.out.close(place.element);
        } else {
            for item in items {
                write(self.out, place.element, item);
            }
        }
        self.close_property();
        self.found = Found::Written;
    }

    /// A list of objects of that very class.
    pub(crate) fn items<T>(
        &mut self,
        name: &'static str,
        class: &str,
        items: impl IntoIterator<Item = T>,
        mut describe: impl FnMut(&mut Members<'_, '_>, T),
    ) {
        self.objects(name, class, items, |out, element, it| item(out, element, None, |m| describe(m, it)));
    }

    /// A list of values.
    pub(crate) fn values<T: Wire>(&mut self, name: &'static str, items: impl IntoIterator<Item = T>) {
        self.objects(name, T::TYPE, items, |out, element, item| item.write(out, element, false));
    }

    pub(crate) fn references(&mut self, name: &'static str, items: impl IntoIterator<Item = Id>) {
        self.values(name, items.into_iter().map(Id::reference));
    }

    pub(crate) fn texts<'t>(&mut self, name: &'static str, items: impl IntoIterator<Item = &'t str>) {
        self.objects(name, "string", items, |out, element, item| out.leaf(element, None, item));
    }
}

/// `ArrayOfString`, but elements called `string`.
fn capital(class: &str) -> String {
    let mut chars = class.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// One object inside a list.
pub(crate) fn item(
    out: &mut Writer,
    element: &str,
    class: Option<&str>,
    describe: impl FnOnce(&mut Members<'_, '_>),
) {
    out.open(element, class);
    describe(&mut Members::whole(out));
    out.close(element);
}
