use std::fmt;
use std::sync::Arc;

/// A managed object reference: the class of an object and its identifier on one server. Cheap to clone: an inventory that
/// changes is cloned with all its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoRef {
    // The class comes second in the order: identifiers are what listings sort by.
    id: Arc<str>,
    kind: Arc<str>,
}

impl MoRef {
    /// A reference to the object `id` of class `kind`.
    pub fn new(kind: &str, id: &str) -> Self {
        Self { id: id.into(), kind: kind.into() }
    }

    /// The class, for example `VirtualMachine`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The identifier, for example `vm-63`. Opaque, and only meaningful on the server that gave it.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Display for MoRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)
    }
}

impl fmt::Debug for MoRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
