//! What prefixes mean at one place of a document.

use crate::node::{SOAP, Space, VIM, XSI};

/// Declarations in force at once; servers write a handful. Each name is looked up among them.
const DECLARATIONS: usize = 128;

const XML: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS: &str = "http://www.w3.org/2000/xmlns/";

/// The declarations in force, innermost last.
#[derive(Default)]
pub(super) struct Scope<'d> {
    declared: Vec<(&'d str, Vocabulary)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Vocabulary {
    Vim,
    Soap,
    Xsi,
    None,
    Other,
}

impl<'d> Scope<'d> {
    pub(super) fn len(&self) -> usize {
        self.declared.len()
    }

    /// Forgets the declarations of an element that ended.
    pub(super) fn leave(&mut self, outside: usize) {
        self.declared.truncate(outside);
    }

    /// Declares the default namespace.
    pub(super) fn declare_default(&mut self, name: &str) -> Result<(), &'static str> {
        self.push("", name)
    }

    /// Declares a prefix.
    pub(super) fn declare(&mut self, prefix: &'d str, name: &str) -> Result<(), &'static str> {
        match (prefix, name) {
            ("xml", XML) => Ok(()),
            ("" | "xml" | "xmlns", _) | (_, XML | XMLNS) => Err("a prefix must not be declared so"),
            (_, _) => self.push(prefix, name),
        }
    }

    fn push(&mut self, prefix: &'d str, name: &str) -> Result<(), &'static str> {
        if self.declared.len() >= DECLARATIONS {
            return Err("too many namespaces are declared");
        }
        let vocabulary = match name {
            VIM => Vocabulary::Vim,
            SOAP => Vocabulary::Soap,
            XSI => Vocabulary::Xsi,
            "" => Vocabulary::None,
            _ => Vocabulary::Other,
        };
        self.declared.push((prefix, vocabulary));
        Ok(())
    }

    /// The vocabulary of an element without a prefix.
    pub(super) fn default_space(&self) -> Space {
        let declared = self.declared.iter().rev().find(|(prefix, _)| prefix.is_empty());
        match declared.map_or(Vocabulary::None, |(_, vocabulary)| *vocabulary) {
            Vocabulary::Vim | Vocabulary::None => Space::Vim,
            Vocabulary::Soap => Space::Soap,
            Vocabulary::Xsi | Vocabulary::Other => Space::Foreign,
        }
    }

    /// The vocabulary of an element with that prefix. One that nobody declared may mean anything.
    pub(super) fn space(&self, prefix: &str) -> Space {
        match self.find(prefix) {
            Some(Vocabulary::Vim) if !prefix.is_empty() => Space::Vim,
            Some(Vocabulary::Soap) if !prefix.is_empty() => Space::Soap,
            Some(_) | None => Space::Foreign,
        }
    }

    /// Whether attributes with that prefix are those of `xsi`.
    pub(super) fn is_xsi(&self, prefix: &str) -> bool {
        !prefix.is_empty() && self.find(prefix) == Some(Vocabulary::Xsi)
    }

    fn find(&self, prefix: &str) -> Option<Vocabulary> {
        self.declared
            .iter()
            .rev()
            .find(|(declared, _)| *declared == prefix)
            .map(|(_, vocabulary)| *vocabulary)
    }
}
