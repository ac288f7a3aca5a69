//! One XML document as a tree, parsed within bounds.
//!
//! Answers are small because we ask for little: a page of updates is a few hundred kilobytes. A tree therefore
//! costs nothing that matters, and every typed reader becomes a plain function of [`Node`] that cannot lose its
//! place. What an attacker or a broken proxy sends is bounded in bytes, elements and depth.

use std::borrow::Cow;

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

/// Namespace of every vSphere data object and method.
pub const VIM: &str = "urn:vim25";
/// Namespace of the SOAP 1.1 envelope.
pub const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// Namespace of the `xsi:type` attribute.
pub const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Attributes of one element, namespace declarations among them; vSphere writes at most a handful. Telling
/// duplicates apart costs memory per attribute, so an element made of nothing else must end somewhere.
const ATTRIBUTES: usize = 64;

/// Bytes in the name of an element; vSphere's longest are below a hundred. Names go into errors and so into logs.
const NAME: usize = 256;

/// How large a document may be before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of the document in bytes.
    pub bytes: usize,
    /// Number of elements; each costs about a hundred bytes of memory beyond its text, and up to three times that
    /// while its list grows.
    pub elements: usize,
    /// Nesting of elements.
    pub depth: usize,
}

impl Default for Limits {
    /// A page of a thousand VMs with all their properties fits ten times over.
    fn default() -> Self {
        Self { bytes: 64 << 20, elements: 1_000_000, depth: 64 }
    }
}

/// Which vocabulary an element belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// The SOAP envelope.
    Soap,
    /// vim25, or no namespace at all (the members of a SOAP fault have none).
    Vim,
    /// Anything else; readers never look at it.
    Foreign,
}

/// One element: its name, the two kinds of `type` attribute, its text and its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Vocabulary of the element.
    pub space: Space,
    /// Local name.
    pub name: Box<str>,
    /// Local part of `xsi:type`.
    pub xsi_type: Option<Box<str>>,
    /// The plain `type` attribute: the class of a managed object reference.
    pub ref_type: Option<Box<str>>,
    /// Character data directly inside this element, without the white space between children.
    pub text: String,
    /// Child elements in document order.
    pub children: Vec<Node>,
}

impl Node {
    /// An empty vim25 element.
    pub fn new(name: &str) -> Self {
        Self {
            space: Space::Vim,
            name: name.into(),
            xsi_type: None,
            ref_type: None,
            text: String::new(),
            children: Vec::new(),
        }
    }

    /// A vim25 element that holds a value of the given type as text.
    pub fn leaf(name: &str, xsi_type: &str, text: impl Into<String>) -> Self {
        Self { xsi_type: Some(xsi_type.into()), text: text.into(), ..Self::new(name) }
    }

    /// Removes and returns the first child of that name.
    pub fn take(&mut self, name: &str) -> Option<Node> {
        let at = self.children.iter().position(|c| c.is(name))?;
        Some(self.children.remove(at))
    }

    /// Removes and returns all children of that name, in order.
    pub fn take_all(&mut self, name: &str) -> Vec<Node> {
        self.children.extract_if(.., |c| c.is(name)).collect()
    }

    /// The first child of that name.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|c| c.is(name))
    }

    /// Text of the first child of that name.
    pub fn child_text(&self, name: &str) -> Option<&str> {
        self.child(name).map(|c| c.text.as_str())
    }

    /// Whether the element has neither text nor children: what some servers send for "unset".
    pub fn is_empty(&self) -> bool {
        self.children.is_empty() && self.text.trim().is_empty()
    }

    fn is(&self, name: &str) -> bool {
        self.space != Space::Foreign && &*self.name == name
    }
}

/// Why a document could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("the document is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the document has more than {limit} elements")]
    TooManyElements { limit: usize },
    #[error("the document nests deeper than {limit} elements")]
    TooDeep { limit: usize },
    #[error("the document is not UTF-8 text")]
    NotText,
    #[error("the document ends inside an element")]
    CutOff,
    #[error("the document has no root element")]
    NoRoot,
    #[error("the document goes on after its root element")]
    TrailingData,
    #[error("a document type declaration is not allowed")]
    Doctype,
    #[error("unknown entity &{name};")]
    UnknownEntity { name: String },
    #[error("malformed XML at byte {at}: {reason}")]
    Malformed { at: u64, reason: String },
}

