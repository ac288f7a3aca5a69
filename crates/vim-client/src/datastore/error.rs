use hyper::StatusCode;

use crate::error::CallError;
use crate::machine::OperationError;
use crate::transfer::TransferError;

/// Why something was not done with a file. Files are named as vCenter does: `[datastore] folder/name`.
#[derive(Debug, thiserror::Error)]
pub enum DatastoreError {
    /// The name is taken.
    #[error("{file} is there already")]
    Exists { file: String },
    /// The name is taken by something of another size.
    #[error(
        "{file} is there already with {found} bytes instead of {expected}: \
         it is another file, or a part of it; remove it, or allow it to be replaced"
    )]
    Differs { file: String, found: u64, expected: u64 },
    /// There is nothing of that name.
    #[error("{file} is not there")]
    Missing { file: String },
    /// There is something else of that name.
    #[error("{file} is a folder")]
    Folder { file: String },
    /// The datastore is not where it was.
    #[error(
        "there is no datastore {datastore} in the datacenter {datacenter} any more: was one of them renamed?"
    )]
    NoPlace { datastore: String, datacenter: String },
    /// The session is good, and still it is not allowed.
    #[error(
        "vCenter does not allow {doing} (HTTP status {status}): \
         the user needs the privileges Datastore.Browse and Datastore.FileManagement there"
    )]
    Denied { doing: String, status: StatusCode },
    /// The datastore is full.
    #[error("{doing} needs {needed} bytes, and {datastore} is full{}", said(*free))]
    NoSpace { datastore: String, doing: String, needed: u64, free: Option<u64> },
    /// vCenter could not do it, and does not say why.
    #[error(
        "vCenter answered {doing} with HTTP status {status}: \
         its host cannot reach the datastore, or the folder is not there"
    )]
    Status { doing: String, status: StatusCode },
    /// A file is not as long as what was sent.
    #[error("{file} has {found} bytes after {expected} were sent")]
    Damaged { file: String, found: u64, expected: u64 },
    /// Not all bytes came from one end to the other.
    #[error("{doing} failed")]
    Transfer { doing: String, source: TransferError },
    /// vCenter could not be asked.
    #[error("{doing} failed")]
    Call { doing: String, source: CallError },
    /// vCenter did not do it.
    #[error("{doing} failed")]
    Operation { doing: String, source: OperationError },
    /// An answer without what it must hold.
    #[error("vCenter's answer to {doing} was not understood")]
    Unclear { doing: String },
}

fn said(free: Option<u64>) -> String {
    free.map(|bytes| format!(" ({bytes} bytes are free)")).unwrap_or_default()
}

impl DatastoreError {
    /// Whether the same may succeed later without anybody doing anything about it.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Transfer { source, .. } => source.is_transient(),
            Self::Call { source, .. } => source.is_transient(),
            Self::Operation { source, .. } => match source {
                OperationError::Call(error) => error.is_transient(),
                OperationError::Task(_) => source.fault().is_none_or(rookery_vim::Fault::is_transient),
            },
            Self::NoSpace { .. } | Self::Damaged { .. } => true,
            Self::Status { status, .. } => status.is_server_error(),
            Self::Exists { .. }
            | Self::Differs { .. }
            | Self::Missing { .. }
            | Self::Folder { .. }
            | Self::NoPlace { .. }
            | Self::Denied { .. }
            | Self::Unclear { .. } => false,
        }
    }
}
