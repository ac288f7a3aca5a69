//! Faults: what the server says when it refuses, and what a caller may conclude from it.

use std::fmt;

use crate::node::{Node, Space};

/// A fault, whether it came as a SOAP fault, a task's error, or the reason why a property is missing.
#[derive(Clone, PartialEq)]
pub struct Fault {
    kind: FaultKind,
    type_name: Box<str>,
    message: String,
    detail: Option<Box<Node>>,
}

macro_rules! faults {
    ($( $kind:ident is $class:ident ),* $(,)?) => {
        /// The faults that Rookery tells apart.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FaultKind {
            $( #[doc = concat!("`", stringify!($kind), "`.")] $kind, )*
            /// Any other fault; its name is [`Fault::type_name`].
            Other,
        }
        impl FaultKind {
            fn of(type_name: &str) -> Self {
                match type_name { $( stringify!($kind) => Self::$kind, )* _ => Self::Other }
            }
            /// The conclusion that a caller may draw.
            pub fn class(self) -> Class {
                match self { $( Self::$kind => Class::$class, )* Self::Other => Class::Final }
            }
        }
    };
}

/// What a fault means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The session is gone; nothing was done.
    Session,
    /// The credentials were refused.
    Credentials,
    /// The role lacks a privilege.
    Permission,
    /// The object is gone.
    NotFound,
    /// Another operation holds the object.
    Concurrency,
    /// May pass: try again later.
    Transient,
    /// There is no room: try again, but not at once.
    Capacity,
    /// The object is not in the state that the operation needs.
    State,
    /// The name is taken.
    Exists,
    /// Our own request to stop waiting.
    Cancelled,
    /// Trying again gives the same answer.
    Final,
}

// `RuntimeFault` and `HostConfigFault` are "a general system error", as `SystemError` is.
faults! {
    NotAuthenticated is Session,
    InvalidLogin is Credentials,
    InvalidGuestLogin is Credentials,
    NoPermission is Permission,
    RestrictedVersion is Permission,
    RestrictedByAdministrator is Permission,
    GuestPermissionDenied is Permission,
    ManagedObjectNotFound is NotFound,
    NotFound is NotFound,
    FileNotFound is NotFound,
    GuestProcessNotFound is NotFound,
    TaskInProgress is Concurrency,
    ConcurrentAccess is Concurrency,
    ResourceInUse is Concurrency,
    FileLocked is Concurrency,
    CustomizationPending is Concurrency,
    HostCommunication is Transient,
    HostNotConnected is Transient,
    HostNotReachable is Transient,
    CannotAccessNetwork is Transient,
    CannotAccessFile is Transient,
    Timedout is Transient,
    SystemError is Transient,
    SystemErrorFault is Transient,
    RuntimeFault is Transient,
    HostConfigFault is Transient,
    ToolsUnavailable is Transient,
    GuestOperationsUnavailable is Transient,
    TooManyGuestLogons is Transient,
    InsufficientResourcesFault is Capacity,
    InsufficientMemoryResourcesFault is Capacity,
    InsufficientCpuResourcesFault is Capacity,
    InsufficientHostCapacityFault is Capacity,
    InsufficientFailoverResourcesFault is Capacity,
    InsufficientAgentVmsDeployed is Capacity,
    InsufficientResourcesQuota is Capacity,
    InsufficientStorageSpace is Capacity,
    NoDiskSpace is Capacity,
    NoCompatibleHost is Capacity,
    InvalidPowerState is State,
    InvalidState is State,
    DuplicateName is Exists,
    AlreadyExists is Exists,
    FileAlreadyExists is Exists,
    RequestCanceled is Cancelled,
    InvalidCollectorVersion is Final,
    InvalidProperty is Final,
    InvalidArgument is Final,
    InvalidRequest is Final,
    MethodNotFound is Final,
    NotSupported is Final,
    GuestComponentsOutOfDate is Final,
    OperationDisabledByGuest is Final,
    OperationNotSupportedByGuest is Final,
    NicSettingMismatch is Final,
}

