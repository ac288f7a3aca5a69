//! One element, taken apart once: where typed values are read from.

use std::borrow::Cow;
use std::mem;
use std::vec;

use crate::node::{Node, Space};
use crate::reader::{Head, Reader};

/// An element of a document that is being read, or of a tree. It gives out its children one after the other, or its
/// text, or a tree; what nobody asked for is passed over.
pub struct Element<'r, 'd>(Source<'r, 'd>);

enum Source<'r, 'd> {
    Document { reader: &'r mut Reader<'d>, head: Head<'d>, depth: usize },
    // The children stand apart from their node.
    Tree { node: Node, children: vec::IntoIter<Node> },
}

/// What stands inside an element that is read as one value.
pub(crate) struct Content<'d> {
    /// Its text; nothing if it has children.
    pub(crate) text: Cow<'d, str>,
    children: bool,
}

impl Content<'_> {
    /// Neither text nor children: what some servers send for "unset".
    pub(crate) fn is_empty(&self) -> bool {
        !self.children && self.text.trim().is_empty()
    }
}

impl std::fmt::Debug for Element<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Element({})", self.name())
    }
}

impl From<Node> for Element<'_, '_> {
    fn from(mut node: Node) -> Self {
        let children = mem::take(&mut node.children).into_iter();
        Self(Source::Tree { node, children })
    }
}

impl<'d> Element<'_, 'd> {
    /// The root of a document; none if the document cannot be read so far.
    pub(crate) fn root<'r>(reader: &'r mut Reader<'d>) -> Option<Element<'r, 'd>> {
        let head = reader.child(0)?;
        Some(Element(Source::Document { reader, head, depth: 1 }))
    }

    /// Vocabulary of the element.
    pub fn space(&self) -> Space {
        match &self.0 {
            Source::Document { head, .. } => head.space,
            Source::Tree { node, .. } => node.space,
        }
    }

    /// Local name.
    pub fn name(&self) -> &str {
        match &self.0 {
            Source::Document { head, .. } => head.name,
            Source::Tree { node, .. } => &node.name,
        }
    }

    /// Local part of `xsi:type`.
    pub fn xsi_type(&self) -> Option<&str> {
        match &self.0 {
            Source::Document { head, .. } => head.xsi_type.as_deref(),
            Source::Tree { node, .. } => node.xsi_type.as_deref(),
        }
    }

    /// The plain `type` attribute: the class of a managed object reference.
    pub fn ref_type(&self) -> Option<&str> {
        match &self.0 {
            Source::Document { head, .. } => head.ref_type.as_deref(),
            Source::Tree { node, .. } => node.ref_type.as_deref(),
        }
    }

    /// The next child, of whatever vocabulary.
    pub fn child(&mut self) -> Option<Element<'_, 'd>> {
        match &mut self.0 {
            Source::Document { reader, depth, .. } => {
                let head = reader.child(*depth)?;
                Some(Element(Source::Document { reader, head, depth: *depth + 1 }))
            }
            Source::Tree { children, .. } => children.next().map(Element::from),
        }
    }

    /// The next child that may be a member: one of our vocabularies.
    pub fn member(&mut self) -> Option<Element<'_, 'd>> {
        match &mut self.0 {
            Source::Document { reader, depth, .. } => loop {
                let head = reader.child(*depth)?;
                if head.space != Space::Foreign {
                    return Some(Element(Source::Document { reader, head, depth: *depth + 1 }));
                }
            },
            Source::Tree { children, .. } => {
                children.find(|child| child.space != Space::Foreign).map(Element::from)
            }
        }
    }

    /// Reads the element as one value. Its name and attributes stay, for errors.
    pub(crate) fn content(&mut self) -> Content<'d> {
        match &mut self.0 {
            Source::Document { reader, depth, .. } => {
                let mut children = false;
                let text = reader.text(*depth, |reader| {
                    let counts = !reader.head().nil;
                    children |= counts;
                    counts
                });
                Content { text, children }
            }
            Source::Tree { node, children } => {
                Content { text: Cow::Owned(mem::take(&mut node.text)), children: children.next().is_some() }
            }
        }
    }

    /// What is left of the element, with everything in it, as a tree.
    pub fn take_node(&mut self) -> Node {
        match &mut self.0 {
            Source::Document { reader, head, depth } => tree(reader, mem::take(head), *depth),
            Source::Tree { node, children } => {
                Node { children: mem::take(children).collect(), ..mem::replace(node, Node::new("")) }
            }
        }
    }
}

fn tree<'d>(reader: &mut Reader<'d>, head: Head<'d>, depth: usize) -> Node {
    let mut children = Vec::new();
    let text = reader.text(depth, |reader| {
        let head = reader.take_head();
        let nil = head.nil;
        let child = tree(reader, head, depth + 1);
        if !nil {
            // An element with one child would otherwise pay for four.
            if children.is_empty() {
                children.reserve_exact(1);
            }
            children.push(child);
        }
        !nil
    });
    Node {
        space: head.space,
        name: head.name.into(),
        xsi_type: head.xsi_type.map(Into::into),
        ref_type: head.ref_type.map(Into::into),
        text: text.into_owned(),
        children,
    }
}
