//! One XML document as a tree, and the bounds of every document.
//!
//! Only open places are kept as trees: values whose type stands in the document, fault details, classes that the
//! tables do not know. All else is read straight into its type ([`crate::Element`]). What an attacker or a broken
//! proxy sends is bounded in bytes, elements and depth either way.

use crate::element::Element;
use crate::reader::Reader;

/// Namespace of every vSphere data object and method.
pub const VIM: &str = "urn:vim25";
/// Namespace of the SOAP 1.1 envelope.
pub const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";
/// Namespace of the `xsi:type` attribute.
pub const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Space {
    /// The SOAP envelope.
    Soap,
    /// vim25, or no namespace at all (the members of a SOAP fault have none).
    #[default]
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
    /// Of a value that was to become a tree.
    #[error(transparent)]
    Unwritable(#[from] crate::Unwritable),
}

/// Parses one complete document. A cut or padded document is an error, never a shorter tree.
pub fn parse(document: &[u8], limits: &Limits) -> Result<Node, ParseError> {
    let mut reader = Reader::new(document, limits)?;
    let root = Element::root(&mut reader).map(|mut root| root.take_node());
    reader.finish()?;
    root.ok_or(ParseError::NoRoot)
}
