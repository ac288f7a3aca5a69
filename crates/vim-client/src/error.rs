use hyper::StatusCode;
use rookery_dial::{DialError, HttpError};
use rookery_vim::envelope::AnswerError;
use rookery_vim::{Fault, FaultKind, Unwritable};

use crate::endpoint::Endpoint;

/// Why a call gave no result, and what the caller may conclude.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The server understood and refused. Nothing was done.
    #[error("vCenter refused {method}")]
    Fault { method: &'static str, source: Fault },
    /// The credentials are wrong (or locked).
    #[error("{endpoint} refused the user name or password of {user}")]
    Credentials { endpoint: String, user: String },
    /// The connection failed. Nothing was done.
    #[error("{endpoint} {}", source.in_short())]
    Unreachable { endpoint: String, source: DialError },
    /// The request was sent and no complete answer came: it may have been carried out.
    #[error("vCenter gave no complete answer to {method}")]
    Lost { method: &'static str, source: HttpError },
    /// Something answered, but not the vCenter service: it restarts, or a proxy stands in for it.
    #[error("vCenter's service is not available ({method} was answered with HTTP status {status})")]
    Unavailable { method: &'static str, status: StatusCode },
    /// An answer that is not in the vocabulary.
    #[error("vCenter's answer to {method} was not understood")]
    NotUnderstood { method: &'static str, source: AnswerError },
    /// The client has logged out.
    #[error("{method} was not sent: the client has logged out")]
    Closed { method: &'static str },
    /// A text of the request would arrive changed. Nothing was done.
    #[error("{method} was not sent")]
    Unwritable { method: &'static str, source: Unwritable },
    /// This process may not change anything now. Nothing was done.
    #[error("{method} was not sent: this process may change nothing while another one of its name may lead")]
    NoLease { method: &'static str },
}

impl CallError {
    /// What a failed exchange means.
    pub(crate) fn of_http(endpoint: &Endpoint, method: &'static str, error: HttpError) -> Self {
        match error {
            HttpError::Dial(source) => Self::Unreachable { endpoint: endpoint.to_string(), source },
            HttpError::Withheld => Self::NoLease { method },
            source @ (HttpError::TimedOut(_)
            | HttpError::Broken(_)
            | HttpError::TooLarge { .. }
            | HttpError::Damaged(_)
            | HttpError::UnknownEncoding(_)) => Self::Lost { method, source },
        }
    }

    /// A word for metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Fault { .. } => "refused",
            Self::Credentials { .. } => "credentials",
            Self::Unreachable { .. } => "unreachable",
            Self::Lost { .. } => "lost",
            Self::Unavailable { .. } => "unavailable",
            Self::NotUnderstood { .. } => "not_understood",
            Self::Closed { .. } => "closed",
            Self::NoLease { .. } => "no_lease",
            Self::Unwritable { .. } => "unwritable",
        }
    }

    /// The fault, if the server answered with one.
    pub fn fault(&self) -> Option<&Fault> {
        if let Self::Fault { source, .. } = self { Some(source) } else { None }
    }

    /// Whether the server answered with this kind of fault.
    pub fn is(&self, kind: FaultKind) -> bool {
        self.fault().is_some_and(|f| f.kind() == kind)
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Fault { source, .. } => source.is_transient(),
            Self::Unreachable { source, .. } => source.is_transient(),
            Self::Lost { .. } | Self::Unavailable { .. } | Self::NoLease { .. } => true,
            Self::Credentials { .. }
            | Self::NotUnderstood { .. }
            | Self::Closed { .. }
            | Self::Unwritable { .. } => false,
        }
    }

    /// Whether the object that the call was about is gone.
    pub fn is_not_found(&self) -> bool {
        self.fault().is_some_and(Fault::is_not_found)
    }

    /// Whether the role of the user is too small, or the credentials are wrong.
    pub fn is_permission(&self) -> bool {
        matches!(self, Self::Credentials { .. }) || self.fault().is_some_and(Fault::is_permission)
    }

    /// Whether the call may have been carried out although no result came: look for its effect before repeating it.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::Unavailable { .. } | Self::NotUnderstood { .. } => true,
            Self::Fault { .. }
            | Self::Credentials { .. }
            | Self::Unreachable { .. }
            | Self::Closed { .. }
            | Self::Unwritable { .. }
            | Self::NoLease { .. } => false,
        }
    }
}