impl Fault {
    /// A fault from its detail element, whose `xsi:type` (or else whose name) tells the kind.
    pub fn new(detail: Option<Node>, message: String) -> Self {
        let type_name: Box<str> = type_name(detail.as_ref()).into();
        Self { kind: FaultKind::of(&type_name), type_name, message, detail: detail.map(Box::new) }
    }

    pub(crate) fn from_soap(mut fault: Node) -> Self {
        let message = fault.take("faultstring").map(|n| n.text).unwrap_or_default();
        let detail = fault.take("detail").and_then(|mut detail| {
            let ours = detail.children.iter().position(|c| c.space == Space::Vim).unwrap_or(0);
            detail.children.drain(..).nth(ours)
        });
        Self::new(detail, message)
    }

    /// The kind, if it is one that Rookery tells apart.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// The fault's type as the server names it.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Whether the server said what kind of fault it is. A proxy's or a half-started server's faults often do not.
    pub fn has_detail(&self) -> bool {
        self.detail.is_some()
    }

    /// A member of the fault, such as `privilegeId` or `existingState`.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.detail.as_ref()?.child_text(name)
    }

    /// Whether trying again later may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind.class(), Class::Transient | Class::Concurrency | Class::Capacity)
    }

    /// Whether the object is gone.
    pub fn is_not_found(&self) -> bool {
        self.kind.class() == Class::NotFound
    }

    /// Whether a privilege is missing.
    pub fn is_permission(&self) -> bool {
        self.kind.class() == Class::Permission
    }

    /// Whether there is no room for what was asked for.
    pub fn is_capacity(&self) -> bool {
        self.kind.class() == Class::Capacity
    }

    /// Whether another operation holds the object.
    pub fn is_concurrency(&self) -> bool {
        self.kind.class() == Class::Concurrency
    }
}

fn type_name(detail: Option<&Node>) -> &str {
    match detail {
        Some(Node { xsi_type: Some(class), .. }) => class,
        // Inside results and tasks the element is named for its place, whose declared type is `MethodFault`.
        Some(Node { name, .. }) if &**name == "fault" => "MethodFault",
        Some(Node { name, .. }) => name.strip_suffix("Fault").unwrap_or(name),
        None => "UnknownFault",
    }
}

/// What the server says in words, most general first. Some servers leave the message empty or write a type's name
/// there, and some say what is really wrong only inside the detail.
fn words<'f>(message: &'f str, detail: Option<&'f Node>) -> Vec<&'f str> {
    let members = detail.iter().flat_map(|d| &d.children);
    let inner = members.filter(|c| &*c.name == "faultMessage").filter_map(|c| c.child_text("message"));
    let reason = detail.and_then(|d| d.child_text("reason"));
    let mut words = Vec::new();
    for text in std::iter::once(message).chain(inner).chain(reason).map(str::trim) {
        if !text.is_empty() && !text.starts_with("*types.") && !words.contains(&text) {
            words.push(text);
        }
    }
    words
}

/// Writes type, members and words, and then the same of the fault that led to this one.
fn show(f: &mut fmt::Formatter<'_>, message: &str, detail: Option<&Node>) -> fmt::Result {
    f.write_str(type_name(detail))?;
    let members: Vec<_> = detail
        .iter()
        .flat_map(|d| &d.children)
        .filter(|c| c.children.is_empty() && !c.text.is_empty() && &*c.name != "reason")
        .map(|c| format!("{} {}", c.name, c.text))
        .collect();
    if !members.is_empty() {
        write!(f, " ({})", members.join(", "))?;
    }
    for words in words(message, detail) {
        write!(f, ": {words}")?;
    }
    let Some(cause) = detail.and_then(|d| d.child("faultCause")) else { return Ok(()) };
    f.write_str("; caused by ")?;
    show(f, cause.child_text("localizedMessage").unwrap_or_default(), cause.child("fault"))
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, &self.message, self.detail.as_deref())
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
