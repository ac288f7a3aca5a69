//! Sending a file: under a name of its own beside the target, checked, then moved.
//!
//! ```text
//!   look at the target ──► make its folder ──► PUT .rookery-upload-… ──► HEAD: right size? ──► move to the target
//!        │ it will do                              │ failed                    │ no                  │ failed
//!        ▼                                         └───────────────────────────┴── remove it ◄──────┘
//!      done
//! ```

use std::io;

use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{Method, StatusCode};
use rand::RngExt;
use rookery_daemon::telemetry::chain;
use tokio::io::AsyncRead;
use tokio::sync::watch;
use tracing::debug;

use super::leftovers::temporary_name;
use super::web::is_denied;
use super::{DatastoreError, DatastoreFiles, FilePath};
use crate::transfer::{self, TransferEnd, TransferError, Watch};

/// What to send where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    pub target: FilePath,
    /// Exactly how many bytes it has.
    pub size: u64,
    /// Whether a file that is there already will do.
    pub reuse: Reuse,
    /// What to do about a file that is there and will not do.
    pub existing: Existing,
}

/// Whether a file that is there already will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// It will not, whatever it is like.
    Never,
    /// It will if it has the right size: its name stands for its content, so it is what an earlier attempt left.
    SameSize,
}

/// What to do about a file that is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and is an error.
    Refuse,
    /// It is overwritten.
    Replace,
}

/// How a file came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uploaded {
    Sent,
    /// It was there already.
    Reused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Send,
    Reuse,
    Refuse { found: u64 },
}

fn plan(upload: &Upload, there: Option<u64>) -> Plan {
    match (there, upload.reuse, upload.existing) {
        (Some(found), Reuse::SameSize, _) if found == upload.size => Plan::Reuse,
        (Some(found), _, Existing::Refuse) => Plan::Refuse { found },
        (Some(_), _, Existing::Replace) | (None, ..) => Plan::Send,
    }
}

impl DatastoreFiles {
    /// Sends a file. `source` makes a reader, a second one if the session turns out to have expired; `progress` gets
    /// the number of bytes sent.
    ///
    /// The target is never seen in part. If this future is dropped in the middle, a temporary file may stay, which
    /// [`Self::remove_leftovers`] finds.
    pub async fn upload<S, F, R>(
        &self,
        upload: &Upload,
        source: S,
        progress: &watch::Sender<u64>,
    ) -> Result<Uploaded, DatastoreError>
    where
        S: Fn() -> F,
        F: Future<Output = io::Result<R>>,
        R: AsyncRead + Unpin,
    {
        match plan(upload, self.size_of(&upload.target).await?) {
            Plan::Reuse => return Ok(Uploaded::Reused),
            Plan::Refuse { found } => return Err(self.in_the_way(upload, found)),
            Plan::Send => {}
        }
        if let Some(folder) = upload.target.parent() {
            self.make_directory(&folder).await?;
        }
        let name = temporary_name(self.machines.client.fork_random().random());
        let Ok(temporary) = upload.target.beside(&name) else {
            return Err(DatastoreError::Unclear { doing: self.doing("uploading", &upload.target) });
        };
        let outcome = match self.put(upload, &temporary, source, progress).await {
            Ok(()) => self.publish(upload, &temporary).await,
            Err(error) => Err(error),
        };
        if !matches!(outcome, Ok(Uploaded::Sent))
            && let Err(error) = self.delete(&temporary).await
        {
            debug!(file = %temporary, error = %chain(&error), "a temporary file stays behind");
        }
        outcome
    }

    async fn size_of(&self, file: &FilePath) -> Result<Option<u64>, DatastoreError> {
        Ok(self.stat(file).await?.map(|info| info.size))
    }

    fn in_the_way(&self, upload: &Upload, found: u64) -> DatastoreError {
        let (file, expected) = (self.text(&upload.target), upload.size);
        match upload.reuse {
            Reuse::Never => DatastoreError::Exists { file },
            Reuse::SameSize => DatastoreError::Differs { file, found, expected },
        }
    }

