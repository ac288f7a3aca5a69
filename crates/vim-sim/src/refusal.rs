//! Faults, as the server makes them.

use std::borrow::Cow;

use rookery_vim::objects::PowerState;
use rookery_vim::{MoRef, Node, Wire as _, Writer};

use crate::id::Id;

/// Why a call is refused: the class of the fault, its localized message, and its members.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) class: Cow<'static, str>,
    pub(crate) message: String,
    members: Vec<Node>,
}

impl Refusal {
    pub(crate) fn new(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { class: class.into(), message: message.into(), members: Vec::new() }
    }

    /// A member of the fault; they must be given in schema order.
    pub(crate) fn with(mut self, name: &str, text: impl Into<String>) -> Self {
        self.members.push(Node { text: text.into(), ..Node::new(name) });
        self
    }

    pub(crate) fn about(self, name: &str, object: &MoRef) -> Self {
        self.having(reference(name, object))
    }

    /// A member of any shape.
    pub(crate) fn having(mut self, member: Node) -> Self {
        self.members.push(member);
        self
    }

    pub(crate) fn host_not_connected() -> Self {
        Self::new("HostNotConnected", "Unable to communicate with the remote host, since it is disconnected.")
    }

    pub(crate) fn inaccessible_datastore(datastore: Id, name: &str) -> Self {
        Self::new("InaccessibleDatastore", format!("Unable to access the datastore '{name}'."))
            .about("datastore", &datastore.reference())
            .with("name", name)
    }

    pub(crate) fn not_authenticated(object: &MoRef) -> Self {
        Self::new("NotAuthenticated", "The session is not authenticated.")
            .about("object", object)
            .with("privilegeId", "System.View")
    }

    pub(crate) fn no_permission(object: Id, privilege: &str) -> Self {
        Self::new("NoPermission", "Permission to perform this operation was denied.")
            .about("object", &object.reference())
            .with("privilegeId", privilege)
    }

    pub(crate) fn gone(object: &MoRef) -> Self {
        Self::new(
            "ManagedObjectNotFound",
            format!("The object '{object}' has already been deleted or has not been completely created"),
        )
        .about("obj", object)
    }

    pub(crate) fn invalid_argument(property: &str) -> Self {
        Self::new("InvalidArgument", format!("A specified parameter was not correct: {property}"))
            .with("invalidProperty", property)
    }

    pub(crate) fn invalid_request(why: impl Into<String>) -> Self {
        Self::new("InvalidRequest", why)
    }

    pub(crate) fn invalid_property(name: &str) -> Self {
        Self::new("InvalidProperty", format!("The property {name} does not exist.")).with("name", name)
    }

    pub(crate) fn power_state(requested: &PowerState, existing: &PowerState) -> Self {
        let words = match existing {
            PowerState::On => "Powered on",
            PowerState::Suspended => "Suspended",
            PowerState::Off | PowerState::Other(_) => "Powered off",
        };
        Self::new(
            "InvalidPowerState",
            format!("The attempted operation cannot be performed in the current state ({words})."),
        )
        .with("requestedState", requested.as_str())
        .with("existingState", existing.as_str())
    }

    pub(crate) fn duplicate_name(name: &str, object: Id) -> Self {
        Self::new("DuplicateName", format!("The name '{name}' already exists."))
            .with("name", name)
            .about("object", &object.reference())
    }

    pub(crate) fn invalid_name(name: &str) -> Self {
        Self::new("InvalidName", format!("The name '{name}' is invalid.")).with("name", name)
    }

    pub(crate) fn invalid_state() -> Self {
        Self::new("InvalidState", "The operation is not allowed in the current state.")
    }

    pub(crate) fn file_not_found(file: String) -> Self {
        Self::new("FileNotFound", format!("File {file} was not found")).with("file", file)
    }

    pub(crate) fn file_exists(file: String) -> Self {
        Self::new("FileAlreadyExists", format!("File {file} already exists")).with("file", file)
    }

    pub(crate) fn no_disk_space(datastore: &str, file: String) -> Self {
        Self::new("NoDiskSpace", format!("Insufficient disk space on datastore '{datastore}'."))
            .with("file", file)
            .with("datastore", datastore)
    }

    pub(crate) fn not_supported() -> Self {
        Self::new("NotSupported", "The operation is not supported on the object.")
    }

    /// The fault as an element of that name, with its class stated.
    pub(crate) fn write(&self, out: &mut Writer, element: &str) {
        out.open(element, Some(&self.class));
        for member in &self.members {
            member.write(out, &member.name, false);
        }
        out.close(element);
    }

    /// As a `LocalizedMethodFault`, which is how tasks and results carry faults.
    pub(crate) fn write_localized(&self, out: &mut Writer, element: &str, typed: bool) {
        out.open(element, typed.then_some("LocalizedMethodFault"));
        self.write(out, "fault");
        out.leaf("localizedMessage", None, &self.message);
        out.close(element);
    }
}

/// An element that is a text.
pub(crate) fn text(name: &str, text: &str) -> Node {
    Node { text: text.to_owned(), ..Node::new(name) }
}

/// An element that refers to an object.
pub(crate) fn reference(name: &str, object: &MoRef) -> Node {
    Node { ref_type: Some(object.kind().into()), text: object.id().to_owned(), ..Node::new(name) }
}
