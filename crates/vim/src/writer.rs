//! XML as text, written front to back.

use std::fmt;

use crate::MoRef;

/// Builds one document. Members must be written in schema order: a real vCenter insists on it.
#[derive(Default)]
pub struct Writer {
    out: String,
    unwritable: Option<Unwritable>,
}

/// A text cannot stand in XML. The text itself is not told: it may be a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of {element} contains a control character that XML cannot carry")]
pub struct Unwritable {
    element: Box<str>,
}

/// Without the text: it may hold a password on its way to the wire.
impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({} bytes)", self.out.len())
    }
}

impl Writer {
    /// An empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// The finished text, unless a part of it would arrive changed: what is asked for must be what was meant.
    pub fn finish(self) -> Result<String, Unwritable> {
        match self.unwritable {
            Some(unwritable) => Err(unwritable),
            None => Ok(self.out),
        }
    }

    /// The finished text for whoever only tells what there is: U+FFFD stands for each character that XML cannot carry.
    pub fn into_string(self) -> String {
        self.out
    }

    /// Opens an element; `xsi_type` states the concrete class where the declared one has subclasses.
    pub fn open(&mut self, name: &str, xsi_type: Option<&str>) {
        self.start(name, None, xsi_type);
    }

    /// Opens an element with either or both kinds of `type` attribute.
    pub(crate) fn start(&mut self, name: &str, ref_type: Option<&str>, xsi_type: Option<&str>) {
        self.out.push('<');
        self.out.push_str(name);
        if let Some(class) = ref_type {
            self.attribute("type", class);
        }
        if let Some(class) = xsi_type {
            self.attribute("xsi:type", qualified(class));
        }
        self.out.push('>');
    }

    /// Opens an element that declares its default namespace.
    pub fn open_in(&mut self, name: &str, namespace: &str) {
        self.out.push('<');
        self.out.push_str(name);
        self.attribute("xmlns", namespace);
        self.out.push('>');
    }

    /// Closes the element of that name.
    pub fn close(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// One element with text.
    pub fn leaf(&mut self, name: &str, xsi_type: Option<&str>, text: &str) {
        self.open(name, xsi_type);
        self.text(name, text);
        self.close(name);
    }

    /// One managed object reference; as an `anyType` it carries both kinds of `type` attribute.
    pub fn reference(&mut self, name: &str, xsi_type: Option<&str>, reference: &MoRef) {
        self.start(name, Some(reference.kind()), xsi_type);
        self.text(name, reference.id());
        self.close(name);
    }

    /// Markup that is already XML.
    pub fn raw(&mut self, xml: &str) {
        self.out.push_str(xml);
    }

    /// Character data inside the open element, which has this name.
    pub(crate) fn text(&mut self, element: &str, text: &str) {
        self.escaped(element, text, false);
    }

    fn attribute(&mut self, name: &str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        self.escaped(name, value, true);
        self.out.push('"');
    }

    fn escaped(&mut self, place: &str, text: &str, in_attribute: bool) {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                // A bare CR would be read back as LF, and either of the others in an attribute as a space.
                '\r' => self.out.push_str("&#13;"),
                '\n' if in_attribute => self.out.push_str("&#10;"),
                '\t' if in_attribute => self.out.push_str("&#9;"),
                '\t' | '\n' => self.out.push(c),
                // One of them makes vCenter refuse the whole request.
                c if is_unwritable(c) => {
                    self.unwritable.get_or_insert_with(|| Unwritable { element: place.into() });
                    self.out.push(char::REPLACEMENT_CHARACTER);
                }
                c => self.out.push(c),
            }
        }
    }
}

/// The first character for which this text cannot be sent, for whoever knows better than [`Unwritable`] what it is.
pub fn unwritable(text: &str) -> Option<char> {
    text.chars().find(|c| is_unwritable(*c))
}

/// Not characters of XML 1.0 in any spelling.
fn is_unwritable(c: char) -> bool {
    (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// XML Schema's own types live in another namespace than vim25's.
fn qualified(class: &str) -> &str {
    match class {
        "string" => "xsd:string",
        "boolean" => "xsd:boolean",
        "int" => "xsd:int",
        "long" => "xsd:long",
        "short" => "xsd:short",
        "byte" => "xsd:byte",
        "double" => "xsd:double",
        "float" => "xsd:float",
        "dateTime" => "xsd:dateTime",
        "base64Binary" => "xsd:base64Binary",
        other => other,
    }
}