    /// Sends the bytes to the temporary file, and makes sure that they are there.
    async fn put<S, F, R>(
        &self,
        upload: &Upload,
        temporary: &FilePath,
        source: S,
        progress: &watch::Sender<u64>,
    ) -> Result<(), DatastoreError>
    where
        S: Fn() -> F,
        F: Future<Output = io::Result<R>>,
        R: AsyncRead + Unpin,
    {
        let doing = || self.doing("uploading", &upload.target);
        let failed = |source| DatastoreError::Transfer { doing: doing(), source };
        let _permit = self.machines.admit(doing(), self.site()).await;
        let mut sent = self.put_once(upload.size, temporary, &source, progress).await;
        if sent.as_ref().is_ok_and(|status| is_denied(*status)) {
            self.confirm_place().await?;
            sent = self.put_once(upload.size, temporary, &source, progress).await;
        }
        let lost = match sent {
            Ok(status) if status.is_success() => None,
            Ok(status) => {
                return Err(self.refused("uploading", &upload.target, status, upload.size).await);
            }
            // All was sent: if all is there, the answer was the only thing missing.
            Err(error) if is_all_sent(&error, upload.size) => Some(error),
            Err(error) => return Err(failed(error)),
        };
        match (self.size_of(temporary).await?, lost) {
            (Some(found), _) if found == upload.size => Ok(()),
            (_, Some(error)) => Err(failed(error)),
            (found, None) => {
                let (file, found) = (self.text(temporary), found.unwrap_or(0));
                Err(DatastoreError::Damaged { file, found, expected: upload.size })
            }
        }
    }

    async fn put_once<F, R>(
        &self,
        size: u64,
        temporary: &FilePath,
        source: impl Fn() -> F,
        progress: &watch::Sender<u64>,
    ) -> Result<StatusCode, TransferError>
    where
        F: Future<Output = io::Result<R>>,
        R: AsyncRead + Unpin,
    {
        let reader = source().await.map_err(TransferError::Source)?;
        let address = self.place.address(temporary);
        // Said outright: vCenter does not take a body in chunks of unknown number.
        let length = size.to_string();
        let headers = [(CONTENT_TYPE, "application/octet-stream"), (CONTENT_LENGTH, length.as_str())];
        let send = |body| self.machines.client.send("PUT", Method::PUT, &address, &headers, body);
        let watch = Watch { progress, stall: super::STALL };
        Ok(transfer::upload(reader, size, send, watch).await?.status())
    }

    async fn publish(&self, upload: &Upload, temporary: &FilePath) -> Result<Uploaded, DatastoreError> {
        match self.move_known(temporary, &upload.target, upload.size, upload.existing).await {
            // Somebody else was faster with the same name.
            Err(DatastoreError::Exists { file }) => match self.size_of(&upload.target).await? {
                Some(found) if plan(upload, Some(found)) == Plan::Reuse => Ok(Uploaded::Reused),
                Some(found) => Err(self.in_the_way(upload, found)),
                None => Err(DatastoreError::Exists { file }),
            },
            result => result.map(|()| Uploaded::Sent),
        }
    }
}

/// Whether an upload lacks nothing but its answer.
fn is_all_sent(error: &TransferError, size: u64) -> bool {
    match error {
        TransferError::Unanswered(_) => true,
        TransferError::Stalled { end, moved, .. } => *end == TransferEnd::Server && *moved == size,
        TransferError::Source(_)
        | TransferError::SourceShort { .. }
        | TransferError::SourceLong { .. }
        | TransferError::Sink(_)
        | TransferError::Broken { .. }
        | TransferError::TooEarly { .. }
        | TransferError::NoLength
        | TransferError::Encoded { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::CallError;

    #[test]
    fn a_file_that_is_there_is_reused_refused_or_replaced() {
        use {Existing::*, Reuse::*};
        for (there, reuse, existing, expected) in [
            (None, Never, Refuse, Plan::Send),
            (None, SameSize, Replace, Plan::Send),
            (Some(10), Never, Refuse, Plan::Refuse { found: 10 }),
            (Some(10), Never, Replace, Plan::Send),
            (Some(10), SameSize, Refuse, Plan::Reuse),
            (Some(10), SameSize, Replace, Plan::Reuse),
            (Some(9), SameSize, Refuse, Plan::Refuse { found: 9 }),
            (Some(9), SameSize, Replace, Plan::Send),
        ] {
            let upload = Upload { target: FilePath::parse("a/b").unwrap(), size: 10, reuse, existing };
            assert_eq!(plan(&upload, there), expected, "{there:?} {reuse:?} {existing:?}");
        }
    }
    #[test]
    fn only_the_answer_is_missing_when_all_bytes_went_to_the_server() {
        let stalled = |end, moved| TransferError::Stalled { end, after: Duration::from_secs(1), moved };
        let lost = || CallError::Closed { method: "PUT" };
        for (error, expected) in [
            (TransferError::Unanswered(lost()), true),
            (stalled(TransferEnd::Server, 10), true),
            (stalled(TransferEnd::Server, 9), false),
            (stalled(TransferEnd::Source, 10), false),
            (TransferError::Broken { moved: 10, source: lost() }, false),
        ] {
            assert_eq!(is_all_sent(&error, 10), expected, "{error:?}");
        }
    }
}