/// Parses one complete document. A cut or padded document is an error, never a shorter tree.
pub fn parse(document: &[u8], limits: &Limits) -> Result<Node, ParseError> {
    if document.len() > limits.bytes {
        return Err(ParseError::TooLarge { limit: limits.bytes });
    }
    let text = std::str::from_utf8(document).map_err(|_| ParseError::NotText)?;
    let mut reader = NsReader::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    reader.config_mut().expand_empty_elements = true;
    let mut tree = Tree { open: Vec::new(), root: None, elements: 0, limits };
    loop {
        let event = reader.read_event().map_err(|error| ParseError::Malformed {
            at: reader.error_position(),
            reason: shortened(&error.to_string()),
        })?;
        match event {
            Event::Start(start) => {
                let element = element(&reader, &start)?;
                tree.open(element)?;
            }
            Event::End(_) => tree.close(),
            Event::Text(text) => tree.text(&text.xml10_content())?,
            Event::CData(data) => tree.text(&data.xml10_content())?,
            Event::GeneralRef(entity) => tree.text(&resolve(&entity)?)?,
            Event::DocType(_) => return Err(ParseError::Doctype),
            Event::Eof => return tree.finish(),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// Text for an error message: errors go into logs, and what they quote may be as long as the document.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// An element whose end was not seen yet.
struct Open {
    node: Node,
    /// `xsi:nil`: the element states that there is no value.
    nil: bool,
}

/// The tree under construction: the chain of open elements, innermost last.
struct Tree<'l> {
    open: Vec<Open>,
    root: Option<Node>,
    elements: usize,
    limits: &'l Limits,
}

impl Tree<'_> {
    fn open(&mut self, element: Open) -> Result<(), ParseError> {
        self.elements += 1;
        if self.root.is_some() {
            return Err(ParseError::TrailingData);
        }
        if self.elements > self.limits.elements {
            return Err(ParseError::TooManyElements { limit: self.limits.elements });
        }
        if self.open.len() >= self.limits.depth {
            return Err(ParseError::TooDeep { limit: self.limits.depth });
        }
        self.open.push(element);
        Ok(())
    }

    fn close(&mut self) {
        let Some(Open { mut node, nil }) = self.open.pop() else { return };
        // Between children there is only indentation; text beside children is not part of the vocabulary.
        if !node.children.is_empty() {
            node.text = String::new();
        }
        match self.open.last_mut() {
            Some(_) if nil => {}
            Some(Open { node: parent, .. }) => {
                // An element with one child would otherwise pay for four.
                if parent.children.is_empty() {
                    parent.children.reserve_exact(1);
                }
                parent.children.push(node);
            }
            None => self.root = Some(node),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), ParseError> {
        match self.open.last_mut().map(|open| &mut open.node) {
            Some(node) if node.children.is_empty() => node.text.push_str(text),
            Some(_) => {}
            None if text.trim().is_empty() => {}
            None if self.root.is_some() => return Err(ParseError::TrailingData),
            None => return Err(ParseError::NoRoot),
        }
        Ok(())
    }

    fn finish(self) -> Result<Node, ParseError> {
        if !self.open.is_empty() {
            return Err(ParseError::CutOff);
        }
        self.root.ok_or(ParseError::NoRoot)
    }
}

fn element(reader: &NsReader<&[u8]>, start: &BytesStart<'_>) -> Result<Open, ParseError> {
    let malformed =
        |reason: &str| ParseError::Malformed { at: reader.buffer_position(), reason: shortened(reason) };
    if start.name().as_ref().len() > NAME {
        return Err(malformed("an element has too long a name"));
    }
    let (space, local) = reader.resolver().resolve_element(start.name());
    let mut node = Node::new(local.as_ref());
    let mut nil = false;
    node.space = match space {
        ResolveResult::Unbound => Space::Vim,
        ResolveResult::Bound(uri) if uri.as_ref() == VIM => Space::Vim,
        ResolveResult::Bound(uri) if uri.as_ref() == SOAP => Space::Soap,
        ResolveResult::Bound(_) | ResolveResult::Unknown(_) => Space::Foreign,
    };
    for (seen, attribute) in start.attributes().enumerate() {
        let attribute = attribute.map_err(|error| malformed(&error.to_string()))?;
        if seen == ATTRIBUTES {
            return Err(malformed("an element has too many attributes"));
        }
        let local = attribute.key.local_name();
        if !matches!(local.as_ref(), "type" | "nil") {
            continue;
        }
        let value: Cow<'_, str> = attribute
            .normalized_value(quick_xml::XmlVersion::Explicit1_0)
            .map_err(|error| malformed(&error.to_string()))?;
        match (reader.resolver().resolve_attribute(attribute.key).0, local.as_ref()) {
            (ResolveResult::Unbound, "type") => node.ref_type = Some(value.into()),
            // The value may carry a prefix that nobody declared (govc sends `xsd:string` so): the local part counts.
            (ResolveResult::Bound(uri), "type") if uri.as_ref() == XSI => {
                node.xsi_type = Some(value.trim().rsplit(':').next().unwrap_or(&value).into());
            }
            (ResolveResult::Bound(uri), _) if uri.as_ref() == XSI => {
                nil = matches!(value.trim(), "true" | "1");
            }
            (ResolveResult::Unbound | ResolveResult::Bound(_) | ResolveResult::Unknown(_), _) => {}
        }
    }
    Ok(Open { node, nil })
}

fn resolve(entity: &quick_xml::events::BytesRef<'_>) -> Result<String, ParseError> {
    let unknown = || ParseError::UnknownEntity { name: shortened(entity) };
    if let Some(character) = entity.resolve_char_ref().map_err(|_| unknown())? {
        return Ok(character.to_string());
    }
    resolve_predefined_entity(&entity.xml10_content()).map(str::to_owned).ok_or_else(unknown)
}
