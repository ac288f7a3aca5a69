//! Whether a server is simulated or real.

/// The user and password of a simulated vCenter. They are no secret: it listens to this machine alone.
pub(super) const LOGIN: (&str, &str) = ("me", "simulated");

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndpointKind {
    /// In this process.
    Simulated,
    /// Somebody's own.
    Real,
}

/// Where a server is. No address holds a password.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) kind: EndpointKind,
    pub(super) url: String,
}
